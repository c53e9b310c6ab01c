"""The order in which actors of a runtime started and ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from greenroom.actors import ActorCreated, ActorExited
from greenroom.supervisor import Runtime
from tests.actors.situations import events

if TYPE_CHECKING:
    pass


def life_of(opened: Runtime) -> list[str]:
    """Return starts and ends in order: `+a`, `-a`, from the first restart on."""
    names = {event.actor: event.path for event in events(opened, ActorCreated)}
    signs = {ActorCreated: "+", ActorExited: "-"}
    log = [
        signs[record[2]] + names[record[3]]
        for record in opened.recorder.latest()
        if record[2] in signs and names[record[3]]
    ]
    first = next(number for number, entry in enumerate(log) if entry.startswith("-"))
    return log[first:]
