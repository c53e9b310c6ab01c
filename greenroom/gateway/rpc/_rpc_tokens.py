"""Tokens: who may call, what for, and until when.

Rule 1: no way in without a token. Rule 2: a one-time code is good once, for a minute, and only to get a token of its own. Rule 3: a
token leaves this module only to the holder of its code, never in a listing. Rule 4: whatever is compared is compared with all, in a
time that says nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Final, final

import attrs
import trio

from greenroom.core import UsageError
from greenroom.gateway.rpc._scopes import ALL_SCOPES, PAGE_SCOPES, Grant, RpcScope
from greenroom.serving import Secrets

CODE_S: Final = 60.0
"""Time for which a one-time code is good, in seconds."""
PAGE_S: Final = 24 * 3600.0
"""Time for which a page's token is good, in seconds; never longer than the gateway runs."""
MAX_CODES: Final = 16
"""Codes that are open; beyond that the oldest goes."""
MAX_PAGES: Final = 100
"""Tokens of pages; beyond that the oldest goes."""
OPERATOR: Final = "operator"
_BYTES: Final = 32


@final
@attrs.frozen(kw_only=True)
class NamedToken:
    """A token of the configuration."""

    name: str
    token: str = attrs.field(repr=False)
    scopes: frozenset[RpcScope] = frozenset({RpcScope.READ})
    sessions: frozenset[str] | None = None
    """Keys of the sessions that it is good for; None for all."""


@final
@attrs.frozen
class _PageToken:
    grant: Grant
    secret: Secrets[Grant]
    ends_s: float


@final
class Tokens:
    """The tokens that are good now."""

    def __init__(
        self, operator: str, named: Iterable[NamedToken] = (), *, now: Callable[[], float] = trio.current_time
    ) -> None:
        self._operator = operator
        self._now = now
        self._named: Mapping[str, Grant] = {}
        self._secrets: Secrets[Grant] = Secrets({})
        self._pages: dict[str, _PageToken] = {}
        self._codes: dict[str, tuple[Secrets[frozenset[RpcScope]], float]] = {}
        self._made = 0
        self.replace(named)

    def replace(self, named: Iterable[NamedToken]) -> None:
        """Take these as the named tokens; those that are not among them are good no longer.

        Raises:
            UsageError: Two tokens are the same.
        """
        meanings = {self._operator: Grant(account=OPERATOR, id=OPERATOR, scopes=ALL_SCOPES)}
        for each in named:
            if each.token in meanings:
                raise UsageError(f"gateway.auth.tokens: the token {each.name!r} is that of another name")
            name = f"token:{each.name}"
            meanings[each.token] = Grant(account=name, id=name, scopes=each.scopes, sessions=each.sessions)
        self._secrets = Secrets(meanings)
        self._named = {grant.id: grant for grant in meanings.values()}

    def judge(self, credential: str) -> Grant | None:
        """Return what a token is good for; None if it is not good."""
        found = self._secrets.find(credential)
        for page in list(self._pages.values()):
            matched = page.secret.find(credential)
            if matched is not None and self._now() < page.ends_s:
                found = matched
        return found

    def open_code(self, scopes: frozenset[RpcScope] = PAGE_SCOPES) -> str:
        """Return a new one-time code; the token that it gives is good for these scopes."""
        code = secrets.token_urlsafe(_BYTES)
        while len(self._codes) >= MAX_CODES:
            del self._codes[next(iter(self._codes))]
        self._made += 1
        self._codes[str(self._made)] = (Secrets({code: scopes}), self._now() + CODE_S)
        return code

    def redeem(self, code: str) -> Grant | None:
        """Return the grant of a page, with a new token, for a one-time code, which is used up; None if it is not good."""
        found, scopes = "", PAGE_SCOPES
        for name, (secret, ends_s) in self._codes.items():
            matched = secret.find(code)
            if matched is not None and self._now() < ends_s:
                found, scopes = name, matched
        if not found:
            return None
        del self._codes[found]
        token = secrets.token_hex(_BYTES)
        while len(self._pages) >= MAX_PAGES:
            del self._pages[next(iter(self._pages))]
        grant = Grant(account="page", id=f"page:{found}", scopes=scopes)
        self._pages[grant.id] = _PageToken(grant, Secrets({token: grant}), self._now() + PAGE_S)
        return attrs.evolve(grant, page_token=token)

    def revoke(self, id_: str) -> bool:
        """End the token of a page; True if there was one. Those of the configuration end with `replace`."""
        return self._pages.pop(id_, None) is not None

    def pages(self) -> tuple[str, ...]:
        """Return the ids of the pages that have a token."""
        return tuple(id_ for id_, page in self._pages.items() if self._now() < page.ends_s)

    def is_good(self, grant: Grant) -> bool:
        """True if what a connection was let in with is still good."""
        page = self._pages.get(grant.id)
        if page is not None:
            return self._now() < page.ends_s
        known = self._named.get(grant.id)
        return known is not None and grant.scopes <= known.scopes and grant.sessions == known.sessions
