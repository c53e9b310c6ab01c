"""Mutants of recovery: what a session resumes by itself, what it repeats, and what a closing one leaves."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_PLAN: Final = "greenroom.session.record._recovery_plan"
_STATE: Final = "greenroom.agents._state"
_TESTS: Final = ("tests/session/test_self_resumption.py",)

RECOVERY: Final = (
    Mutant(
        "something new comes before the turn that was cut",
        ("R7-turn",),
        "greenroom.session.record._main_start",
        "home.start_from(self.loaded, resumes=resumes, is_held=True)",
        "home.start_from(self.loaded, resumes='', is_held=True)",
        tests=_TESTS,
    ),
    Mutant(
        "a turn that is left is resumed",
        ("R7-leave",),
        _PLAN,
        'TurnPlan.RESUME if settings.cut_turns == "resume" else TurnPlan.HOLD',
        "TurnPlan.RESUME",
        tests=_TESTS,
    ),
    Mutant(
        "a lost agent is resumed a fourth time",
        ("R7-agents",),
        _PLAN,
        "end.recoveries < MAX_RECOVERIES",
        "end.recoveries <= MAX_RECOVERIES",
        tests=_TESTS,
    ),
    Mutant(
        "a closing session begins a turn",
        ("R7-closing",),
        _STATE,
        "            self.ref.suspend(why=CLOSING)\n",
        "            pass\n",
        tests=_TESTS,
    ),
    Mutant(
        "a run with nothing to do is opened",
        ("R7-d",),
        "greenroom.headless._runner",
        "    unfinished = await find_unfinished(run, runs, ports)\n",
        "    unfinished = await find_unfinished(run, runs, ports)\n    return\n",
        tests=("tests/headless/test_run_resumed.py",),
    ),
    Mutant(
        "the turn of a killed process is not finished",
        ("RM-10",),
        _STATE,
        "        self.is_cut = bool(resumes) and loaded.was_lost\n",
        "        resumes = ''\n        self.is_cut = bool(resumes) and loaded.was_lost\n",
        tests=_TESTS,
    ),
)
"""At least one for each promise of recovery."""
