"""Events in words: which of them a view shows, under which name, and what it says about them.

Rule 1: a line is about one transition and keeps its form: name, kind, details. Rule 2: text of a model or a file is put
on one line and cannot move the cursor.
Must not know: terminals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast, final

from greenroom.actors import (
    AbortRequested,
    ActorBegan,
    ActorCreated,
    ActorExited,
    ActorUnresponsive,
    DrainRequested,
    KillOverran,
    KillRequested,
    StopRequested,
    TurnBegan,
    TurnEnded,
)
from greenroom.agents import AgentSpoke, ModelBegan, ModelEnded, ModelRetried, ToolBegan, ToolEnded
from greenroom.core import Event, printable_text
from greenroom.mailbox import MessageDied
from greenroom.session import ElicitationAnswered, ElicitationAsked, SessionBegan, SessionEnded, SessionTitled
from greenroom.supervisor import ChildRestarted, SupervisorEscalated, TreeNode
from greenroom.teams import (
    ItemAssigned,
    ItemClaimed,
    ItemCompleted,
    ItemCreated,
    ItemDeleted,
    ItemEdited,
    ItemLinked,
    ItemReleased,
    MailSent,
)

Words: TypeAlias = Callable[[Any], str]
LEAD: Final = "lead"
_ID: Final = re.compile(r"\ba[0-9a-f]{16}\b")


def printable(text: str, most: int = 160) -> str:
    """Return text on one line, without control characters, cut where it is long."""
    line = printable_text(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def short_name(path: str) -> str:
    """Return how a view calls the actor at a path: `lead`, `board`, `mate-2`."""
    parts = path.split("/")
    if parts[-1] == "main":
        return LEAD
    return parts[-1] or "runtime"


def _ended(event: Any) -> str:
    cause = f" ({event.cause.who}: {event.cause.why})" if event.cause is not None and event.state != "completed" else ""
    return printable(f"{event.state}{cause} {event.error}".strip())


def _model_ended(event: ModelEnded) -> str:
    read = event.input_tokens + event.cache_creation_input_tokens + event.cache_read_input_tokens
    tokens = f"{read} tokens in, {event.output_tokens} out"
    return printable(f"{event.state} {event.error}".strip()) if event.state != "completed" else tokens


def _model_retried(event: ModelRetried) -> str:
    of = f" of {event.attempts}" if event.attempts else ""
    status = f" {event.status}" if event.status is not None else ""
    return printable(f"{event.error}{status}, attempt {event.attempt}{of} in {event.delay_s:.1f} s")


def _linked(event: ItemLinked) -> str:
    links = {"waits for": event.added, "waits no more for": event.removed}
    return ", ".join(f"{word} {' '.join(f'#{one}' for one in items)}" for word, items in links.items() if items)


_WORDS: Final[Mapping[type[Event], Words]] = cast(
    "Mapping[type[Event], Words]",
    {
        SessionBegan: lambda one: f"{one.session} {one.model}",
        SessionTitled: lambda one: printable(one.title),
        ElicitationAsked: lambda one: printable(f"{one.server}: {one.message}"),
        ElicitationAnswered: lambda one: printable(f"{one.server}: {one.action} by {one.who or 'nobody'}"),
        SessionEnded: lambda one: printable(f"{one.state} {one.error}".strip()),
        ActorCreated: lambda one: one.path,
        ActorBegan: lambda one: f"incarnation {one.inc}" if one.inc > 1 else "",
        ActorExited: _ended,
        KillOverran: lambda one: f"ended {one.seconds:.3g} s after it was killed, and had {one.grace_s:g} s",
        ActorUnresponsive: lambda _: "does not end although it was killed",
        StopRequested: lambda one: printable(f"{one.cause.who}: {one.cause.why}"),
        DrainRequested: lambda one: printable(f"{one.cause.who}: {one.cause.why}"),
        KillRequested: lambda one: printable(f"{one.cause.who}: {one.cause.why}"),
        AbortRequested: lambda one: printable(f"turn {one.turn} {one.cause.who}: {one.cause.why}"),
        TurnBegan: lambda one: f"turn {one.turn}",
        TurnEnded: lambda one: f"turn {one.turn} {_ended(one)}",
        ModelBegan: lambda one: f"round {one.round}, {one.messages} messages",
        ModelEnded: _model_ended,
        ModelRetried: _model_retried,
        ToolBegan: lambda one: printable(f"{one.tool} {one.summary}"),
        ToolEnded: lambda one: printable(f"{one.tool} {one.state} {one.error}".strip()),
        AgentSpoke: lambda one: printable(one.text),
        ItemCreated: lambda one: printable(f"#{one.item} {one.subject}"),
        ItemAssigned: lambda one: f"#{one.item} to {one.owner} by {one.by}",
        ItemClaimed: lambda one: f"#{one.item} by {one.owner}",
        ItemCompleted: lambda one: f"#{one.item} by {one.by}",
        ItemReleased: lambda one: printable(f"#{one.item} from {one.owner}: {one.why}"),
        ItemEdited: lambda one: printable(f"#{one.item} {one.subject}"),
        ItemLinked: lambda one: f"#{one.item} {_linked(one)}",
        ItemDeleted: lambda one: f"#{one.item} by {one.by}",
        MailSent: lambda one: printable(f"to {one.to}: {one.summary}"),
        MessageDied: lambda one: f"message {one.msg} {one.type}: {one.reason}",
        ChildRestarted: lambda one: f"restart {one.restarts} of {', '.join(one.together)} in {one.delay_s:g} s",
        SupervisorEscalated: lambda one: f"gave up on {one.child} after {one.restarts} restarts",
    },
)


@final
class Narrator:
    """Turns the events of a session into lines; it remembers which actor has which name."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._subjects: dict[str, str] = {}

    def name_of(self, actor: str) -> str:
        """Return how the actor with this id is called."""
        return self._names.get(actor, actor) if actor else "session"

    def introduce(self, node: TreeNode) -> None:
        """Take note of the actors that were there before the first event."""
        self._names[node.id] = short_name(node.path)
        for child in node.children:
            self.introduce(child)

    def news(self, event: Event) -> str | None:
        """Return a sentence on what is worth one in a view that shows the state anyway, None for the rest."""
        match event:
            case ItemCreated():
                self._subjects[event.item] = event.subject
            case ItemCompleted():
                return printable(f"{event.by} completed #{event.item}: {self._subjects.get(event.item, '')}")
            case ItemReleased():
                return printable(f"#{event.item} came back from {event.owner}: {event.why}")
            case AgentSpoke() if self.name_of(event.actor) == LEAD:
                return printable(f"lead: {event.text}")
            case ChildRestarted() | SupervisorEscalated():
                return printable(f"{self.name_of(event.actor)}: {_WORDS[type(event)](event)}")
        return None

    def words(self, event: Event) -> tuple[str, str, str] | None:
        """Return name, kind and details of an event, None for one that is not shown."""
        if isinstance(event, ActorCreated):
            self._names[event.actor] = short_name(event.path)
        words = _WORDS.get(type(event))
        if words is None:
            return None
        details = _ID.sub(lambda found: self.name_of(found[0]), words(event))
        return self.name_of(event.actor), event.kind, details
