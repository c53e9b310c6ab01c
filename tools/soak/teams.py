"""Run drawn plans over whole teams under explored schedules, and check each: a part of `make soak`.

`SOAK_TEAMS` says how many schedules, 10,000 if it is not set. A plan that breaks a promise is made short, saved under
tests/session/histories, and told with the command that repeats it. Exit code 1 when there was one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tools.soak.drawing import Drawn, soak_on_all_cores
from tools.soak.team_machine import MAX_STEPS, scenario
from tools.soak.team_programs import plans

TEAMS: Final = Drawn(
    what="teams",
    module="tools.soak.teams",
    variable="SOAK_TEAMS",
    schedules=10_000,
    plans=plans,
    scenario=scenario,
    histories=Path(__file__).resolve().parents[2] / "tests" / "session" / "histories",
    prefix="team-found",
    max_steps=MAX_STEPS,
)

if __name__ == "__main__":
    sys.exit(soak_on_all_cores(TEAMS, __doc__))
