"""The web through the HTTP library that comes with the provider's SDK; it is loaded by the first request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, final

import trio

from greenroom.tools import ToolError
from greenroom.tools.builtin._web_fetch import Page

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S: Final = 60.0
"""For one request, from connecting to the last byte."""
_IDLE_S: Final = 20.0


@final
class HttpFetcher:
    """Asks servers over HTTP; one connection for each request, no cookies, no credentials."""

    def __init__(self, *, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    async def fetch(self, url: str, *, most_bytes: int) -> Page:
        """Ask for one address; see `Fetcher.fetch`."""
        import httpx2

        try:
            with trio.fail_after(self._timeout_s):
                # No environment: its proxies and .netrc are the user's, and the address is a model's.
                async with httpx2.AsyncClient(timeout=_IDLE_S, trust_env=False, follow_redirects=False) as client:
                    return await _ask(client, url, most_bytes)
        except trio.TooSlowError:
            raise ToolError(f"{url} did not answer within {self._timeout_s:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ToolError(f"{url} cannot be fetched: {str(error) or type(error).__name__}") from error


async def _ask(client: httpx2.AsyncClient, url: str, most_bytes: int) -> Page:
    async with client.stream("GET", url, headers={"User-Agent": "greenroom"}) as answer:
        location = answer.headers.get("location", "") if answer.is_redirect else ""
        content = bytearray()
        if not location:
            chunks = answer.aiter_bytes()
            try:
                async for chunk in chunks:
                    content += chunk
                    if len(content) > most_bytes:
                        break
            finally:
                await _unwind(chunks)  # noqa: ASYNC102 - it is cancelled from its start: it waits for nothing
        return Page(
            status=answer.status_code,
            content=bytes(content[:most_bytes]),
            content_type=answer.headers.get("content-type", ""),
            location=location,
            is_cut=len(content) > most_bytes,
        )


async def _unwind(chunks: AsyncIterator[bytes]) -> None:
    """Finish the library's chain of async generators: a cancelled read unwinds it from the innermost, `aclose` does not."""
    import httpx2

    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            async for _ in chunks:
                pass
        except httpx2.HTTPError:
            pass  # the rest was given up: how it would have gone on concerns nobody
