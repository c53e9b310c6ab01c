"""The web through the HTTP library that comes with the provider's SDK; it is loaded by the first request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, final
from urllib.parse import urlsplit

import trio

from greenroom.core.network import address_of, canonical_host, is_private_address, is_private_host
from greenroom.tools import ToolError
from greenroom.tools.builtin._web_fetch import FetchedPage

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

    async def fetch(self, url: str, *, most_bytes: int) -> FetchedPage:
        """Ask for one address; see `Fetcher.fetch`."""
        import httpx2

        try:
            with trio.fail_after(self._timeout_s):
                # No environment: its proxies and .netrc are the user's, and the address is a model's.
                async with httpx2.AsyncClient(timeout=_IDLE_S, trust_env=False, follow_redirects=False) as client:
                    return await _ask_somewhere(client, url, most_bytes)
        except trio.TooSlowError:
            raise ToolError(f"{url} did not answer within {self._timeout_s:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ToolError(f"{url} cannot be fetched: {str(error) or type(error).__name__}") from error


async def _ask_somewhere(client: httpx2.AsyncClient, url: str, most_bytes: int) -> FetchedPage:
    """Ask at the addresses of a host, one after the other until one of them takes the connection.

    The host is looked up once, and only what was looked at is connected to: a second look-up could say something else.
    """
    import httpx2

    addresses = await _addresses(url)
    for address in addresses[:-1]:
        try:
            return await _ask(client, url, address, most_bytes)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await _ask(client, url, addresses[-1], most_bytes)


async def _addresses(url: str) -> list[str]:
    """Return the addresses of a URL's host.

    Raises:
        ToolError: It has none, or its name leads to this machine or a private network. A URL that says so itself is for
            the permission to decide about, and has been decided about.
    """
    parts = urlsplit(url)
    host = canonical_host(parts.hostname or "")
    if host is None:
        raise ToolError(f"{url} cannot be fetched: its host is not valid")
    if address_of(host) is not None:
        return [host.strip("[]")]
    try:
        found = await trio.socket.getaddrinfo(host, parts.port or parts.scheme, type=trio.socket.SOCK_STREAM)
    except OSError as error:
        raise ToolError(f"{url} cannot be fetched: {(error.strerror or str(error)).lower()}") from None
    addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
    private = next(
        (address for address in addresses if (known := address_of(address)) is None or is_private_address(known)), None
    )
    if private is not None and not is_private_host(host):
        raise ToolError(
            f"{url} is not fetched: {host} leads to {private}, an address of this machine or a private network; "
            f"a rule WebFetch(domain:{private}) lets that address itself be fetched"
        )
    return addresses


async def _ask(client: httpx2.AsyncClient, url: str, address: str, most_bytes: int) -> FetchedPage:
    import httpx2

    whole = httpx2.URL(url)
    headers = {"User-Agent": "greenroom", "Host": whole.netloc.decode("ascii")}
    # The certificate has to be that of the name, wherever the connection goes.
    extensions = {"sni_hostname": whole.raw_host.decode("ascii")} if address_of(whole.host) is None else {}
    async with client.stream("GET", whole.copy_with(host=address), headers=headers, extensions=extensions) as answer:
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
        return FetchedPage(
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
            pass  # the rest was abandoned: its later failures are irrelevant
