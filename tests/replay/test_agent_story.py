"""The story of one agent, from its transcript and the journal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from greenroom.cli import main
from greenroom.trace import JOURNAL
from tests.replay.planted import ANN, HANGS, RUN, written

LONG: Final = "x" * 3_000


def line(second: float, role: str, *blocks: dict[str, Any]) -> bytes:
    """Return a line of a transcript."""
    said = {"timestamp": f"2026-11-21T14:00:{second:06.3f}Z", "message": {"role": role, "content": list(blocks)}}
    return json.dumps({"type": role, **said}).encode() + b"\n"


TRANSCRIPT: Final = (
    line(3.3, "user", {"type": "text", "text": "Task #1 is yours:\none"})
    + line(3.4, "assistant", {"type": "tool_use", "id": "c1", "name": "Glob", "input": {"pattern": "*.py"}})
    + line(3.5, "user", {"type": "tool_result", "content": [{"type": "text", "text": LONG}]})
    + b'{"type": "summary"}\n'
    + line(4.0, "assistant", {"type": "text", "text": "Done."})
)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / RUN / "transcripts").mkdir(parents=True)
    (tmp_path / RUN / JOURNAL).write_bytes(written(HANGS))
    (tmp_path / RUN / "transcripts" / f"{ANN}.jsonl").write_bytes(TRANSCRIPT)
    return tmp_path


def test_prompts_calls_and_answers_are_told_among_the_events(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", RUN, "--runs", str(runs), "--transcript", "ann"]) == 0

    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [" ".join(words[:3]) for words in lines] == [
        "0.200 item 1",
        "0.300 prompt Task",
        "one",
        "0.300 turn 1",
        "0.400 call Glob",
        "0.500 result " + LONG[:1_200],
        "... 1,800 more",
        "0.500 abort requested",
        "0.500 turn 1",
        "1.000 answer Done.",
    ]


def test_long_texts_are_whole_on_request(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["replay", RUN, "--runs", str(runs), "--transcript", "*/ann", "--all"])

    assert LONG in capsys.readouterr().out


def test_a_transcript_that_is_gone_is_one_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / RUN / "transcripts" / f"{ANN}.jsonl").unlink()

    assert main(["replay", RUN, "--runs", str(runs), "--transcript", "ann"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
