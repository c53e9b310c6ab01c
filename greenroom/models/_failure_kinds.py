"""Failures of models: one table of kinds, and the ways to find the kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from greenroom.core import ProviderError
from greenroom.models._clean_text import clean

RETRYABLE: Final[Mapping[str, bool]] = {
    "rate_limited": True,
    "overloaded": True,
    "server_error": True,
    "timeout": True,
    "connection": True,
    "cut": True,
    "bad_request": False,
    "authentication": False,
    "billing": False,
    "permission": False,
    "not_found": False,
    "too_large": False,
    # These three are complete but unsuccessful answers, see `greenroom.models._endings`.
    "refused": False,
    "truncated": False,
    "incomplete": False,
    # A server that answers with something else does so again; a garbled stream is passed as retryable.
    "protocol": False,
}
"""Every `kind` of a model's `ProviderError`; True if the same request may succeed later."""

_WORDS: Final[Mapping[str, str]] = {
    "rate_limited": "the provider's rate limit is reached",
    "overloaded": "the provider is overloaded",
    "server_error": "the provider had an error",
    "timeout": "the provider did not answer in time",
    "connection": "the provider could not be reached",
    "cut": "the answer was cut off",
    "protocol": "the answer could not be read",
}
_CATEGORIES: Final[Mapping[str, str]] = {
    "authentication": "authentication_failed",
    "permission": "authentication_failed",
    "billing": "billing_error",
    "rate_limited": "rate_limit",
    "overloaded": "overloaded",
    "bad_request": "invalid_request",
    "too_large": "invalid_request",
    "refused": "invalid_request",
    "truncated": "max_output_tokens",
    "incomplete": "server_error",
    "not_found": "model_not_found",
    "server_error": "server_error",
    "timeout": "server_error",
    "connection": "server_error",
    "cut": "server_error",
    "protocol": "server_error",
}

_KIND_OF_STATUS: Final[Mapping[int, str]] = {
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not_found",
    408: "timeout",
    409: "server_error",  # a lock at the provider timed out; the SDK retries it too
    413: "too_large",
    429: "rate_limited",
    504: "timeout",
    529: "overloaded",
}

_KIND_OF_TYPE: Final[Mapping[str, str]] = {
    "api_error": "server_error",
    "authentication_error": "authentication",
    "billing_error": "billing",
    "invalid_request_error": "bad_request",
    "not_found_error": "not_found",
    "overloaded_error": "overloaded",
    "permission_error": "permission",
    "rate_limit_error": "rate_limited",
    "request_too_large": "too_large",
    "timeout_error": "timeout",
}

_TOO_LONG: Final = re.compile(
    r"(prompt|input|request|conversation|context) is too (long|large)"
    r"|exceeds? (the )?(model'?s )?(maximum )?context (window|limit|length)"
    r"|maximum context length|context_length_exceeded|context window exceeded|too many (input )?tokens in the (prompt|request)"
    r"|request_too_large|exceeds the maximum (allowed )?(number of bytes|size|number of tokens)",
    re.IGNORECASE,
)
"""Wordings of a refusal because the conversation is too long: Anthropic's own (`prompt is too long: 215000 tokens >
200000 maximum`, ``input length and `max_tokens` exceed context limit``), and those of gateways before other
providers.
"""
_LONGEST_MESSAGE: Final = 500


def failure(
    kind: str,
    message: str,
    *,
    status: int | None = None,
    retry_after_s: float | None = None,
    is_retryable: bool | None = None,
) -> ProviderError:
    """Return the error of this kind; the table determines whether it is retryable, unless the caller passes it."""
    text = clean(message).rstrip()
    if kind == "bad_request" and _TOO_LONG.search(text):
        kind = "too_large"
    if len(text) > _LONGEST_MESSAGE:  # a proxy's whole error page
        text = text[:_LONGEST_MESSAGE] + "..."
    return ProviderError(
        text,
        kind=kind,
        status=status,
        retry_after_s=retry_after_s,
        is_retryable=RETRYABLE[kind] if is_retryable is None else is_retryable,
    )


def error_category(kind: str) -> str:
    """Return the name of a `kind` of `ProviderError` for hooks and streams; `unknown` for any other."""
    return _CATEGORIES.get(kind, "unknown")


def failure_words(kind: str, status: int | None = None) -> str:
    """Return a message for people about a failed request, by the `kind` of its `ProviderError` and the HTTP status."""
    words = _WORDS.get(kind, f"the request failed ({kind})")
    return words if status is None else f"{words} (HTTP {status})"


def kind_of_status(status: int) -> str:
    """Return the kind of an HTTP status that is not a success."""
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status]
    if status >= 500:
        return "server_error"
    return "bad_request" if status >= 400 else "protocol"


def kind_of_type(error_type: object) -> str:
    """Return the kind of an `error` event inside a stream, whose status is a success."""
    return _KIND_OF_TYPE.get(error_type, "server_error") if isinstance(error_type, str) else "server_error"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait that a provider requests, in seconds, or None.

    Three spellings: `retry-after-ms`, and `retry-after` in seconds or as a date, which counts from the answer's own
    `date`, so that no local clock is needed.
    """
    text = headers.get("retry-after", "")
    seconds = _number(headers.get("retry-after-ms", ""), 0.001)
    if seconds is None:
        seconds = _number(text, 1.0)
    if seconds is None:
        seconds = _between(headers.get("date", ""), text)
    return seconds


def _number(text: str, unit_s: float) -> float | None:
    try:
        seconds = float(text) * unit_s
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _between(earlier: str, later: str) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(later) - parsedate_to_datetime(earlier)).total_seconds())
    except (ValueError, TypeError):  # not a date; or one with a time zone and one without
        return None
