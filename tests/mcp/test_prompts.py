"""Prompts of servers as commands: arguments, what is said, lists that change; and servers that fail at them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.mcp import (
    CallFailed,
    McpConnected,
    McpPromptsChanged,
    McpServers,
    ServerConfig,
    ServerStatus,
    Stdio,
    prompt_call,
)
from greenroom.mcp._peer import PromptArgument, PromptInfo
from greenroom.mcp._server_prompts import fill_in
from greenroom.supervisor import open_runtime
from tests.mcp.fakes import FakeServer, http, listen, start
from tests.mcp.over_http import KINDS, config_of, until_changed
from tests.mcp.real import BOUND_S, Session, everything, listening, session

pytestmark = pytest.mark.usefixtures("collected_here")
TITLE, BODY = PromptArgument(name="title", is_required=True), PromptArgument(name="body")
NOTE = PromptInfo(name="note it", description="Take a note", arguments=(TITLE, BODY))


async def expanded(servers: McpServers, text: str) -> str:
    call = prompt_call(text)
    assert call is not None
    return await (await servers.find_prompt(call[0])).expand(call[1])


# --- what is typed ----------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from("abc"), unique=True), st.text(max_size=40))
@example(["a"], "it's one")
@example(["a", "b"], "one 'two three' four")
def test_every_word_that_is_typed_is_in_some_argument(names: list[str], typed: str) -> None:
    values = fill_in(names, typed)

    assert list(values) == names[: len(values)]
    if names:
        said = " ".join(values.values()).replace("'", "").replace('"', "").replace("\\", "").split()
        assert said == typed.replace("'", "").replace('"', "").replace("\\", "").split()


def test_the_last_argument_has_all_that_is_left() -> None:
    assert fill_in(["a", "b"], "one 'two three' four") == {"a": "one", "b": "two three four"}
    assert fill_in(["a", "b"], "one") == {"a": "one"}
    assert fill_in(["a"], "it's one") == {"a": "it's one"}


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("/mcp__a__b", ("mcp__a__b", "")),
        ("  /mcp__a__b one\ntwo ", ("mcp__a__b", "one\ntwo")),
        ("Say /mcp__a__b", None),
        ("/mcp", None),
        ("/other one", None),
    ],
)
def test_only_words_that_begin_with_a_prompt_call_it(text: str, call: tuple[str, str] | None) -> None:
    assert prompt_call(text) == call


async def test_a_prompt_is_called_by_its_name_with_its_arguments(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        server = FakeServer(connects_after_s=3.0)
        server.prompts = (NOTE, PromptInfo(name="plain"))
        named: dict[str, Any] = {"my notes": server}
        servers = await start(runtime, http("my notes"), **named)

        assert await expanded(servers, "/mcp__my_notes__note_it Milk 'two bottles'") == (
            "note it: title=Milk, body=two bottles"
        )  # it was waited for
        (note, plain) = servers.prompts
        assert (note.name, note.description) == ("mcp__my_notes__note_it", "Take a note")
        assert (note.argument_hint, plain.argument_hint) == ("<title> [body]", "")
        with pytest.raises(UsageError, match=r"requires title; use /mcp__my_notes__note_it <title> \[body\]"):
            await expanded(servers, "/mcp__my_notes__note_it")
        with pytest.raises(UsageError, match="takes no arguments"):
            await expanded(servers, "/mcp__my_notes__plain now")
        with pytest.raises(UsageError, match="unknown prompt /mcp__x; expected one of: /mcp__my_notes__note_it, "):
            await expanded(servers, "/mcp__x")


async def test_a_server_that_cannot_list_its_prompts_is_of_use_without_them(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        events = listen(runtime)
        bad, slow = FakeServer(), FakeServer()
        bad.prompts_fail, slow.prompts_fail = 0.0, 1e6
        servers = await start(runtime, http("bad"), http("slow"), bad=bad, slow=slow)
        assert await servers.wait_settled()

        assert {state.status for state in servers.states()} == {ServerStatus.CONNECTED}
        assert trio.current_time() <= 5.1
    problems = {event.server: event.error for event in events if isinstance(event, McpPromptsChanged)}
    assert problems == {"bad": "no prompts today", "slow": "it did not answer in time"}


async def test_prompts_that_change_are_read_again_and_kept_where_that_fails(virtual_time: None) -> None:
    async with open_runtime() as runtime:
        events = listen(runtime)
        server = FakeServer()
        servers = await start(runtime, http("a"), a=server)
        await servers.wait_settled()
        assert server.peer is not None

        server.prompts = (NOTE,)
        server.peer.changed.set()
        await trio.testing.wait_all_tasks_blocked()
        assert [prompt.name for prompt in servers.prompts] == ["mcp__a__note_it"]
        server.prompts_fail = 0.0
        server.peer.changed.set()
        await trio.sleep(60)  # changes that follow one another are read at a pace
        assert [prompt.name for prompt in servers.prompts] == ["mcp__a__note_it"]
        assert servers.states()[0].prompts == ("note it",)

        server.die()
        await trio.testing.wait_all_tasks_blocked()
        assert servers.prompts == ()
    told = [(event.prompts, getattr(event, "error", "")) for event in events if hasattr(event, "prompts")]
    assert told == [(0, ""), (1, ""), (1, "no prompts today")]
    assert isinstance(events[1], McpConnected)


# --- real servers -----------------------------------------------------------------------------------------------------


async def learn(one: Session) -> None:
    """Make the server have another prompt, and wait until it is here."""
    assert await one.call("teach") == "taught"
    await until_changed(one.servers, lambda: "mcp__all__again" in {each.name for each in one.servers.prompts})
    assert await expanded(one.servers, "/mcp__all__again") == "Say it again."


@pytest.mark.slow
async def test_prompts_of_a_program(tmp_path: Path) -> None:
    async with session(tmp_path, everything()) as one:
        with trio.fail_after(BOUND_S):
            assert (
                await expanded(one.servers, "/mcp__all__re_view a.py very strict") == "Review a.py, and be very strict."
            )
            assert await expanded(one.servers, "/mcp__all__re_view a.py") == "Review a.py, and be kind."
            assert await expanded(one.servers, "/mcp__all__talk") == (
                "What is one?\n\n[assistant]\nThe first number.\n\nAnd two?"
            )
            await learn(one)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Async generator 'httpx?2.*' was garbage collected:ResourceWarning")
@pytest.mark.filterwarnings("ignore:Async generator 'httpcore2.*' was garbage collected:ResourceWarning")
@pytest.mark.parametrize("kind", KINDS)
async def test_prompts_of_a_server_at_an_address_change(tmp_path: Path, kind: str) -> None:
    with listening(kind) as far:
        await far.wait_open()
        async with session(tmp_path, config_of(far.url, kind, name="all")) as one:
            await learn(one)


@pytest.mark.slow
async def test_a_server_without_prompts_says_that_it_has_none(tmp_path: Path) -> None:
    way = Stdio(command=sys.executable, args=("-m", "mcp_server_time", "--local-timezone", "UTC"))
    async with session(tmp_path, ServerConfig(name="time", way=way)) as one:
        assert one.servers.prompts == ()
        server = one.servers.get("time")
        assert server is not None
        with pytest.raises(CallFailed):
            await server.get_prompt("any", {})
