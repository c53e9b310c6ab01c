"""Run drawn plans over whole sessions under explored schedules, and check each: a part of `make soak`.

`SOAK_SESSIONS` says how many schedules, 100,000 if it is not set. A plan that breaks a promise is made short, saved under
tests/agents/subagents/histories, and told. Exit code 1 when there was one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tools.soak.drawing import Drawn, soak_on_all_cores
from tools.soak.session_machine import scenario
from tools.soak.session_plans import plans

SESSIONS: Final = Drawn(
    what="sessions",
    module="tools.soak.sessions",
    variable="SOAK_SESSIONS",
    schedules=100_000,
    plans=plans,
    scenario=scenario,
    histories=Path(__file__).resolve().parents[2] / "tests" / "agents" / "subagents" / "histories",
)

if __name__ == "__main__":
    sys.exit(soak_on_all_cores(SESSIONS, __doc__))
