"""MCP servers that live in the program which talks to a run: what travels on the two pipes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
from trio.testing import MockClock

from greenroom.cli._run_arguments import without_hosted
from greenroom.core import UsageError
from greenroom.headless._hosted_servers import HostedServers
from greenroom.mcp import McpServices, ServerRules, ServerScope, start_servers
from greenroom.mcp._server_rules import ServerPattern
from greenroom.models import Call, WrittenAnswer
from greenroom.supervisor import open_runtime
from greenroom.testing import ReceivedRequest
from greenroom.testing._messages_script import ReplyLike, Script
from tests.cli.place import Place, texts_of
from tests.headless.agent_calls import result_of
from tests.headless.talk import Talk, talking
from tests.mcp.fakes import FakePeers, FakeServer, http, start

ALLOWED = ("--allowed-tools", "mcp__tiny")
SDK = json.dumps({"mcpServers": {"tiny": {"type": "sdk", "name": "tiny"}}})


@attrs.define
class Tiny:
    """A server as small as one can be; it answers as the program that it lives in does."""

    tools: list[str] = attrs.field(factory=lambda: ["shout"])
    is_silent: bool = False
    """Whether it leaves calls without an answer."""
    messages: list[dict[str, Any]] = attrs.field(factory=list)

    def __call__(self, message: dict[str, Any]) -> dict[str, Any] | None:
        self.messages.append(message)
        match message.get("method"):
            case "initialize":
                result: dict[str, Any] = {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "tiny", "version": "0.1"},
                }
            case "tools/list":
                result = {"tools": [{"name": tool, "inputSchema": {"type": "object"}} for tool in self.tools]}
            case "tools/call":
                if self.is_silent:
                    return None
                text = message["params"]["arguments"].get("text", "").upper()
                result = {"content": [{"type": "text", "text": text}]}
            case _ if "id" in message and "method" in message:
                error = {"code": -32601, "message": f"Method '{message['method']}' not found"}
                return {"jsonrpc": "2.0", "id": message["id"], "error": error}
            case _:
                return {"jsonrpc": "2.0", "result": {}, "id": 0}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    @property
    def methods(self) -> list[str]:
        return [message.get("method", "(an answer)") for message in self.messages]


def shout(text: str = "hello") -> WrittenAnswer:
    return WrittenAnswer([Call("mcp__tiny__shout", {"text": text}, id="toolu_1")])


def sent(talk: Talk) -> list[Mapping[str, Any]]:
    """Return what was said to servers of the program."""
    requests = [line["request"] for line in talk.heard if line["type"] == "control_request"]
    return [request for request in requests if request["subtype"] == "mcp_message"]


@contextmanager
def serving(place: Place, tiny: Tiny, script: Script, *arguments: str) -> Iterator[tuple[Talk, list[ReceivedRequest]]]:
    """Talk to a run as a program that has a server in it."""
    with talking(place, script, *arguments) as (talk, requests):
        talk.servers["tiny"] = tiny
        talk.ask("initialize", sdkMcpServers=["tiny"])
        yield talk, requests


def until(talk: Talk, is_so: Callable[[], bool]) -> None:
    """Take lines in until something holds."""
    while not is_so():
        talk.hear(lambda _: True)


@pytest.mark.parametrize("is_given", [False, True])
def test_a_server_that_the_program_names_has_its_tools_in_the_first_turn(place: Place, is_given: bool) -> None:
    """Named by `initialize`, or on the command line; the turn waits for it."""
    tiny = Tiny()
    arguments = (*ALLOWED, "--mcp-config", SDK) if is_given else ALLOWED
    with talking(place, [shout(), "It shouted."], *arguments) as (talk, requests):
        talk.servers["tiny"] = tiny
        names = [] if is_given else ["tiny"]
        assert talk.ask("initialize", sdkMcpServers=names)["subtype"] == "success"
        assert talk.ask("initialize", sdkMcpServers=["tiny"])["subtype"] == "success"
        talk.say("Shout.")
        talk.hear_results(1)
        (status,) = talk.ask("mcp_status")["response"]["mcpServers"]
        code, err = talk.close()

    assert (code, err) == (0, "")
    assert "mcp__tiny__shout" in {tool["name"] for tool in requests[0].body["tools"]}
    assert result_of(requests[1]) == "HELLO"
    assert tiny.methods[:3] == ["initialize", "notifications/initialized", "tools/list"]
    assert tiny.methods.count("initialize") == 1
    assert [line["server_name"] for line in sent(talk)] == ["tiny"] * len(tiny.messages)
    assert [line["message"] for line in sent(talk)] == tiny.messages
    assert all(line["message"]["jsonrpc"] == "2.0" for line in sent(talk))
    assert (status["name"], status["status"]) == ("tiny", "connected")
    assert (status["serverInfo"], status["tools"]) == ({"name": "tiny", "version": "0.1"}, [{"name": "shout"}])
    assert talk.heard[0]["subtype"] == "init"


def test_a_prompt_on_the_command_line_waits_for_them_too(place: Place) -> None:
    with talking(place, [shout(), "It shouted."], "Shout.", *ALLOWED, "--mcp-config", SDK) as (talk, requests):
        talk.servers["tiny"] = Tiny()
        talk.hear_results(1)
        code, _ = talk.close()

    assert code == 0
    assert "mcp__tiny__shout" in {tool["name"] for tool in requests[0].body["tools"]}
    assert result_of(requests[1]) == "HELLO"


@pytest.mark.parametrize("arguments", [(), ("--agent", "shouter")])
def test_an_agent_may_have_nothing_but_what_the_program_brings(place: Place, arguments: tuple[str, ...]) -> None:
    """Where no file is read, too; a list of tools may name servers that come later, and nothing is said of them."""
    shouter = {"description": "Shouts.", "prompt": "Shout.", "tools": ["mcp__tiny"]}
    given = ("--agents", json.dumps({"shouter": shouter}), "--setting-sources", "")
    with serving(place, Tiny(), [shout(), "It shouted."], *ALLOWED, *given, *arguments) as (talk, requests):
        talk.say("Shout.")
        talk.hear_results(1)
        code, err = talk.close()

    assert (code, err, result_of(requests[1])) == (0, "", "HELLO")
    names = {tool["name"] for tool in requests[0].body["tools"]}
    assert "mcp__tiny__shout" in names
    assert ("Bash" in names) == (not arguments)


def test_what_a_server_says_by_itself_is_heard(place: Place) -> None:
    """Its tools change, and it asks where the work is done: the answer to that is a message to it."""
    tiny = Tiny()
    with serving(place, tiny, ["One.", "Two."]) as (talk, requests):
        talk.say("First.")
        talk.hear_results(1)
        tiny.tools = ["shout", "whisper"]
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        heard = talk.ask("mcp_message", server_name="tiny", message=changed)
        question = {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}
        talk.ask("mcp_message", server_name="tiny", message=question)
        until(talk, lambda: tiny.methods.count("tools/list") == 2 and tiny.methods.count("(an answer)") == 1)
        while len(talk.ask("mcp_status")["response"]["mcpServers"][0]["tools"]) < 2:
            pass
        talk.say("Second.")
        talk.hear_results(2)
        talk.close()

    assert heard == {"subtype": "success", "request_id": heard["request_id"], "response": {}}
    (answer,) = [message for message in tiny.messages if "method" not in message]
    assert answer["id"] == "q1"
    assert answer["result"]["roots"][0]["uri"].startswith("file://")
    offered = [{tool["name"] for tool in request.body["tools"]} for request in requests]
    assert ["mcp__tiny__whisper" in one for one in offered] == [False, True]


def test_a_call_that_is_cut_is_cancelled_at_the_server_and_withdrawn(place: Place) -> None:
    tiny = Tiny(is_silent=True)
    with serving(place, tiny, [shout(), "Again."], *ALLOWED) as (talk, _):
        talk.say("Shout.")
        until(talk, lambda: "tools/call" in tiny.methods)
        talk.ask("interrupt")
        until(talk, lambda: any(line["type"] == "control_cancel_request" for line in talk.heard))
        until(talk, lambda: "notifications/cancelled" in tiny.methods)
        talk.hear_results(1)
        talk.say("And now?")
        talk.hear_results(2)
        code, _ = talk.close()

    (asked,) = [
        line for line in talk.heard if (line.get("request") or {}).get("message", {}).get("method") == "tools/call"
    ]
    (withdrawn,) = [line for line in talk.heard if line["type"] == "control_cancel_request"]
    (cancelled,) = [message for message in tiny.messages if message.get("method") == "notifications/cancelled"]
    assert withdrawn["request_id"] == asked["request_id"]
    assert cancelled["params"]["requestId"] == asked["request"]["message"]["id"]
    assert (code, talk.results()[-1]["result"]) == (0, "Again.")


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ({"subtype": "error", "error": "no such luck"}, "shout of tiny failed: no such luck"),
        ({"subtype": "success", "response": {}}, "shout of tiny failed: the program gave no answer"),
        ({"subtype": "success", "response": {"mcp_response": 3}}, "shout of tiny failed: the program gave no answer"),
        (
            {"subtype": "success", "response": {"mcp_response": {"error": {"code": -1, "message": "broken"}}}},
            "shout of tiny failed: broken",
        ),
        (
            {
                "subtype": "success",
                "response": {"mcp_response": {"id": 99, "result": {"content": [{"type": "text", "text": "x"}]}}},
            },
            "x",
        ),
    ],
)
def test_whatever_the_program_answers_a_call_has_a_result(place: Place, response: dict[str, Any], why: str) -> None:
    tiny = Tiny(is_silent=True)
    with serving(place, tiny, [shout(), "I see."], *ALLOWED) as (talk, requests):
        talk.say("Shout.")
        until(talk, lambda: "tools/call" in tiny.methods)
        talk.put({"type": "control_response", "response": {**response, "request_id": talk.heard[-1]["request_id"]}})
        talk.hear_results(1)
        code, _ = talk.close()

    assert (code, result_of(requests[1])) == (0, why)


def test_when_standard_input_ends_the_servers_of_the_program_are_lost(place: Place) -> None:
    tiny = Tiny(is_silent=True)
    with serving(place, tiny, [shout(), "I see."], *ALLOWED) as (talk, requests):
        talk.say("Shout.")
        until(talk, lambda: "tools/call" in tiny.methods)
        code, _ = talk.close()

    assert code == 0
    assert "the program does not listen any more" in result_of(requests[1])


def test_a_server_that_never_answers_keeps_a_turn_waiting_for_its_deadline_alone(place: Place) -> None:
    with talking(place, ["Fine."], "--settings", '{"mcp": {"start_timeout_s": 1}}') as (talk, _):
        talk.ask("initialize", sdkMcpServers=["mute"])
        talk.say("Go.")
        talk.hear_results(1)
        (status,) = talk.ask("mcp_status")["response"]["mcpServers"]
        code, _ = talk.close()

    assert (code, talk.results()[0]["result"]) == (0, "Fine.")
    assert (status["status"], status["error"]) == ("failed", "it did not answer within 1 s")
    tries = [line for line in sent(talk) if line["message"]["method"] == "initialize"]
    assert len(tries) <= 1  # what lives in a program is not tried again; on a slow machine the SDK is not there in time


def test_servers_of_the_program_are_switched_off_and_connected_anew(place: Place) -> None:
    tiny = Tiny()
    with serving(place, tiny, ["One.", "Two."]) as (talk, requests):
        talk.ask("mcp_toggle", serverName="tiny", enabled=False)
        talk.say("First.")
        talk.hear_results(1)
        nobody = talk.ask("mcp_message", server_name="tiny", message={"jsonrpc": "2.0", "method": "x"})
        talk.ask("mcp_toggle", serverName="tiny", enabled=True)
        talk.ask("mcp_reconnect", serverName="tiny")
        talk.say("Second.")
        talk.hear_results(2)
        talk.close()

    offered = [{tool["name"] for tool in request.body["tools"]} for request in requests]
    assert ["mcp__tiny__shout" in one for one in offered] == [False, True]
    assert nobody["error"] == "the server is not connected"


def test_children_reach_servers_of_the_program(place: Place) -> None:
    def script(request: ReceivedRequest) -> ReplyLike:
        rounds: int = sum(message["role"] == "assistant" for message in request.body["messages"])
        if request.body["messages"][0]["content"][0]["text"] == "child":
            return shout("of the child") if rounds == 0 else f"I heard {result_of(request)}."
        spawn = WrittenAnswer([Call("Agent", {"description": "d", "prompt": "child"}, id="toolu_agent")])
        return spawn if rounds == 0 else "Done."

    with serving(place, Tiny(), script, *ALLOWED) as (talk, requests):
        talk.say("Go.")
        talk.hear_results(1)
        talk.close()

    assert any("I heard OF THE CHILD." in str(request.body["messages"]) for request in requests)


def test_what_cannot_be_done_says_why_and_changes_nothing(place: Place) -> None:
    with talking(place, []) as (talk, _):
        talk.servers["tiny"] = Tiny()
        wrong = [
            talk.ask("initialize", sdkMcpServers="tiny"),
            talk.ask("initialize", sdkMcpServers=["tiny", 3]),
            talk.ask("initialize", sdkMcpServers=["tiny", " "]),
            talk.ask("initialize", sdkMcpServers=["tiny", "greenroom"]),
        ]
        before = talk.ask("mcp_status")["response"]["mcpServers"]
        talk.ask("initialize", sdkMcpServers=["tiny"])
        until(talk, lambda: "tools/list" in talk.servers["tiny"].methods)  # type: ignore[attr-defined]
        wrong += [
            talk.ask("mcp_message", server_name="other", message={}),
            talk.ask("mcp_message", server_name="tiny"),
            talk.ask("mcp_message", server_name="tiny", message={"hello": 1}),
        ]
        code, _ = talk.close()

    assert (code, before) == (0, [])
    assert [entry["error"] for entry in wrong] == [
        "sdkMcpServers must be a list of names",
        "sdkMcpServers must be a list of names",
        "the name of an MCP server must not be blank",
        "the name 'greenroom' of an MCP server is reserved; use another one",
        "unknown MCP server 'other' of the program; expected one of: tiny",
        "mcp_message needs a server_name, and a message that is an object",
        "the message must be a JSON-RPC message of the protocol",
    ]


def test_a_name_stands_for_one_server(place: Place) -> None:
    given = json.dumps({"mcpServers": {"all": {"command": "no-such-program-at-all"}}})
    with talking(place, [], "--mcp-config", given) as (talk, _):
        taken = talk.ask("initialize", sdkMcpServers=["tiny", "all"])
        servers = talk.ask("mcp_status")["response"]["mcpServers"]
        talk.close()

    assert taken["error"] == "the name of an MCP server must be unique, got 'all' twice"
    assert [server["name"] for server in servers] == ["all"]


def test_a_reserved_name_on_the_command_line_is_one_line(place: Place) -> None:
    given = json.dumps({"mcpServers": {"workspace": {"type": "sdk"}}})
    with talking(place, [], "--mcp-config", given) as (talk, _):
        code, err = talk.close()

    assert code == 2
    assert err == "greenroom: the name 'workspace' of an MCP server is reserved; use another one\n"


def test_without_a_program_at_the_other_end_such_an_entry_is_left_out_and_named(place: Place) -> None:
    done, _ = place.run(["Fine."], "Go.", "--mcp-config", SDK, "--output-format", "stream-json")

    first = json.loads(done.out.splitlines()[0])
    assert done.code == 0
    assert "reserved for embedding programs" in first["mcp_server_errors"][0]["message"]


@pytest.mark.parametrize(
    ("given", "rest", "names"),
    [
        (None, None, []),
        ({"a": {"command": "x"}}, {"a": {"command": "x"}}, []),
        ({"mcpServers": {"a": {"type": "sdk"}, "b": {"command": "x"}}}, {"b": {"command": "x"}}, ["a"]),
        ({"a": {"type": "sdk"}}, {}, ["a"]),
        ({"mcpServers": 3}, {"mcpServers": 3}, []),
    ],
)
def test_entries_of_the_command_line_are_parted(given: Any, rest: Any, names: list[str]) -> None:
    assert without_hosted(given) == (rest, names)


def test_the_texts_of_a_talk_are_still_prompts(place: Place) -> None:
    """A server of the program takes nothing from what is said to the agent."""
    with serving(place, Tiny(), ["Fine."]) as (talk, requests):
        talk.say("Go.")
        talk.hear_results(1)
        talk.close()

    assert texts_of(requests[0]) == ["Go."]


async def test_where_an_administrator_names_the_servers_the_program_brings_none(autojump_clock: MockClock) -> None:

    async def nobody(_: object) -> None:
        raise AssertionError

    hosted = HostedServers(nobody)
    async with open_runtime() as runtime:
        servers = await start(runtime, http("x", scope=ServerScope.MANAGED), x=FakeServer())
        with pytest.raises(UsageError, match="managed by an administrator"):
            await hosted.add(["tiny"], servers)
        await hosted.add([], servers)
        assert [state.name for state in servers.states()] == ["x"]


async def test_what_settings_deny_is_no_server_of_the_programs_either(autojump_clock: MockClock) -> None:
    """What is denied is denied, whoever brings it; what is allowed is about programs and addresses."""

    async def nobody(_: object) -> None:
        raise AssertionError

    rules = ServerRules(allowed=(), denied=(ServerPattern(name="tiny"),))
    async with open_runtime() as runtime:
        services = McpServices(cwd=Path.cwd(), rules=rules, open_peer=FakePeers(other=FakeServer()))
        servers = await start_servers(runtime.root, [], services)
        for names in (["tiny"], ["other", "tiny"]):
            with pytest.raises(UsageError, match="server 'tiny' is not connected: it is listed in deniedMcpServers"):
                await HostedServers(nobody).add(names, servers)
        assert servers.states() == ()
        await HostedServers(nobody).add(["other"], servers)
        assert [state.name for state in servers.states()] == ["other"]


def test_a_call_that_takes_long_is_a_task_on_the_stream_and_its_answer_a_turn(place: Place) -> None:
    """The program answers when it likes, and withdraws nothing."""
    env = {"GREENROOM_AUTO_BACKGROUND_TASKS": "1", "GREENROOM_MCP_AUTO_BACKGROUND_MS": "50"}
    tiny = Tiny(is_silent=True)
    with talking(place, [shout(), "I wait.", "I have it."], *ALLOWED, "--settings", json.dumps({"env": env})) as (
        talk,
        requests,
    ):
        talk.servers["tiny"] = tiny
        talk.ask("initialize", sdkMcpServers=["tiny"])
        talk.say("Shout.")
        until(talk, lambda: "tools/call" in tiny.methods)
        asked = talk.heard[-1]
        talk.hear_results(1)
        live = talk.ask("initialize")["response"]["background_tasks"]
        content = [{"type": "text", "text": "AT LAST"}]
        talk.decide(asked, mcp_response={"jsonrpc": "2.0", "id": 0, "result": {"content": content}})
        second = talk.hear_results(2)[1]
        code, err = talk.close()

    (started,) = [line for line in talk.heard if line.get("subtype") == "task_started"]
    (ended,) = [line for line in talk.heard if line.get("subtype") == "task_notification"]
    assert (code, err) == (0, "")
    assert (started["task_type"], started["tool_use_id"], started["is_backgrounded"]) == ("mcp_task", "toolu_1", True)
    assert live == [{"task_id": started["task_id"], "task_type": "mcp_task", "description": "shout of tiny"}]
    assert f"was moved to the background with ID: {started['task_id']}" in result_of(requests[1])
    assert (ended["status"], ended["summary"]) == ("completed", 'MCP call "shout of tiny" completed')
    assert (second["result"], second["origin"]) == ("I have it.", {"kind": "task-notification"})
    assert "<result>AT LAST</result>" in "\n".join(texts_of(requests[2]))
    assert not any(line["type"] == "control_cancel_request" for line in talk.heard)


def test_a_program_that_leaves_while_its_server_is_being_connected_holds_nothing_up(place: Place) -> None:
    with talking(place, ["Fine."], "--settings", '{"mcp": {"start_timeout_s": 1000}}') as (talk, _):
        talk.ask("initialize", sdkMcpServers=["mute"])
        talk.say("Go.")
        until(talk, lambda: bool(sent(talk)))
        code, err = talk.close()

    assert (code, err) == (0, "")
    assert [result["result"] for result in talk.results()] == ["Fine."]
