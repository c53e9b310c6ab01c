"""`greenroom swarm` with a trap: the process sends itself a signal at a given event. Started by `tools.chaos.swarm`.

    python -m tools.chaos.swarm_child LOG TRAP ARGUMENT...

LOG gets a line for each model request, and one when the trap springs. TRAP is `none`, or `SIGNAL:WAIT_S:COMPLETED:EVENTS`: at
the event with that number, counted from the completion of that item (0: from the start), plus a wait.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any, Final, final

from greenroom.core import Event, Recorder

REQUEST: Final = "model.begin"
COMPLETED: Final = "item.completed"


@final
class Trap:
    """Counts events and sends the signal once."""

    def __init__(self, log: int, spec: str) -> None:
        self._log = log
        self._is_set = spec != "none"
        number, wait, self._completed, self._left = 0, 0.0, 0, 0
        if self._is_set:
            name, waited, completed, events = spec.split(":")
            number, wait = signal.Signals[name].value, float(waited)
            self._completed, self._left = int(completed), int(events)
        self._signal, self._wait_s = number, wait

    def note(self, seq: int, event: type[Event]) -> None:
        """Count an event; called in the step in which it is emitted."""
        if event.kind == REQUEST:
            os.write(self._log, b"request\n")
        if not self._is_set:
            return
        if self._completed:
            self._completed -= event.kind == COMPLETED
        elif self._left > 1:
            self._left -= 1
        else:
            self._is_set = False
            os.write(self._log, f"event {seq} {event.kind}\n".encode())
            self._send()

    def _send(self) -> None:
        if self._wait_s:
            threading.Timer(self._wait_s, os.kill, (os.getpid(), self._signal)).start()
        else:
            os.kill(os.getpid(), self._signal)


def main() -> None:
    """Run the command with the trap."""
    log, spec, *arguments = sys.argv[1:]
    trap = Trap(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), spec)
    emit = Recorder.emit_fields

    def emit_and_note(recorder: Recorder, event: type[Event], *fields: Any) -> int:
        seq = emit(recorder, event, *fields)
        trap.note(seq, event)
        return seq

    setattr(Recorder, "emit_fields", emit_and_note)  # noqa: B010 - the one place that all journal events pass
    from greenroom.__main__ import main as greenroom

    sys.argv[1:] = ["swarm", *arguments]
    greenroom()


if __name__ == "__main__":
    main()
