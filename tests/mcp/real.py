"""Helpers for the tests with real servers: sessions of programs, servers on a port, and a look at who is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import trio

from greenroom.core import event_of
from greenroom.core.ports import Ports
from greenroom.mcp import McpServers, McpServices, McpSettings, McpTool, ServerConfig, Stdio, start_servers
from greenroom.supervisor import Runtime, open_runtime
from greenroom.tools import ToolContext, open_processes
from tests.mcp.warm import warm_command

EVERYTHING: Final = Path(__file__).with_name("everything.py")
AUTHORIZING: Final = Path(__file__).with_name("authorizing.py")
BOUND_S: Final = 40.0  # real time on a shared machine; what is waited for takes a second or two


def everything(name: str = "all", **more: Any) -> ServerConfig:
    """Return the server of `everything.py`, as a program."""
    command, *arguments = warm_command(EVERYTHING)
    return ServerConfig(name=name, way=Stdio(command=command, args=tuple(arguments), **more))


def everything_afresh(name: str = "all", **more: Any) -> ServerConfig:
    """Return the server of `everything.py`, as a program that is the process that is started."""
    return ServerConfig(name=name, way=Stdio(command=sys.executable, args=(str(EVERYTHING),), **more))


class Session:
    """Servers in a runtime, as a session has them."""

    def __init__(self, runtime: Runtime, servers: McpServers, folder: Path, ports: Ports) -> None:
        self.runtime = runtime
        self.servers = servers
        self.folder = folder
        self.said: list[str] = []
        self._context = ToolContext(
            cwd=folder,
            roots=(folder,),
            actor="a1",
            tool_use_id="t1",
            blocking=ports.blocking,
            progress=self.said.append,
        )

    async def call(self, name: str, /, **values: Any) -> str:
        """Call a tool as an agent does, by its whole name or the end of it."""
        (one,) = [each for each in self.servers.tools if each.name.endswith(f"__{name}")]
        return await self.call_tool(one, **values)

    async def call_tool(self, tool: McpTool, /, **values: Any) -> str:
        """Call a tool as an agent does."""
        with trio.fail_after(BOUND_S):
            return await tool.call(values, self._context)


@asynccontextmanager
async def session(
    folder: Path, *configs: ServerConfig, settings: McpSettings | None = None, tokens: Path | None = None
) -> AsyncIterator[Session]:
    """Open a session with these servers, and wait until they stand or have failed."""
    ports = Ports()
    async with (
        open_processes(
            blocking=ports.blocking, ids=ports.ids, folder=folder / "tasks", mark="test-mcp", grace_s=0.3
        ) as programs,
        open_runtime(ports=ports) as runtime,
    ):
        services = McpServices(
            cwd=folder,
            ports=ports,
            settings=settings or McpSettings(),
            programs=programs,
            output_folder=folder / "tasks",
            tokens=tokens,
        )
        servers = await start_servers(runtime.root, configs, services)
        assert await servers.wait_settled(BOUND_S)
        yield Session(runtime, servers, folder, ports)


def on_record(one: Session) -> str:
    """Return all that a session has put on record, as text."""
    return repr([event_of(record) for record in one.runtime.recorder.latest()])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Listening:
    """The server of `everything.py` on a port; it can be killed and started again."""

    def __init__(self, kind: str) -> None:
        self.port = free_port()
        self._kind = kind
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        path = "sse" if self._kind == "sse" else "mcp"
        return f"{'ws' if self._kind == 'ws' else 'http'}://127.0.0.1:{self.port}/{path}"

    def start(self) -> None:
        command = warm_command(EVERYTHING, str(self.port), self._kind)
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()  # until the fork, which has the pipe too, has ended
            self._process = None

    async def wait_open(self) -> None:
        """Wait until somebody answers at the port."""
        await wait_for_port(self.port)


async def wait_for_port(port: int) -> None:
    """Wait until somebody answers at a port."""
    with trio.fail_after(BOUND_S):
        while True:
            try:
                stream = await trio.open_tcp_stream("127.0.0.1", port)
            except OSError:
                await trio.sleep(0.05)
            else:
                await stream.aclose()
                return


@contextmanager
def listening(kind: str) -> Iterator[Listening]:
    server = Listening(kind)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except OSError:
        return False


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something in the world outside; bounded."""
    with trio.fail_after(BOUND_S):
        while not is_so():  # noqa: ASYNC110 - what is waited for has no event in this process
            await trio.sleep(0.01)


@contextmanager
def on_port(script: Path, *arguments: str) -> Iterator[int]:
    """Run a script that serves at the port which is its first argument."""
    port = free_port()
    command = warm_command(script, str(port), *arguments)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield port
    finally:
        process.kill()
        process.wait()
