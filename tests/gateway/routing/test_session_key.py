"""Session keys: keys and their parts, names from outside, labels."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.routing._session_key import (
    SessionKey,
    child_key,
    cron_key,
    direct_key,
    hook_key,
    is_listed,
    key_name,
    main_key,
    read_label,
    room_key,
)

# Lone surrogates too, which `text()` alone never draws.
ANY_TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=12)
NAMES = (
    st.sampled_from(["a:b", "a%3Ab", "a", "A", "dm", "\u05d0", "\U0001f600", "\ud800", "", "x" * 300, "x" * 299 + "y"])
    | ANY_TEXT
)
UUIDS = st.uuids().map(str)
AGENTS = st.text(max_size=70)
CHANNELS = st.sampled_from(["irc", "matrix", "telegram"])
KEYS = st.one_of(
    st.builds(main_key, AGENTS),
    st.builds(child_key, AGENTS, UUIDS),
    st.builds(hook_key, AGENTS, UUIDS),
    st.builds(cron_key, AGENTS, NAMES, UUIDS | st.just("")),
    st.builds(direct_key, AGENTS, NAMES, channel=CHANNELS | st.just(""), account=NAMES),
    st.builds(
        room_key, AGENTS, CHANNELS, st.sampled_from(["group", "channel"]), NAMES, thread=NAMES, is_topic=st.booleans()
    ),
)


@pytest.mark.promise("A24-a")
@given(KEYS)
def test_a_key_and_its_parts_stand_for_each_other(key: SessionKey) -> None:
    text = str(key)

    assert SessionKey.parse(text) == key
    assert str(SessionKey.parse(text)) == text
    text.encode()


@pytest.mark.promise("A24-a")
@given(NAMES, NAMES)
@example("a:b", "a%3Ab")
@example("", "%FE")
@example("x" * 299 + "a", "x" * 299 + "b")
@example("Bob", "bob")
@example("\ud800", "\ufffd")
def test_names_of_different_peers_never_coincide(first: str, second: str) -> None:
    same = first == second

    assert (key_name(first) == key_name(second)) == same
    assert (direct_key("main", first) == direct_key("main", second)) == same
    assert len(key_name(first)) <= 255


@pytest.mark.promise("A24-a")
@given(st.tuples(NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES))
def test_keys_of_different_chats_never_coincide(first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    """A name of one part never reads as two parts."""

    def keys(parts: tuple[str, str, str]) -> list[str]:
        account, peer, thread = parts
        return [
            str(direct_key("main", peer, channel="irc", account=account or "none")),
            str(room_key("main", "irc", "group", peer, thread=thread or "none")),
            str(room_key("main", "irc", "group", peer)),
            str(direct_key("main", peer, channel="irc")),
        ]

    assert len(set(keys(first))) == 4
    both = set(keys(first)) & set(keys(second))
    assert not both or first[1] == second[1]


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    for each in (text, f"agent:{text}", f"agent:main:{text}", f"agent:main:irc:{text}"):
        try:
            assert str(SessionKey.parse(each)) == each or each == "main"
        except UsageError:
            pass


@pytest.mark.parametrize(
    "text",
    [
        "",
        "agent",
        "agent:main",
        "agent:Main:main",
        "agent::main",
        "agent:main:subagent:x",
        "agent:main:irc:dm:a b",
        "agent:main:irc:dm:%zz",
        "agent:main:dm",
        "global",
        "x" * 10_000,
    ],
)
def test_a_malformed_key_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        SessionKey.parse(text)


def test_main_is_short_for_the_main_session() -> None:
    assert str(SessionKey.parse("main")) == "agent:main:main"
    assert str(SessionKey.parse("main", agent="research")) == "agent:research:main"


@pytest.mark.promise("A1-b")
def test_a_child_of_another_agent_has_that_agents_id_in_its_key() -> None:
    id_ = str(UUID(int=1, version=4))

    assert re.fullmatch(r"agent:research:subagent:[0-9a-f-]{36}", str(child_key(" Research ", id_)))


@pytest.mark.promise("A1-d")
def test_ten_thousand_children_have_ten_thousand_keys() -> None:
    keys = {str(child_key("main", str(UUID(int=number, version=4)))) for number in range(10_000)}

    assert len(keys) == 10_000


@pytest.mark.promise("A1-f")
def test_pseudo_keys_are_not_listed() -> None:
    assert not is_listed("unknown", scope="global")
    assert not is_listed("global", scope="per-sender")
    assert is_listed("global", scope="global")
    assert is_listed("agent:main:main", scope="per-sender")


def test_a_label_is_trimmed_and_short() -> None:
    assert read_label("  notes ") == "notes"
    assert read_label("x" * 64) == "x" * 64
    for wrong in ("", "   ", "x" * 65):
        with pytest.raises(UsageError):
            read_label(wrong)


@given(AGENTS)
def test_an_agent_of_a_key_has_its_one_form(agent: str) -> None:
    assert main_key(agent).agent == normal_agent_id(agent)
