"""Servers in processes of their own, without the second in which each would import the SDK.

A process that has the SDK imported forks for each server. What is started is a small Python, `warm.py SOCKET SCRIPT ...`: it
hands on its folder, its environment, its arguments and its three streams to the fork, and ends when the fork does; the fork
ends when what was started does, however that comes about. What only a server shows that is the process that was started (its
process id, who is killed with whom) is held by the tests that start `everything.py` itself.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Final, NoReturn

_SDK: Final = (
    *("mcp.server.mcpserver", "mcp.server.auth.provider", "mcp.server.stdio", "mcp.server.sse"),
    *("mcp.server.streamable_http_manager", "anyio._backends._asyncio", "uvicorn.loops.auto"),
    *("uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.on"),
)
ASKING: Final = Path(__file__).with_name("asking.py")
"""A server that asks the user: see there."""
_LENGTH: Final = struct.Struct("!I")


def warm_command(script: Path, *arguments: str) -> list[str]:
    """Return the command that runs a script with the SDK imported already."""
    # Neither site-packages nor the environment: what is started is a messenger, and has to be there at once.
    return [sys.executable, "-S", "-I", __file__, _forking(), str(script), *arguments]


@cache
def _forking() -> str:
    """Start the process that forks, once in this one, and return its socket."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    path = str(Path(folder.name) / "socket")
    process = subprocess.Popen(
        [sys.executable, __file__, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def end() -> None:
        process.kill()
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    process.stdout.read(1)  # it listens
    return path


# --- the process that forks ---------------------------------------------------------------------------------------------


def _fork_for_all(path: str) -> None:
    """Fork for whoever connects, until stdin ends: with whoever started this process."""
    for name in _SDK:
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork: its messenger knows when it has ended
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        os.write(1, b"!")
        while 0 not in select.select([listener.fileno(), 0], [], [])[0]:
            stream, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _become(stream)
            stream.close()


def _become(stream: socket.socket) -> NoReturn:
    """Run the server that somebody asks for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, descriptors, _, _ = socket.recv_fds(stream, _LENGTH.size, 3)
    (length,) = _LENGTH.unpack(head)
    said = b""
    while len(said) < length:
        said += stream.recv(length - len(said))
    folder, environ, arguments = json.loads(said)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = arguments
    threading.Thread(target=_end_with, args=(stream,), daemon=True).start()
    code: int | None = 0
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int | None) else 1
        if code is not end.code:
            print(end.code, file=sys.stderr)
    except Exception:  # noqa: BLE001 - said as Python would
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    stream.sendall(bytes([code or 0]))
    os._exit(0)


def _end_with(stream: socket.socket) -> NoReturn:
    stream.recv(1)
    os._exit(1)


# --- what is started ----------------------------------------------------------------------------------------------------


def _hand_on(path: str, arguments: list[str]) -> int:
    """Hand on all there is to a fork, and return its exit code."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(path)
        said = json.dumps([os.getcwd(), dict(os.environ), arguments]).encode()  # noqa: PTH109 - pathlib is slow to import
        socket.send_fds(stream, [_LENGTH.pack(len(said))], [0, 1, 2])
        stream.sendall(said)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        code = stream.recv(1)
        return code[0] if code else 1


if __name__ == "__main__":
    if len(sys.argv) > 2:
        raise SystemExit(_hand_on(sys.argv[1], sys.argv[2:]))
    _fork_for_all(sys.argv[1])
