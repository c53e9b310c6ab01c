"""Journals in which a value is not what it was: one clear finding, and never a traceback."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.cli import main
from greenroom.core import Event, field_names
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import EVENTS, FOLDS
from greenroom.teams._board_messages import CreateItem
from greenroom.testing import run_virtual
from greenroom.trace import JOURNAL, Codec, World
from tests.agents.pages import in_order, kind, mail
from tests.session.teamwork import open_teamwork
from tests.teams.plans import PLAN, deciding

CODEC: Final = Codec(EVENTS)
VALUES: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from(["", "a", "1", "2", "running", "completed", "ended", "next", "zzz", "\ud83d\ude00"]),
    st.lists(st.sampled_from(["a", "1"]), max_size=2),
    st.dictionaries(st.sampled_from(["a", "who"]), st.sampled_from(["a", "1"]), max_size=2),
)


@st.composite
def lines(draw: st.DrawFn) -> dict[str, Any]:
    """A line of any kind with any values."""
    event: type[Event] = draw(st.sampled_from(EVENTS))
    fields = draw(st.dictionaries(st.sampled_from(field_names(event)), VALUES, max_size=8))
    return {"seq": 1, "t": 0.0, "ev": event.kind, **fields}


@given(st.lists(lines(), max_size=20))
def test_whatever_a_line_says_no_fold_raises(said: list[dict[str, Any]]) -> None:
    world = World(FOLDS)
    for line in said:
        try:
            entry = CODEC.decode(line)
        except ValueError:  # refused already, with the number of the line
            continue
        world.apply(entry)


@cache
def whole_run() -> tuple[bytes, ...]:
    """Return the lines of a run with tasks, a team, mail, a plan and a request to end."""

    def ann(request: ModelRequest) -> AnswerLike:
        return in_order(Call("ExitPlanMode", {"plan": PLAN}), "I wait.", mail("team-lead", "Hi."), otherwise="Done.")(
            request
        )

    async def run() -> tuple[bytes, ...]:
        with TemporaryDirectory() as folder:
            async with open_teamwork(Path(folder), deciding(True), pages={"ann": ann}) as session:
                await (await session.spawn("Explore", "Look.")).wait_finished()
                async with session.open_team("t") as team:
                    await team.spawn("ann", definition=kind("ann"), prompt="Plan.", plan_required=True)
                    await team.board.ref.ask(CreateItem(subject="one", description="", by="host"))
                    await session.wait_quiet()
                    await team.teammates["ann"].shutdown(deadline_s=5)
            return tuple((session.run_folder / JOURNAL).read_bytes().splitlines())

    lines: tuple[bytes, ...] = run_virtual(run).result
    return lines


@settings(max_examples=25)
@given(st.data())
def test_a_run_with_a_damaged_value_is_checked_to_the_end(data: st.DataObject) -> None:
    """The command ends with what it found, or says which line is damaged."""
    whole = whole_run()
    number = data.draw(st.integers(1, len(whole) - 1))
    line = json.loads(whole[number])
    line[data.draw(st.sampled_from([one for one in line if one != "ev"]))] = data.draw(VALUES)

    code = _check([*whole[:number], json.dumps(line).encode(), *whole[number + 1 :]])

    assert code in {0, 1, 2}


def _check(content: list[bytes]) -> int:
    with TemporaryDirectory() as folder:
        run = Path(folder) / "20261120-225103-k3f9qz"
        run.mkdir()
        (run / JOURNAL).write_bytes(b"\n".join(content) + b"\n")
        return main(["replay", "--check", "--runs", folder])


@pytest.mark.parametrize(
    ("event", "field", "value"),
    [("task.end", "state", "exploded"), ("task.end", "state", "running"), ("item.created", "item", "one")],
)
def test_a_value_that_makes_no_sense_is_one_finding(
    event: str, field: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = list(whole_run())
    number = next(at for at, one in enumerate(whole) if json.loads(one).get("ev") == event)
    whole[number] = json.dumps({**json.loads(whole[number]), field: value}).encode()

    code = _check(whole)

    said = capsys.readouterr()
    assert code == 1
    assert repr(value) in said.out
    assert "Traceback" not in said.out + said.err
