"""Posting to a real server on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest
import trio

from greenroom.hooks import HookRunner, HookServices, Permission
from greenroom.hooks._answer_parser import NON_BLOCKING
from tests.hooks.situations import BOUND_S, CALL, HERE, hooks_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from greenroom.hooks import HookOutcome

DENY: Final = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'


class Server:
    """Answers every request with the same bytes, and keeps what it was sent."""

    def __init__(self, reply: bytes | None) -> None:
        self.reply = reply
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.url = ""
        self.asked = trio.Event()

    async def serve(self, stream: trio.SocketStream) -> None:
        """Read one request and answer it; without a reply, never."""
        async with stream:
            received = b""
            while b"\r\n\r\n" not in received:
                received += await stream.receive_some()
            head, _, body = received.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            while len(body) < int(headers["content-length"]):
                body += await stream.receive_some()
            self.requests.append((first, headers, json.loads(body)))
            self.asked.set()
            if self.reply is None:
                await trio.sleep_forever()
            try:
                await stream.send_all(self.reply or b"")
            except trio.BrokenResourceError:
                pass  # the client has read enough


def reply(status: int, body: str, **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


@asynccontextmanager
async def serving(answer: bytes | None) -> AsyncIterator[Server]:
    server = Server(answer)
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    server.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/hook"
    with trio.fail_after(BOUND_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(trio.serve_listeners, server.serve, listeners)
            yield server
            nursery.cancel_scope.cancel()


def runner_of(url: str, **more: Any) -> HookRunner:
    hooks = hooks_of("PreToolUse", {"type": "http", "url": url, **more})
    return HookRunner(hooks, HookServices(project=HERE.cwd, environment={"TOKEN": "t0k", "OTHER": "secret"}))


async def ask(answer: bytes, **more: Any) -> HookOutcome:
    async with serving(answer) as server:
        return await runner_of(server.url, **more).run(CALL, HERE)


async def test_the_input_is_posted_and_a_json_reply_decides() -> None:
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Other": "[$OTHER]"}

    async with serving(reply(200, DENY)) as server:
        outcome = await runner_of(server.url, headers=headers, allowedEnvVars=["TOKEN"]).run(CALL, HERE)

    assert outcome.permission is Permission.DENY
    ((first, sent, body),) = server.requests
    assert first == "POST /hook HTTP/1.1"
    assert body == CALL.encode(HERE)
    assert (sent["authorization"], sent["x-other"]) == ("Bearer t0k", "[]")
    assert sent["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply(500, DENY), f"{NON_BLOCKING} 500"),
        (reply(302, "", location="http://127.0.0.1:1/elsewhere"), f"{NON_BLOCKING} 302"),
        (reply(200, "denied!"), "only a JSON object"),
        (reply(200, "x" * 3_000_000), "exceeds 1048576 bytes"),
        (b"this is no HTTP\r\n\r\n", "ProtocolError"),
        (reply(200, DENY)[:-20], "ProtocolError"),
    ],
)
async def test_any_other_reply_decides_nothing(answer: bytes, words: str) -> None:
    outcome = await ask(answer)

    assert outcome.permission is None
    assert words in outcome.problems[0]


async def test_nobody_at_home_is_a_problem() -> None:
    with trio.fail_after(BOUND_S):
        outcome = await runner_of("http://127.0.0.1:1/hook").run(CALL, HERE)

    assert "ConnectError" in outcome.problems[0]


async def test_one_that_never_answers_is_left_after_its_limit() -> None:
    async with serving(None) as server:
        outcome = await runner_of(server.url, timeout=0.2).run(CALL, HERE)

    assert outcome.permission is None
    assert len(outcome.problems) == 1


async def test_a_cancel_closes_the_connection() -> None:
    async with serving(None) as server, trio.open_nursery() as nursery:
        nursery.start_soon(runner_of(server.url).run, CALL, HERE)
        await server.asked.wait()
        nursery.cancel_scope.cancel()

    assert len(server.requests) == 1


def test_importing_hooks_loads_no_http_library() -> None:
    code = "import sys, greenroom.hooks; print({'httpx2', 'anyio', 'anthropic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=30)

    assert done.stdout == "set()\n"
