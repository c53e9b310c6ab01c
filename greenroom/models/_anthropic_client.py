"""The SDK's client, and one answer of it. Importing this module loads the SDK: only `AnthropicModel.open` does.

The SDK finds the credentials, makes the connections, sends the request and classifies refusals; it retries nothing.
Answers are read here: the SDK's typed events cost 20 us each, fail as an `AssertionError` when they are malformed, and
come from a chain of async generators that warns when it is left early.
"""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections import deque
from collections.abc import AsyncIterator
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, final
from urllib.parse import urlsplit

import anthropic
import httpx2
import trio

from greenroom.core import ProviderError, UsageError, limit_body
from greenroom.core.network import transport_words
from greenroom.models._connection_pools import KEPT_S, ConnectionPool, ConnectionPools
from greenroom.models._failure_kinds import failure, kind_of_status, retry_after
from greenroom.models._messages_api import EventParser, JsonObject, fold
from greenroom.models._response_assembly import Assembly

if TYPE_CHECKING:
    import ssl

    from anthropic.types import RawMessageStreamEvent

    from greenroom.models._types import Delta, ModelResponse, OnEvent

ERROR_BYTES: Final = 1 << 20
"""Maximum number of bytes that are read of a refusal."""
END_S: Final = 1.0
"""Seconds to wait for the end of the body after the end of the answer: only a connection that was read to its end is
used again.
"""
_FIRST_ERROR: Final = 400
_NO_KEY: Final = "no Anthropic API key: set ANTHROPIC_API_KEY or pass api_key="
_NOT_TOLD: Final = frozenset(("ping", "error"))
"""Events that are not part of an answer; the second is raised."""
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_SENDING: Final = (anthropic.AnthropicError, httpx2.HTTPError)
# Other errors while an answer is read: bytes that are not UTF-8, data that is not JSON or nested too deeply.
_READING: Final = (*_SENDING, ValueError, RecursionError)


@final
class AnthropicClient:
    """The SDK's client and its connections, for one Trio run."""

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None,
        max_connections: int,
        connect_timeout_s: float,
        idle_timeout_s: float,
    ) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._timeout = self._limit(idle_timeout_s)
        self._tls = tls_context()
        try:
            self._sdk = anthropic.AsyncAnthropic(
                api_key=api_key,
                base_url=base_url,
                max_retries=0,  # `retrying` retries: it knows streams, a limit for retry-after, and our source of chance
                timeout=self._timeout,
                # Our spans are exported from the journal; the SDK's span of a stream would outlive the task that opened
                # it.
                open_telemetry=False,
                http_client=self._pool(1),  # never used: each pool has its own
            )
        except anthropic.CredentialsError as error:
            raise UsageError(f"{_NO_KEY} ({error})") from error
        if not (self._sdk.api_key or self._sdk.auth_token or self._sdk.credentials):
            raise UsageError(_NO_KEY)
        _check_address(str(self._sdk.base_url))
        _check_secret("ANTHROPIC_API_KEY", self._sdk.api_key)
        _check_secret("ANTHROPIC_AUTH_TOKEN", self._sdk.auth_token)
        self._lines = ConnectionPools(lambda size: self._sdk.copy(http_client=self._pool(size)), max_connections)

    async def close(self) -> None:
        """Close every connection."""
        await self._lines.close()
        await self._sdk.close()

    def ask(
        self,
        body: JsonObject,
        extra_body: JsonObject,
        on_event: OnEvent | None = None,
        silence_s: float | None = None,
    ) -> AnthropicSource:
        """Return the answer to a request that is not sent yet."""
        timeout = self._timeout if silence_s is None else self._limit(silence_s)
        return AnthropicSource(self._lines, body, extra_body, on_event, timeout)

    def _limit(self, silence_s: float) -> httpx2.Timeout:
        return httpx2.Timeout(None if silence_s == math.inf else silence_s, connect=self._connect_timeout_s)

    def _pool(self, size: int) -> anthropic.DefaultAsyncHttpxClient:
        limits = httpx2.Limits(max_connections=size, max_keepalive_connections=size, keepalive_expiry=KEPT_S)
        return anthropic.DefaultAsyncHttpxClient(
            limits=limits,
            timeout=self._timeout,
            verify=self._tls,
            event_hooks={"response": [_limit_refusal]},
            follow_redirects=False,  # the key would be sent along
        )


