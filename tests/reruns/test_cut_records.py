"""A run that was killed is done again up to its last durable event, wherever that is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greenroom import rerun
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.session import Session
from tests.reruns.recorded_team import asking, record_agent, record_team
from tests.session.small_team import LEAD, survey

pytestmark = pytest.mark.promise("RR-4")

BESIDE = ("effects.jsonl", "model.jsonl")


def cut_at(run: Path, number: int, folder: Path) -> Path:
    """Return a copy of a run whose process was killed when that event was on disk."""
    made = folder / str(number) / run.name
    made.mkdir(parents=True)
    journal = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (made / "journal.jsonl").write_bytes(b"".join(journal[: number + 1]))  # the first line is the head
    for name in BESIDE:
        kept = []
        for line in filter(bytes.strip, (run / name).read_bytes().splitlines(keepends=True)):
            if json.loads(line).get("at", 0) >= number:
                break
            kept.append(line)
        (made / name).write_bytes(b"".join(kept))
    return made


def begins(run: Path, kind: str) -> int:
    """Return the number of the first event of a kind."""
    lines = (run / "journal.jsonl").read_text().splitlines()[1:]
    return next(number for number, line in enumerate(lines, 1) if f'"ev":"{kind}"' in line)


def check(run: Path, folder: Path, every: int, program: Callable[[Session], Any], **opening: Any) -> None:
    last = len((run / "journal.jsonl").read_bytes().splitlines()) - 2
    for number in range(begins(run, "session.begin"), last, every):
        made = cut_at(run, number, folder)
        again = rerun(made, program, **opening)
        assert again.difference is None, f"cut at event {number} of {last}"
        assert again.was_cut
        shutil.rmtree(made.parent)


def look(request: ModelRequest) -> AnswerLike:
    said = len(request.messages) // 2
    return (
        [Call("Glob", {"pattern": "*"}), Call("Glob", {"pattern": "*.txt"})],
        Call("Glob", {"pattern": "a"}),
        "Done.",
    )[said]


def test_one_agent_is_equal_up_to_every_event(tmp_path: Path) -> None:
    run = record_agent(tmp_path, PlaybookModel({"main": look}))
    check(run, tmp_path / "cut", 1, asking("Begin."))


@pytest.mark.parametrize("seed", [0])
def test_a_team_is_equal_up_to_any_event(tmp_path: Path, seed: int) -> None:
    run = record_team(tmp_path, mates=3, seed=seed)

    async def program(session: Session) -> None:
        await survey(session, mates=3)

    check(run, tmp_path / "cut", 61, program, main=LEAD)
