"""Planted changes of the surroundings, the code, the program and the record: the first cause that is named is the planted one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom import AGENT_TOOLS, AgentDefinition, rerun, tool
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.reruns import print_rerun, report_of
from greenroom.session import Session, open_session
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools import Tool
from tests.reruns.recorded_team import record_team
from tests.session import small_team

pytestmark = pytest.mark.promise("RR-5")

MAIN = AgentDefinition(name="main", system_prompt="You look things up.")
SCOUT: Mapping[str, Any] = {"description": "looks", "prompt": "You scout.", "tools": ["Weather"]}


@tool(read_only=True)
async def weather(place: str) -> str:
    """Tell the weather."""
    return f"sun in {place}"


@tool(read_only=True)
async def tides(place: str) -> str:
    """Tell the tides."""
    if place == "Ulm":
        raise LookupError("no sea")
    return f"low water in {place}"


def lead(request: ModelRequest) -> AnswerLike:
    steps: tuple[AnswerLike, ...] = (
        [Call("Weather", {"place": "Ulm"}), Call("Tides", {"place": "Ulm"})],
        Call("Agent", {"description": "look", "prompt": "Look at Bonn.", "subagent_type": "scout"}),
        "Sun and no sea.",
        "Again.",
    )
    return steps[sum(message.role == "assistant" for message in request.messages)]


def scout(request: ModelRequest) -> AnswerLike:
    return Call("Weather", {"place": "Bonn"}) if len(request.messages) == 1 else "Sun in Bonn."


SCOUTING = AgentDefinition(name="scouting", system_prompt="You scout.")
OPENING: dict[str, Any] = {
    "main": MAIN,
    "agents": {"scout": SCOUT},
    "tools": (weather, tides, *AGENT_TOOLS),
    "sources": ("project",),
    "settings": {"permissions": {"allow": ["Weather", "Tides", "Agent"]}},
}


def program_of(*prompts: str) -> Callable[[Session], Any]:
    async def program(session: Session) -> None:
        for prompt in prompts:
            await session.run(prompt)

    return program


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a project with a recorded run."""
    folder = tmp_path_factory.mktemp("planted") / "project"
    folder.mkdir()
    (folder / "GREENROOM.md").write_text("Be brief.\nBe kind.\n")
    settings = {**OPENING["settings"], "record": "effects"}

    async def record() -> None:
        async with open_session(
            model=PlaybookModel({"main": lead, "scout": scout}),
            cwd=folder,
            runs=folder / "runs",
            ports=virtual_ports(),
            **{**OPENING, "settings": settings},
        ) as session:
            await program_of("Begin.", "More.")(session)

    run_virtual(record)
    return folder


@attrs.frozen
class Planted:
    """A change, and where it is found."""

    cause: str
    what: str
    where: str = ""
    opening: Mapping[str, Any] = attrs.field(factory=dict)
    prompts: tuple[str, ...] = ("Begin.", "More.")
    in_project: Callable[[Path], object] = lambda _: None
    in_record: Callable[[dict[str, Any]], object] | None = None
    """Changes a line of `effects.jsonl` or `model.jsonl`."""
    detail: str = ""
    label: str = "session/main"


def _tool(name: str, doc: str, **more: Any) -> Tool:
    async def other(place: str) -> str:
        return place

    other.__name__, other.__doc__ = name, doc
    return tool(read_only=True, **more)(other)


@tool(read_only=True, name="Weather")
async def weather_of_day(place: str, day: int = 0) -> str:
    """Tell the weather."""
    return place


