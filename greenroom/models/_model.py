"""The two protocols that every model fulfills."""

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
        """A valid partial response at any instant: complete blocks, and text as far as it has come.

        A tool use whose input is not complete is left out. Once the stream has ended it is the final response.
        """
        ...

    async def wait_response(self, on_notice: Callable[[Notice], Awaitable[object]] | None = None) -> ModelResponse:
        """Read what is left of the stream and return the final response.

        Args:
            on_notice: Awaited with each `StreamRestarted`, before its wait, which goes on meanwhile. What it raises ends the
                reading: whoever has something better to ask leaves the stream and asks anew, with the `attempt` of the notice.

        Raises:
            ProviderError: The request failed, or the stream was cut.
        """
        ...


class Model(Protocol):
    """Something that answers requests. One object serves any number of agents at once."""

    @property
    def name(self) -> str:
        """What people see: `claude-...`, `playbook`."""
        ...

    def open(self) -> AbstractAsyncContextManager[None]:
        """Open the connections, once per session; leaving closes them."""
        ...

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Ask. Entering sends nothing yet; leaving gives up what has not arrived, and frees the connection.

        The manager keeps no cancel scope and no nursery open between calls, so it may be entered in one scope and left in
        another of the same Trio task; `retrying` does that.
        """
        ...
