"""Messages to agents, and the resume of agents that have ended.

A message that is reported as sent was accepted by a living actor, or has started a new run. An id is permanent; a name
belongs to the latest agent that got it, and if that has changed, the sender gets an error instead of the wrong agent the
message. An agent that a person stopped is resumed by a person only. An agent has one run at a time.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, final

import attrs

from greenroom.agents._conversation_loader import Loaded
from greenroom.agents._definition import AgentDefinition
from greenroom.agents._inputs import Note, render
from greenroom.agents._profile import Lineage
from greenroom.agents._state import AgentState
from greenroom.agents.definitions import Definitions
from greenroom.agents.delegation._send_message_call import EVERYBODY, SendMessageCall
from greenroom.agents.subagents._agent_tool import is_one_shot
from greenroom.agents.subagents._fork import FORK, as_fork, fork_home
from greenroom.agents.subagents._peers import LetterAnswer, Peers
from greenroom.agents.subagents._spawn_orders import SpawnOrder, SubagentSpec
from greenroom.agents.subagents._subagent import Subagent
from greenroom.agents.subagents._subagent_pool import SubagentPool
from greenroom.core import PeerError, UsageError
from greenroom.inbox import COORDINATOR
from greenroom.mailbox import Delivery, Lane
from greenroom.permissions import OTHER_SESSION, OUTSIDE
from greenroom.tools import ToolError

MAIN: Final = "main"
SESSION: Final = OTHER_SESSION
"""The prefix of the address of another session."""
_WHERE: Final[Mapping[LetterAnswer, str]] = {
    "delivered": "delivered; it reads it when it can, and answers if it wants to.",
    "stored": "stored; the session does not run, and reads it when it is opened again.",
    "held": "held; a person there has to let it in within five minutes.",
}

Refusal: TypeAlias = Literal[
    "unknown_recipient",
    "name_changed_hands",
    "broadcast",
    "yourself",
    "you_are_main",
    "ended",
    "full",
    "already_resuming",
    "one_shot",
    "stopped_by_user",
    "cannot_resume",
    "other_session",
    "needs_team",
    "two_of_that_name",
    "not_yours",
    "unreadable",
    "not_recorded",
    "only_messages",
]


@final
class SendRefused(ToolError):
    """Nothing was sent; the text says why and what to do.

    Attributes:
        kind: Which of the refusals it is.
        near: Names and ids that are much like the one that was not known.
    """

    def __init__(self, kind: Refusal, text: str, *, near: tuple[str, ...] = (), is_whole: bool = False) -> None:
        super().__init__(text if is_whole else f"nothing was sent: {text}")
        self.kind = kind
        self.near = near


@final
@attrs.frozen(kw_only=True)
class Told:
    """The reply to the sender of a message."""

    text: str
    target: str
    """The recipient."""
    sender: str
    """The sender's name for the recipient."""
    more: Mapping[str, Any] = attrs.field(factory=dict)
    """Further data for programs, such as the `request_id` of a request."""


class TeamPost(Protocol):
    """The port to the members of a session's team; implemented on the floor above."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members."""
        ...

    def is_for(self, letter: SendMessageCall, sender: str) -> bool:
        """Return True if a message of that agent is for members of the team."""
        ...

    async def send(self, letter: SendMessageCall, sender: str, label: str) -> Told:
        """Send a message of that agent, whom others know by that label, and return when it is recorded and sent.

        Raises:
            SendRefused: It was not sent, to anybody.
        """
        ...


class Archive(Protocol):
    """The store of agents that are not in memory."""

    async def load(self, agent_id: str) -> tuple[Mapping[str, Any], Loaded]:
        """Return the record of an agent, and its conversation.

        Raises:
            UsageError: There is nothing of it.
        """
        ...


@final
@attrs.frozen(kw_only=True)
class Sent:
    """The result of sending a message."""

    to: str
    """Id of the agent."""
    has_resumed: bool
    """True if it had ended, and is resumed in the background."""
    output_file: str = ""
    answer: LetterAnswer = "delivered"
    """Where a message to another session is."""

    @property
    def text(self) -> str:
        """The text that the sender reads."""
        if self.to.startswith(OUTSIDE):
            return f"Message to the main agent of {self.to}: {_WHERE[self.answer]}"
        if not self.has_resumed:
            return f"Message sent to {self.to}; it reads it at its next step."
        return (
            f"{self.to} had ended and goes on in the background with your message. A notice tells you when it has ended. "
            f"output_file: {self.output_file}"
        )