def tls_context() -> ssl.SSLContext:
    """Return the context of all TLS connections of the process: reading the certificates takes 20 ms.

    It is another one when a variable names other certificates.
    """
    return _tls_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _tls_context(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    return httpx2.create_ssl_context()


async def _limit_refusal(response: httpx2.Response) -> None:
    await trio.lowlevel.checkpoint()
    if response.status_code >= _FIRST_ERROR:  # the SDK reads all of it
        limit_body(response, ERROR_BYTES, is_cut=True)


def _check_address(url: str) -> None:
    """Refuse an invalid URL: its errors look like those of a network, and would be retried."""
    try:
        parts = urlsplit(url)
        is_sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if not is_sound:
        what = "is not a valid API URL; it must begin with https:// or http:// and have a host"
        raise UsageError(f"{url!r} {what}: set ANTHROPIC_BASE_URL or pass base_url=")


def _check_secret(name: str, secret: str | None) -> None:
    """Refuse a value that is not allowed in a header, without showing it."""
    if secret and not (secret.isascii() and secret.isprintable()):
        raise UsageError(f"{name} must not contain line breaks, accents or control characters; set it again")


@final
class AnthropicSource:
    """One answer while it arrives."""

    __slots__ = (
        "_assembly",
        "_body",
        "_chunks",
        "_events",
        "_extra_body",
        "_is_compressed",
        "_line",
        "_lines",
        "_on_event",
        "_parser",
        "_response",
        "_timeout",
    )

    def __init__(
        self,
        lines: ConnectionPools,
        body: JsonObject,
        extra_body: JsonObject,
        on_event: OnEvent | None,
        timeout: httpx2.Timeout,
    ) -> None:
        self._timeout = timeout
        self._lines = lines
        self._line: ConnectionPool | None = None
        self._body = body
        self._extra_body = extra_body
        self._on_event = on_event
        self._assembly = Assembly(body["model"])
        self._response: httpx2.Response | None = None
        self._is_compressed = False
        self._chunks: AsyncIterator[bytes] | None = None
        self._parser = EventParser()
        self._events: deque[str] = deque()

    @property
    def so_far(self) -> ModelResponse:
        """The valid part of what has arrived."""
        return self._assembly.so_far

    async def finish(self) -> bool:
        """Return False: every delta is read."""
        return False

    async def next_delta(self) -> Delta | None:
        """Return the next delta; the first call sends the request.

        Raises:
            ProviderError: Every failure, with its kind.
        """
        if self._chunks is None:
            self._chunks = await self._send()
        try:
            while True:
                while self._events:
                    event = _read_event(self._events.popleft())
                    delta = fold(self._assembly, event)
                    if self._on_event is not None and event.get("type") not in _NOT_TOLD:
                        self._on_event(event)
                    if delta is not None:
                        await trio.lowlevel.checkpoint()
                        return delta
                    if event.get("type") == "message_stop":
                        await self._read_rest(self._chunks)
                        raise StopAsyncIteration
                if self._is_compressed:  # a chunk may have become many, between which the library does not wait
                    await trio.lowlevel.checkpoint()
                self._events.extend(self._parser.feed(await anext(self._chunks)))
        except StopAsyncIteration:
            if self._assembly.is_complete:
                return None
            raise failure("cut", "the answer ended before it was complete") from None
        except _READING as error:
            if self._assembly.is_complete:  # nothing is left to receive
                return None
            raise _failed_reading(error) from error

    async def _read_rest(self, chunks: AsyncIterator[bytes]) -> None:
        """Read what follows the end of the answer, for a short time; nothing of it counts."""
        self._events.clear()
        with trio.move_on_after(END_S):
            async for _ in chunks:
                await trio.lowlevel.checkpoint()

    @property
    def is_holding(self) -> bool:
        """True once the request was sent and occupies a place in a pool."""
        return self._line is not None

    async def close(self) -> None:
        """Abandon the answer; its connection is closed unless it was read to the end."""
        try:
            if self._chunks is not None:
                await _unwind(self._chunks)
        finally:
            line, self._line = self._line, None
            if line is not None:
                self._lines.give_back(line)
            if self._response is not None:
                await self._response.aclose()

    async def _send(self) -> AsyncIterator[bytes]:
        await self._lines.close_unused()
        self._line = self._lines.take()
        try:
            stream: anthropic.AsyncStream[RawMessageStreamEvent] = await self._line.sdk.messages.create(
                **self._body, stream=True, extra_body=self._extra_body, timeout=self._timeout
            )
        except _SENDING as error:
            raise _failed_sending(error) from error
        self._response = stream.response
        self._is_compressed = "content-encoding" in stream.response.headers
        content_type = stream.response.headers.get("content-type", "")
        if not content_type.startswith("text/event-stream"):
            raise failure("protocol", f"expected an event stream, got {content_type or 'without a type'!r}")
        return stream.response.aiter_bytes()


async def _unwind(chunks: AsyncIterator[bytes]) -> None:
    """Finish the HTTP library's chain of async generators, wherever it stands.

    `aclose` does not reach the innermost ones: the garbage collector would finish them, with a ResourceWarning each. A
    cancelled read does, because it unwinds from the innermost. What was parsed lies outside of the chain for the same
    reason: an exception in its middle would leave the inner part hanging.
    """
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            async for _ in chunks:
                pass
        except _READING:
            pass  # the answer was abandoned: its later failures are irrelevant


def _read_event(text: str) -> JsonObject:
    event: Any = json.loads(text)
    if not isinstance(event, dict):
        raise ValueError(f"an event is not a JSON object: {text[:50]!r}")  # noqa: TRY004  one error for whatever is garbled
    return event


def _failed_sending(error: Exception) -> ProviderError:
    match error:
        case anthropic.APIStatusError():
            return _refused(error)
        case anthropic.APITimeoutError() | httpx2.TimeoutException():
            return failure("timeout", "no answer came in time")
        case anthropic.APIConnectionError():
            return failure("connection", transport_words(error.__cause__ or error))
        case anthropic.CredentialsError():
            return failure("authentication", transport_words(error))
        case anthropic.APIError():
            return failure("protocol", transport_words(error))
        case _:
            return failure("connection", transport_words(error))


def _failed_reading(error: Exception) -> ProviderError:
    match error:
        case ProviderError():
            return error
        case httpx2.TimeoutException():
            return failure("timeout", "the answer stalled for too long")
        case httpx2.TransportError():
            return failure("cut", f"the connection broke during the answer: {transport_words(error)}")
        case _:
            return failure("protocol", f"the answer is malformed: {transport_words(error)}", is_retryable=True)


def _refused(error: anthropic.APIStatusError) -> ProviderError:
    headers = error.response.headers
    wish = headers.get("x-should-retry")  # the provider's own word takes precedence over the table, as in the SDK
    message = f"HTTP {error.status_code}: {_said(error)}"
    if error.request_id is not None:
        message += f" (request {error.request_id})"
    return failure(
        kind_of_status(error.status_code),
        message,
        status=error.status_code,
        retry_after_s=retry_after(headers),
        is_retryable={"true": True, "false": False}.get(wish or ""),
    )


def _said(error: anthropic.APIStatusError) -> str:
    """Return the reason of a refusal: the provider's own, the title of an HTML page, or the meaning of the status."""
    if isinstance(error.api_message, str) and error.api_message.strip():
        return error.api_message
    location = error.response.headers.get("location")
    if error.status_code < 400 and location:
        return f"redirected to {location}; redirects are not followed, set ANTHROPIC_BASE_URL to the final URL"
    body = error.body
    if isinstance(body, str) and body.lstrip()[:1] == "<":
        title = _TITLE.search(body)
        text = " ".join(html.unescape(title[1]).split()) if title is not None else ""
        return f"an HTML page ({text})" if text else "an HTML page"
    if isinstance(body, str) and body.strip():
        return " ".join(body.split())
    try:
        meaning = HTTPStatus(error.status_code).phrase
    except ValueError:
        meaning = "no reason given"
    return meaning if body in (None, "") else f"{meaning}: {json.dumps(body, default=str)}"
