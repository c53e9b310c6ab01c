"""Mutants of hosts: orders that come twice, output by its offset, agents of a host that was killed."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_AGENT: Final = "greenroom.hosting._hosted_agent"
_AGENTS: Final = "greenroom.hosting._hosted_agents"
_TESTS: Final = ("tests/hosting/test_host_actors.py",)

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
        "if (order.run, order.task) in self._agents:",
        "if (order.task, order.run) in self._agents:",
        tests=_TESTS,
    ),
)
