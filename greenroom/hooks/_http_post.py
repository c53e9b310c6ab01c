"""HTTP handlers of hooks. Importing this module loads no HTTP library: the first request does.

A header can use only the environment variables that its handler allows. Redirects are not followed: the input is sent
only to the URL in the settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, final

import attrs
import trio

from greenroom.core.texts import error_text
from greenroom.hooks._handler_ports import HandlerFailed
from greenroom.hooks._handlers import HttpHandler

if TYPE_CHECKING:
    import httpx2

KEPT_BYTES: Final = 1024 * 1024
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


@final
@attrs.frozen(kw_only=True)
class HttpReply:
    """The reply to a post."""

    status: int
    body: str


def fill_variables(text: str, environment: Mapping[str, str], allowed: frozenset[str]) -> str:
    """Replace `$NAME` and `${NAME}` with environment variables; one that is not allowed or not set becomes empty."""

    def value_of(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return environment.get(name, "") if name in allowed else ""

    return _VARIABLE.sub(value_of, text)


async def post(handler: HttpHandler, encoded: str, environment: Mapping[str, str], *, limit_s: float) -> HttpReply:
    """Post the encoded input and return the reply.

    On cancellation, the connection is closed.

    Raises:
        HandlerFailed: The reply was incomplete, or above 1 MiB.
    """
    import httpx2

    headers = {"content-type": "application/json"}
    headers |= {
        name.lower(): fill_variables(value, environment, handler.allowed_variables) for name, value in handler.headers
    }
    # Loading a certificate store takes tens of milliseconds: only for https.
    verify = handler.url.lower().startswith("https:")
    try:
        async with httpx2.AsyncClient(timeout=httpx2.Timeout(limit_s), verify=verify) as client:
            request = client.build_request("POST", handler.url, content=encoded.encode(), headers=headers)
            response = await client.send(request, stream=True)
            try:
                return HttpReply(status=response.status_code, body=await _read(response))
            finally:
                with trio.CancelScope(shield=True), trio.move_on_after(1.0):
                    await response.aclose()
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError) as error:
        raise HandlerFailed(error_text(error)) from error


async def _read(response: httpx2.Response) -> str:
    body = bytearray()
    chunks = response.aiter_bytes()
    async for chunk in chunks:
        body += chunk
        if len(body) > KEPT_BYTES:
            break
    else:
        return body.decode(errors="replace")
    # A cancelled read finishes the library's chain of generators from the innermost; `aclose` would leave those behind.
    with trio.CancelScope() as scope:
        scope.cancel()
        async for _ in chunks:
            pass
    raise HandlerFailed(f"the reply exceeds {KEPT_BYTES} bytes")
