"""Mail between the members of a team: recorded first, handed over once, read when it is in a conversation.

Rule 1: a message is recorded before it is handed over; if it cannot be recorded, nobody gets it. Rule 2: a message has
exactly one end, and its sender is notified of every end except being read. Rule 3: a name belongs to its member
permanently: an ended member gets no mail, and neither does a successor. Rule 4: everything that members say here counts
as another agent's word. This module must not know of tools, the board, or the effects of protocol messages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, final

from greenroom.actors import Down
from greenroom.agents import Note
from greenroom.agents.delegation import SendMessageCall, shortened
from greenroom.agents.subagents import SendRefused, Told, not_recorded
from greenroom.core import JournalError, is_cancelled
from greenroom.core.texts import escape_text, reminder
from greenroom.inbox import AUTO_CONTINUATION
from greenroom.mailbox import Delivery, Lane
from greenroom.teams._exchange import MAX_MESSAGES, ExchangeLimit, MailHeld
from greenroom.teams._mail_events import Mail, MailQuarantined, MailRead, MailReturned, MailSent
from greenroom.teams._member_names import EVERYBODY, LEAD, plain_name
from greenroom.teams._protocol_json import WireProblem, read, read_inbox, read_spoken, write_text
from greenroom.teams._roster import Member, Roster
from greenroom.teams._team_protocol import ProtocolMessage, Spoken

MAX_CHARS: Final = 100_000
"""Longer texts are cut: they would fill most of the reader's context; long content belongs in a file."""
CUT: Final = "\n[cut: {left} characters more]"

Handler: TypeAlias = Callable[[Member, SendMessageCall, Any], Awaitable[Told]]
"""Carries out a protocol message: the sender, the letter, the message."""
_FULL: Final = "its mailbox is full; send it again when it has read what is there"
_ENDED: Final = "it has ended and reads nothing any more"


