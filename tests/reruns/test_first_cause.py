"""Planted changes: the first cause that a re-run names is the planted one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom import AgentDefinition, rerun, tool
from greenroom.effects import Difference
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.reruns import Rerun, report_of
from greenroom.reruns._first_cause import with_cause
from tests.reruns.recorded_team import asking, record_agent

pytestmark = pytest.mark.promise("RR-5")

MAIN = AgentDefinition(name="main", system_prompt="You look things up.")
ALLOWED: Mapping[str, Any] = {"permissions": {"allow": ["Weather", "Tides"]}}


@tool(read_only=True)
async def weather(place: str) -> str:
    """Tell the weather."""
    return f"sun in {place}"


@tool(read_only=True)
async def tides(place: str) -> str:
    """Tell the tides."""
    return f"low water in {place}"


def ask(request: ModelRequest) -> AnswerLike:
    if len(request.messages) == 1:
        return [Call("Weather", {"place": "Ulm"}), Call("Tides", {"place": "Ulm"})]
    return "Sun and low water."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return record_agent(tmp_path, PlaybookModel({"main": ask}), main=MAIN, tools=(weather, tides), settings=ALLOWED)


def _renamed(name: str, text: str) -> Any:
    async def other(place: str) -> str:
        return place

    other.__name__, other.__doc__ = name, text
    return tool(read_only=True)(other)


PLANTED: Mapping[str, tuple[Mapping[str, Any], str, str]] = {
    "another prompt of the definition": (
        {"main": attrs.evolve(MAIN, system_prompt="You look nothing up.")},
        "system",
        "definition",
    ),
    "another definition": ({"main": attrs.evolve(MAIN, name="other")}, "definition", "definition"),
    "a limit of answers": ({"main": attrs.evolve(MAIN, max_tokens=77)}, "max_tokens", "code"),
    "another description of a tool": (
        {"tools": (_renamed("weather", "Tell the climate."), tides)},
        "tools[0].description",
        "tool list or schema",
    ),
    "another order of tools": ({"tools": (tides, weather)}, "tools[0].name", "tool list or schema"),
    "one tool more": ({"tools": (weather, tides, _renamed("moon", "Tell."))}, "tools[2]", "tool list or schema"),
    "one tool fewer": ({"tools": (weather,)}, "tools[1]", "tool list or schema"),
    "a reminder of the definition": (
        {"main": attrs.evolve(MAIN, critical_reminder="Be brief.")},
        "messages[0].content[1]",
        "code",
    ),
    "a first prompt of the definition": (
        {"main": attrs.evolve(MAIN, initial_prompt="Hello.")},
        "messages[0].content[0].text",
        "prompt",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_change_is_the_cause_that_is_named(run: Path, name: str) -> None:
    changed, where, cause = PLANTED[name]
    opening: dict[str, Any] = {"main": MAIN, "tools": (weather, tides), "settings": ALLOWED}

    found = rerun(run, asking("Begin."), **opening | dict(changed)).difference

    assert found is not None
    assert (found.what, found.where, found.cause) == ("request 1", where, cause)
    assert found.label == "session/main"


def _served_otherwise(run: Path, change: Callable[[dict[str, Any]], None]) -> Difference | None:
    """Change the recorded results, and do the run again."""
    lines = [json.loads(line) for line in (run / "effects.jsonl").read_text().splitlines() if line]
    for line in lines:
        if line.get("of") == "tool":
            change(line)
    (run / "effects.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines if line))
    return rerun(run, asking("Begin."), main=MAIN, tools=(weather, tides), settings=ALLOWED).difference


def test_another_result_is_named_with_its_call_and_tool(run: Path) -> None:
    def rain(line: dict[str, Any]) -> None:
        line["got"]["text"] = line["got"]["text"].replace("sun", "rain")

    found = _served_otherwise(run, rain)

    assert found is not None
    assert (found.what, found.where) == ("request 2", "messages[2].content[0].content")
    assert (found.cause, found.recorded, found.now) == ("tool result", "sun in Ulm", "rain in Ulm")
    assert "Weather" in found.detail


def test_another_input_of_a_call_is_told_before_it_is_served(run: Path) -> None:
    def elsewhere(line: dict[str, Any]) -> None:
        line["asked"]["input"]["place"] = "Bonn"

    found = _served_otherwise(run, elsewhere)

    assert found is not None
    assert found.where == "input"
    assert isinstance(found.recorded, dict)
    assert found.recorded["input"] == {"place": "Bonn"}


MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
TEXT = "Prompt\n\n## /home/a/GREENROOM.md (the project's)\n\nfirst line\nsecond line\n"


@pytest.mark.parametrize(
    ("where", "recorded", "now", "asked", "cause"),
    [
        ("system", TEXT, TEXT.replace("second", "2nd"), {}, "instructions file"),
        ("tools[0].description", "a", "b", {"tools": [{"name": "Skill"}]}, "skill"),
        ("tools[0].description", "a", "b", {"tools": [{"name": "Agent"}]}, "definition"),
        ("messages[0].content[0].text", "<teammate-message>a", "<teammate-message>b", {"messages": MESSAGES}, "mail"),
        ("messages[0].content[0].text", "<task-notification>a", "", {"messages": MESSAGES}, "mail"),
        ("messages[3]", None, {}, {"messages": MESSAGES}, "code"),
        ("thinking.budget_tokens", 1, 2, {}, "code"),
    ],
)
def test_the_part_of_a_request_that_differs_names_its_cause(
    where: str, recorded: Any, now: Any, asked: Mapping[str, Any], cause: str
) -> None:
    difference = Difference(agent="a", what="request 1", where=where, recorded=recorded, now=now)
    assert with_cause(difference, asked).cause == cause


def test_a_file_of_instructions_is_named_with_its_line() -> None:
    difference = Difference(
        agent="a", what="request 1", where="system", recorded=TEXT, now=TEXT.replace("second", "2nd")
    )
    assert with_cause(difference, {}).detail == "/home/a/GREENROOM.md, line 2"


def test_each_line_of_a_report_says_which_side_it_is(run: Path) -> None:
    again = rerun(run, asking("Start."), main=MAIN, tools=(weather, tides), settings=ALLOWED)

    assert report_of(again).splitlines()[:4] == [
        "different: session/main, request 1",
        "  where     messages[0].content[0].text",
        "  recorded  'Begin.' (from character 0)",
        "  now       'Start.' (from character 0)",
    ]
    equal = Rerun(run=run, difference=None, events=7, requests=1, results=2)
    assert report_of(equal) == "equal: 7 events, 1 request and 2 results compared, 0 tokens"
