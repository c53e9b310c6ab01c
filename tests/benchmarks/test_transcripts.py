"""The benchmark of transcripts measures what it says: every figure is there, over conversations that are sound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import transcripts
from benchmarks.measure import print_figures
from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of


def test_what_is_resumed_is_sound_and_begins_where_it_was_compacted(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    transcripts.write_transcript(path, 300_000)
    transcripts.write_transcript(tmp_path / "compacted.jsonl", 300_000, compact_at=200_000)

    whole, rest = load_conversation(path), load_conversation(tmp_path / "compacted.jsonl")

    assert path.stat().st_size >= 300_000
    assert whole.notes == ()
    assert faults_of(whole.messages) == faults_of(rest.messages) == []
    assert len(whole.messages) > 2 * len(rest.messages) > 10


def test_every_figure_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    transcripts.main(60_000)
    print_figures()

    printed = capsys.readouterr().out.splitlines()
    lines = [json.loads(line) for line in printed if line.startswith("{")]
    assert [line["bench"] for line in lines] == [
        "transcript opened",
        "transcript resumed",
        "transcript resumed, compacted",
        "transcript resumed, no limit",
        "memory of open",
        "memory of resume",
    ]
