"""Output of the benchmarks: tables for people, and at the end one JSON line for each figure."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from benchmarks.measure import Target, print_figures, report, run_group


@pytest.fixture(autouse=True)
def nothing_is_left(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    print_figures()
    capsys.readouterr()
    yield
    print_figures()


def figures(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    print_figures()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line]


def test_a_ratio_is_taken_within_a_round_and_its_median_counts(capsys: pytest.CaptureFixture[str]) -> None:
    peer, ours = iter([0.0, 6.0, 8.0, 90.0]), iter([0.0, 2.0, 4.0, 9.0])  # the first is the warm-up

    run_group(
        "a group",
        {"peer": lambda: next(peer), "ours": lambda: next(ours)},
        [Target(bench="b", numerator="peer", denominator="ours", limit=2.5)],
        unit="s",
        rounds=3,
        slices=1,
    )

    assert figures(capsys) == [{"bench": "b", "ratio": 3.0, "target": ">= 2.5", "unit": "peer / ours"}]


def test_a_target_of_a_missing_system_is_skipped_and_the_others_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run_group(
        "a group",
        {"peer": lambda: 2.0, "ours": lambda: 1.0},
        [
            Target(bench="shown", numerator="peer", denominator="ours", limit=1.0),
            Target(bench="not shown", numerator="absent", denominator="ours", limit=7.0),
        ],
        unit="s",
        rounds=1,
        slices=1,
        missing={"absent": "absent is not installed"},
    )

    assert figures(capsys) == [
        {"bench": "shown", "ratio": 2.0, "target": ">= 1", "unit": "peer / ours"},
        {"bench": "not shown", "skipped": "absent is not installed", "target": ">= 7", "unit": "absent / ours"},
    ]


@pytest.mark.parametrize(
    ("limit", "at_least", "ratio", "word"),
    [
        (2.0, True, 2.0, "met"),
        (2.0, True, 1.9, "MISSED"),
        (2.0, False, 2.0, "met"),
        (2.0, False, 2.1, "MISSED"),
        (None, True, 2.0, "no target"),
    ],
)
def test_the_verdict(
    limit: float | None, at_least: bool, ratio: float, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report(Target(bench="b", numerator="x", denominator="y", limit=limit, at_least=at_least), [ratio])

    assert capsys.readouterr().out.strip().endswith(word)


def test_the_figures_come_once(capsys: pytest.CaptureFixture[str]) -> None:
    report(Target(bench="b", numerator="x", denominator="y"), [1.0])

    assert [line["target"] for line in figures(capsys)] == [None]
    assert figures(capsys) == []
