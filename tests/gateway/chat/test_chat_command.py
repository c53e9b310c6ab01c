"""`greenroom chat` as a process of its own: over a pipe, and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.gateway.process._state_folder import TOKEN, hold_state
from greenroom.gateway.rpc._methods import Answer, RpcCall
from greenroom.serving import Tcp, open_server
from tests.cli.forked import Forked, run_forked
from tests.gateway.rpc.peers import KEY, OPERATOR, House, open_house

ENDS_S = 20.0


@asynccontextmanager
async def a_gateway(folder: Path) -> AsyncIterator[House]:
    """Serve a gateway whose state folder is held by this process, and whose session repeats what it hears."""

    async def send(call: RpcCall, params: Any) -> Answer:
        hub, of = house.hub, {"sessionKey": KEY, "runId": call.id}
        hub.publish("agent", KEY, of | {"phase": "start"})
        if params.message != "wait":
            hub.publish("chat", KEY, of | {"state": "final", "message": f"you said {params.message}"})
            hub.publish("agent", KEY, of | {"phase": "end"})
        await trio.lowlevel.checkpoint()
        return {"runId": call.id, "status": "started"}

    async def empty(_: RpcCall, __: Any) -> Answer:
        await trio.lowlevel.checkpoint()
        return {"sessionKey": KEY, "messages": []}

    with hold_state(folder) as held:
        (folder / TOKEN).write_text(OPERATOR + "\n")
        (folder / TOKEN).chmod(0o600)
        async with (
            open_house(replaced={"chat.send": send, "chat.history": empty}) as house,
            open_server(house.rpc.endpoints(), listen=[Tcp()]) as server,
        ):
            url = server.addresses[0]
            held.publish(url=url, port=int(url.rpartition(":")[2]), version="1", started_s=0.0)
            yield house


def piped(folder: Path, said: str) -> tuple[int | None, str, str]:
    """Run the command with lines on standard input."""
    process = Forked("chat", "--state", str(folder), environ=dict(os.environ), stdin=subprocess.PIPE)
    out, err = process.communicate(said, timeout=ENDS_S)
    return process.returncode, out, err


async def test_lines_of_a_pipe_are_sent_and_replies_printed(tmp_path: Path) -> None:
    async with a_gateway(tmp_path / "state") as house:
        ended = await trio.to_thread.run_sync(piped, tmp_path / "state", "hello\n\nhow are you?\n")

    assert ended == (0, "you said hello\nyou said how are you?\n", "")
    assert house.recorded.count("chat.send") == 2


def test_chat_without_a_gateway_says_so_in_one_line(tmp_path: Path) -> None:
    done = run_forked("chat", "--state", str(tmp_path), environ=dict(os.environ))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("greenroom: no gateway runs on ")
    assert done.stderr.count("\n") == 1


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        self.before = ""
        self.shown = ""
        self.pid, self._end = pty.fork()
        if self.pid == 0:  # pragma: no cover
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # a thread's child has its mask
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execv(sys.executable, [sys.executable, "-m", "greenroom", "chat", "--state", str(folder)])

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._end, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until a text is shown."""
        ends = time.monotonic() + ENDS_S
        while text not in self.shown:
            assert time.monotonic() < ends, self.shown
            if select.select([self._end], [], [], 0.2)[0]:
                self.shown += os.read(self._end, 65_536).decode(errors="replace")
        before, _, self.shown = self.shown.partition(text)
        self.before += before + text

    def close(self) -> int:
        """Return the exit code."""
        with suppress(OSError):
            while os.read(self._end, 65_536):
                pass
        os.close(self._end)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.mark.slow
async def test_keys_of_a_terminal_talk_abort_and_leave(tmp_path: Path) -> None:
    state = tmp_path / "state"

    def use() -> tuple[int, str]:
        terminal = Terminal(state)
        terminal.wait_for("> ")
        terminal.type("hello\r")
        terminal.wait_for("you said hello")
        terminal.wait_for("> ")
        terminal.type("wait\r")
        terminal.wait_for("> wait\r\n")  # else what is drawn may still be about the turn before
        terminal.wait_for("[working]")
        terminal.type("\x1b")
        aborted.wait(ENDS_S)
        terminal.type("\x03")
        aborted_again.wait(ENDS_S)
        terminal.type("\x04")
        return terminal.close(), terminal.before

    async with a_gateway(state) as house:
        aborted, aborted_again = threading.Event(), threading.Event()
        marks = iter([aborted, aborted_again])

        async def abort(_: RpcCall, __: Any) -> Answer:
            await trio.lowlevel.checkpoint()
            next(marks).set()
            return {"aborted": True}

        house.recorded.replaced["chat.abort"] = abort
        code, shown = await trio.to_thread.run_sync(use)

    assert code == 0
    assert "> hello" in shown
    assert house.recorded.count("chat.abort") == 2
    assert house.recorded.count("subagents.stop") == 0
