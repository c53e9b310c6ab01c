"""The connection to a redis server: scripts and commands with a limit of time, and errors in one line.

Rule 1: a call that has begun is not cancelled before its answer or the limit, so no answer is lost to a cancel. Rule 2: every
failure is a `JournalError` with the address and no password. The library is imported when the first server is opened.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, final

import trio

from greenroom.core import JournalError, UsageError, open_bare_nursery
from greenroom.core.ports import Blocking
from greenroom.remote.redis._redis_address import RedisAddress, check_server, parse_address, reason_of

ANSWER_S: Final = 5.0
"""Seconds for which an answer of the server is waited for."""


@final
class RedisServer:
    """A connected server. Made by `open_redis_server`.

    Attributes:
        address: Its address.
        nursery: Runs the tasks of those who use the connection; they end before it is closed.
        warnings: What the server can lose, for people.
    """

    def __init__(self, address: RedisAddress, client: Any, nursery: trio.Nursery) -> None:
        self.address: Final = address
        self.nursery: Final = nursery
        self.warnings: tuple[str, ...] = ()
        self._client = client
        self._scripts: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<RedisServer {self.address.shown}>"

    async def call(self, script: str, keys: Sequence[str], arguments: Sequence[str | int | float] = ()) -> Any:
        """Run a script in one step of the server.

        Raises:
            JournalError: The server does not answer, or refuses it.
        """
        if script not in self._scripts:
            self._scripts[script] = self._client.register_script(script)
        return await self._answer(lambda: self._scripts[script](list(keys), list(arguments)))

    async def check(self) -> None:
        """Ask the server what it is, and note what it can lose.

        Raises:
            JournalError: It cannot be used.
        """
        facts: dict[Any, Any] = dict(await self._answer(self._client.info))
        try:
            facts.update(await self._answer(lambda: self._client.config_get(["appendfsync"])))
        except JournalError:
            pass  # many servers that are rented forbid it
        self.warnings = check_server(self.address, facts)

    async def _answer(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        await trio.lowlevel.checkpoint_if_cancelled()
        with trio.CancelScope(shield=True), trio.move_on_after(ANSWER_S):
            try:
                return await ask()
            except Exception as error:  # whatever it is, it is translated
                raise self.address.refuse(reason_of(error)) from error
        raise self.address.refuse(f"no answer within {ANSWER_S:g} s; what was asked for may have happened")


@asynccontextmanager
async def open_redis_server(url: str, *, blocking: Blocking) -> AsyncIterator[RedisServer]:
    """Connect a server as long as the block lasts.

    Args:
        url: Its address, as `redis://[:PASSWORD@]HOST[:PORT][/NUMBER]`; `rediss://` for TLS, `unix://PATH` for a socket.
        blocking: Runs the import of the library.

    Raises:
        UsageError: The address is invalid, or the extra is not installed.
        JournalError: Nobody answers there, or the server cannot be used.
    """
    address = parse_address(url)
    try:
        library = await blocking.run(importlib.import_module, "coredis")
    except ImportError as problem:
        raise UsageError(f"the redis library is missing; pip install 'greenroom[redis]' ({problem})") from None
    try:
        client = library.Redis.from_url(address.url, decode_responses=True)
    except (TypeError, ValueError) as error:  # the library's own words may hold the address
        raise address.refuse(reason_of(error)) from None
    async with open_bare_nursery() as nursery:
        try:
            with trio.move_on_after(ANSWER_S) as limit:
                await nursery.start(_connect, client)
            if limit.cancelled_caught:
                raise address.refuse(f"no answer within {ANSWER_S:g} s")
        except JournalError:
            raise
        except Exception as error:  # whatever it is, it is translated
            raise address.refuse(reason_of(error)) from error
        try:
            async with open_bare_nursery() as users:
                server = RedisServer(address, client, users)
                await server.check()
                try:
                    yield server
                finally:
                    users.cancel_scope.cancel()
        finally:
            nursery.cancel_scope.cancel()


async def _connect(client: Any, task_status: trio.TaskStatus[None]) -> None:
    """Keep the library's connections; its own tasks end with this one."""
    async with client:
        task_status.started()
        await trio.sleep_forever()
