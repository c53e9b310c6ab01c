"""Settings of models and MCP servers, in force for the agents of a session."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from greenroom.agents import AgentDefinition, AgentMcpServer, encode_message
from greenroom.core import ProviderError, SettingsError, TurnFailed, UsageError
from greenroom.models import Call, Say, ScriptedModel, Usage, WrittenAnswer, request_body
from greenroom.models._scripted import ScriptEntry
from greenroom.models.recordings import MODEL_FILE, RecordedModel, read_recording
from greenroom.session import open_session
from greenroom.testing import check_cache_prefixes
from tests.mcp.real import EVERYTHING, until
from tests.mcp.warm import warm_command
from tests.session.scripted import opened, results, said, write


def everything() -> dict[str, Any]:
    """Return the entry of a server in a file of settings."""
    command, *arguments = warm_command(EVERYTHING)
    return {"command": command, "args": arguments}


def spent(text: str, output: int) -> WrittenAnswer:
    return WrittenAnswer([Say(text)], usage=Usage(10, output))


async def test_a_budget_ends_a_session_that_has_used_it_up(project: Path, autojump_clock: MockClock) -> None:
    """CL-23."""
    settings = {"models": {"budget": {"calls": 2}}}
    model = ScriptedModel([spent("one", 5), spent("two", 5)])
    async with opened(project, [], model=model, settings=settings) as session:
        await session.run("One.")
        await session.run("Two.")
        with pytest.raises(TurnFailed, match="Budget limit reached"):
            await session.run("Three.")
        assert session.budget.spent.calls == 2
        assert session.budget.spent.usage.output_tokens == 10
        assert session.budget.exceeded is not None


@pytest.mark.parametrize(("own", "effort"), [({}, "low"), ({"effort": "high"}, "high")])
async def test_settings_of_models_send_again_what_may_pass(
    project: Path, autojump_clock: MockClock, own: dict[str, str], effort: str
) -> None:
    """How hard it thinks is the session's own setting before that of the models."""
    settings = {"models": {"retries": {"attempts": 3}, "effort": "low"}, **own}
    model = ScriptedModel([ProviderError("busy", kind="overloaded", is_retryable=True), "done"], keeps_requests=True)
    async with opened(project, [], model=model, settings=settings) as session:
        answer = await session.run("Go.")
    assert answer.text == "done"
    assert model.requests[0].effort == effort


async def test_files_and_program_say_what_they_know_of_models(project: Path, autojump_clock: MockClock) -> None:
    """Of one key the first that says it counts, key by key."""
    write(project / ".greenroom/settings.json", {"models": {"budget": {"calls": 1}, "effort": "high"}})
    model = ScriptedModel(["done"], keeps_requests=True)
    options: dict[str, Any] = {"sources": ["project"], "is_trusted": True, "settings": {"models": {"effort": "low"}}}
    async with opened(project, [], model=model, **options) as session:
        await session.run("Go.")
        with pytest.raises(TurnFailed, match="Budget limit reached"):
            await session.run("Go.")
    assert model.requests[0].effort == "low"


async def test_a_mistake_in_the_settings_of_models_is_named(project: Path, autojump_clock: MockClock) -> None:
    with pytest.raises(SettingsError, match=r"models.budget.*kalls"):
        async with opened(project, [], settings={"models": {"budget": {"kalls": 1}}}):
            pass


async def test_a_session_is_recorded_and_run_again_without_its_model(project: Path, autojump_clock: MockClock) -> None:
    """Effect replay."""
    write(project / "a.txt", "hello")
    settings = {"record_model": True}
    async with opened(project, [Call("Read", {"file_path": "a.txt"})], settings=settings) as session:
        first = await session.run("Read it.")
    assert (session.run_folder / MODEL_FILE).is_file()
    recorded = read_recording(session.run_folder)
    check_cache_prefixes([exchange.request for exchange in recorded.exchanges])

    model = RecordedModel(recorded)
    async with opened(project, [], model=model) as again:
        second = await again.run("Read it.")
    assert second == first
    write(project / "a.txt", "changed")
    model = RecordedModel(recorded)
    with pytest.raises(Exception, match="hello"):
        async with opened(project, [], model=model) as again:
            await again.run("Read it.")


# --- servers ---------------------------------------------------------------------------------------------------------


async def run(project: Path, script: list[Any], **options: Any) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(script, keeps_requests=True)
    async with open_session(model=model, cwd=project, runs=project.parent / "runs", **options) as session:
        await session.run("Go.")
    return session, model


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_tools_of_a_server_are_tools_of_the_agent_under_the_rules(project: Path, *, is_allowed: bool) -> None:
    """What a program gives as settings, without any file."""
    settings = {
        "mcpServers": {"all": everything()},
        "permissions": {"allow": ["mcp__all__echo"] if is_allowed else []},
    }
    session, model = await run(project, [Call("mcp__all__echo", {"text": "hello"}), "done"], settings=settings)
    assert "mcp__all__echo" in {tool.name for tool in model.requests[0].tools}
    (result,) = results(session)
    assert result.is_error is not is_allowed
    assert ("hello" in result.content) is is_allowed


async def test_servers_of_the_projects_file_are_connected(project: Path) -> None:
    write(project / ".mcp.json", json.dumps({"mcpServers": {"all": everything(), "bad": {"command": 3}}}))
    session, model = await run(project, ["done"], sources=["project"], is_trusted=True)
    assert "mcp__all__echo" in {tool.name for tool in model.requests[0].tools}
    assert any("bad" in problem for problem in session.problems)


