"""Variables of the environment that settle what no settings file does, or go before one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition
from greenroom.agents.subagents import DelegationSettings, delegation_from_environment
from greenroom.core import UsageError
from greenroom.hooks import SESSION_END_LIMIT_S, STOP_BLOCK_CAP
from greenroom.models import Call, Effort, PlaybookModel, ScriptedModel
from greenroom.session import open_session
from greenroom.session.settings._session_environment import EnvironmentLimits, limits_from_environment
from greenroom.tools import SIDE_BY_SIDE, tool
from greenroom.tools.builtin import STANDARD_TOOLS, BashLimits
from tests.agents.pages import in_order
from tests.session.hook_commands import hook, run
from tests.session.scripted import results

NUMBERS = (
    "GREENROOM_MAX_TOOL_USE_CONCURRENCY",
    "GREENROOM_STOP_HOOK_BLOCK_CAP",
    "GREENROOM_SESSIONEND_HOOKS_TIMEOUT_MS",
    "GREENROOM_MAX_SUBAGENT_SPAWN_DEPTH",
    "GREENROOM_MAX_CONCURRENT_SUBAGENTS",
    "BASH_DEFAULT_TIMEOUT_MS",
    "GREENROOM_BASH_MAX_TIMEOUT_MS",
    "BASH_MAX_OUTPUT_LENGTH",
)


@given(st.sampled_from(NUMBERS), st.one_of(st.integers(1, 10**9).map(str), st.text(max_size=8)))
def test_a_variable_is_a_number_or_refused_by_its_name(name: str, text: str) -> None:
    environ, said = {name: text}, text.strip()

    has_digits = said.isascii() and said.isdecimal()
    if not said or (has_digits and int(said) > 0):
        delegation_from_environment(environ, DelegationSettings())
        limits_from_environment(environ)
    elif not has_digits:  # for some of them 0, which may be written 00, is no limit
        with pytest.raises(UsageError, match=name):
            delegation_from_environment(environ, DelegationSettings())
            limits_from_environment(environ)


def test_without_variables_the_usual_holds() -> None:
    empty = dict.fromkeys(NUMBERS, " ")

    assert limits_from_environment(empty) == EnvironmentLimits()
    assert (
        (EnvironmentLimits().side_by_side, EnvironmentLimits().stop_blocks) == (SIDE_BY_SIDE, STOP_BLOCK_CAP) == (10, 8)
    )
    assert EnvironmentLimits().session_end_s == SESSION_END_LIMIT_S == 1.5
    assert EnvironmentLimits().bash == BashLimits(default_ms=120_000, most_ms=600_000, characters=30_000)
    assert delegation_from_environment(empty, DelegationSettings()) == DelegationSettings()


async def test_limits_of_commands_are_told_to_the_model_and_hold(project: Path) -> None:
    """BASH_DEFAULT_TIMEOUT_MS, BASH_MAX_TIMEOUT_MS, BASH_MAX_OUTPUT_LENGTH."""
    env = {"BASH_DEFAULT_TIMEOUT_MS": "50", "GREENROOM_BASH_MAX_TIMEOUT_MS": "60000", "BASH_MAX_OUTPUT_LENGTH": "20"}
    calls = [
        Call("Bash", {"command": "sleep 60"}),
        Call("Bash", {"command": "printf '%0100d' 7", "timeout": 60_000}),
        Call("Bash", {"command": "true", "timeout": 60_001}),
    ]
    model = ScriptedModel([calls, "done"], keeps_requests=True)
    async with open_session(
        model=model,
        cwd=project,
        runs=project.parent / "runs",
        tools=STANDARD_TOOLS,
        settings={"env": env, "permissions": {"allow": ["Bash"]}},
    ) as session:
        await session.run("Go.")

    (schema,) = (each_tool.input_schema for each_tool in model.requests[0].tools if each_tool.name == "Bash")
    timeout = schema["properties"]["timeout"]
    assert (timeout["default"], timeout["maximum"]) == (50, 60_000)
    assert "50 if left out, at most 60000" in timeout["description"]
    late, long, refused = (result.content for result in results(session))
    assert "not done within its timeout" in late
    assert "cut: 100 bytes in all" in long
    assert "timeout" in refused


async def test_commands_can_tell_where_they_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is exported; a variable of the settings goes before it."""
    names = ["CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"]
    names += ["GREENROOM_SESSION_ID", "GREENROOM_PROJECT_DIR"]
    for name in names:
        monkeypatch.delenv(name, raising=False)
    command = "".join(f'echo "{name}=${name}";' for name in names)
    settings = {"permissions": {"allow": ["Bash"]}, "env": {"CLAUDECODE": "mine"}}

    session = await run(project, [Call("Bash", {"command": command}), "done"], settings)

    assert dict(line.split("=", 1) for line in results(session)[0].content.splitlines()) == {
        "CLAUDECODE": "mine",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_SESSION_ID": session.id,
        "CLAUDE_PROJECT_DIR": str(project),
        "GREENROOM_SESSION_ID": session.id,
        "GREENROOM_PROJECT_DIR": str(project),
    }


