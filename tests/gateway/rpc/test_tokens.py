"""Tokens, one-time codes, and how long each is good."""

from __future__ import annotations

import attrs
import pytest

from greenroom.core import UsageError
from greenroom.gateway.rpc._rpc_tokens import CODE_S, MAX_CODES, MAX_PAGES, PAGE_S, NamedToken, Tokens
from greenroom.gateway.rpc._scopes import ALL_SCOPES, PAGE_SCOPES, RpcScope

OPERATOR = "0123456789abcdef" * 4
READER = NamedToken(name="reader", token="r" * 32)


@attrs.define
class Watch:
    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_tokens_mean_what_the_configuration_says() -> None:
    keyed = NamedToken(
        name="keyed", token="k" * 32, scopes=frozenset({RpcScope.WRITE}), sessions=frozenset({"agent:main:main"})
    )
    tokens = Tokens(OPERATOR, [READER, keyed], now=Watch())

    operator, reader, one = tokens.judge(OPERATOR), tokens.judge(READER.token), tokens.judge(keyed.token)
    assert operator is not None
    assert reader is not None
    assert one is not None
    assert (operator.scopes, operator.sessions, operator.account) == (ALL_SCOPES, None, "operator")
    assert (reader.scopes, reader.account) == (frozenset({RpcScope.READ}), "token:reader")
    assert (one.reaches("agent:main:main"), one.reaches("agent:main:dm:x"), one.reaches("")) == (True, False, False)
    assert tokens.judge("") is None
    assert tokens.judge(OPERATOR[:-1]) is None


def test_two_names_with_one_token_are_refused() -> None:
    with pytest.raises(UsageError, match="second") as caught:
        Tokens(OPERATOR, [READER, attrs.evolve(READER, name="second")], now=Watch())
    assert READER.token not in str(caught.value)


def test_token_that_left_the_configuration_is_good_no_longer() -> None:
    tokens = Tokens(OPERATOR, [READER], now=Watch())
    grant = tokens.judge(READER.token)
    assert grant is not None
    assert tokens.is_good(grant)

    tokens.replace([attrs.evolve(READER, scopes=frozenset({RpcScope.READ, RpcScope.WRITE}))])
    assert tokens.is_good(grant)
    tokens.replace([attrs.evolve(READER, sessions=frozenset({"x"}))])
    assert not tokens.is_good(grant)
    tokens.replace([])
    assert not tokens.is_good(grant)
    assert tokens.judge(READER.token) is None


def test_code_is_good_once_for_a_minute() -> None:
    watch = Watch()
    tokens = Tokens(OPERATOR, now=watch)
    used, late = tokens.open_code(), tokens.open_code()

    grant = tokens.redeem(used)
    assert tokens.redeem(used) is None
    watch.now_s += CODE_S
    assert grant is not None
    assert (grant.scopes, len(grant.page_token)) == (PAGE_SCOPES, 64)
    assert tokens.redeem(late) is None
    assert tokens.judge(used) is None, "a code is not a token"


def test_page_token_ends_after_a_day_or_when_it_is_revoked() -> None:
    watch = Watch()
    tokens = Tokens(OPERATOR, now=watch)
    first, second = tokens.redeem(tokens.open_code()), tokens.redeem(tokens.open_code())
    assert first is not None
    assert second is not None

    found = tokens.judge(first.page_token)
    assert found == attrs.evolve(first, page_token="")
    assert tokens.pages() == (first.id, second.id)
    assert tokens.revoke(second.id)
    assert not tokens.revoke(second.id)
    assert (tokens.judge(second.page_token), tokens.is_good(second)) == (None, False)
    watch.now_s += PAGE_S
    assert (tokens.judge(first.page_token), tokens.is_good(first), tokens.pages()) == (None, False, ())


def test_oldest_codes_and_pages_go_beyond_the_limits() -> None:
    tokens = Tokens(OPERATOR, now=Watch())
    codes = [tokens.open_code() for _ in range(MAX_CODES + 1)]
    assert tokens.redeem(codes[0]) is None
    assert tokens.redeem(codes[1]) is not None

    pages = [tokens.redeem(tokens.open_code()) for _ in range(MAX_PAGES + 1)]
    assert len(tokens.pages()) == MAX_PAGES
    assert pages[0] is not None
    assert tokens.judge(pages[0].page_token) is None


def test_secrets_are_in_no_representation() -> None:
    tokens = Tokens(OPERATOR, [READER], now=Watch())
    grant = tokens.redeem(tokens.open_code())
    assert grant is not None

    assert grant.page_token not in repr(grant)
    assert READER.token not in repr(READER)