@final
class TeamMail:
    """The mail of one team; `SendMessage` reaches members through it.

    Attributes:
        handlers: Handlers of protocol messages, by class.
        again: Texts of unread protocol messages when the team is open again; empty if nobody waits for them any more.
        is_closing: True if the team is being closed: unread mail then waits for the next time.
        returned: The latest messages that nobody will read, oldest first.
        exchange: Counts messages between teammates without other work in between.
    """

    def __init__(self, roster: Roster, *, last: int = 0, messages_in_a_row: float = MAX_MESSAGES) -> None:
        self.roster = roster
        self.exchange = ExchangeLimit(messages_in_a_row)
        self.handlers: dict[type[ProtocolMessage], Handler] = {}
        self.again: dict[type[ProtocolMessage], Callable[[Any], str]] = {}
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
        """Names of the current members."""
        return tuple(self.roster.members)

    @property
    def waiting(self) -> tuple[Mail, ...]:
        """Messages that were handed over and are not read yet, in sending order."""
        return tuple(self._waiting.values())

    def member_of(self, agent: str) -> Member | None:
        """Return the member that an agent is."""
        return next(
            (member for member in self.roster.members.values() if agent and member.home.profile.id == agent), None
        )

    def is_for(self, letter: SendMessageCall, sender: str) -> bool:
        """Return True if an agent's letter is for members of the team."""
        if not isinstance(letter.body, str) or letter.to == EVERYBODY:
            return True
        name = plain_name(letter.to, self.roster.team)
        if name == LEAD and letter.to.lower() == "main":  # sub-agents use this name too, and have their own route to it
            return self.member_of(sender) is not None
        return name in self.roster.used

    # --- sending ---------------------------------------------------------------------------------------------------

    async def send(self, letter: SendMessageCall, sender: str, label: str) -> Told:
        """Send an agent's letter, and return when it is recorded and on its way.

        If cancelled before it is on its way, nobody gets it.

        Args:
            letter: The text and its recipient.
            sender: Id of the agent.
            label: Name of the agent for the recipients, if it is not a member.

        Raises:
            SendRefused: It was not sent to anybody.
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
            raise not_recorded(letter, ", ".join(target.name for target in targets)) from error
        reached = [target.name for target in targets if target.name not in failed]
        missed = [f"{target}: {why}" for target, why in failed.items()]
        if not reached:
            raise SendRefused("full" if _FULL in failed.values() else "ended", "; ".join(missed))
        text = f"Message sent to {', '.join(reached)}."
        if missed:
            text += f" Not to {'; '.join(missed)}."
        return Told(text=text, target=letter.to if len(targets) > 1 else reached[0], sender=name)

    def _admit(self, me: Member | None, targets: Sequence[Member]) -> None:
        """Raise `SendRefused` if teammates have only exchanged messages for too long, and notify the lead once."""
        exchange = self.exchange
        if me is None or me.is_lead:
            exchange.restart()
            return
        progress = me.home.run.progress
        is_admitted = exchange.admit(me.name, 0 if progress is None else progress.tool_use_count)
        if is_admitted or any(target.is_lead for target in targets):
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

    def targets(self, letter: SendMessageCall, me: Member | None) -> list[Member]:
        """Return the recipients of a letter.

        Raises:
            SendRefused: There is none, it has ended, or it is the sender.
        """
        roster = self.roster
        if letter.to == EVERYBODY:
            others = [member for member in (*roster.members.values(), *roster.away.values()) if member is not me]
            if not others:
                raise SendRefused("unknown_recipient", "this team has no other members")
            return others
        found = roster.find(letter.to)
        if found is not None and found is me:
            raise SendRefused("yourself", "you cannot send a message to yourself")
        if found is not None:
            return [found]
        others_there = ", ".join(member.name for member in roster.members.values() if member is not me) or "nobody"
        if roster.has_ended(letter.to):
            self._bury(letter, me)
            why = f"{letter.to!r} has ended and reads nothing any more; members: {others_there}"
            raise SendRefused("ended", why)
        raise SendRefused("unknown_recipient", f"{letter.to!r} is not a member of this team; members: {others_there}")

    async def hand_over(
        self,
        sender: str,
        targets: Sequence[Member],
        text: str,
        summary: str,
        *,
        lane: Lane | None = None,
        message: ProtocolMessage | None = None,
    ) -> Mapping[str, str]:
        """Record a message to some members, then hand it over; return the reason for each that it did not reach.

        If cancelled before it is recorded, nobody gets it.

        Args:
            sender: Name of the sending member, or the label of another agent.
            targets: The recipients.
            text: The text for their models.
            summary: Summary of the text.
            lane: Lane of their mailboxes; by default the lead's messages precede the others'.
            message: The protocol message that the text stands for.

        Raises:
            JournalError: It could not be recorded; nobody got it.
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

    async def _carry_out(self, letter: SendMessageCall, said: Mapping[str, Any], me: Member | None) -> Told:
        spoken: Spoken | WireProblem = read_spoken(said)
        if isinstance(spoken, WireProblem):
            raise SendRefused("unreadable", spoken.text)
        if letter.to == EVERYBODY:
            raise SendRefused(
                "broadcast", f"{spoken.type} must have one recipient; only a text can be sent to everybody"
            )
        handler = self.handlers.get(type(spoken))
        if me is None or handler is None:
            raise SendRefused("not_yours", f"only members of a team may send {spoken.type}")
        return await handler(me, letter, spoken)

    # --- pieces of sending -----------------------------------------------------------------------------------------

    def _record(self, sender: str, targets: Iterable[Member], text: str, summary: str) -> list[Mail]:
        """Record messages as sent.

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
        """Return messages once they are durably recorded; if that fails, or is interrupted, return them to their sender."""
        try:
            await self.roster.wait_durable()
        except BaseException as error:
            why = "its sender was interrupted" if is_cancelled(error) else "it could not be recorded"
            for mail in mails:
                self._return(mail, why)
            raise
        return mails

    def _deliver(self, member: Member, mail: Mail, text: str, lane: Lane) -> str:
        """Hand a message over; return the reason if that failed, or an empty text."""
        if self.roster.members.get(member.name) is not member or member.ref.is_gone:
            return self._keep(member, mail)
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
            return _FULL if delivery is Delivery.FULL else self._keep(member, mail)
        self._waiting[mail.mail] = mail
        if member.name not in self._watched:
            self._watched.add(member.name)
            member.ref.watch(partial(self._note_ended, member))
        return ""

    def _comes_back(self, member: Member) -> bool:
        """True if a member that ends now reads its mail when the team is open again: a lead ends with its session only."""
        return member.is_lead or self.is_closing or self.roster.home.is_closing()

    def _keep(self, member: Member, mail: Mail) -> str:
        """Leave a message to an ended member unread for its return; return the reason if it will not come back."""
        if not self._comes_back(member):
            return _ENDED
        self._waiting[mail.mail] = mail
        return ""

    def _note_said(self, sender: str, member: Member, summary: str) -> None:
        """Record what a teammate told others, for the lead's next idle notice."""
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

    def _bury(self, letter: SendMessageCall, me: Member | None) -> None:
        """Record a message to an ended member as one that nobody will read."""
        self._last += 1
        name = plain_name(letter.to, self.roster.team)
        text = letter.body if isinstance(letter.body, str) else ""
        sender = "" if me is None else me.name
        mail = Mail(
            team=self.roster.team, mail=self._last, sender=sender, to=name, summary=letter.summary, text=_cut(text)
        )
        self._return(mail, f"{name} had ended")

    def _note_ended(self, member: Member, _: Down) -> None:
        """Return the unread mail of an ended member, and notify its senders; if it comes back, its mail waits for it."""
        self._watched.discard(member.name)
        left = [mail for mail in self._waiting.values() if mail.to == member.name]
        if self._comes_back(member) or not left:
            return
        for mail in left:
            self._return(mail, f"{member.name} ended before it read it")
        for sender in dict.fromkeys(mail.sender for mail in left):
            writer = self.roster.members.get(sender)
            if writer is None or writer.ref.is_gone:
                continue
            said = "; ".join(mail.summary for mail in left if mail.sender == sender)
            text = f"{member.name} has ended, and has not read what you sent it: {escape_text(said)}"
            writer.ref.tell(Note(text, is_hidden=True, origin=AUTO_CONTINUATION), Lane.LATER, size_bytes=len(text))

    # --- what an earlier process left ------------------------------------------------------------------------------

    def take_up(self, left: Iterable[Mail]) -> None:
        """Hand over mail that was unread when the team was closed, or its process ended; under its old numbers."""
        for mail in left:
            self._last = max(self._last, mail.mail)
            member = self.roster.members.get(mail.to)
            lane = Lane.NEXT if mail.sender == LEAD else Lane.LATER
            said = read(mail.text)
            again = None if isinstance(said, WireProblem) else self.again.get(type(said))
            text = mail.text if again is None else again(said)
            if member is None:
                why = _ENDED
            else:
                why = self._deliver(member, mail, text, lane) if text else "its team was closed meanwhile"
            if why:
                self._return(mail, why)

    async def take_entries(self, to: str, entries: object) -> tuple[WireProblem, ...]:
        """Hand over the unread entries of an inbox from elsewhere; invalid ones are set aside.

        Returns the problems of these, which are recorded.

        Args:
            to: The member that owns the inbox.
            entries: The list of entries, as read from JSON.

        Raises:
            SendRefused: The member does not exist.
            JournalError: They cannot be recorded; nobody got them.
        """
        good, bad = read_inbox(entries)
        targets = self.targets(SendMessageCall(to=to, body="", summary=""), None)
        for problem in bad:
            self.roster.emit(MailQuarantined(team=self.roster.team, to=targets[0].name, problem=problem.text))
        for entry in good:
            if not entry.is_read:
                await self.hand_over(entry.sender, targets, _cut(entry.text), entry.summary or entry.text)
        return bad


def _summary_of(summary: str, text: str) -> str:
    """Return the summary unless it only repeats the beginning of the text."""
    return "" if summary == shortened(text) else summary


def _cut(text: str) -> str:
    left = len(text) - MAX_CHARS
    return text if left <= 0 else text[:MAX_CHARS] + CUT.format(left=left)