def _write(name: str, text: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


def _got(of: str, **values: Any) -> Callable[[dict[str, Any]], object]:
    """Return what changes the first result of a kind."""

    def change(line: dict[str, Any]) -> None:
        if line.get("of") == of and line["key"].endswith("_1_1"):
            line["got"].update(values)

    return change


def _settings(**more: Any) -> dict[str, Any]:
    return {"settings": {**OPENING["settings"], **more}}


def _answer(line: dict[str, Any]) -> None:
    """Have the request after the first turn hold another answer than the model gave."""
    messages = line.get("request", {}).get("messages", ())
    if "More." in json.dumps(messages):
        (at,) = (at for at, message in enumerate(messages) if "answer" in message)
        messages[at] = {"role": "assistant", "content": [{"type": "text", "text": "Sun, and a sea!"}]}


def _head(**values: str) -> Callable[[dict[str, Any]], object]:
    """Return what changes the beginning of the record."""

    def change(line: dict[str, Any]) -> None:
        if "seed" in line:
            line.update(values)

    return change


def _later(line: dict[str, Any]) -> None:
    if line.get("of") == "wall":
        line["value"] += 86_400


def _refusing(line: dict[str, Any]) -> None:
    """Change the input of the first call."""
    if line.get("of") == "tool" and line["key"].endswith("_1_2"):
        line["asked"]["input"]["place"] = "Rome"


TOOLS = OPENING["tools"]
PLANTED: Mapping[str, Planted] = {
    "first prompt": Planted("prompt", "request 1", "messages[0].content[0].text", prompts=("Start.", "More.")),
    "second prompt": Planted("prompt", "request 4", "messages[6].content[0].text", prompts=("Begin.", "Less.")),
    "a prompt more": Planted("too many", "request 5", prompts=("Begin.", "More.", "Most.")),
    "a prompt fewer": Planted("too few", "request 4", prompts=("Begin.",)),
    "system prompt": Planted("definition", "request 1", "system", {"main": attrs.evolve(MAIN, system_prompt="Guess.")}),
    "effort": Planted("definition", "request 1", "effort", {"main": attrs.evolve(MAIN, effort="low")}),
    "effort of the settings": Planted("definition", "request 1", "effort", _settings(models={"effort": "high"})),
    "prompt of a sub-agent": Planted(
        "definition",
        "request 1",
        "system",
        {"agents": {"scout": {**SCOUT, "prompt": "You guess."}}},
        label="session/background/",
    ),
    "tools of a sub-agent": Planted(
        "definition",
        "request 1",
        "tools[2].description",
        {"agents": {"scout": {**SCOUT, "tools": ["Tides"]}}},
    ),
    "description of a sub-agent": Planted(
        "definition", "request 1", "tools[2].description", {"agents": {"scout": {**SCOUT, "description": "guesses"}}}
    ),
    "an agent more": Planted(
        "definition", "request 1", "tools[2].description", {"agents": {"scout": SCOUT, "spy": SCOUT}}
    ),
    "parameter of a tool": Planted(
        "tool list or schema", "request 1", "tools[0].input_schema", {"tools": (weather_of_day, *TOOLS[1:])}
    ),
    "name of a tool": Planted(
        "tool list or schema",
        "request 1",
        "tools[1].name",
        {"tools": (weather, _tool("floods", "Tell the tides."), *TOOLS[2:])},
    ),
    "form of the answer": Planted(
        "tool list or schema", "request 1", "tools", {"main": attrs.evolve(MAIN, answer_schema={"type": "object"})}
    ),
    "a rule that asks": Planted(
        "permission", "answer toolu", opening=_settings(permissions={"ask": ["Weather"], "allow": ["Tides", "Agent"]})
    ),
    "a rule that removes a tool": Planted(
        "tool list or schema",
        "request 1",
        "tools[0].name",
        _settings(permissions={"deny": ["Weather"], "allow": ["Tides", "Agent"]}),
        detail="Weather",
    ),
    "a hook more": Planted(
        "hook",
        "hook PreToolUse toolu",
        opening=_settings(hooks={"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]})
        | {"is_trusted": True},
    ),
    "instructions": Planted(
        "instructions file",
        "request 1",
        "system",
        in_project=_write("GREENROOM.md", "Be brief.\nBe cruel.\n"),
        detail="GREENROOM.md, line 2",
    ),
    "a skill": Planted(
        "skill",
        "request 1",
        "tools",
        in_project=_write(".claude/skills/note/SKILL.md", "---\ndescription: Notes.\n---\nNote.\n"),
    ),
    "result of a tool": Planted(
        "tool result",
        "request 2",
        "messages[2].content[0].content",
        in_record=_got("tool", text="rain in Ulm"),
        detail="Weather",
    ),
    "a result that fails": Planted(
        "tool result",
        "request 2",
        "messages[2].content[0]",
        in_record=_got("tool", error="ToolError"),
        detail="Weather",
    ),
    "input of a call": Planted("code", "tool toolu", "input", in_record=_refusing),
    "answer of a model": Planted("model answer", "request 4", "messages[5].content[0].text", in_record=_answer),
    "ids": Planted("ids", "tool toolu", in_record=_head(seed="1" * 32), label=""),
    "day": Planted("environment", "request 1", "system", in_record=_later, detail="Environment"),
    "state of the repository": Planted("environment", "request 1", "system", in_record=_head(git="On branch side.")),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_change_is_named(
    recorded: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = PLANTED[name]
    folder = tmp_path / "project"
    shutil.copytree(recorded, folder)
    planted.in_project(folder)
    (run,) = (folder / "runs").iterdir()
    if planted.in_record is not None:
        for file in ("effects.jsonl", "model.jsonl"):
            lines = [json.loads(line) for line in (run / file).read_text().splitlines() if line]
            for line in lines:
                planted.in_record(line)
            (run / file).write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    again = rerun(run, program_of(*planted.prompts), cwd=folder, **{**OPENING, **planted.opening})

    found = again.difference
    assert found is not None
    assert (found.cause, found.what[: len(planted.what)]) == (planted.cause, planted.what)
    assert found.where.startswith(planted.where)
    assert planted.detail in found.detail
    assert found.label.startswith(planted.label)
    assert f"cause     {planted.cause}" in report_of(again)
    assert print_rerun(again, is_json=True) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["difference"]["cause"], told["is_equal"]) == (planted.cause, False)
    assert {"recorded", "now", "where"} <= told["difference"].keys()


TEAM: Mapping[str, tuple[Callable[[], Any], str]] = {
    "prompt of teammates": (lambda: attrs.evolve(small_team.MATE, system_prompt="You guess."), "definition"),
    "tools of teammates": (lambda: attrs.evolve(small_team.MATE, tools=("Read",)), "tool list or schema"),
}


@pytest.fixture(scope="module")
def team_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_team(tmp_path_factory.mktemp("team"), mates=3, seed=0)


@pytest.mark.parametrize("name", TEAM)
def test_a_planted_change_of_a_team_is_named(team_run: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    make, cause = TEAM[name]
    monkeypatch.setattr(small_team, "MATE", make())

    async def program(session: Session) -> None:
        await small_team.survey(session)

    found = rerun(team_run, program, main=small_team.LEAD).difference

    assert found is not None
    assert (found.cause, found.what) == (cause, "request 1")
    assert found.label.startswith("session/teams/survey/mate-")


@pytest.mark.parametrize("mates", [2, 4])
def test_a_team_of_another_size_is_no_hang(team_run: Path, mates: int) -> None:
    async def program(session: Session) -> None:
        await small_team.survey(session, mates=mates)

    assert rerun(team_run, program, main=small_team.LEAD).difference is not None


def test_another_word_to_a_teammate_is_a_prompt(tmp_path: Path) -> None:
    """First in the teammate's request; what it answers is served, so it goes no further."""

    def saying(text: str) -> Callable[[Session], Any]:
        async def program(session: Session) -> None:
            async with session.open_team("t") as team:
                mate = await team.spawn("ann", definition=SCOUTING, prompt="Wait.")
                await session.wait_quiet()
                mate.tell(text)
                await session.wait_quiet()

        return program

    async def record() -> Path:
        model = PlaybookModel({"scouting": lambda _: "Noted.", "main": lambda _: "I see."})
        async with open_session(
            model=model, cwd=tmp_path, runs=tmp_path / "runs", ports=virtual_ports(), settings={"record": "effects"}
        ) as session:
            await saying("Look north.")(session)
        return session.run_folder

    run = run_virtual(record).result
    assert rerun(run, saying("Look north.")).is_equal
    found = rerun(run, saying("Look south.")).difference

    assert found is not None
    assert (found.cause, found.what, found.label) == ("prompt", "request 2", "session/teams/t/ann")
