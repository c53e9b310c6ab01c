"""Addresses of redis servers without their passwords, and the one line that says why a server cannot be used."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from greenroom.core import JournalError, UsageError
from greenroom.remote.redis._redis_address import check_server, parse_address, reason_of

ADDRESS = parse_address("redis://127.0.0.1:7000/2")
FACTS = {"redis_version": "7.0.15", "role": "master", "aof_enabled": "1", "appendfsync": "always", "maxmemory": "0"}


@pytest.mark.promise("R9-c")
@pytest.mark.parametrize("password", ["hunter22", "a/b:c@d%e", "two words", "née#1?x", "%41%42"])
def test_no_text_of_an_address_holds_its_password(password: str) -> None:
    """Mechanism: texts have the address without it, and what the server or the library said is searched for it."""
    written = quote(password, safe="")
    address = parse_address(f"rediss://greenroom:{written}@example.org:7000/1?timeout=3")
    assert address.shown == "rediss://greenroom:***@example.org:7000/1"
    error = address.refuse(f"cannot use {address.url}: {password}!")
    for text in (str(error), repr(error), repr(address)):
        assert password not in text
        assert written not in text


@pytest.mark.parametrize("url", ["", "http://x", "redis://", "redis://:p@ss@", "redis://h:port", "redis://h:0", "unix:", "//:secret@h", "redis://[::1"])  # fmt: skip
def test_invalid_address_is_refused_in_one_line_that_shows_none_of_it(url: str) -> None:
    with pytest.raises(UsageError, match="expected redis://") as caught:
        parse_address(url)
    assert "\n" not in str(caught.value)
    assert "ss@" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_password_in_the_query_is_refused() -> None:
    with pytest.raises(UsageError, match=r"expected redis://\[:PASSWORD@\]HOST") as caught:
        parse_address("redis://h?password=secret")
    assert "secret" not in str(caught.value)


def test_socket_is_an_address() -> None:
    assert parse_address("unix:///run/redis.sock").shown == "unix:///run/redis.sock"


class RedisError(Exception): ...


class ReadOnlyError(RedisError): ...


class AuthenticationRequiredError(RedisError): ...


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ReadOnlyError("x"), "read-only replica"),
        (ExceptionGroup("x", [ExceptionGroup("y", [AuthenticationRequiredError("z")])]), "asks for a password"),
        (ConnectionRefusedError(111, "x"), "nobody answers there"),
        (RedisError("OOM command not allowed"), "OOM command not allowed"),
        (ExceptionGroup("x", [RedisError("one"), ValueError("two\nlines")]), "one; ValueError: two lines"),
    ],
)
def test_failed_call_is_one_line(error: Exception, words: str) -> None:
    text = str(ADDRESS.refuse(reason_of(error)))
    assert words in text
    assert "\n" not in text


@pytest.mark.promise("R9-d")
def test_server_that_keeps_everything_is_used_without_a_warning() -> None:
    assert check_server(ADDRESS, FACTS) == ()
    assert check_server(ADDRESS, FACTS | {"maxmemory": "1000", "maxmemory_policy": "noeviction"}) == ()


@pytest.mark.promise("R9-d")
@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"aof_enabled": "0"}, "set `appendonly yes`"),
        ({"appendfsync": "everysec"}, "set `appendfsync always`"),
        ({"maxmemory": "1000", "maxmemory_policy": "allkeys-lru"}, "set `maxmemory-policy noeviction`"),
    ],
)
def test_what_a_server_can_lose_is_said_when_it_is_opened(facts: dict[str, str], words: str) -> None:
    """Mechanism: the server's own account of its persistence is read."""
    (warning,) = check_server(ADDRESS, FACTS | facts)
    assert warning.startswith("redis://127.0.0.1:7000/2: ")
    assert words in warning


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"redis_version": "6.0.16"}, "redis 6.0.16 is too old; version 6.2 or newer is needed"),
        ({"redis_version": "x"}, "redis x is too old"),
        ({"role": "slave"}, "read-only replica; give the address of its primary"),
    ],
)
def test_server_that_cannot_be_used_is_refused(facts: dict[str, str], words: str) -> None:
    with pytest.raises(JournalError, match=words):
        check_server(ADDRESS, FACTS | facts)
