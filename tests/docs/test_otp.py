"""The page about OTP shows the catalogue of scenarios."""

from __future__ import annotations

from tests.docs.otp import PAGE, insert
from tests.otp.catalogue import SCENARIOS


def test_the_tables_are_those_of_the_catalogue() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs.otp`"


def test_every_behaviour_has_its_line_with_its_reason_and_its_fault() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()

    for scenario in SCENARIOS:
        (line,) = [line for line in lines if line.startswith(f"| {scenario.id} |")]
        assert all(part in line for part in (scenario.says, scenario.reason, scenario.bug)), scenario.id
