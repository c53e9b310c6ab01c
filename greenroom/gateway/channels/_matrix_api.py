"""Requests of the client-server API of Matrix, and the errors that servers answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import quote, urlsplit

import attrs
import trio

from greenroom.core import PeerError, UsageError
from greenroom.core.network import is_loopback_host

if TYPE_CHECKING:
    import httpx2

POLL_S: Final = 30.0
"""Seconds for which a server holds a request for news."""
REPLY_S: Final = 30.0
"""Time for an answer, beside a wait that was asked for."""
MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
TIMELINE: Final = 100
"""Events of a room in one answer."""
_MAX_PAGES: Final = 10
_WHY_CHARS: Final = 200
_FILTER: Final = (
    '{"presence":{"types":[]},"account_data":{"types":[]},"room":{"ephemeral":{"types":[]},"account_data":{"types":[]},'
    '"state":{"lazy_load_members":true},"timeline":{"limit":%d}}}'
)


class MatrixRefused(PeerError):
    """A server answered with an error.

    Attributes:
        status: The HTTP status.
        code: The code of the error, such as `M_FORBIDDEN`.
        wait_s: The wait that the server asks for, in seconds.
    """

    def __init__(self, status: int, code: str, why: str, wait_s: float = 0.0) -> None:
        super().__init__(f"{status} {code} {why}".strip())
        self.status = status
        self.code = code
        self.wait_s = wait_s


@final
class MatrixLost(PeerError):
    """A server was not reached, or the connection ended before its answer.

    Attributes:
        is_sent: True if the request may have arrived.
    """

    def __init__(self, why: str, *, is_sent: bool) -> None:
        super().__init__(why)
        self.is_sent = is_sent


def check_address(address: str) -> str:
    """Return the address of a server without a slash at its end.

    Raises:
        UsageError: It is not an address, or it is one without encryption beyond this machine.
    """
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
    except ValueError:
        parts, host = urlsplit(""), ""
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback_host(host))):
        raise UsageError(f"homeserver must be an address with https (http only on this machine), got {address!r}")
    return address.rstrip("/")


@final
@attrs.define(eq=False)
class MatrixApi:
    """A client of one server. Made by `open_matrix_api`."""

    _client: httpx2.AsyncClient
    token: str = attrs.field(default="", repr=False)

    async def call(
        self,
        method: str,
        path: str,
        *parts: str,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        wait_s: float = 0.0,
        is_patient: bool = True,
    ) -> dict[str, Any]:
        """Send a request, and return the object that the server answers.

        Args:
            method: The method.
            path: The path below the API's, with `{}` for each part.
            parts: Ids in the path, as they are.
            query: The query.
            body: The body, as a JSON value.
            wait_s: How long the server holds the request.
            is_patient: True if the request is sent again when the server says that there are too many.

        Raises:
            MatrixRefused: The server answers with an error.
            MatrixLost: It was not reached, or did not answer.
        """
        url = "/_matrix/client/v3" + path.format(*(quote(part, safe="") for part in parts))
        while True:
            try:
                return await self._call(method, url, query or {}, body, wait_s)
            except MatrixRefused as refused:
                if refused.status != 429 or not is_patient:
                    raise
                await trio.sleep(refused.wait_s)

    async def _call(
        self,
        method: str,
        url: str,
        query: Mapping[str, str | int],
        body: Mapping[str, Any] | None,
        wait_s: float,
    ) -> dict[str, Any]:
        import httpx2
        import orjson

        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            async with self._client.stream(
                method,
                url,
                params=dict(query),
                content=None if body is None else orjson.dumps(dict(body)),
                headers={**headers, "content-type": "application/json"},
                timeout=httpx2.Timeout(REPLY_S, read=REPLY_S + wait_s),
            ) as response:
                content = bytearray()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_ANSWER_BYTES:
                        raise MatrixLost(f"the answer has more than {MAX_ANSWER_BYTES:,} bytes", is_sent=True)
                status, wait = response.status_code, response.headers.get("retry-after", "")
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise MatrixLost(_words(error), is_sent=False) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise MatrixLost(_words(error), is_sent=True) from error
        try:
            answer = orjson.loads(bytes(content))
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            answer = {}
        if status != 200:
            raise _refusal(status, answer, wait)
        return answer

    async def sync(self, since: str) -> dict[str, Any]:
        """Return the news since a mark, as soon as there are any; without a mark only where the rooms stand."""
        query: dict[str, str | int] = {"filter": _FILTER % (TIMELINE if since else 1)}
        if since:
            query |= {"since": since, "timeout": int(POLL_S * 1000)}
        return await self.call("GET", "/sync", query=query, wait_s=POLL_S if since else 0)

    async def between(self, room: str, gap_from: str, since: str) -> list[dict[str, Any]]:
        """Return the events of a room between two marks, in order; of very many only the newest."""
        found: list[dict[str, Any]] = []
        for _ in range(_MAX_PAGES):
            query: dict[str, str | int] = {"from": gap_from, "to": since, "dir": "b", "limit": TIMELINE}
            answer = await self.call("GET", "/rooms/{}/messages", room, query=query)
            page = [event for event in answer.get("chunk") or [] if isinstance(event, dict)]
            found += page
            gap_from = str(answer.get("end") or "")
            if not page or not gap_from or gap_from == since:
                break
        return found[::-1]

    async def members(self, room: str) -> frozenset[str]:
        """Return the ids of those who are in a room."""
        answer = await self.call("GET", "/rooms/{}/joined_members", room)
        joined = answer.get("joined")
        return frozenset(joined) if isinstance(joined, dict) else frozenset()

    async def rooms(self) -> list[str]:
        """Return the rooms that the account is in."""
        joined = (await self.call("GET", "/joined_rooms")).get("joined_rooms")
        return [room for room in joined if isinstance(room, str)] if isinstance(joined, list) else []


def _refusal(status: int, answer: Mapping[str, Any], wait: str) -> MatrixRefused:
    wait_ms = answer.get("retry_after_ms")
    wait_s = wait_ms / 1000 if isinstance(wait_ms, int) else float(wait) if wait.isdigit() else 0.0
    why = str(answer.get("error") or "")[:_WHY_CHARS]
    return MatrixRefused(status, str(answer.get("errcode") or ""), why, wait_s or (1.0 if status == 429 else 0.0))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


@asynccontextmanager
async def open_matrix_api(address: str, transport: httpx2.AsyncBaseTransport | None = None) -> AsyncIterator[MatrixApi]:
    """Open a client; leaving the block closes its connections.

    Args:
        address: The address of the server.
        transport: Replaces the network in tests.
    """
    import httpx2

    # A redirect could lead the token to another machine, so none is followed; nor does a proxy of the environment see it.
    async with httpx2.AsyncClient(
        base_url=address, transport=transport, follow_redirects=False, trust_env=False
    ) as client:
        yield MatrixApi(client)
