"""Re-runs that continue after a difference, and records that take the requests of today."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom import AgentDefinition, rerun
from greenroom.core import UsageError
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.reruns import Rerun, print_rerun
from tests.reruns.recorded_team import asking, record_agent

pytestmark = pytest.mark.promise("RR-9")

MAIN = AgentDefinition(name="main", system_prompt="You look things up.")
OTHER = attrs.evolve(MAIN, system_prompt="You translate.")
KEY = "planted-4711-key"
FILES = ("effects.jsonl", "model.jsonl")


def look(request: ModelRequest) -> AnswerLike:
    return Call("Glob", {"pattern": "*"}) if len(request.messages) == 1 else "There is one."


def look_for_key(request: ModelRequest) -> AnswerLike:
    return Call("Glob", {"pattern": KEY}) if len(request.messages) == 1 else "There is none."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return record_agent(tmp_path, PlaybookModel({"main": look}), main=MAIN)


def again(run: Path, prompt: str = "Begin.", *, main: AgentDefinition = OTHER, **more: Any) -> Rerun:
    return rerun(run, asking(prompt), main=main, **more)


def test_a_rerun_that_goes_on_tells_the_first_difference_and_counts_the_others(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = again(run, at_difference="go-on")

    assert found.difference is not None
    assert (found.difference.what, found.difference.cause) == ("request 1", "definition")
    assert (found.changes, found.results, found.is_complete) == (2, 1, True)
    assert print_rerun(found, is_json=False) == 1
    assert "  and 1 difference behind it" in capsys.readouterr().out


def test_an_input_that_differs_before_a_request_is_the_first_difference(run: Path) -> None:
    path = run / "effects.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines() if line]
    for line in lines:
        if line.get("of") == "tool":
            line["asked"]["input"]["pattern"] = "*.md"
            line["got"]["text"] = "other.md"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    found = again(run, main=MAIN, at_difference="go-on")

    assert found.difference is not None
    assert found.difference.where == "input"
    assert found.changes == 2


def test_an_updated_record_is_equal_to_the_code_of_today(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The prompt and the definition are others; the answers are those of then."""
    found = again(run, "Start.", update=True)

    assert found.is_updated
    assert print_rerun(found, is_json=False) == 0
    out = capsys.readouterr().out
    assert "You look things up." in out
    assert "You translate." in out
    assert again(run, "Start.").is_equal
    assert not again(run, "Start.", main=MAIN).is_equal


def test_an_update_that_was_killed_replaces_all_or_nothing(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's file and that of the effects belong together: the next re-run has both of today, or both of then."""

    class KilledError(BaseException):
        """The process is gone."""

    def killed_at(number: int) -> Any:
        moves = itertools.count(1)

        def replace(self: Path, target: Path) -> None:
            if self.parent.name == ".update" and next(moves) == number:
                raise KilledError
            os.replace(self, target)  # noqa: PTH105 - the method is replaced

        return replace

    effects = run / "effects.jsonl"
    effects.write_text(effects.read_text().replace('"pattern":"*"', '"pattern":"*.md"'))
    for number in (1, 2):
        monkeypatch.setattr(Path, "replace", killed_at(number))
        with pytest.raises(KilledError):
            again(run, "Start." * number, update=True)
        monkeypatch.undo()

        assert again(run, "Start." * number).is_equal


def test_an_input_of_a_call_is_updated(run: Path) -> None:
    effects = run / "effects.jsonl"
    content = effects.read_text()
    effects.write_text(content.replace('"pattern":"*"', '"pattern":"*.md"'))
    assert not again(run, main=MAIN).is_equal

    assert again(run, main=MAIN, update=True).is_updated

    assert effects.read_text() == content
    assert again(run, main=MAIN).is_equal


def test_secrets_of_today_are_masked_in_an_updated_record(tmp_path: Path) -> None:
    """The record may be kept beside tests: what the requests and inputs of today hold is masked as in a recording."""
    run = record_agent(tmp_path, PlaybookModel({"main": look_for_key}), main=MAIN)
    effects = run / "effects.jsonl"
    effects.write_text(effects.read_text().replace(KEY, "*.md"))

    found = again(run, f"Use {KEY[::-1]}.", main=MAIN, update=True, secrets=(KEY, KEY[::-1]))

    assert found.is_updated
    assert KEY not in effects.read_text()
    assert "*" * len(KEY) in effects.read_text()
    assert KEY[::-1] not in (run / "model.jsonl").read_text()


def test_a_record_is_not_updated_where_more_differs_than_requests(run: Path) -> None:
    """There is one turn more than recorded, so it has no answer."""
    before = [(run / name).read_bytes() for name in FILES]

    found = rerun(run, asking("Begin.", "More."), main=OTHER, update=True)

    assert not found.is_updated
    assert not found.is_complete
    assert [(run / name).read_bytes() for name in FILES] == before


def test_an_equal_record_is_left_as_it_is(run: Path) -> None:
    before = [(run / name).read_bytes() for name in FILES]
    assert again(run, main=MAIN, update=True).is_equal
    assert [(run / name).read_bytes() for name in FILES] == before


def test_other_words_for_going_on_are_refused(run: Path) -> None:
    with pytest.raises(UsageError, match="one of stop, go-on, got 'live'"):
        again(run, at_difference="live")
