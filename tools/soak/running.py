"""One run of a scenario under a plan, and what there is to say about it."""

from __future__ import annotations

import hashlib
import json
import logging
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.testing import CancelAt, record_lines, run_virtual
from greenroom.trace import check_journal, entries_of
from tests.actors.invariants import violations
from tools.soak.scenarios import SCENARIOS, WITHOUT_ACTORS

HISTORIES: Final = Path(__file__).resolve().parents[2] / "tests" / "histories"
LATEST_STEP: Final = 150


@attrs.frozen
class Plan:
    """What decides a run: the scenario, the order of its tasks, and the steps before which it is struck."""

    scenario: str
    choices: int | tuple[int, ...]
    """A seed, or recorded choices."""
    strikes: tuple[int, ...] = ()

    @classmethod
    def drawn(cls, chance: random.Random) -> Plan:
        """Draw a plan; every second one has no fault, the others up to three."""
        count = chance.choice([0, 0, 0, 1, 2, 3])
        strikes = sorted(chance.randrange(LATEST_STEP) for _ in range(count))
        return cls(chance.choice(sorted(SCENARIOS)), chance.randrange(2**32), tuple(strikes))

    @classmethod
    def loaded(cls, path: Path) -> Plan:
        """Read a history."""
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        choices = values["choices"]
        return cls(
            values["scenario"], choices if isinstance(choices, int) else tuple(choices), tuple(values["strikes"])
        )

    def save(self, name: str, *, why: str) -> Path:
        """Write a history, to be kept with the fix of what it shows."""
        path = HISTORIES / f"{name}.json"
        path.write_text(json.dumps({**attrs.asdict(self), "why": why}, indent=1) + "\n", encoding="utf-8")
        return path


@attrs.frozen
class Result:
    """What came of a run."""

    plan: Plan
    """With the choices that were made, instead of a seed."""
    journal: str
    faults: int
    problems: tuple[str, ...]


def run(plan: Plan, *, is_checked: bool = True) -> Result:
    """Run a plan; whatever it raises is a problem, as is every promise that its record shows to be broken."""
    at = CancelAt(plan.strikes)
    choices = plan.choices if isinstance(plan.choices, int) else list(plan.choices)
    try:
        done = run_virtual(SCENARIOS[plan.scenario], at, choices=choices, instruments=[at])
        at.check()
    except Exception as error:  # noqa: BLE001 - a soak looks for anything
        return Result(plan, "", len(at.struck), (f"{type(error).__name__}: {error}",))
    records = [record for record in done.result if record[0] > 0]
    problems: list[str] = []
    if is_checked:
        problems += violations(records, is_over=plan.scenario not in WITHOUT_ACTORS)
        problems += [f"{finding.id} at {finding.seq}: {finding.text}" for finding in check_journal(entries_of(records))]
    return Result(
        attrs.evolve(plan, choices=done.choices), "\n".join(record_lines(records)), len(at.struck), tuple(problems)
    )


@attrs.define
class Tally:
    """What one process saw."""

    runs: int = 0
    faults: int = 0
    seconds: float = 0.0
    journals: set[bytes] = attrs.Factory(set)
    by_scenario: Counter[str] = attrs.Factory(Counter)
    violations: list[str] = attrs.Factory(list)


def soak(task: tuple[int, float, bool]) -> Tally:
    """Run plans drawn from one seed until the time is over."""
    logging.disable(logging.CRITICAL)  # crashes are what a soak is made of
    seed, seconds, is_checked = task
    chance = random.Random(seed)
    tally = Tally()
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        plan = Plan.drawn(chance)
        result = run(plan, is_checked=is_checked)
        tally.runs += 1
        tally.faults += result.faults
        tally.by_scenario[plan.scenario] += 1
        tally.journals.add(hashlib.blake2b(f"{plan.scenario}\n{result.journal}".encode(), digest_size=12).digest())
        if result.problems:
            why = "; ".join(result.problems[:3])
            path = result.plan.save(f"{plan.scenario}-{seed}-{tally.runs}", why=why)
            tally.violations.append(f"{path.name}: {why}")
            if len(tally.violations) >= 10:
                break
    tally.seconds = time.monotonic() - began
    return tally
