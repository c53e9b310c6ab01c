"""Mail between the members of a team: on record first, handed over once, read when it stands in a conversation.

Rule 1: a message is on record before it is handed over; where it cannot be put on record, nobody gets it. Rule 2: a message comes to
one end, and its sender hears of every end but being read. Rule 3: a name means its member for good: one that has ended gets nothing
any more, and neither does anybody in its place. Rule 4: what anybody says here is another agent's word, whatever it says.
Must not know: tools, the board, what the objects of the protocol do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, final

from greenroom.actors import Down
from greenroom.agents import Note
from greenroom.agents.crew import SendRefused, Told, not_recorded
from greenroom.agents.delegation import Letter, shortened
from greenroom.core import JournalError, escape_text, is_cancelled, reminder
from greenroom.inbox import AUTO_CONTINUATION
from greenroom.mailbox import Delivery, Lane
from greenroom.teams._exchange import MAX_MESSAGES, Exchange, MailHeld
from greenroom.teams._mail_events import Mail, MailQuarantined, MailRead, MailReturned, MailSent
from greenroom.teams._names import EVERYBODY, LEAD, plain_name
from greenroom.teams._protocol import Message, Spoken
from greenroom.teams._roster import Member, Roster
from greenroom.teams._wire import Problem, read, read_inbox, read_spoken, write_text

MAX_CHARS: Final = 100_000
"""A longer text is cut: all of it would be most of what its reader can hold; what is long belongs into a file."""
CUT: Final = "\n[cut: {left} characters more]"

Handler: TypeAlias = Callable[[Member, Letter, Any], Awaitable[Told]]
"""Does what an object of the protocol says: whose it is, the letter, the object."""
_FULL: Final = "its mailbox is full; send it again when it has read what is there"
_ENDED: Final = "it has ended and reads nothing any more"


@final
class TeamMail:
    """The mail of one team; it is what `SendMessage` reaches members by.

    Attributes:
        handlers: What objects of the protocol do, by their class.
        again: What is read, when the team is open again, of objects that nobody had read; empty where nobody waits for them any more.
        is_closing: Whether the team is being closed: then what members have not read waits for the next time.
        returned: The latest messages that nobody reads, oldest first.
        exchange: Counts messages between teammates that no work interrupts.
    """

    def __init__(self, roster: Roster, *, last: int = 0, messages_in_a_row: float = MAX_MESSAGES) -> None:
        self.roster = roster
        self.exchange = Exchange(messages_in_a_row)
        self.handlers: dict[type[Message], Handler] = {}
        self.again: dict[type[Message], Callable[[Any], str]] = {}
        self.is_closing = False
        self.returned: list[Mail] = []
        self._last = last
        self._waiting: dict[int, Mail] = {}
        self._watched: set[str] = set()

    def __repr__(self) -> str:
        return f"<TeamMail of {self.roster.team!r}: {len(self._waiting)} wait>"

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members that there are."""
        return tuple(self.roster.members)

    @property
    def waiting(self) -> tuple[Mail, ...]:
        """What was handed over and is not read yet, in the order in which it was sent."""
        return tuple(self._waiting.values())

    def member_of(self, agent: str) -> Member | None:
        """Return the member that an agent is."""
        return next((one for one in self.roster.members.values() if agent and one.home.profile.id == agent), None)

    def is_for(self, letter: Letter, sender: str) -> bool:
        """Whether a letter of that agent is for members of the team."""
        if not isinstance(letter.body, str) or letter.to == EVERYBODY:
            return True
        name = plain_name(letter.to, self.roster.team)
        if (
            name == LEAD and letter.to.lower() == "main"
        ):  # what sub-agents call it too, and they have their own way to it
            return self.member_of(sender) is not None
        return name in self.roster.used

    # --- sending ---------------------------------------------------------------------------------------------------

    async def send(self, letter: Letter, sender: str, label: str) -> Told:
        """Send a letter of that agent, and return when it is on record and on its way.

        Cancelled before it is on its way, nobody gets it.

        Args:
            letter: What is sent, and to whom.
            sender: Id of the agent.
            label: What others are told of it, if it is no member.

        Raises:
            SendRefused: It was not sent, to anybody.
        """
        me = self.member_of(sender)
        if not isinstance(letter.body, str):
            return await self._carry_out(letter, letter.body, me)
        name = label if me is None else me.name
        targets = self.targets(letter, me)
        self._admit(me, targets)
        try:
            failed = await self.hand_over(name, targets, _cut(letter.body), letter.summary)
        except JournalError as error:
            raise not_recorded(letter, ", ".join(one.name for one in targets)) from error
        reached = [one.name for one in targets if one.name not in failed]
        missed = [f"{one}: {why}" for one, why in failed.items()]
        if not reached:
            raise SendRefused("full" if _FULL in failed.values() else "ended", "; ".join(missed))
        text = f"Message sent to {', '.join(reached)}."
        if missed:
            text += f" Not to {'; '.join(missed)}."
        return Told(text=text, target=letter.to if len(targets) > 1 else reached[0], sender=name)

    def _admit(self, me: Member | None, targets: Sequence[Member]) -> None:
        """Refuse a message if teammates have only exchanged messages for too long, and tell the lead once.

        Raises:
            SendRefused: They have.
        """
        exchange = self.exchange
        if me is None or me.is_lead:
            exchange.restart()
            return
        progress = me.home.run.progress
        is_admitted = exchange.admit(me.name, 0 if progress is None else progress.tool_use_count)
        if is_admitted or any(one.is_lead for one in targets):
            return
        roster = self.roster
        roster.emit(MailHeld(actor=me.ref.id, team=roster.team, sender=me.name, messages=exchange.count))
        if not exchange.is_told:
            exchange.is_told = True
            text = (
                f"Teammates have sent each other {exchange.count} messages without any other work, the last ones "
                f"{me.name} and {targets[0].name}; further ones are refused. Write to them, or change the board, to let them continue."
            )
            roster.lead.ref.tell(Note(reminder(text), me.name), Lane.LATER, size_bytes=len(text))
        raise SendRefused(
            "only_messages",
            f"teammates have sent each other {exchange.count} messages in a row without any other work (the setting "
            "teams.messages_in_a_row); continue with your task, or report to the lead",
        )

    def targets(self, letter: Letter, me: Member | None) -> list[Member]:
        """Return whom a letter is for.

        Raises:
            SendRefused: There is nobody, it has ended, or it is whoever writes.
        """
        roster = self.roster
        if letter.to == EVERYBODY:
            others = [one for one in roster.members.values() if one is not me]
            if not others:
                raise SendRefused("unknown_recipient", "there is nobody else in this team")
            return others
        found = roster.find(letter.to)
        if found is not None and found is me:
            raise SendRefused("yourself", "that is you, and a message to yourself reaches nobody")
        if found is not None:
            return [found]
        others_there = ", ".join(one.name for one in roster.members.values() if one is not me) or "nobody"
        if roster.has_ended(letter.to):
            self._bury(letter, me)
            why = f"{letter.to!r} has ended and reads nothing any more; there is {others_there}"
            raise SendRefused("ended", why)
        raise SendRefused(
            "unknown_recipient", f"there is no member {letter.to!r} in this team; there is {others_there}"
        )

    async def hand_over(
        self,
        sender: str,
        targets: Sequence[Member],
        text: str,
        summary: str,
        *,
        lane: Lane | None = None,
        message: Message | None = None,
    ) -> Mapping[str, str]:
        """Put a message to each of some members on record, then hand it over; returns why, for each whom it did not reach.

        Cancelled before it is on record, nobody gets it.

        Args:
            sender: Name of the member that writes; of none, what the others are told of it.
            targets: The members.
            text: What their models read.
            summary: What it is about.
            lane: Where it waits; by default what the lead says goes before what the others say.
            message: The object of the protocol that the text stands for.

        Raises:
            JournalError: It could not be put on record; nobody got it.
        """
        mails = self._record(sender, targets, text if message is None else write_text(message), summary)
        if lane is None:
            lane = Lane.NEXT if sender == LEAD else Lane.LATER
        failed: dict[str, str] = {}
        for member, mail in zip(targets, await self._recorded(mails), strict=True):
            why = self._deliver(member, mail, text, lane)
            if why:
                self._return(mail, why)
                failed[member.name] = why
            else:
                self._note_said(sender, member, summary)
        return failed

    async def _carry_out(self, letter: Letter, said: Mapping[str, Any], me: Member | None) -> Told:
        spoken: Spoken | Problem = read_spoken(said)
        if isinstance(spoken, Problem):
            raise SendRefused("unreadable", spoken.text)
        if letter.to == EVERYBODY:
            raise SendRefused("broadcast", f"{spoken.type} is for one member; only a text goes to everybody")
        handler = self.handlers.get(type(spoken))
        if me is None or handler is None:
            raise SendRefused("not_yours", f"{spoken.type} is for members of a team to say")
        return await handler(me, letter, spoken)

    # --- pieces of sending -----------------------------------------------------------------------------------------

    def _record(self, sender: str, targets: Iterable[Member], text: str, summary: str) -> list[Mail]:
        """Put messages down as sent.

        Raises:
            JournalError: Nothing new may begin.
        """
        roster = self.roster
        roster.check_open()
        mails: list[Mail] = []
        writer = roster.members.get(sender)
        for member in targets:
            self._last += 1
            mail = Mail(
                team=roster.team, mail=self._last, sender=sender, to=member.name, summary=shortened(summary), text=text
            )
            roster.emit(
                MailSent(
                    actor="" if writer is None else writer.home.profile.id,
                    team=mail.team,
                    mail=mail.mail,
                    sender=sender,
                    to=mail.to,
                    summary=mail.summary,
                    text=text if not mails else "",
                    text_of=mails[0].mail if mails else 0,
                )
            )
            mails.append(mail)
        return mails

    async def _recorded(self, mails: list[Mail]) -> list[Mail]:
        """Return messages when they are on record for good; if they cannot be, or nobody waits any more, they go back."""
        try:
            await self.roster.wait_durable()
        except BaseException as error:
            why = "its sender was interrupted" if is_cancelled(error) else "it could not be put on record"
            for mail in mails:
                self._return(mail, why)
            raise
        return mails

    def _deliver(self, member: Member, mail: Mail, text: str, lane: Lane) -> str:
        """Hand a message over; returns why that could not be done, or nothing."""
        if self.roster.members.get(member.name) is not member or member.ref.is_gone:
            return _ENDED
        writer = self.roster.members.get(mail.sender)
        note = Note(
            text,
            mail.sender,
            notice=mail.mark,
            on_read=partial(self._note_read, mail, member),
            about={"color": "" if writer is None else writer.color, "summary": _summary_of(mail.summary, text)},
        )
        delivery = member.ref.tell(note, lane, size_bytes=len(text))
        if delivery is not Delivery.ACCEPTED:
            return _FULL if delivery is Delivery.FULL else _ENDED
        self._waiting[mail.mail] = mail
        if member.name not in self._watched:
            self._watched.add(member.name)
            member.ref.watch(partial(self._note_ended, member))
        return ""

    def _note_said(self, sender: str, member: Member, summary: str) -> None:
        """Let the lead hear, when a mate has nothing to do, what it told others (agents 7.49)."""
        writer = self.roster.members.get(sender)
        if writer is None:
            return
        if writer.is_lead:
            member.was_asked = True
        elif not member.is_lead:
            writer.said.append(f"to {member.name}: {shortened(summary)}")

    # --- ends ------------------------------------------------------------------------------------------------------

    def _note_read(self, mail: Mail, member: Member) -> None:
        self._waiting.pop(mail.mail, None)
        self.roster.emit(MailRead(actor=member.home.profile.id, team=mail.team, mail=mail.mail, to=mail.to))

    def _return(self, mail: Mail, why: str) -> None:
        self._waiting.pop(mail.mail, None)
        self.returned = [*self.returned[-99:], mail]
        self.roster.emit(MailReturned(team=mail.team, mail=mail.mail, sender=mail.sender, to=mail.to, why=why))

    def _bury(self, letter: Letter, me: Member | None) -> None:
        """Put a message to one who has ended on record as one that nobody reads."""
        self._last += 1
        name = plain_name(letter.to, self.roster.team)
        text = letter.body if isinstance(letter.body, str) else ""
        sender = "" if me is None else me.name
        mail = Mail(
            team=self.roster.team, mail=self._last, sender=sender, to=name, summary=letter.summary, text=_cut(text)
        )
        self._return(mail, f"{name} had ended")

    def _note_ended(self, member: Member, _: Down) -> None:
        """Return what a member had not read when it ended, and tell those who wrote it."""
        self._watched.discard(member.name)
        left = [one for one in self._waiting.values() if one.to == member.name]
        if self.is_closing or not left:
            return
        for mail in left:
            self._return(mail, f"{member.name} ended before it read it")
        for sender in dict.fromkeys(one.sender for one in left):
            writer = self.roster.members.get(sender)
            if writer is None or writer.ref.is_gone:
                continue
            said = "; ".join(one.summary for one in left if one.sender == sender)
            text = f"{member.name} has ended, and has not read what you sent it: {escape_text(said)}"
            writer.ref.tell(Note(text, is_hidden=True, origin=AUTO_CONTINUATION), Lane.LATER, size_bytes=len(text))

    # --- what an earlier process left ------------------------------------------------------------------------------

    def take_up(self, left: Iterable[Mail]) -> None:
        """Hand over what members had not read when the team was closed, or its process ended; in order, under its old numbers."""
        for mail in left:
            self._last = max(self._last, mail.mail)
            member = self.roster.members.get(mail.to)
            lane = Lane.NEXT if mail.sender == LEAD else Lane.LATER
            said = read(mail.text)
            again = None if isinstance(said, Problem) else self.again.get(type(said))
            text = mail.text if again is None else again(said)
            if member is None:
                why = _ENDED
            else:
                why = self._deliver(member, mail, text, lane) if text else "its team was closed meanwhile"
            if why:
                self._return(mail, why)

    async def take_entries(self, to: str, entries: object) -> tuple[Problem, ...]:
        """Hand over the entries of an inbox that comes from elsewhere, all that were not read; bad ones are put aside.

        Returns what is wrong with each of these; it is on record.

        Args:
            to: The member whose inbox it is.
            entries: The list of entries (agents 7.28), as it was read from JSON.

        Raises:
            SendRefused: There is no such member.
            JournalError: They cannot be put on record; nobody got them.
        """
        good, bad = read_inbox(entries)
        targets = self.targets(Letter(to=to, body="", summary=""), None)
        for problem in bad:
            self.roster.emit(MailQuarantined(team=self.roster.team, to=targets[0].name, problem=problem.text))
        for entry in good:
            if not entry.is_read:
                await self.hand_over(entry.sender, targets, _cut(entry.text), entry.summary or entry.text)
        return bad


def _summary_of(summary: str, text: str) -> str:
    """Return the summary as far as it says more than the beginning of the text."""
    return "" if summary == shortened(text) else summary


def _cut(text: str) -> str:
    left = len(text) - MAX_CHARS
    return text if left <= 0 else text[:MAX_CHARS] + CUT.format(left=left)
