"""Run drawn plans over a gateway's keepers, with stand-ins for sessions, under explored schedules: a part of `make soak`.

`SOAK_KEEPERS` says how many schedules, 100,000 if it is not set. A plan that breaks a promise is made short, saved under
tests/gateway/keepers/histories, and told. Exit code 1 when there was one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.gateway.keepers.driven import keeper_plans, scenario
from tools.soak.drawing import Drawn, soak_on_all_cores

KEEPERS: Final = Drawn(
    what="keepers",
    module="tools.soak.keepers",
    variable="SOAK_KEEPERS",
    schedules=100_000,
    plans=keeper_plans,
    scenario=scenario,
    histories=Path(__file__).resolve().parents[2] / "tests" / "gateway" / "keepers" / "histories",
)

if __name__ == "__main__":
    sys.exit(soak_on_all_cores(KEEPERS, __doc__))
