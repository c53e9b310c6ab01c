"""Real servers as programs: what they answer, how they die, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from greenroom.actors import State
from greenroom.mcp import McpServers, McpSettings, MissingServers, ServerConfig, ServerDown, ServerStatus, Stdio
from greenroom.tools import ToolError
from tests.mcp.everything import PIXEL
from tests.mcp.fakes import Agent
from tests.mcp.real import BOUND_S, EVERYTHING, everything, everything_afresh, is_running, kill, session, until

pytestmark = pytest.mark.slow  # a Python that imports the SDK takes a second to start
ROOT = Path(__file__).resolve().parents[2]


def shell(name: str, script: str) -> ServerConfig:
    return ServerConfig(name=name, way=Stdio(command="sh", args=("-c", script)))


def whys(servers: McpServers) -> dict[str, str]:
    return {state.name: state.why for state in servers.states()}


async def test_a_server_is_asked_foreverything_it_can_do(tmp_path: Path) -> None:
    async with session(tmp_path, everything(env={"A": "b c"})) as one:
        (state,) = one.servers.states()
        assert (state.info.name, state.info.version, state.info.instructions) == ("everything", "1.2.3", "Ask nicely.")
        assert {each.name: each.is_read_only for each in one.servers.tools}["mcp__all__echo"]
        assert not {each.name: each.is_read_only for each in one.servers.tools}["mcp__all__add"]

        assert await one.call("echo", text="héllo\n\U0001f600") == "héllo\n\U0001f600"
        assert await one.call("add", a=2, b=3) == "5"
        assert await one.call("environment", name="A") == "b c"
        assert await one.call("steps", count=2) == "done"
        assert "step 1 (1 of 2)" in one.said
        shown = await one.call("picture")
        with pytest.raises(ToolError, match="boom"):
            await one.call("boom")
        with pytest.raises(ToolError, match="add"):
            await one.call("add", a="x")

    first, second = shown.splitlines()
    assert first == "One pixel:"
    path = trio.Path(second.partition("saved as ")[2].rstrip("]"))
    assert await path.read_bytes() == PIXEL


async def test_a_large_result_comes_whole(tmp_path: Path) -> None:
    async with session(tmp_path, everything(), settings=McpSettings(output_tokens=1_000_000)) as one:
        text = "0123456789" * 40_000
        assert await one.call("echo", text=text) == text


async def test_a_server_that_dies_in_a_call_is_an_error_and_a_down(tmp_path: Path) -> None:
    async with session(tmp_path, everything_afresh(), everything("other")) as one:
        server = one.servers.get("all")
        assert server is not None
        assert server.ref is not None
        (die,) = [each for each in one.servers.tools if each.name == "mcp__all__die"]
        with trio.fail_after(BOUND_S), pytest.raises(ServerDown) as caught:
            await die.server.call("die", {"code": 7})
        down = await server.ref.wait_ended()

        assert "it was lost while it ran die: it exited with code 7; it said: " in caught.value.why
        assert caught.value.why.endswith("I was told to die")
        assert down.state is State.FAILED
        assert [each.status for each in one.servers.states()] == [ServerStatus.FAILED, ServerStatus.CONNECTED]
        assert {each.name.split("__")[1] for each in one.servers.tools} == {"other"}

        await one.servers.reconnect("all")
        assert await one.servers.wait_settled(BOUND_S)
        assert (await die.server.call("echo", {"text": "x"})).parts


async def test_a_server_that_is_killed_while_idle_is_noticed(tmp_path: Path) -> None:
    async with session(tmp_path, everything_afresh()) as one:
        server = one.servers.get("all")
        assert server is not None
        assert server.ref is not None
        kill(int(await one.call("pid")))
        with trio.fail_after(BOUND_S):
            down = await server.ref.wait_ended()

    assert isinstance(down.error, ServerDown)
    assert down.error.why.startswith("it was killed by signal 9")


async def test_a_cancelled_call_is_cancelled_there_too(tmp_path: Path) -> None:
    note = tmp_path / "note"

    def noted() -> list[str]:
        return note.read_text().split() if note.exists() else []

    async with session(tmp_path, everything()) as one:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def cancel() -> None:
                    await until(lambda: noted() == ["begun"])
                    scope.cancel()

                nursery.start_soon(cancel)
                await one.call("wait", file=str(note))
        assert scope.cancelled_caught
        await until(lambda: noted() == ["begun", "cancelled"])
        assert await one.call("echo", text="still here") == "still here"


async def test_a_server_that_asks_a_person_is_refused_at_once(tmp_path: Path) -> None:
    """No call waits for a dialog here, so none is kept from moving to the background by one."""
    async with session(tmp_path, everything()) as one:
        assert (await one.call("confirm")).startswith("nobody was asked: ")


async def test_what_does_not_start_says_why_on_one_line(tmp_path: Path) -> None:
    settings = McpSettings(start_timeout_s=1.0)
    async with session(
        tmp_path,
        ServerConfig(name="missing", way=Stdio(command="/no/such/program")),
        ServerConfig(name="elsewhere", way=Stdio(command="sh", cwd=tmp_path / "nowhere")),
        shell("ends", "exit 0"),
        shell("complains", "echo 'no token' >&2; exit 3"),
        shell("chats", "echo 'Hello, world'; sleep 100"),
        shell("silent", "sleep 100"),
        shell("deaf", "trap '' TERM; exec 0<&-; exec 1>&-; while :; do sleep 0.05; done"),
        settings=settings,
    ) as one:
        told = whys(one.servers)
        with pytest.raises(MissingServers, match="no token"):
            await one.servers.wait_required(["complains"])

    assert told == {
        "missing": "/no/such/program cannot be started: no such file or directory",
        "elsewhere": f"sh cannot be started in {tmp_path / 'nowhere'}: no such file or directory",
        "ends": "it exited with code 0",
        "complains": "it exited with code 3; it said: no token",
        "chats": "it did not answer within 1 s; it said: 'Hello, world', which is not a message",
        "silent": "it did not answer within 1 s",
        "deaf": "it closed its output",
    }


async def test_nothing_is_left_of_a_server_however_it_behaves(tmp_path: Path) -> None:
    script = tmp_path / "deaf.py"
    script.write_text(
        "import os, runpy, signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '1000'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        "print(child.pid, file=open('child', 'w'), flush=True)\n"
        f"sys.argv = [{str(EVERYTHING)!r}]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "signal.pause()\n"
    )
    config = ServerConfig(name="deaf", way=Stdio(command=sys.executable, args=(str(script),)))
    async with session(tmp_path, config) as one:
        pids = [int(await one.call("pid")), int((tmp_path / "child").read_text())]
        assert all(map(is_running, pids))

    assert not any(map(is_running, pids))


async def test_servers_of_an_agent_end_with_it(tmp_path: Path) -> None:
    async with session(tmp_path) as one:
        agent = await one.runtime.spawn(Agent)
        own = await one.servers.start_more([everything_afresh("own")], owner=agent)
        assert await own.wait_settled(BOUND_S)
        assert one.servers.tools == ()
        server = own.get("own")
        assert server is not None
        (part,) = (await server.call("pid", {})).parts
        pid = int(part.text)  # type: ignore[union-attr]
        assert is_running(pid)

        agent.tell("crash, and come back")
        await trio.sleep(0.5)
        assert is_running(pid)
        agent.kill()
        assert server.ref is not None
        with trio.fail_after(BOUND_S):
            await server.ref.wait_ended()

        assert not is_running(pid)


def test_servers_end_with_a_session_that_is_shot(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import trio\n"
        "from pathlib import Path\n"
        "from tests.mcp.real import everything_afresh, session\n"
        "async def main():\n"
        f"    async with session(Path({str(tmp_path)!r}), everything_afresh()) as one:\n"
        "        print(await one.call('pid'), flush=True)\n"
        "        await trio.sleep_forever()\n"
        "trio.run(main)\n"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert is_running(pid)
        process.send_signal(signal.SIGKILL)

    trio.run(until, lambda: not is_running(pid))
