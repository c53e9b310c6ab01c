"""Addresses of redis servers, without their passwords, and the reasons for which a server cannot be used.

Rule 1: no text of this module holds a password. Rule 2: a server that cannot keep what it is given is refused or warned about
before anything is put into it. This module must not depend on the clock, Trio, or the library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, final
from urllib.parse import SplitResult, unquote, urlsplit

import attrs

from greenroom.core import JournalError, UsageError

OLDEST: Final = (6, 2)
"""Version of redis that has all commands we send."""
SCHEMES: Final = ("redis", "rediss", "unix")
_SHOWN: Final = "redis://[:PASSWORD@]HOST[:PORT][/NUMBER]"


@final
@attrs.frozen
class RedisAddress:
    """The address of a redis server."""

    url: str = attrs.field(repr=False)
    """As it was given, with its password."""
    shown: str
    """The same without it, for texts."""
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    """Values that no text may hold."""

    def refuse(self, why: str) -> JournalError:
        """Return the error that says why this server cannot be used."""
        for secret in self.secrets:
            why = why.replace(secret, "***")
        return JournalError(self.shown, " ".join(why.split()))


def parse_address(url: str) -> RedisAddress:
    """Return an address.

    Raises:
        UsageError: It is invalid.
    """
    try:
        parts = urlsplit(url)
        port, password = parts.port, parts.password or ""
    except ValueError:
        parts, port, password = SplitResult("", "", "", "", ""), None, ""
    place = parts.path if parts.scheme == "unix" else parts.hostname
    if parts.scheme not in SCHEMES or not place or port == 0 or "password=" in parts.query:
        # whatever it is, it may hold a password
        raise UsageError(f"invalid address of a redis server (scheme {parts.scheme[:20]!r}); expected {_SHOWN}")
    user = f"{parts.username or ''}:***@" if password else f"{parts.username}@" if parts.username else ""
    shown = f"{parts.scheme}://{user}{parts.netloc.rpartition('@')[2]}{parts.path}"
    secrets = tuple(sorted({password, unquote(password)} - {""}, key=len, reverse=True))
    return RedisAddress(url, shown, secrets)


def reason_of(error: BaseException) -> str:
    """Return why a call of the library failed, in one line with what to do; the server's own words where it said any."""
    reasons = [_REASONS[name] for each in leaves_of(error) for name in _names_of(each) if name in _REASONS]
    if reasons:
        return reasons[0]
    return "; ".join(f"{type(each).__name__}: {each}" for each in leaves_of(error))


def leaves_of(error: BaseException) -> Iterator[BaseException]:
    """Return the errors of a group, at whatever depth; the error itself if it is none."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from leaves_of(each)
    else:
        yield error


def _names_of(error: BaseException) -> list[str]:
    return [each.__name__ for each in type(error).__mro__]


_REASONS: Final = {
    "AuthenticationFailureError": "the server refuses this user name or password",
    "AuthenticationRequiredError": f"the server asks for a password; put it into the address: {_SHOWN}",
    "AuthorizationError": "the user of the address may not run the commands that are needed",
    "ReadOnlyError": "the server is a read-only replica; give the address of its primary",
    "BusyLoadingError": "the server is still reading its files; try again in a moment",
    "ConnectionError": "nobody answers there; start redis-server, or correct the address",
    "OSError": "nobody answers there; start redis-server, or correct the address",
}
"""Reasons by the name of the library's class or of a base of it; the first one counts."""


def check_server(address: RedisAddress, facts: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return warnings about a server: what it can lose.

    Args:
        address: Its address.
        facts: What `INFO` says, and `appendfsync` of its configuration where that may be read.

    Raises:
        JournalError: It is too old, or a replica.
    """
    version = str(facts.get("redis_version", "0"))
    numbers = tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])
    if numbers < OLDEST:
        raise address.refuse(f"redis {version} is too old; version {'.'.join(map(str, OLDEST))} or newer is needed")
    if facts.get("role") == "slave":
        raise address.refuse(_REASONS["ReadOnlyError"])
    warnings = []
    if str(facts.get("aof_enabled", "0")) != "1":
        warnings.append("appendonly is off, so whatever it holds is lost when it is killed; set `appendonly yes`")
    elif facts.get("appendfsync", "always") != "always":
        warnings.append(
            f"appendfsync is {facts['appendfsync']!r}, so what it took in the last seconds can be lost with the machine; "
            "set `appendfsync always`"
        )
    if str(facts.get("maxmemory", "0")) != "0" and facts.get("maxmemory_policy") != "noeviction":
        warnings.append("it drops keys when its memory is full; set `maxmemory-policy noeviction`")
    return tuple(f"{address.shown}: {warning}" for warning in warnings)
