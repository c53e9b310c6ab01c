"""Mutants of monitors: their batches, their reports, their ends."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_BATCHES: Final = "greenroom.tools.builtin._line_batches"
_BATCH_TESTS: Final = ("tests/tools/builtin/test_line_batches.py",)
_ENDS: Final = "greenroom.session.record._recovery"
_LINES: Final = ("R12-c",)
_MONITOR: Final = "greenroom.tools.builtin._monitor"
_MONITOR_TESTS: Final = ("tests/tools/builtin/test_monitor.py",)

MONITORS: Final = (
    Mutant(
        "a minute has one report more",
        _LINES,
        _BATCHES,
        "len(self._sent_s) >= MAX_BATCHES",
        "len(self._sent_s) > MAX_BATCHES",
        tests=_BATCH_TESTS,
    ),
    Mutant(
        "lines that are cut are not counted",
        _LINES,
        _BATCHES,
        "                self._cut += 1\n",
        "                pass\n",
        tests=_BATCH_TESTS,
    ),
    Mutant(
        "a refused report is forgotten",
        _LINES,
        _BATCHES,
        "        self.suppressed += len(batch.lines) + batch.suppressed\n",
        "        self.suppressed += batch.suppressed\n",
        tests=(*_BATCH_TESTS, *_MONITOR_TESTS),
    ),
    Mutant(
        "a batch never ends",
        _LINES,
        _BATCHES,
        "now_s - self._opened_s >= BATCH_S",
        "now_s - self._opened_s >= WINDOW_S",
        tests=_BATCH_TESTS,
    ),
    Mutant(
        "a pause ends no flood",
        _LINES,
        _BATCHES,
        "        if now_s - latest_s >= PAUSE_S:\n            first_s = now_s\n",
        "",
        tests=_BATCH_TESTS,
    ),
    Mutant(
        "the last lines are left in the file",
        _LINES,
        _MONITOR,
        "        await self._read()\n        now_s = trio.current_time()\n",
        "        now_s = trio.current_time()\n",
        tests=_MONITOR_TESTS,
    ),
    Mutant(
        "a flood goes on",
        _LINES,
        _MONITOR,
        "        while not self._batches.is_flooding:\n",
        "        while True:\n",
        tests=_MONITOR_TESTS,
    ),
    Mutant(
        "reports leave no room for others",
        ("R12-b",),
        "greenroom.session.parts._ground",
        ">= MAX_REPORTS:",
        ">= 10 * MAX_REPORTS:",
        tests=("tests/session/test_monitors.py",),
    ),
    Mutant(
        "an end that was told is told again",
        ("R12-d",),
        _ENDS,
        "        if view.notice_id not in told and not is_made_good and _is_to_be_told(view):\n",
        "        if not is_made_good and _is_to_be_told(view):\n",
        tests=("tests/session/test_killed_monitors.py",),
    ),
)
"""At least one for each promise of monitors."""
