"""Planted changes of outcomes of hooks, answers of people, rules, boards, mail, order and retries: the cause that is named is the planted one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom import AgentDefinition, rerun
from greenroom.agents import PermissionQuestion, _inputs
from greenroom.core.texts import frame
from greenroom.hooks import HookEvent, HookOutcome
from greenroom.models import AnswerLike, Call, Model, ModelRequest, PlaybookModel, ScriptedModel
from greenroom.permissions import Allow, Deny
from greenroom.reruns import print_rerun, report_of
from greenroom.session import Session, open_session
from greenroom.teams import _board
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.models.situations import provider_error
from tests.reruns.recorded_team import asking, record_team
from tests.session import small_team

pytestmark = pytest.mark.promise("RR-5")

MAIN = AgentDefinition(name="main", system_prompt="You look things up.")
Change = Callable[[dict[str, Any]], object]


@attrs.frozen
class Planted:
    """A change, and the difference that it leads to."""

    cause: str
    what: str
    where: str = ""
    change: Change = lambda _: None
    """Changes a line of `effects.jsonl` or `model.jsonl`."""
    rules: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = attrs.field(factory=dict)


def check(
    run: Path,
    planted: Planted,
    folder: Path,
    program: Callable[[Session], Any],
    capsys: pytest.CaptureFixture[str],
    **opening: Any,
) -> None:
    made = folder / "planted" / run.name
    shutil.copytree(run, made)
    for file in ("effects.jsonl", "model.jsonl"):
        lines = [json.loads(line) for line in (made / file).read_text().splitlines() if line]
        for line in lines:
            planted.change(line)
        (made / file).write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    again = rerun(made, program, **opening)

    found = again.difference
    assert found is not None
    assert (found.cause, found.what[: len(planted.what)]) == (planted.cause, planted.what)
    assert found.where.startswith(planted.where)
    assert f"cause     {planted.cause}: " in report_of(again)
    assert print_rerun(again, is_json=True) == 1
    assert json.loads(capsys.readouterr().out)["difference"]["cause"] == planted.cause


# --- one agent, with hooks and a person who is asked --------------------------------------------------------------------


def look(request: ModelRequest) -> AnswerLike:
    if any(message.role == "assistant" for message in request.messages):
        return "Done."
    reads = [Call("Read", {"file_path": f"{name}.txt"}) for name in ("sun", "sea")]
    return [*reads, *(Call("Write", {"file_path": name, "content": "x\n"}) for name in ("yes.txt", "no.txt"))]


RULES: Mapping[str, Any] = {"deny": ["Read(sea.txt)"], "ask": ["Write"]}
HOOK = {"hooks": [{"type": "command", "command": "true"}]}
HOOKS = {"PreToolUse": [{"matcher": "Read", **HOOK}], "PostToolUse": [{"matcher": "Read", **HOOK}]}
OPENING: dict[str, Any] = {"main": MAIN, "tools": STANDARD_TOOLS, "is_trusted": True}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recorded run: one file may be read, and one be written."""
    folder = tmp_path_factory.mktemp("asked")
    (folder / "sun.txt").write_text("sun\n")
    (folder / "sea.txt").write_text("sea\n")

    async def can_use_tool(question: PermissionQuestion) -> Allow | Deny:
        return Allow() if "yes" in str(question.input) else Deny(message="not that file")

    async def record() -> Path:
        with trio.fail_after(60):
            async with open_session(
                model=PlaybookModel({"main": look}),
                cwd=folder,
                runs=folder / "runs",
                settings={"record": "effects", "hooks": HOOKS, "permissions": RULES},
                can_use_tool=can_use_tool,
                **OPENING,
            ) as session:
                await session.run("Begin.")
        return session.run_folder

    return trio.run(record)


def _hook(event: HookEvent, **values: Any) -> Change:
    """Return what gives the first hooks of an event another outcome."""
    outcome: dict[str, Any] = json.loads(json.dumps(attrs.asdict(HookOutcome(event=event))))

    def change(line: dict[str, Any]) -> None:
        if line.get("of") == "hook" and line["key"].startswith(event) and line["key"].endswith("_1_1"):
            extras = outcome["extras"] | values.get("extras", {})
            line["got"] = outcome | values | {"extras": extras}

    return change


def _answer(number: int, **values: Any) -> Change:
    """Return what makes the answer to the question about one call another one."""

    def change(line: dict[str, Any]) -> None:
        if line.get("of") == "answer" and line["key"].endswith(f"_{number}"):
            line["got"] = {"who": line["got"]["who"], **values}

    return change


