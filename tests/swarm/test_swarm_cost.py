"""The price of a swarm: what is estimated, who is asked, what is told afterwards, and what a budget leaves behind."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom.core import UsageError
from greenroom.core.sources import find_places
from greenroom.models import Usage
from greenroom.models.budgets import Pricing
from greenroom.swarm._consent import agree_to
from greenroom.swarm._cost import SwarmCost
from greenroom.swarm._estimate import Estimate, estimate_folder, estimate_items
from greenroom.swarm._swarm_budget import write_partial_report
from greenroom.swarm._swarm_plan import SwarmOptions, make_swarm_plan
from greenroom.swarm.recipes import SURVEY
from greenroom.teams import Item, ItemStatus
from tests.swarm.small_repo import make_small_repo

LARGE, SMALL = "claude-sonnet-5", "claude-haiku-4-5"
ESTIMATE = Estimate(
    lead=Usage(0, 10_000, cache_creation_input_tokens=100_000, cache_read_input_tokens=400_000),
    mates=Usage(0, 20_000, cache_creation_input_tokens=400_000, cache_read_input_tokens=1_100_000),
    requests=247,
    models=(LARGE, SMALL),
)
COST = SwarmCost(
    usd=Decimal("1.19"),
    requests=208,
    input_tokens=1_400_000,
    cached_tokens=900_000,
    output_tokens=25_000,
    estimate=ESTIMATE,
)


def test_an_estimate_says_requests_tokens_and_dollars_with_and_without_cache() -> None:
    assert ESTIMATE.text == (
        f"about 250 requests and 2.0 M tokens, $1.14 on {LARGE} with {SMALL} for the teammates, $2.70 without cache"
    )
    assert attrs.evolve(ESTIMATE, models=(LARGE, LARGE)).text.endswith(f"$1.85 on {LARGE}, $4.30 without cache")


def test_a_model_without_a_price_is_said_once_and_costs_an_unknown_amount() -> None:
    unpriced = attrs.evolve(ESTIMATE, models=("local-1", "local-1"))

    assert (unpriced.usd, unpriced.text.count("local-1")) == (None, 1)
    assert "no price is known for local-1 (add it to `models.prices`)" in unpriced.text
    assert attrs.evolve(COST, usd=None).text.startswith("unknown, as a model has no price; 208 requests")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (1.0, ""),
        (2.0, "; answers were 2.0 times as long as assumed (estimated: $1.14)"),
        (0.5, "; answers were 0.5 times as long as assumed (estimated: $1.14)"),
    ],
)
def test_what_a_run_cost_is_told_with_what_was_assumed_wrongly(answers: float, said: str) -> None:
    written = round(30_000 / 247 * 208 * answers)
    told = f"$1.19; 208 requests, 1,400,000 tokens in (64% from the cache), {written:,} out{said}"

    assert attrs.evolve(COST, output_tokens=written).text == told


def test_work_of_rules_is_told_at_the_price_of_a_model() -> None:
    text = SwarmCost(is_rule_based=True, input_tokens=9, estimate=ESTIMATE).text

    assert text == (
        f"nothing, as fixed rules did the work; on {LARGE} with {SMALL} for the teammates this would be about $1.14"
    )


@pytest.mark.promise("S-ask")
@pytest.mark.parametrize(
    ("answer", "expected"), [("y", True), (" YES ", True), ("", False), ("n", False), (None, False)]
)
def test_a_person_is_asked_and_silence_is_no(answer: str | None, expected: bool, tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        if answer is None:
            raise EOFError
        return answer

    assert agree_to(ESTIMATE, {}, find_places(tmp_path), is_asked=True, ask=ask) is expected
    assert asked == [f"This run will take {ESTIMATE.text}. Start? [y/N] "]


@pytest.mark.promise("S-ask")
@pytest.mark.parametrize(
    ("factor", "limit", "allowed", "is_refused"),
    [(1, None, None, False), (5, None, None, True), (5, 4.5, None, False), (5, None, 9, False), (1, None, 1, True)],
)
def test_nobody_is_asked_without_a_terminal_and_much_needs_a_word(
    factor: int,
    limit: float | None,
    allowed: float | None,
    is_refused: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".greenroom").mkdir()
    values: dict[str, Any] = {} if allowed is None else {"swarm": {"ask_above_usd": allowed}}
    (tmp_path / ".greenroom" / "settings.json").write_text(json.dumps(values), "utf-8")
    estimate = attrs.evolve(ESTIMATE, mates=Usage(0, 0, cache_creation_input_tokens=800_000 * factor))
    settings: dict[str, Any] = {"models": {"budget": {"usd": limit}}}

    def agreed() -> bool:
        return agree_to(estimate, settings, find_places(tmp_path), is_asked=False, ask=pytest.fail)

    if not is_refused:
        assert agreed()
        return
    with pytest.raises(UsageError, match=r"more than `swarm\.ask_above_usd` allows .*: give --yes"):
        agreed()


def test_the_folder_is_looked_at_as_the_lead_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    folder = make_small_repo(tmp_path / "small")
    plan = make_swarm_plan(SwarmOptions(path=folder), SURVEY, folder)

    estimate = estimate_folder(folder, plan.prompt, models=(LARGE, SMALL), mates=4, pricing=Pricing())
    of_board = estimate_items(["Look.\n\n- a.py (30 lines)\n- b.py (size unknown)", "Do it."], mates=4)

    assert 10 <= estimate.requests <= 25
    assert Decimal("0.02") < (estimate.usd or 0) < Decimal("0.2")
    assert of_board.requests == 5 + 5  # three for the files, two for the rest; the lead's
    assert {definition.definition.model for definition in plan.mates} == {SMALL}


@pytest.mark.promise("S-partial")
def test_a_report_of_a_run_that_ended_at_its_budget_says_so_on_top(tmp_path: Path) -> None:
    facts = '{"facts":"file","path":"a.py","lines":3,"spotted":[{"line":2,"kind":"eval","text":"eval(x)"}]}'
    items = (
        Item(id="1", subject="Read a.py", description="", status=ItemStatus.COMPLETED, findings=f"Findings:\n{facts}"),
        Item(id="2", subject="Read b.py", description="", status=ItemStatus.COMPLETED, findings="b.py:1 is empty"),
        Item(id="3", subject="Read c.py", description=""),
    )

    write_partial_report(tmp_path / "report.md", "shop", items, "Budget limit reached")
    write_partial_report(tmp_path / "missing" / "report.md", "shop", items, "Budget limit reached")

    text = (tmp_path / "report.md").read_text("utf-8")
    assert text.startswith(
        "# Partial report: shop\n\n**This report is not complete.** Budget limit reached.\n\n2 of 3 items were completed."
    )
    assert "a.py: 3 lines, 0 functions, 0 classes\n  :2 `eval` or `exec`: eval(x)\n" in text
    assert "b.py:1 is empty" in text
    assert text.endswith("## Not done\n\n- Item 3: Read c.py\n")
