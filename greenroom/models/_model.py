"""The two protocols that every model implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from greenroom.models._types import Delta, ModelRequest, ModelResponse, Notice


class ModelStream(Protocol):
    """One answer while it arrives: an iterator object over its deltas, for one reader.

    Every failure of the provider is raised by the iteration as a `ProviderError`; after it, or after a cancel, `so_far`
    still holds what had arrived, and iterating on is an error.
    """

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> Delta:
        """Return the next delta. The first call sends the request.

        Raises:
            ProviderError: The request failed, or the stream was cut.
        """
        ...

    @property
    def so_far(self) -> ModelResponse:
        """A valid partial response at any instant: complete blocks, and text so far.

        A tool use with incomplete input is left out. Once the stream has ended it is the final response.
        """
        ...

    async def wait_response(self, on_notice: Callable[[Notice], Awaitable[object]] | None = None) -> ModelResponse:
        """Read the rest of the stream and return the final response.

        Args:
            on_notice: Awaited with each `StreamRestarted`, before its wait, which continues meanwhile. An exception
                ends the reading: a caller with a newer request leaves the stream and sends that one, with the `attempt` of
                the notice.

        Raises:
            ProviderError: The request failed, or the stream was cut.
        """
        ...


class Model(Protocol):
    """A model that answers requests. One object serves any number of agents at once."""

    @property
    def name(self) -> str:
        """The name for people: `claude-...`, `playbook`."""
        ...

    def open(self) -> AbstractAsyncContextManager[None]:
        """Open the connections, once per session; leaving closes them."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Return a stream. Entering sends nothing yet; leaving abandons the rest, and frees the connection.

        The manager keeps no cancel scope and no nursery open between calls, so it may be entered in one scope and left
        in another of the same Trio task; `retrying` does that.
        """
        ...