PRE, POST = HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE
ANSWER = "messages[2].content"
NO: Mapping[str, Any] = {"allows": False, "message": "never", "cause": "person", "interrupts": False}
ASKED: Mapping[str, Planted] = {
    "hook denies": Planted("hook", "request 2", f"{ANSWER}[0]", _hook(PRE, permission="deny", permission_reason="no")),
    "hook tells": Planted("hook", "request 2", f"{ANSWER}[4]", _hook(PRE, contexts=["Mind the gap."])),
    "hook rewrites": Planted("hook", "tool toolu", "input", _hook(PRE, updated_input={"file_path": "moon.txt"})),
    "hook replaces": Planted("hook", "request 2", f"{ANSWER}[0]", _hook(POST, extras={"updated_tool_output": "moon"})),
    "hook stops": Planted("hook", "request 2", change=_hook(PRE, stops=True, stop_reason="enough")),
    "person denies": Planted("permission", "request 2", f"{ANSWER}[2]", _answer(3, **NO)),
    "person allows": Planted(
        "permission", "tool toolu", change=_answer(4, allows=True, input=None, updates=[], message="")
    ),
    "rule more": Planted("permission", "request 2", f"{ANSWER}[0]", rules={**RULES, "deny": ["Read(s*.txt)"]}),
    "rule fewer": Planted("permission", "tool toolu", rules={"ask": ["Write"]}),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_planted_decision_is_named(
    asked: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = ASKED[name]
    settings = {"hooks": HOOKS, "permissions": RULES if planted.rules is None else planted.rules}
    check(asked, planted, tmp_path, asking("Begin."), capsys, settings=settings, **OPENING)


# --- requests that are retried ------------------------------------------------------------------------------------------


def test_a_planted_number_of_attempts_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storm = [provider_error("overloaded")] * 3
    run = _record(ScriptedModel(["One.", *storm, "Two."]), tmp_path, asking("Begin.", "Again."), attempts=4)
    planted = Planted("retries", "request 2", "retries.attempts")

    assert rerun(run, asking("Begin.", "Again."), settings=_retrying(4)).is_equal
    check(run, planted, tmp_path, asking("Begin.", "Again."), capsys, settings=_retrying(2))


def _retrying(attempts: int) -> Mapping[str, Any]:
    return {"models": {"retries": {"attempts": attempts}}}


def _record(model: Model, folder: Path, program: Callable[[Session], Any], attempts: int = 8) -> Path:
    async def record() -> Path:
        settings = {"record": "effects", **_retrying(attempts)}
        async with open_session(
            model=model, cwd=folder, runs=folder / "runs", ports=virtual_ports(), settings=settings
        ) as session:
            await program(session)
        return session.run_folder

    return run_virtual(record).result


# --- teams --------------------------------------------------------------------------------------------------------------


def two(first: str = "ann", second: str = "bob") -> Callable[[Session], Any]:
    async def program(session: Session) -> None:
        async with session.open_team("t") as team:
            for name in (first, second):
                await team.spawn(name, definition=attrs.evolve(MAIN, name=name), prompt="Wait.")
            await session.wait_quiet()
            team.teammates["ann"].tell("Look north.")
            await session.wait_quiet()

    return program


def ann(request: ModelRequest) -> AnswerLike:
    is_told = request.messages[-1].text == "Look north."
    return Call("SendMessage", {"to": "bob", "message": "All is dry."}) if is_told else "Noted."


@pytest.fixture(scope="module")
def two_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages: Any = {"ann": ann, "bob": lambda _: "Noted.", "main": lambda _: "I see."}
    return _record(PlaybookModel(pages), tmp_path_factory.mktemp("two"), two())


def _saying(old: str, new: str) -> Change:
    """Return what puts another text into the answers of a model."""

    def change(line: dict[str, Any]) -> None:
        for part in ("said", "response"):
            if part in line:
                line[part] = json.loads(json.dumps(line[part]).replace(old, new))

    return change


def test_a_planted_order_of_a_team_is_named(two_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(two_run, Planted("order", "request 1", "messages[0]"), tmp_path, two("bob", "ann"), capsys)


def test_planted_mail_between_teammates_is_named(
    two_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = Planted("mail", "request 2", "messages[", _saying("All is dry.", "All is wet."))
    check(two_run, planted, tmp_path, two(), capsys)


def test_a_planted_form_of_mail_is_named(
    two_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_inputs, "frame", lambda tag, text, about: frame(tag, text.upper(), about))
    check(two_run, Planted("mail", "request 1", "messages[0]"), tmp_path, two(), capsys)


@pytest.fixture(scope="module")
def board_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_team(tmp_path_factory.mktemp("board"), mates=2, seed=0)


async def survey(session: Session) -> None:
    await small_team.survey(session, mates=2)


def test_a_planted_item_of_the_board_is_named(
    board_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = Planted("board", "request 2", "messages[2].content[3]", _saying("item 3", "thing 3"))
    check(board_run, planted, tmp_path, survey, capsys, main=small_team.LEAD)


def test_a_planted_form_of_items_is_named(
    board_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_board, "escape_text", str.upper)
    check(board_run, Planted("board", "request 1", "messages[0]"), tmp_path, survey, capsys, main=small_team.LEAD)
