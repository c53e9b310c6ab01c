"""Run drawn plans over whole gateways under explored schedules, and check each: a part of `make soak`.

`SOAK_GATEWAYS` says how many schedules, 5,000 if it is not set. A plan that breaks a promise is made short, saved under
tests/gateway/process/histories, and told. Exit code 1 when there was one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tools.soak.drawing import Drawn, soak_on_all_cores
from tools.soak.gateway_machine import scenario
from tools.soak.gateway_plans import gateway_plans

GATEWAYS: Final = Drawn(
    what="gateways",
    module="tools.soak.gateways",
    variable="SOAK_GATEWAYS",
    schedules=5_000,
    plans=gateway_plans,
    scenario=scenario,
    histories=Path(__file__).resolve().parents[2] / "tests" / "gateway" / "process" / "histories",
    max_steps=2_000_000,
)

if __name__ == "__main__":
    sys.exit(soak_on_all_cores(GATEWAYS, __doc__))
