"""`greenroom replay --diff OTHER --all`: the planted difference and no other, in actors and in conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.cli import main
from greenroom.trace import JOURNAL, TRANSCRIPTS, compare_messages
from tests.trace.exporting import HEADER
from tests.web.recorded_run import RECORDED

A: Final = {"role": "user", "content": "Do it."}
B: Final = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}]}
C: Final = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}]}
D: Final = {"role": "assistant", "content": "Done."}
TALK: Final = [A, B, C, D]
NEW: Final = {"role": "user", "content": "And now?"}


def told(left: list[Any], right: list[Any]) -> list[tuple[str, int, int]]:
    return [(each.change.value, each.left, each.right) for each in compare_messages(left, right)]


@pytest.mark.promise("X-diff")
@pytest.mark.parametrize(
    ("other", "meant"),
    [
        (TALK, []),
        (json.loads(json.dumps(TALK).replace("toolu_1", "toolu_9")), []),
        ([A, B, C, NEW, D], [("added", 0, 4)]),
        ([A, B, D], [("missing", 3, 0)]),
        ([A, B, NEW, D], [("edited", 3, 3)]),
        ([NEW, A, B, C, D], [("added", 0, 1)]),
        ([D, A, B, C], [("moved", 4, 1)]),
        ([], [("missing", 1, 0), ("missing", 2, 0), ("missing", 3, 0), ("missing", 4, 0)]),
    ],
)
def test_a_planted_change_of_a_conversation_is_told_as_such(other: list[Any], meant: list[Any]) -> None:
    assert told(TALK, other) == meant


texts = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8)


@pytest.mark.promise("X-diff")
@settings(max_examples=80)
@given(texts, texts)
def test_what_is_told_makes_one_conversation_of_the_other(left: list[str], right: list[str]) -> None:
    found = compare_messages(left, right)
    mine, yours = {each.left for each in found} - {0}, {each.right for each in found} - {0}

    kept = [text for place, text in enumerate(left, 1) if place not in mine]

    assert kept == [text for place, text in enumerate(right, 1) if place not in yours]
    assert all(left[each.left - 1] == right[each.right - 1] for each in found if each.change == "moved")


def write_run(folder: Path, lines: list[bytes], talk: list[Any]) -> Path:
    (folder / TRANSCRIPTS).mkdir(parents=True)
    (folder / JOURNAL).write_bytes(b"".join(lines))
    for line in lines:
        if name := json.loads(line).get("transcript"):
            text = b"".join(json.dumps({"type": each["role"], "message": each}).encode() + b"\n" for each in talk)
            (folder / TRANSCRIPTS / name).write_bytes(text)
    return folder


def facts_of(left: Path, right: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["replay", str(left), "--diff", str(right), "--all", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_one_planted_difference_is_exactly_that_actor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = next(at for at, line in enumerate(RECORDED) if b'"ev":"tool.end"' in line)
    changed = {**json.loads(RECORDED[place]), "state": "failed", "error": "boom"}
    lines = [*RECORDED[:place], json.dumps(changed).encode() + b"\n", *RECORDED[place + 1 :]]
    left, right = write_run(tmp_path / "a", RECORDED, TALK), write_run(tmp_path / "b", lines, TALK)

    code, facts = facts_of(left, right, capsys)

    [actor] = [actor for actor in facts["actors"] if actor["standing"] != "same"]
    assert (code, facts["is_same"], actor["standing"]) == (1, False, "differs")
    assert actor["divergence"]["left_seq"] == changed["seq"]
    assert not any(facts["conversations"].values())
    assert facts["totals"]["left"] == facts["totals"]["right"]


def test_a_run_is_the_same_as_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left, right = write_run(tmp_path / "a", RECORDED, TALK), write_run(tmp_path / "b", RECORDED, TALK)

    code, facts = facts_of(left, right, capsys)

    assert (code, facts["is_same"]) == (0, True)
    assert len(facts["actors"]) > 5


def test_a_transcript_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left, right = write_run(tmp_path / "a", RECORDED, TALK), write_run(tmp_path / "b", RECORDED, TALK)
    next((right / TRANSCRIPTS).iterdir()).unlink()

    _, facts = facts_of(left, right, capsys)
    main(["replay", str(left), "--diff", str(right), "--all"])

    assert len(facts["not_compared"]) == 1
    assert not any(facts["conversations"].values())
    assert "is not compared: a transcript cannot be read" in capsys.readouterr().out


def test_the_text_has_actors_totals_outcomes_and_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in RECORDED if b'"a0000' not in line] or RECORDED
    left = write_run(tmp_path / "a", lines, TALK)
    right = write_run(tmp_path / "b", lines[:-40], [A, B, D])

    code = main(["replay", str(left), "--diff", str(right), "--all"])

    said = capsys.readouterr().out
    assert code == 1
    for words in (
        "different: ",
        "differs    ",
        "events ",
        "requests ",
        "cost ",
        "missing  message 3",
        "conversation of ",
    ):
        assert words in said
    assert HEADER.run not in said
