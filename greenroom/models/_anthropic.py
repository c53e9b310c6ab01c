"""Claude, through Anthropic's SDK, which is loaded when the model is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, final

import trio

from greenroom.core import UsageError
from greenroom.models._answer_stream import CLOSE_GRACE_S, AnswerStream
from greenroom.models._messages_api import request_body

if TYPE_CHECKING:
    from greenroom.models._anthropic_client import AnthropicClient
    from greenroom.models._model import ModelStream
    from greenroom.models._types import ModelRequest


@final
class AnthropicModel:
    """A Claude model. Every request is streamed; nothing is retried here, see `retrying`.

    Args:
        name: The provider's name of the model, see `CLAUDE_MODELS`; a request may name another one.
        api_key: None: as the SDK finds it (`ANTHROPIC_API_KEY` first).
        base_url: None: `ANTHROPIC_BASE_URL`, else the provider's own.
        max_connections: Requests that may be in flight at once; more wait for their turn.
        connect_timeout_s: The longest that making a connection may take.
        idle_timeout_s: The longest silence of the connection before and inside an answer, and the longest wait for a free
            connection, in seconds; for requests that name no limit of their own (`ModelRequest.silence_s`).
        extra_body: Fields added to every request, such as `{"service_tier": "auto"}`; they go before the request's own.
    """

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        max_connections: int = 2000,
        connect_timeout_s: float = 10.0,
        idle_timeout_s: float = 300.0,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = name
        self._api_key = api_key
        self._base_url = base_url
        self._max_connections = max_connections
        self._connect_timeout_s = connect_timeout_s
        self._idle_timeout_s = idle_timeout_s
        self._extra_body = dict(extra_body or {})
        self._client: AnthropicClient | None = None
        self._openings = 0

    def __repr__(self) -> str:
        return f"<AnthropicModel {self._name!r} {'open' if self._client else 'closed'}>"

    @property
    def name(self) -> str:
        """The provider's name of the model."""
        return self._name

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Load the SDK and make the client; sessions that share the model, in one Trio run, share it.

        Loading takes most of a second, once per process.

        Raises:
            UsageError: There is no API key.
        """
        if self._client is None:
            self._client = self._connect()
        self._openings += 1
        try:
            yield
        finally:
            self._openings -= 1
            if not self._openings:
                client, self._client = self._client, None
                with trio.move_on_after(CLOSE_GRACE_S, shield=True):
                    await client.close()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Return a stream; its first read sends the request.

        Raises:
            UsageError: The model is not open, or the request asks for more thinking than it may write.
        """
        if self._client is None:
            raise UsageError(f"model {self._name!r} is not open: use `async with model.open()`")
        body = {"model": request.model or self._name, **request_body(request)}
        return AnswerStream(self._client.ask(body, self._extra_body, request.on_event, request.silence_s))

    def _connect(self) -> AnthropicClient:
        from greenroom.models._anthropic_client import AnthropicClient

        return AnthropicClient(
            api_key=self._api_key,
            base_url=self._base_url,
            max_connections=self._max_connections,
            connect_timeout_s=self._connect_timeout_s,
            idle_timeout_s=self._idle_timeout_s,
        )
