"""The words in which views show events: name, kind and details, on one line that cannot move the cursor.

Events are known by their kind and fields, as the journal has them, so that this folder needs none of those that declare them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

from greenroom.terminal._output import printable

if TYPE_CHECKING:
    from greenroom.supervisor import TreeNode

Words: TypeAlias = Callable[[Any], str]
LEAD: Final = "lead"
_ID: Final = re.compile(r"\ba[0-9a-f]{16}\b")


def short_name(path: str) -> str:
    """Return the name under which views show the actor at a path: `lead`, `board`, `mate-2`."""
    parts = path.split("/")
    if parts[-1] == "main":
        return LEAD
    return parts[-1] or "runtime"


def _ended(event: Any) -> str:
    cause = f" ({event.cause.who}: {event.cause.why})" if event.cause is not None and event.state != "completed" else ""
    return printable(f"{event.state}{cause} {event.error}".strip())


def _model_ended(event: Any) -> str:
    read = event.input_tokens + event.cache_creation_input_tokens + event.cache_read_input_tokens
    tokens = f"{read} tokens in, {event.output_tokens} out"
    return printable(f"{event.state} {event.error}".strip()) if event.state != "completed" else tokens


def _model_retried(event: Any) -> str:
    of = f" of {event.attempts}" if event.attempts else ""
    status = f" {event.status}" if event.status is not None else ""
    return printable(f"{event.error}{status}, attempt {event.attempt}{of} in {event.delay_s:.1f} s")


def _linked(event: Any) -> str:
    links = {"waits for": event.added, "no longer waits for": event.removed}
    return ", ".join(f"{word} {' '.join(f'#{item}' for item in items)}" for word, items in links.items() if items)


EVENT_WORDS: Final[Mapping[str, Words]] = {
    "session.begin": lambda event: f"{event.session} {event.model}",
    "session.titled": lambda event: printable(event.title),
    "elicitation.asked": lambda event: printable(f"{event.server}: {event.message}"),
    "elicitation.answered": lambda event: printable(f"{event.server}: {event.action} by {event.who or 'nobody'}"),
    "session.end": lambda event: printable(f"{event.state} {event.error}".strip()),
    "actor.new": lambda event: event.path,
    "actor.begin": lambda event: f"incarnation {event.inc}" if event.inc > 1 else "",
    "actor.end": _ended,
    "actor.overran": lambda event: f"ended {event.seconds:.3g} s after it was killed, and had {event.grace_s:g} s",
    "actor.unresponsive": lambda _: "does not end although it was killed",
    "actor.stop_requested": lambda event: printable(f"{event.cause.who}: {event.cause.why}"),
    "actor.drain_requested": lambda event: printable(f"{event.cause.who}: {event.cause.why}"),
    "actor.kill_requested": lambda event: printable(f"{event.cause.who}: {event.cause.why}"),
    "turn.abort_requested": lambda event: printable(f"turn {event.turn} {event.cause.who}: {event.cause.why}"),
    "turn.begin": lambda event: f"turn {event.turn}",
    "turn.end": lambda event: f"turn {event.turn} {_ended(event)}",
    "model.begin": lambda event: f"round {event.round}, {event.messages} messages",
    "model.end": _model_ended,
    "model.retried": _model_retried,
    "tool.begin": lambda event: printable(f"{event.tool} {event.summary}"),
    "tool.end": lambda event: printable(f"{event.tool} {event.state} {event.error}".strip()),
    "agent.spoke": lambda event: printable(event.text),
    "item.created": lambda event: printable(f"#{event.item} {event.subject}"),
    "item.assigned": lambda event: f"#{event.item} to {event.owner} by {event.by}",
    "item.claimed": lambda event: f"#{event.item} by {event.owner}",
    "item.completed": lambda event: f"#{event.item} by {event.by}",
    "item.released": lambda event: printable(f"#{event.item} from {event.owner}: {event.why}"),
    "item.edited": lambda event: printable(f"#{event.item} {event.subject}"),
    "item.linked": lambda event: f"#{event.item} {_linked(event)}",
    "item.deleted": lambda event: f"#{event.item} by {event.by}",
    "mail.sent": lambda event: printable(f"to {event.to}: {event.summary}"),
    "message.died": lambda event: f"message {event.msg} {event.type}: {event.reason}",
    "child.restarted": lambda event: f"restart {event.restarts} of {', '.join(event.together)} in {event.delay_s:g} s",
    "supervisor.escalated": lambda event: f"gave up on {event.child} after {event.restarts} restarts",
}


@final
class Narrator:
    """A translator of the events of a session into lines; it remembers the names of actors."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name_of(self, actor: str) -> str:
        """Return the name of the actor with this id."""
        return self._names.get(actor, actor) if actor else "session"

    def introduce(self, node: TreeNode) -> None:
        """Record the names of the actors that existed before the first event."""
        self._names[node.id] = short_name(node.path)
        for child in node.children:
            self.introduce(child)

    def words(self, event: Any) -> tuple[str, str, str] | None:
        """Return name, kind and details of an event; None for an event that is not shown."""
        if event.kind == "actor.new":
            self._names[event.actor] = short_name(event.path)
        words = EVENT_WORDS.get(event.kind)
        if words is None:
            return None
        details = _ID.sub(lambda found: self.name_of(found[0]), words(event))
        return self.name_of(event.actor), event.kind, details
