"""AnthropicModel over real sockets, against a server on loopback that can do everything wrong."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import trio

from greenroom.core import Closed, ProviderError, UsageError
from greenroom.models import (
    AnthropicModel,
    Call,
    Message,
    ModelRequest,
    ModelResponse,
    Say,
    TextBlock,
    Think,
    ThinkingBlock,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
    Usage,
)
from greenroom.testing import ErrorReply, HangUp, RawReply, StreamReply, open_messages_server
from tests.models.situations import HELLO, assert_is_prefix, assert_may_be_appended, claude, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from trio.testing import MockClock

    from greenroom.testing._messages_script import Ending, Reply

BOUND_S = 30.0  # real time on a shared machine; a wait that ends takes milliseconds


async def ask(reply: Reply) -> ModelResponse:
    with trio.fail_after(BOUND_S):
        async with open_messages_server([reply]) as server:
            model = claude(server)
            async with model.open(), model.stream(HELLO) as stream:
                return await stream.wait_response()


async def fail(reply: Reply) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(reply)
    return caught.value


# --- what goes well --------------------------------------------------------------------------------------------------


async def test_an_answer_arrives_block_by_block() -> None:
    parts = (Think("Let me see.", "sig"), Say("I will read."), Call("Read", {"path": "a.py"}, id="toolu_7"))

    response = await ask(StreamReply(answer=parts, pieces=3))

    assert response.content == (
        ThinkingBlock("Let me see.", "sig"),
        TextBlock("I will read."),
        ToolUseBlock("toolu_7", "Read", {"path": "a.py"}),
    )
    assert (response.stop_reason, response.model, response.id) == ("tool_use", "claude-loopback", "msg_1")


async def test_deltas_and_so_far_grow_together() -> None:
    deltas = []
    parts = []
    with trio.fail_after(BOUND_S):
        async with open_messages_server([StreamReply(answer="one two three", pieces=4)]) as server:
            model = claude(server)
            async with model.open(), model.stream(HELLO) as stream:
                assert stream.so_far.content == ()
                async for delta in stream:
                    deltas.append(delta)
                    parts.append(stream.so_far)
                    assert stream.so_far.text == text_of(deltas)
                whole = await stream.wait_response()

    assert whole.text == "one two three"
    for part in parts:
        assert_is_prefix(part, whole)
        assert_may_be_appended(part)


async def test_usage_counts_the_cache() -> None:
    usage = Usage(3, 40, cache_creation_input_tokens=500, cache_read_input_tokens=6000)

    response = await ask(StreamReply(answer="ok", usage=usage))

    assert response.usage == usage
    assert response.usage.total == 6543


async def test_an_input_of_no_json_at_all_is_an_empty_object() -> None:
    body = b"".join(
        b"data: " + line + b"\n\n"
        for line in (
            b'{"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":1,"output_tokens":1}}}',
            b'{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"N","input":{}}}',
            b'{"type":"content_block_stop","index":0}',
            b'{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}',
            b'{"type":"message_stop"}',
        )
    )

    response = await ask(RawReply(body=body))

    assert response.content == (ToolUseBlock("t", "N", {}),)


async def test_the_request_carries_the_conversation_and_the_key() -> None:
    request = ModelRequest(
        (
            Message.user("Read a.py"),
            Message("assistant", (ThinkingBlock("hm", "sig"), ToolUseBlock("t1", "Read", {"path": "a.py"}))),
            Message("user", (ToolResultBlock("t1", "no such file", is_error=True),)),
        ),
        system="You read files.",
        tools=(ToolSchema("Read", "Reads.", {"type": "object", "properties": {}}),),
        max_tokens=99,
        agent="a0",
        definition="reader",
    )
    with trio.fail_after(BOUND_S):
        async with open_messages_server(["ok"]) as server:
            model = AnthropicModel("claude-test", api_key="key", base_url=server.url, extra_body={"top_k": 1})
            async with model.open(), model.stream(request) as stream:
                await stream.wait_response()

    (received,) = server.requests
    assert received.headers["authorization"] == "Bearer key"
    assert received.body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": "no such file",
                    "is_error": True,
                    "cache_control": {"type": "ephemeral"},
                }
            ],
        },
    ]
    assert {name: received.body[name] for name in ("model", "max_tokens", "stream", "top_k")} == {
        "model": "claude-test",
        "max_tokens": 99,
        "stream": True,
        "top_k": 1,
    }
    assert "a0" not in str(received.body)


async def test_a_connection_is_used_again_after_a_whole_answer() -> None:
    with trio.fail_after(BOUND_S):
        async with open_messages_server(["one", "two", "three"]) as server:
            model = claude(server)
            async with model.open():
                for expected in ("one", "two", "three"):
                    async with model.stream(HELLO) as stream:
                        assert (await stream.wait_response()).text == expected
                    assert server.open_connections == 1
            await server.wait_connections(0)


async def test_a_slow_first_token_is_waited_for() -> None:
    gate = trio.Event()
    with trio.fail_after(BOUND_S):
        async with open_messages_server([StreamReply(answer="late", gate=gate, is_head_late=True)]) as server:
            model = claude(server)
            async with model.open(), model.stream(HELLO) as stream, trio.open_nursery() as nursery:

                @nursery.start_soon
                async def open_the_gate() -> None:
                    await server.wait_requests(1)
                    gate.set()

                assert (await stream.wait_response()).text == "late"


async def test_two_openings_share_one_client_until_the_last_one_leaves() -> None:
    with trio.fail_after(BOUND_S):
        async with open_messages_server(["one", "two"]) as server:
            model = claude(server)
            async with model.open():
                async with model.open(), model.stream(HELLO) as stream:
                    await stream.wait_response()
                async with model.stream(HELLO) as stream:
                    await stream.wait_response()
            await server.wait_connections(0)
            with pytest.raises(UsageError):
                model.stream(HELLO)


# --- half characters -------------------------------------------------------------------------------------------------


async def test_a_character_cut_in_two_is_joined() -> None:
    assert (await ask(StreamReply(answer="\ud83d\ude00", pieces=2))).text == "\U0001f600"


async def test_half_a_character_becomes_a_replacement() -> None:
    response = await ask(StreamReply(answer=[Say("a\ud83d"), Call("N", {"\udc00": ["\ud83d"]})]))

    assert response.text == "a\ufffd"
    assert response.tool_uses[0].input == {"\ufffd": ["\ufffd"]}


async def test_half_a_character_in_a_request_is_sent_as_a_replacement() -> None:
    with trio.fail_after(BOUND_S):
        async with open_messages_server(["ok"]) as server:
            model = claude(server)
            request = ModelRequest((Message("user", (ToolResultBlock("t", "\ud83d"),)),), system="\udc00")
            async with model.open(), model.stream(request) as stream:
                await stream.wait_response()

    assert server.requests[0].body["messages"][0]["content"][0]["content"] == "\ufffd"


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "is_retryable"),
    [
        (400, "bad_request", False),
        (401, "authentication", False),
        (402, "billing", False),
        (403, "permission", False),
        (404, "not_found", False),
        (408, "timeout", True),
        (409, "server_error", True),
        (413, "too_large", False),
        (422, "bad_request", False),
        (429, "rate_limited", True),
        (500, "server_error", True),
        (503, "server_error", True),
        (504, "timeout", True),
        (529, "overloaded", True),
    ],
)
async def test_a_status_has_its_kind(status: int, kind: str, is_retryable: bool) -> None:
    error = await fail(ErrorReply(status=status, message="so it is"))

    assert (error.kind, error.status, error.is_retryable, error.retry_after_s) == (kind, status, is_retryable, None)
    assert "so it is" in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "7", "retry-after-ms": "2500"}, 2.5),
        ({"date": "Fri, 20 Nov 2026 23:00:00 GMT", "retry-after": "Fri, 20 Nov 2026 23:01:30 GMT"}, 90.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
async def test_retry_after_is_read_from_a_refusal(headers: dict[str, str], seconds: float | None) -> None:
    error = await fail(ErrorReply(status=429, type="rate_limit_error", headers=headers))

    assert error.retry_after_s == seconds


@pytest.mark.parametrize(("status", "wish", "expected"), [(500, "false", False), (400, "true", True)])
async def test_the_providers_word_on_retries_goes_before_the_table(status: int, wish: str, expected: bool) -> None:
    error = await fail(ErrorReply(status=status, headers={"x-should-retry": wish}))

    assert error.is_retryable is expected


async def test_a_proxys_error_page_has_the_kind_of_its_status_and_is_cut_short() -> None:
    page = RawReply(status=502, headers={"content-type": "text/html"}, body=b"<html>" + b"x" * 10_000)

    error = await fail(page)

    assert error.kind == "server_error"
    assert len(str(error)) < 1_000


async def test_a_success_that_is_no_event_stream_is_a_protocol_failure_for_good() -> None:
    error = await fail(RawReply(headers={"content-type": "text/html"}, body=b"<html>welcome</html>"))

    assert (error.kind, error.is_retryable) == ("protocol", False)


async def test_a_connection_closed_without_an_answer_is_a_connection_failure() -> None:
    error = await fail(HangUp())

    assert (error.kind, error.is_retryable) == ("connection", True)


async def test_a_refused_connection_is_a_connection_failure() -> None:
    with trio.socket.socket() as unused:
        await unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        model = AnthropicModel("claude-test", api_key="key", base_url=f"http://127.0.0.1:{port}")
        with trio.fail_after(BOUND_S):
            async with model.open(), model.stream(HELLO) as stream:
                with pytest.raises(ProviderError) as caught:
                    await stream.wait_response()

    assert (caught.value.kind, caught.value.is_retryable) == ("connection", True)


# --- answers that break ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "kind"),
    [("cut", "cut"), ("early", "cut"), ("garbage", "protocol"), ("overloaded", "overloaded")],
)
@pytest.mark.parametrize("events", [0, 1, 4, 5])
async def test_a_broken_answer_has_its_kind_and_leaves_what_had_come(ending: Ending, kind: str, events: int) -> None:
    reply = StreamReply(answer="Hello world", pieces=2, ending=ending, events=events)
    with trio.fail_after(BOUND_S):
        async with open_messages_server([reply]) as server:
            model = claude(server)
            async with model.open(), model.stream(HELLO) as stream:
                with pytest.raises(ProviderError) as caught:
                    await stream.wait_response()

                assert (caught.value.kind, caught.value.status, caught.value.is_retryable) == (kind, None, True)
                assert stream.so_far.text == {0: "", 1: "", 4: "Hello ", 5: "Hello world"}[events]
                assert stream.so_far.stop_reason is None
                with pytest.raises(Closed):
                    await stream.wait_response()
            await server.wait_connections(0)


@pytest.mark.parametrize(
    "body",
    [
        b"data: [1]\n\n",
        b'data: {"type": "message_start"}\n\n',
        b'data: {"type": "message_start", "message": null}\n\n',
        b'data: {"type": "message_start", "message": {"id": 7, "model": "c"}}\n\n',
        b"data: {}\n\n",
        b'data: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}}\n\n',
        b'data: {"type": "content_block_start", "content_block": {"type": "text", "text": ["x"]}}\n\n',
        b'data: {"type": "error", "error": "x"}\n\n',
        b'data: {"type": ["error"]}\n\n',
        b"data: \xff\n\n",
    ],
    ids=lambda body: body.decode("latin-1").strip(),
)
async def test_an_event_of_the_wrong_form_is_a_protocol_failure(body: bytes) -> None:
    assert (await fail(RawReply(body=body))).kind == "protocol"


async def test_a_connection_that_breaks_after_the_stop_reason_loses_nothing() -> None:
    """All events but `message_stop` have come; asking again would be paid for twice."""
    response = await ask(StreamReply(answer="whole", pieces=1, ending="cut", events=6))

    assert (response.text, response.stop_reason) == ("whole", "end_turn")


async def test_a_silent_answer_is_a_timeout(mock_clock: MockClock) -> None:
    async with open_messages_server([StreamReply(answer="Hello world", ending="stall", events=4)]) as server:
        model = claude(server)
        async with model.open(), model.stream(HELLO) as stream, trio.open_nursery() as nursery:

            @nursery.start_soon
            async def let_time_pass() -> None:
                await server.wait_requests(1)
                while stream.so_far.text != "Hello ":
                    await trio.testing.wait_all_tasks_blocked()
                await trio.testing.wait_all_tasks_blocked()  # the next read, whose deadline is meant, has begun
                mock_clock.jump(301)

            with pytest.raises(ProviderError) as caught:
                await stream.wait_response()

        await server.wait_connections(0)
    assert (caught.value.kind, caught.value.is_retryable) == ("timeout", True)


async def test_no_answer_at_all_is_a_timeout(mock_clock: MockClock) -> None:
    async with open_messages_server([StreamReply(gate=trio.Event(), is_head_late=True)]) as server:
        model = claude(server)
        async with model.open(), model.stream(HELLO) as stream, trio.open_nursery() as nursery:

            @nursery.start_soon
            async def let_time_pass() -> None:
                await server.wait_requests(1)
                await trio.testing.wait_all_tasks_blocked()
                mock_clock.jump(301)

            with pytest.raises(ProviderError) as caught:
                await stream.wait_response()

        await server.wait_connections(0)
    assert (caught.value.kind, caught.value.is_retryable) == ("timeout", True)


# --- mistakes of the caller ------------------------------------------------------------------------------------------


async def test_no_key_is_said_when_the_model_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        async with AnthropicModel("claude-test").open():
            pytest.fail("it must not open")


async def test_the_key_is_found_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from outside")
    with trio.fail_after(BOUND_S):
        async with open_messages_server(["ok"]) as server:
            model = AnthropicModel("claude-test", base_url=server.url)
            async with model.open(), model.stream(HELLO) as stream:
                await stream.wait_response()

    assert server.requests[0].headers["authorization"] == "Bearer from outside"


def test_a_model_that_is_not_open_says_so() -> None:
    with pytest.raises(UsageError):
        AnthropicModel("claude-test", api_key="key").stream(HELLO)


def test_importing_models_and_the_test_kit_loads_no_sdk() -> None:
    code = (
        "import sys, greenroom.models, greenroom.testing;"
        "print({'anthropic', 'httpx2', 'h11', 'asyncio', 'pydantic'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert shown.stdout.strip() == "set()"
