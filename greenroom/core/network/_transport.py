"""Plain words for communication failures: one table for everything that uses HTTP, sockets or pipes.

People read what happened, never the name of a class. Classes are matched by name because importing their libraries is
slow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from greenroom.core._errors import GreenroomError

_WORDS: Final[Mapping[str, str]] = {
    # Of HTTP clients and SDKs (httpx, httpx2, httpcore, h11, anthropic), the more specific first if a class has several
    # names.
    "ConnectTimeout": "no connection could be made in time",
    "PoolTimeout": "no connection became free in time",
    "ReadTimeout": "no answer came in time",
    "WriteTimeout": "the request could not be sent in time",
    "TimeoutException": "no answer came in time",
    "APITimeoutError": "no answer came in time",
    "ConnectError": "no connection could be made",
    "ProxyError": "the proxy refused the connection",
    "UnsupportedProtocol": "the address does not begin with http:// or https://",
    "RemoteProtocolError": "the server closed the connection, or sent what is not HTTP",
    "LocalProtocolError": "the request is not valid HTTP",
    "TooManyRedirects": "the server redirects in a circle",
    "DecodingError": "the answer is compressed in a way that cannot be read",
    "ReadError": "the connection broke while the answer was read",
    "WriteError": "the connection broke while the request was sent",
    "CloseError": "the connection broke while it was closed",
    "NetworkError": "the connection broke",
    "TransportError": "the connection broke",
    "APIConnectionError": "no connection could be made",
    # Of Trio and the standard library.
    "BrokenResourceError": "the other side closed the connection",
    "ClosedResourceError": "the connection is closed",
    "EndOfChannel": "the other side closed the connection",
    "IncompleteReadError": "the other side closed the connection",
    "SSLError": "the secure connection failed",
    "TooSlowError": "no answer came in time",
    "TimeoutError": "no answer came in time",
    "UnicodeDecodeError": "it is not UTF-8",
    "JSONDecodeError": "it is not JSON",
    "RecursionError": "it is nested too deeply",
}
_SAYS_MORE: Final = frozenset(("ConnectError", "ProxyError", "SSLError", "RemoteProtocolError", "APIConnectionError"))
"""Classes whose text adds something useful, such as the name that could not be resolved."""
_EMPTY_WORDS: Final = (
    "all connection attempts failed",
    "connection error",
    "server disconnected without sending a response",
)
"""Texts of these that add nothing to the words above."""


def transport_words(error: BaseException) -> str:
    """Return what went wrong, for people: without a class name, and without a full stop at the end."""
    if isinstance(error, GreenroomError):
        return str(error).rstrip(". ")
    text = " ".join(str(error).split()).rstrip(". ")
    for kind in type(error).__mro__:
        words = _WORDS.get(kind.__name__)
        if words is not None:
            is_shown = kind.__name__ in _SAYS_MORE and text and not text.lower().startswith(_EMPTY_WORDS)
            return f"{words} ({_of_system(error) or text})" if is_shown else words
    return _of_system(error) or text or "it failed without a reason"


def _of_system(error: BaseException) -> str:
    """Return the system's own words, in lower case; empty if it has none."""
    if not isinstance(error, OSError):
        return ""
    words = error.strerror or (os.strerror(error.errno) if error.errno else "")
    return words[:1].lower() + words[1:] if words[1:2].islower() else words
