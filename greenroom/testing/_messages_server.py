"""A loopback server of Anthropic's Messages API that follows a script, including failures.

It is a real HTTP/1.1 server, so that a client under test uses its own sockets, parser and pool. It answers `POST
/v1/messages` with server-sent events and keeps connections alive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, final

import attrs
import trio

from greenroom.models import Usage
from greenroom.testing._messages_script import ErrorReply, ReceivedRequest, Reply, Script, StreamReply, as_reply
from greenroom.testing._prompt_cache import PromptCache

if TYPE_CHECKING:
    from greenroom.testing._messages_connection import Connection


@final
class MessagesServer:
    """The running server; made by `open_messages_server`.

    Attributes:
        url: Base URL, for the client's `base_url`.
        requests: Every received request, in order.
        surprises: Number of requests without a scripted reply; they were refused with status 400.
        billed: With a cache: the billed input of each request, in order.
    """

    def __init__(self, url: str, script: Script, cache: PromptCache | None = None) -> None:
        self.url = url
        self.billed: list[Usage] = []
        self._cache = cache
        self.requests: list[ReceivedRequest] = []
        self.surprises = 0
        self._script = script if callable(script) else deque(script)
        self._connections = 0
        self._changed = trio.Event()

    def __repr__(self) -> str:
        return f"<MessagesServer {self.url} requests={len(self.requests)} connections={self._connections}>"

    @property
    def open_connections(self) -> int:
        """Number of open connections."""
        return self._connections

    @property
    def left(self) -> int:
        """Number of unused scripted replies; 0 for a script that is a function."""
        return 0 if callable(self._script) else len(self._script)

    async def wait_requests(self, count: int) -> None:
        """Wait until at least `count` requests have arrived."""
        while len(self.requests) < count:
            await self._changed.wait()

    async def wait_connections(self, count: int) -> None:
        """Wait until exactly `count` connections are open."""
        while self._connections != count:
            await self._changed.wait()

    def assert_done(self) -> None:
        """Check that every request was scripted, and every reply used."""
        if self.surprises or self.left:
            raise AssertionError(f"{self.surprises} requests were not scripted, {self.left} replies were not used")

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one connection until either side closes it."""
        # Here, so that importing the test kit loads no HTTP library.
        from h11 import RemoteProtocolError

        from greenroom.testing._messages_connection import Connection

        self._connections += 1
        self._tell()
        try:
            async with stream:
                await self._serve_requests(Connection(stream))
        except (trio.BrokenResourceError, RemoteProtocolError):
            pass  # the client disconnected, which many tests are about
        finally:
            self._connections -= 1
            self._tell()

    async def _serve_requests(self, connection: Connection) -> None:
        while (request := await connection.receive_request()) is not None:
            self.requests.append(request)
            reply = self._billed(request, self._next_reply(request))
            self._tell()
            if not await connection.send_reply(reply):
                return

    def _next_reply(self, request: ReceivedRequest) -> Reply:
        if request.method != "POST" or request.path.partition("?")[0] != "/v1/messages":
            return ErrorReply(status=404, type="not_found_error", message=f"{request.method} {request.path}")
        if callable(self._script):
            return as_reply(self._script(request))
        if not self._script:
            self.surprises += 1
            return ErrorReply(status=400, type="invalid_request_error", message="nothing is scripted for this request")
        return as_reply(self._script.popleft())

    def _billed(self, request: ReceivedRequest, reply: Reply) -> Reply:
        """Return the reply with the usage from the cache; a refused request costs and caches nothing."""
        if self._cache is None or not isinstance(reply, StreamReply):
            return reply
        usage = self._cache.serve(request.body)
        self.billed.append(usage)
        return attrs.evolve(reply, usage=attrs.evolve(usage, output_tokens=reply.usage.output_tokens))

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


@asynccontextmanager
async def open_messages_server(script: Script, *, cache: PromptCache | None = None) -> AsyncIterator[MessagesServer]:
    """Serve a script on a free port of the loopback interface; leaving closes every connection.

    The body's own exception leaves bare. Without one, `assert_done` is called at the end.

    Args:
        script: The replies in order, or a function from the request to the reply.
        cache: Source of the input usage of streamed replies; None: the script.
    """
    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            port = listeners[0].socket.getsockname()[1]
            server = MessagesServer(f"http://127.0.0.1:{port}", script, cache)
            await nursery.start(trio.serve_listeners, server.serve, listeners)
            yield server
            server.assert_done()
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        failure = group.exceptions[0] if len(group.exceptions) == 1 else group
    if failure is not None:  # raised here, outside the handler, so that it gets no context
        raise failure
