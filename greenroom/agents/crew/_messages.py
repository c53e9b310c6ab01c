"""Messages to agents, and going on with those that have ended (agents 6F).

Rule 1: what is said to have been sent has been accepted by a living actor, or has started a new run. Rule 2: an id is for
ever, a name is what the latest agent of that name is called; where that changed, the sender is told instead of the wrong one.
Rule 3: an agent that a person stopped is gone on with by a person only. Rule 4: one run of an agent at a time.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, final

import attrs

from greenroom.agents._inputs import Note
from greenroom.agents._loading import Loaded
from greenroom.agents._services import AgentHome, Lineage
from greenroom.agents.crew._agent_tool import is_one_shot
from greenroom.agents.crew._crew import SEND_MESSAGE, Crew
from greenroom.agents.crew._fork import fork_home
from greenroom.agents.crew._orders import ChildWish, Member, Order
from greenroom.core import UsageError
from greenroom.inbox import COORDINATOR
from greenroom.mailbox import Delivery, Lane
from greenroom.tools import Tool, ToolContext, ToolError, tool

MAIN: Final = "main"


class Archive(Protocol):
    """Where agents are found that are not in memory."""

    async def load(self, agent_id: str) -> tuple[Mapping[str, Any], Loaded]:
        """Return what is kept of an agent, and its conversation.

        Raises:
            UsageError: There is nothing of it.
        """
        ...


@final
@attrs.frozen(kw_only=True)
class Sent:
    """What became of a message."""

    to: str
    """Id of the agent."""
    has_resumed: bool
    """Whether it had ended, and goes on in the background."""
    output_file: str = ""

    @property
    def text(self) -> str:
        """What the sender reads."""
        if not self.has_resumed:
            return f"Message sent to {self.to}; it reads it at its next step."
        return (
            f"{self.to} had ended and goes on in the background with your message. A notice tells you when it has ended. "
            f"output_file: {self.output_file}"
        )


@final
@attrs.frozen(eq=False)
class Post:
    """Delivers messages between the agents of a session."""

    crew: Crew
    archive: Archive | None = None

    async def send(self, to: str, text: str, *, sender: str = "", by_user: bool = False) -> Sent:
        """Send a message to an agent, and go on with it if it has ended.

        Args:
            to: `main`, an id or a name.
            text: What it reads.
            sender: Id of the agent that sends; empty for the host.
            by_user: Whether a person does, to this very agent.

        Raises:
            ToolError: There is no such agent, or it may not be gone on with; the text says why.
        """
        crew = self.crew
        if to == MAIN or (crew.main is not None and to == crew.main.id):
            if crew.main is None or sender in {"", crew.main.id}:
                raise ToolError(
                    "a message to main is for its sub-agents; you are main" if sender else "use the session"
                )
            _accepted(crew.main.tell(self._note(text, sender), Lane.LATER, size_bytes=len(text)), to)
            return Sent(to=MAIN, has_resumed=False)
        agent_id = self._find(to)
        if agent_id == sender:
            raise ToolError("that is you: a message to yourself reaches nobody")
        member = crew.members.get(agent_id)
        if member is not None and member.is_running:
            if member.ref is None:
                member.first = f"{member.first}\n\n{text}"
                return Sent(to=agent_id, has_resumed=False)
            delivery = member.ref.tell(self._note(text, sender), Lane.LATER, size_bytes=len(text))
            if delivery is not Delivery.CLOSED:
                _accepted(delivery, to)
                return Sent(to=agent_id, has_resumed=False)
            await member.task.wait_finished()  # it has come to its end and takes nothing any more: this moment
        member = await self.resume(agent_id, text, sender=sender, by_user=by_user)
        return Sent(to=agent_id, has_resumed=True, output_file=str(member.task.info.output_file))

    async def resume(self, agent_id: str, text: str, *, sender: str = "", by_user: bool = False) -> Member:
        """Start another run of an agent that has ended, in the background: same id, conversation, model and place.

        Raises:
            ToolError: It may not be gone on with, or nothing is left of it.
        """
        crew = self.crew
        if not crew.claim(agent_id):
            raise ToolError(f"the agent {agent_id!r} is already resuming")
        try:
            member = crew.members.get(agent_id)
            if member is None:
                member = await self._revive(agent_id)
            task = member.task
            if not task.is_finished:
                raise ToolError(f"the agent {agent_id!r} runs again already; send the message once more")
            if is_one_shot(member.definition):
                raise ToolError(
                    f"an agent of type {member.definition.name!r} cannot be continued; start another one with all it needs"
                )
            if task.is_stopped_by_user and not by_user:
                raise ToolError(
                    f"the agent {agent_id!r} was stopped by the user, and only the user goes on with it; ask them"
                )
            await task.wait_settled()
            await crew.get_ready(member)
            crew.begin_again(member, self._note(text, sender), owner=sender)
        except UsageError as error:
            raise ToolError(str(error)) from error
        finally:
            crew.unclaim(agent_id)
        return member

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _note(self, text: str, sender: str) -> Note:
        label = self._label(sender)
        if label == MAIN and self.crew.settings.coordinator:
            return Note(text, sender=label, origin=COORDINATOR)
        return Note(text, sender=label)

    def _label(self, sender: str) -> str:
        crew = self.crew
        if not sender:
            return ""
        if crew.main is not None and sender == crew.main.id:
            return MAIN
        member = crew.members.get(sender)
        return sender if member is None else member.label

    def _find(self, to: str) -> str:
        crew = self.crew
        holders = crew.names.get(to)
        if holders is None:
            if to in crew.members or _is_id(to):
                return to
            raise ToolError(self._unknown(to))
        if len(holders) > 1:
            earlier = ", ".join(holders[:-1])
            raise ToolError(
                f"nothing was sent: {to!r} is now the agent {holders[-1]}, and was {earlier} before; send to the id"
            )
        return holders[0]

    def _unknown(self, to: str) -> str:
        known = [*self.crew.names, *(one.id for one in self.crew.members.values() if one.is_running)]
        near = difflib.get_close_matches(to, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known[:20]) or 'none'}"
        return f"nothing was sent: there is no agent {to!r}; {hint}"

    async def _revive(self, agent_id: str) -> Member:
        """Return an agent that is not in memory, with the conversation of its transcript."""
        if self.archive is None:
            raise ToolError(f"nothing was sent: there is no agent {agent_id!r}")
        record, loaded = await self.archive.load(agent_id)
        crew = self.crew
        definitions = await crew.ground.find_definitions()
        lineage = Lineage(above=tuple(record.get("above") or ()), skills=tuple(record.get("skills") or ()))
        main = crew.main_home
        assert main is not None
        place = Path(record.get("worktree") or record.get("cwd") or main.cwd)
        roots = (place,) if record.get("worktree") else None
        is_fork = bool(record.get("isFork"))
        is_worker = bool(record.get("isWorker"))
        definition = main.definition if is_fork else definitions.find(str(record.get("agentType")))

        def make(lineage: Lineage) -> AgentHome:
            if is_fork:
                return fork_home(main, lineage)
            return crew.ground.make_child(
                ChildWish(
                    definition=definition,
                    parent=main,
                    lineage=lineage,
                    exact_model=str(record.get("model") or ""),
                    is_background=True,
                    is_worker=is_worker,
                    place=place,
                    own_roots=roots,
                )
            )

        order = Order(
            home=make,
            definition=definition,
            prompt="",
            description=str(record.get("description") or definition.name),
            is_background=True,
            is_fork=is_fork,
            is_worker=is_worker,
            in_worktree=bool(record.get("inWorktree")),
            name=str(record.get("name") or ""),
        )
        member = crew.revive(agent_id, order, lineage, loaded, run=int(record.get("run") or 1))
        member.task.is_stopped_by_user = bool(record.get("isStoppedByUser"))
        member.kept_path = str(record.get("worktree") or "")
        return member


def make_send_message(post: Post, wait_durable: Callable[[], Awaitable[None]] | None = None) -> Tool:
    """Return the tool SendMessage of a session."""

    @tool(name=SEND_MESSAGE)
    async def send_message(to: str, message: str, *, summary: str = "", ctx: ToolContext) -> str:
        """Send a message to another agent of this session, or go on with one that has ended.

        A running agent reads it at its next step. One that has ended goes on in the background with it, with all that it
        knew, and a notice tells you when it has ended again. What you write as plain text reaches no other agent.

        Args:
            to: The id of the agent, its name, or `main` for the agent of this session.
            message: What it reads.
            summary: What the message is about, in 5 to 10 words, for people.
        """
        if not message.strip():
            raise ToolError("nothing was sent: the message is blank")
        ctx.progress(f"Sending a message to {to}: {summary or message.splitlines()[0][:60]}")
        sent = await post.send(to.strip(), message, sender=ctx.actor)
        if wait_durable is not None:
            await wait_durable()
        ctx.attach({"success": True, "message": sent.text, "to": sent.to})
        return sent.text

    return send_message


def _accepted(delivery: Delivery, to: str) -> None:
    if delivery is Delivery.FULL:
        raise ToolError(f"nothing was sent: the mailbox of {to!r} is full; wait until it has read what is there")
    if delivery is Delivery.CLOSED:
        raise ToolError(f"nothing was sent: {to!r} has ended")


def _is_id(text: str) -> bool:
    return len(text) == 17 and text.startswith("a") and all(one in "0123456789abcdef" for one in text[1:])