@final
@attrs.define(eq=False)
class Post:
    """Delivers messages between the agents of a session."""

    pool: SubagentPool
    archive: Archive | None = None
    peers: Peers | None = None
    """None: this session reaches no other."""
    team: TeamPost | None = None
    """The team that is open; None while there is none."""

    async def deliver(self, letter: SendMessageCall, sender: str) -> Told:
        """Send a model's message to members of the team or to other agents.

        Raises:
            SendRefused: It was not sent.
        """
        team = self.team
        if team is not None and team.is_for(letter, sender):
            if letter.to in self.pool.names and letter.to in team.names:
                why = f"{letter.to!r} is a teammate and another agent; send to the agent's id, or to name@team"
                raise SendRefused("two_of_that_name", why)
            return await team.send(letter, sender, self.label(sender))
        if not isinstance(letter.body, str):
            why = f"{letter.body.get('type')} is for members of a team, and there is no team"
            raise SendRefused("needs_team", why)
        sent = await self.send(letter.to, letter.body, sender=sender)
        return Told(text=sent.text, target=sent.to, sender=self.label(sender))

    async def send(self, to: str, text: str, *, sender: str = "", by_user: bool = False) -> Sent:
        """Send a message to an agent, and resume the agent if it has ended.

        Args:
            to: `main`, an id, a name, or `session:<id>` for the main agent of another session.
            text: What it reads.
            sender: Id of the agent that sends; empty for the host.
            by_user: Whether a person does, to this very agent.

        Raises:
            SendRefused: There is no such agent, or it may not be resumed.
        """
        pool = self.pool
        if to == EVERYBODY:
            raise SendRefused("broadcast", "only a team is told something together; name one agent")
        if to.startswith(OUTSIDE):
            return await self._send_away(to, text)
        if to == MAIN or (pool.main is not None and to == pool.main.id):
            if pool.main is None or sender in {"", pool.main.id}:
                why = "a message to main is for its sub-agents; you are main" if sender else "use the session"
                raise SendRefused("you_are_main", why)
            _accepted(pool.main.tell(self._note(text, sender), Lane.LATER, size_bytes=len(text)), to)
            return Sent(to=MAIN, has_resumed=False)
        agent_id = self._find(to)
        if agent_id == sender:
            raise SendRefused("yourself", "that is you, and a message to yourself reaches nobody")
        subagent = pool.subagents.get(agent_id)
        if subagent is not None and subagent.is_running:
            if subagent.ref is None:
                subagent.add_to_first(render(self._note(text, sender)))
                return Sent(to=agent_id, has_resumed=False)
            delivery = subagent.ref.tell(self._note(text, sender), Lane.LATER, size_bytes=len(text))
            if delivery is not Delivery.CLOSED:
                _accepted(delivery, to)
                return Sent(to=agent_id, has_resumed=False)
            await subagent.task.wait_finished()  # it has come to its end and takes nothing any more: this moment
        subagent = await self.resume(agent_id, text, sender=sender, by_user=by_user)
        return Sent(to=agent_id, has_resumed=True, output_file=str(subagent.task.info.output_file))

    async def resume(self, agent_id: str, text: str, *, sender: str = "", by_user: bool = False) -> Subagent:
        """Start another run of an agent that has ended, in the background: same id, conversation, model and place.

        Raises:
            SendRefused: It may not be resumed, or nothing is left of it.
            ToolError: Its worktree is gone.
        """
        pool = self.pool
        if not pool.claim(agent_id):
            raise SendRefused("already_resuming", f"the agent {agent_id!r} is already resuming; send it once more")
        try:
            subagent = pool.subagents.get(agent_id)
            if subagent is None:
                subagent = await self._load(agent_id)
            task = subagent.task
            if not task.is_finished:
                raise SendRefused("already_resuming", f"the agent {agent_id!r} runs again already; send it once more")
            if is_one_shot(subagent.definition):
                kind = subagent.definition.name
                why = f"an agent of type {kind!r} cannot be continued; start another one with all it needs"
                raise SendRefused("one_shot", why)
            if task.is_stopped_by_user and not by_user:
                why = f"the agent {agent_id!r} was stopped by the user, and only the user goes on with it; ask them"
                raise SendRefused("stopped_by_user", why)
            await task.wait_settled()
            await pool.prepare_run(subagent)
            pool.start_run(subagent, self._note(text, sender), owner=sender)
        except UsageError as error:
            raise SendRefused("cannot_resume", str(error)) from error
        finally:
            pool.release_claim(agent_id)
        return subagent

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _note(self, text: str, sender: str) -> Note:
        label = self.label(sender)
        if label == MAIN and self.pool.settings.coordinator:
            return Note(text, sender=label, origin=COORDINATOR)
        return Note(text, sender=label)

    def label(self, sender: str) -> str:
        """Return the name by which the reader of a message knows its sender."""
        pool = self.pool
        if not sender:
            return ""
        if pool.main is not None and sender == pool.main.id:
            return MAIN
        subagent = pool.subagents.get(sender)
        return sender if subagent is None else subagent.label

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _find(self, to: str) -> str:
        pool = self.pool
        holders = pool.names.get(to)
        if holders is None:
            if to in pool.subagents or _is_id(to):
                return to
            raise self._unknown(to)
        if len(holders) > 1:
            earlier = ", ".join(holders[:-1])
            why = f"{to!r} is now the agent {holders[-1]}, and was {earlier} before; send to the id"
            raise SendRefused("name_changed_hands", why)
        return holders[0]

    def _unknown(self, to: str) -> SendRefused:
        subagents = () if self.team is None else self.team.names
        known = [
            *subagents,
            *self.pool.names,
            *(subagent.id for subagent in self.pool.subagents.values() if subagent.is_running),
        ]
        near = tuple(difflib.get_close_matches(to.partition("@")[0], known, n=3))
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known[:20]) or 'none'}"
        return SendRefused("unknown_recipient", f"there is no agent {to!r}; {hint}", near=near)

    async def _send_away(self, to: str, text: str) -> Sent:
        if self.peers is None:
            raise SendRefused("other_session", "this session reaches no other one")
        try:
            answer = await self.peers.send(to, text)
        except PeerError as error:
            raise SendRefused("other_session", str(error)) from error
        return Sent(to=to, has_resumed=False, answer=answer)

    async def _load(self, agent_id: str) -> Subagent:
        """Load an agent that is not in memory, with the conversation of its transcript."""
        if self.archive is None:
            raise self._unknown(agent_id)
        record, loaded = await self.archive.load(agent_id)
        pool = self.pool
        definitions = await pool.ground.find_definitions()
        main = pool.main_home
        assert main is not None
        is_fork = bool(record.get("isFork"))
        lineage = _lineage_of(record)
        if is_fork:
            make = await self._rebuild_fork(record, self.archive, definitions, main)
            definition = attrs.evolve(main.profile.definition, name=FORK)
        else:
            definition = definitions.find(str(record.get("agentType")))
            make = partial(self._rebuild_child, record, definition, main)
        order = SpawnOrder(
            home=make,
            definition=definition,
            prompt="",
            description=str(record.get("description") or definition.name),
            is_background=True,
            is_fork=is_fork,
            is_worker=bool(record.get("isWorker")),
            in_worktree=bool(record.get("inWorktree")),
            name=str(record.get("name") or ""),
        )
        subagent = pool.restore(agent_id, order, lineage, loaded, run=int(record.get("run") or 1))
        subagent.task.is_stopped_by_user = bool(record.get("isStoppedByUser"))
        subagent.keep_worktree(str(record.get("worktree") or ""), str(record.get("branch") or ""))
        return subagent

    async def _rebuild_fork(
        self, record: Mapping[str, Any], archive: Archive, definitions: Definitions, main: AgentState
    ) -> Callable[[Lineage], AgentState]:
        """Return the maker of a fork's state: its system prompt, tools and limits are its parent's, not main's.

        Raises:
            UsageError: Nothing is left of the parent.
        """
        named = str(record.get("parent") or "")
        parent = self.pool.find_home(named) if named else main
        above: Mapping[str, Any] = {}
        definition = main.profile.definition
        if parent is None or parent.conversation is None:
            above, _ = await archive.load(named)
            definition = definitions.find(str(above.get("agentType")))

        def make(lineage: Lineage) -> AgentState:
            if parent is not None and parent.conversation is not None:
                home = fork_home(parent, lineage)
            else:
                is_background = bool(above.get("isBackground", True))
                made = self._rebuild_child(above, definition, main, _lineage_of(above), is_background=is_background)
                home = as_fork(made, lineage)
            home.replace(place=_place_of(record, main), own_roots=_roots_of(record))
            return home

        return make

    def _rebuild_child(
        self,
        record: Mapping[str, Any],
        definition: AgentDefinition,
        main: AgentState,
        lineage: Lineage,
        *,
        is_background: bool = True,
    ) -> AgentState:
        """Return the state of an agent, from its record."""
        return self.pool.ground.make_child(
            SubagentSpec(
                definition=definition,
                parent=main,
                lineage=lineage,
                exact_model=str(record.get("model") or ""),
                is_background=is_background,
                is_worker=bool(record.get("isWorker")),
                place=_place_of(record, main),
                own_roots=_roots_of(record),
            )
        )


def _place_of(record: Mapping[str, Any], main: AgentState) -> Path:
    return Path(record.get("worktree") or record.get("cwd") or main.cwd)


def _roots_of(record: Mapping[str, Any]) -> tuple[Path, ...] | None:
    roots = record.get("roots")
    return None if roots is None else tuple(map(Path, roots))


def _lineage_of(record: Mapping[str, Any]) -> Lineage:
    return Lineage(
        parent=str(record.get("parent") or ""),
        above=tuple(record.get("above") or ()),
        skills=tuple(record.get("skills") or ()),
    )


def _accepted(delivery: Delivery, to: str) -> None:
    if delivery is Delivery.FULL:
        raise SendRefused("full", f"the mailbox of {to!r} is full; wait until it has read what is there")
    if delivery is Delivery.CLOSED:
        raise SendRefused("ended", f"{to!r} has ended")


def _is_id(text: str) -> bool:
    return len(text) == 17 and text.startswith("a") and all(each in "0123456789abcdef" for each in text[1:])