@pytest.mark.parametrize(("effort", "shown"), [("high", "high"), (None, "unset")])
async def test_commands_are_told_how_hard_their_agent_thinks(
    project: Path, monkeypatch: pytest.MonkeyPatch, effort: Effort | None, shown: str
) -> None:
    """`CLAUDE_EFFORT`; a command in the background too."""
    monkeypatch.delenv("CLAUDE_EFFORT", raising=False)
    command = "echo ${CLAUDE_EFFORT-unset} >> told; echo ${CLAUDE_EFFORT-unset}"
    aside = Call("Bash", {"command": command, "run_in_background": True})
    async with open_session(
        model=PlaybookModel({"main": in_order(Call("Bash", {"command": command}), aside)}),
        cwd=project,
        runs=project.parent / "runs",
        main=AgentDefinition(name="main", system_prompt="You help.", effort=effort),
        tools=STANDARD_TOOLS,
        settings={"permissions": {"allow": ["Bash"]}},
    ) as session:
        await session.run("Go.")
        with trio.fail_after(30):
            for shell in session.tasks.table.running():  # quiet are its agents: the shell may still write
                await shell.wait_finished()

    assert results(session)[0].content.strip() == shown
    assert (project / "told").read_text().split() == [shown, shown]


async def test_stop_hooks_are_overruled_after_so_many_times(project: Path) -> None:
    settings = hook("Stop", f"echo >> {project}/asked; echo more >&2; exit 2")

    await run(project, ["again", "again", "done"], {**settings, "env": {"GREENROOM_STOP_HOOK_BLOCK_CAP": "2"}})

    assert len((project / "asked").read_text()) == 3


async def test_hooks_of_the_end_share_what_the_variable_says(project: Path) -> None:
    settings = hook("SessionEnd", f"sleep 60; touch {project}/late")
    began = trio.current_time()

    session = await run(project, ["done"], {**settings, "env": {"GREENROOM_SESSIONEND_HOOKS_TIMEOUT_MS": "50"}})

    assert trio.current_time() - began < 5
    lines = map(json.loads, (session.run_folder / "journal.jsonl").read_text().splitlines())
    assert [line["error"] for line in lines if line.get("ev") == "hook.ran"] == ["timed out after 0.05 s"]


async def test_so_many_read_only_calls_run_at_once(project: Path) -> None:
    running = most = 0

    @tool(read_only=True)
    async def look() -> str:
        """Look."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await trio.testing.wait_all_tasks_blocked()
        running -= 1
        return "seen"

    async with open_session(
        model=ScriptedModel([[Call("Look")] * 7, "done"]),
        cwd=project,
        runs=project.parent / "runs",
        tools=(look,),
        settings={"env": {"GREENROOM_MAX_TOOL_USE_CONCURRENCY": "3"}},
    ) as session:
        await session.run("Go.")

    assert most == 3
