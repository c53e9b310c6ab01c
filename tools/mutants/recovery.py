"""Mutants of what a swarm keeps when it is cut: the order of its stop, mail of its last turns, the first step of its lead."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_EXIT: Final = "greenroom._exit_signals"
_LATE: Final = ("tests/cli/test_late_signals.py",)
_CUT: Final = ("tests/swarm/test_swarm_cut.py",)

RECOVERY: Final = (
    Mutant(
        "a board ends while teammates work",
        ("R7-stop",),
        "greenroom.supervisor._supervisor",
        "is Restart.PERMANENT) is is_last\n",
        "is Restart.PERMANENT) in (is_last, True)\n",
        tests=("tests/supervisor/test_stop_order.py", *_CUT),
    ),
    Mutant(
        "mail to a lead that has ended is returned",
        ("R7-a",),
        "greenroom.teams._mail",
        "        return member.is_lead or self.is_closing or self.roster.home.is_closing()\n",
        "        return self.is_closing\n",
        tests=("tests/teams/test_mail.py", *_CUT),
    ),
    Mutant(
        "a lead that mail wakes is prompted",
        ("R7-b",),
        "greenroom.swarm._resumption",
        "    return LeadStep.WAIT if is_coming else LeadStep.PROMPT\n",
        "    return LeadStep.PROMPT\n",
        tests=_CUT,
    ),
    Mutant(
        "a run is there before its options",
        ("R7-b",),
        "greenroom.session._open",
        "        for name, content in files.items():\n",
        "        for name, content in {}.items():\n",
        tests=_CUT,
    ),
    Mutant(
        "transcripts are written before the whole batch",
        ("R7-order",),
        "greenroom.trace._journal",
        "self._contents.append((len(self._lines) + len(self._records), file, content))",
        "self._contents.append((0, file, content))",
        tests=("tests/trace/test_write_order.py",),
    ),
    Mutant(
        "a resumed run has spent nothing",
        ("R7-money",),
        "greenroom.session.assembly._model_layers",
        "        spent=None if earlier is None else",
        "        spent=None if earlier is not None else",
        tests=("tests/swarm/test_claude.py",),
    ),
    Mutant(
        "a lead that plans loses its board",
        ("R7-a",),
        "greenroom.swarm._swarm",
        "    if lead.is_busy:\n",
        "    if False:\n",
        tests=_CUT,
    ),
    Mutant(
        "a signal after the work exits at once",
        ("R7-leaving",),
        "greenroom.terminal._signal_ladder",
        "                hold_signals()  # first",
        "                pass  # first",
        tests=_LATE,
    ),
    Mutant(
        "signals are held forever",
        (),
        _EXIT,
        "            self._is_one_held = True\n",
        "            pass\n",
        tests=_LATE,
    ),
    Mutant(
        "the interpreter's shutdown can be killed",
        ("R7-leaving",),
        _EXIT,
        "    atexit.register(_ignore)\n",
        "",
        tests=_LATE,
    ),
)