async def test_a_dead_server_is_told_and_keeps_nobody_from_working(project: Path) -> None:
    settings = {"mcpServers": {"dead": {"command": "no-such-program-at-all"}}}
    session, _ = await run(project, ["done"], settings=settings)
    assert said(session)[-1].text == "done"
    (state,) = session.servers.states()
    assert state.name == "dead"
    assert "no-such-program-at-all" in state.why


async def test_an_agent_brings_a_server_of_its_own(project: Path) -> None:
    definition = AgentDefinition(name="own", mcp_servers=(AgentMcpServer("mine", everything()),))
    settings = {"permissions": {"allow": ["mcp__mine"]}}
    call = Call("mcp__mine__echo", {"text": "hello"})
    session, _ = await run(project, [call, "done"], main=definition, settings=settings)
    assert "hello" in results(session)[0].content


async def test_an_image_of_a_server_reaches_the_model_and_outlives_the_process(project: Path) -> None:
    settings = {"mcpServers": {"all": everything()}, "permissions": {"allow": ["mcp__all"]}}
    session, model = await run(project, [Call("mcp__all__picture", {}), "done"], settings=settings)
    (sent,) = request_body(model.requests[1])["messages"][-1]["content"]
    (line,) = [line for line in encode_message(said(session)[2])["content"] if line["type"] == "tool_result"]

    again = ScriptedModel(["done"], keeps_requests=True)
    async with open_session(
        model=again, cwd=project, runs=project.parent / "runs", resume="last", settings=settings
    ) as resumed:
        await resumed.run("Go on.")

    (text, image) = sent["content"]
    assert text["text"].startswith("One pixel:\n[image image/png, 70 bytes: shown below as image 1; saved as ")
    assert image["source"]["media_type"] == "image/png"
    assert len(base64.b64decode(image["source"]["data"])) == 70
    assert line["content"] == sent["content"]
    assert again.requests[0].messages[:3] == model.requests[1].messages[:3]
    check_cache_prefixes([*model.requests, again.requests[0]])


async def test_a_prompt_of_a_server_is_a_command_and_what_it_lists_later_is_there(project: Path) -> None:
    """The lists of tools, prompts and resources are those of the moment."""
    settings = {"mcpServers": {"all": everything()}, "permissions": {"allow": ["mcp__all"]}}
    listed, read = Call("ListMcpResourcesTool", {}), Call("ReadMcpResourceTool", {"server": "all", "uri": "note://one"})
    trick = Call("mcp__all__trick", {})
    script: list[ScriptEntry] = ["kind", Call("mcp__all__learn", {}), "learnt", trick, listed, read, "done"]
    model = ScriptedModel(script, keeps_requests=True)
    async with open_session(model=model, cwd=project, runs=project.parent / "runs", settings=settings) as session:
        session.send("/mcp__all__re_view 'my file.py' very kind")
        await until(lambda: len(said(session)) == 2)
        with pytest.raises(UsageError, match="unknown prompt /mcp__all__nothing"):
            await session.run("/mcp__all__nothing")
        with pytest.raises(UsageError, match="requires path"):
            await session.run("/mcp__all__re_view")
        tools = session.tools
        await session.run("Learn.")
        await until(lambda: "mcp__all__trick" in session.tools)
        after = session.tools
        await session.run("Go on.")

    assert said(session)[0].text == "Review my file.py, and be very kind."
    assert after == (*tools, "mcp__all__trick")
    assert [result.content for result in results(session)][:2] == ["learnt", "tricked"]
    assert "note://pixel" in results(session)[2].content
    assert results(session)[3].content == "[resource note://one]\nRemember the milk."


@pytest.mark.parametrize(
    ("permissions", "has_any"), [({}, True), ({"deny": ["mcp__all"]}, False), ({"deny": ["mcp__all__echo"]}, True)]
)
async def test_who_is_denied_a_server_by_rules_has_no_resources_of_it(
    project: Path, permissions: dict[str, Any], *, has_any: bool
) -> None:
    settings = {"mcpServers": {"all": everything()}, "permissions": permissions}
    _, model = await run(project, ["done"], settings=settings)
    assert ("ReadMcpResourceTool" in {tool.name for tool in model.requests[0].tools}) is has_any


async def test_what_a_hook_puts_in_the_place_of_a_result_stands_for_its_images_too(project: Path) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedMCPToolOutput": "(withheld)"}}
    hooks = {"PostToolUse": [{"hooks": [{"type": "command", "command": f"echo '{json.dumps(answer)}'"}]}]}
    settings = {"mcpServers": {"all": everything()}, "permissions": {"allow": ["mcp__all"]}, "hooks": hooks}
    session, _ = await run(project, [Call("mcp__all__picture", {}), "done"], settings=settings)
    (result,) = results(session)
    assert (result.content, result.images) == ("(withheld)", ())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sources": ["project"]}, "is not started: trust"),
        ({"sources": ["user"], "is_trusted": True}, ""),
        ({"sources": ["project"], "is_trusted": True, "settings": {"disabledMcpjsonServers": ["all"]}}, ""),
    ],
)
async def test_servers_that_nobody_wants_are_not_started(project: Path, options: dict[str, Any], words: str) -> None:
    """A program that a folder brings along runs only where the folder is trusted and its files are read."""
    touch = {"command": "touch", "args": [str(project / "ran")]}
    write(project / ".mcp.json", json.dumps({"mcpServers": {"all": touch}}))
    session, _ = await run(project, ["done"], **options)
    assert not (project / "ran").exists()
    assert (words in " ".join(session.problems)) if words else True
