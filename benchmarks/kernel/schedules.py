"""How many schedules of a small scenario a core runs in a minute, without and with all checkers."""

from __future__ import annotations

import logging
import time

from benchmarks.measure import Target, report
from tools.soak.running import Plan, run

RUNS = 400


def per_minute(*, is_checked: bool) -> float:
    """Return the schedules of one scenario that a core runs in a minute."""
    logging.disable(logging.CRITICAL)
    began = time.process_time()
    for seed in range(RUNS):
        run(Plan("queue", seed), is_checked=is_checked)
    return RUNS / (time.process_time() - began) * 60


def schedules() -> None:
    rates = [per_minute(is_checked=False) for _ in range(5)]
    checked = [per_minute(is_checked=True) for _ in range(5)]
    print("\nschedules a minute and core, of up to 100 steps")
    for name, values in (("without checkers", rates), ("with all checkers", checked)):
        print(f"  {name:<44} {sorted(values)[2]:>12,.0f}  [{min(values):,.0f} .. {max(values):,.0f}]")
    target = Target(bench="schedules", numerator="a minute", denominator="1", limit=50_000, at_least=True)
    report(target, rates)


GROUPS = {"schedules": schedules}
