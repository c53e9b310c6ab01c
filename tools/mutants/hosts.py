"""Mutants of hosts: orders that come twice, output by its offset, agents of a host that was killed."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_AGENT: Final = "greenroom.hosting._hosted_agent"
_AGENTS: Final = "greenroom.hosting._hosted_agents"
_RUNS: Final = "greenroom.remote.hosts._remote_agents"
_TESTS: Final = ("tests/hosting/test_host_actors.py",)
_REMOTE: Final = ("tests/hosting/test_remote_agents.py",)
_DEATHS: Final = ("tests/hosting/test_deaths.py",)

HOSTS: Final = (
    Mutant(
        "an output is sent from its start again",
        ("R5-a",),
        _AGENT,
        "        file.seek(offset)\n",
        "",
        tests=_TESTS,
    ),
    Mutant(
        "an agent of a killed host failed for no reason",
        ("R5-b",),
        _AGENT,
        '"ended_by": LOST, ',
        "",
        tests=_TESTS,
    ),
    Mutant(
        "an order that comes again starts another agent",
        ("R5-c",),
        _AGENTS,
        "if self._find(order) is not None:",
        "if self._find(order) is self:",
        tests=_TESTS,
    ),
    Mutant(
        "a key opens the agents of all runs of that name",
        ("R5-owner",),
        "greenroom.remote.hosts._host_messages",
        'f"{key}/{run}"',
        'f"{run}"',
        tests=_TESTS,
    ),
    Mutant(
        "a resumed run reads the output of its agent from the start",
        ("R5-a", "R7-c"),
        _RUNS,
        "offset=each.size,",
        "offset=0,",
        tests=_DEATHS,
    ),
    Mutant(
        "a resumed run forgets a stop",
        ("R5-c",),
        _RUNS,
        "task.kill(record.stop)",
        "pass",
        tests=_DEATHS,
    ),
    Mutant(
        "a question is asked again with all news",
        ("R5-questions",),
        "greenroom.remote.hosts._remote_questions",
        "            if key not in self._asked:\n",
        "            if key is not None:\n",
        tests=("tests/hosting/test_remote_questions.py",),
    ),
    Mutant(
        "an answer is sent once",
        ("R5-questions",),
        "greenroom.remote.hosts._remote_questions",
        "                with suppress(GreenroomError):\n                    await self._ask(remote.host, told)\n                    return\n",
        "                return\n",
        tests=("tests/hosting/test_remote_questions.py",),
    ),
    Mutant(
        "an agent on a host costs its run nothing",
        ("R5-budget",),
        _RUNS,
        "self._budget.charge(spent - remote.spent)",
        "pass",
        tests=_REMOTE,
    ),
    Mutant(
        "a late result is thrown away",
        ("R5-d", "R7-c"),
        _RUNS,
        "        if remote.is_late:\n            await self._report_late(remote)\n",
        "",
        tests=_DEATHS,
    ),
)
