"""Items of an inbox: kind, lane, origin."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.inbox import (
    COORDINATOR,
    HUMAN,
    SCHEDULE,
    TASK_NOTIFICATION,
    EntryKind,
    InboxItem,
    Origin,
    OriginKind,
    aborts,
    late_answer,
    make_item,
    peer,
)
from greenroom.inbox._inbox_items import HIGHEST
from greenroom.inbox._origin import channel
from greenroom.inbox._routes import ROUTES, InboxSource
from greenroom.mailbox import Lane

OTHERS = [peer("mate"), channel("ci"), COORDINATOR, SCHEDULE, TASK_NOTIFICATION, Origin(OriginKind.UNCLASSIFIED)]
ORIGINS = st.sampled_from([HUMAN, *OTHERS])


def is_slash(text: str) -> bool:
    return text.startswith("/")


def made(
    text: str = "Go.", *, origin: Origin = HUMAN, priority: str | None = None, expires_s: float = math.inf
) -> InboxItem:
    return make_item(text, uuid="u", origin=origin, priority=priority, expires_s=expires_s, is_command=is_slash)


def test_there_are_four_kinds_and_every_source_has_its_route() -> None:
    assert set(EntryKind) == {"prompt", "bash", "task-notification", "orphaned-permission"}
    assert set(ROUTES) == set(InboxSource)
    assert {route.kind for route in ROUTES.values()} == set(EntryKind)


@pytest.mark.parametrize("source", InboxSource)
def test_what_is_made_is_what_the_table_of_sources_says(source: InboxSource) -> None:
    route = ROUTES[source]
    if route.kind is EntryKind.ORPHANED_PERMISSION:
        item = late_answer("call-1", "yes", uuid="u")
    else:
        item = made("! ls" if route.kind is EntryKind.BASH else "Go.", origin=route.origin)

    assert (item.kind, item.lane, item.origin) == (route.kind, route.lane, route.origin)


@given(origin=ORIGINS, text=st.sampled_from(["/deploy", "!rm -r x", "Go.", " ! ls"]))
def test_only_the_users_words_are_commands(origin: Origin, text: str) -> None:
    item = made(text, origin=origin)

    if origin.is_consent:
        assert item.is_alone == (text != "Go.")
    else:
        assert not item.is_alone
        assert item.text == text, "whatever it begins with, it is text"


def test_a_bash_entry_is_the_command_behind_the_mark() -> None:
    item = made(" !  ls -l ")

    assert (item.kind, item.text) == (EntryKind.BASH, "ls -l")


def test_nothing_but_a_person_consents() -> None:
    """A message from another agent is never the user's consent."""
    assert [kind for kind in OriginKind if Origin(kind).is_consent] == [OriginKind.HUMAN]


@given(origin=ORIGINS, priority=st.sampled_from([None, *Lane]))
def test_nothing_goes_before_what_the_user_says(origin: Origin, priority: Lane | None) -> None:
    order = list(Lane)
    highest = HIGHEST[origin.kind]
    if priority is not None and order.index(priority) < order.index(highest):
        with pytest.raises(UsageError, match="its highest is"):
            made(origin=origin, priority=priority)
        return

    item = made(origin=origin, priority=priority)

    assert priority is None or item.lane is priority
    assert item.lane is Lane.LATER or origin in {HUMAN, COORDINATOR}
    assert aborts(item, item.lane) == (origin is HUMAN and priority is Lane.NOW)


@pytest.mark.parametrize(
    ("text", "priority", "said"),
    [(" \n", None, "blank"), ("!  ", None, "expected a command after"), ("Go.", "soon", "'now', 'next', 'later'")],
)
def test_what_cannot_be_sent_is_refused_in_one_line(text: str, priority: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        made(text, priority=priority)
    assert "\n" not in str(caught.value)


def test_what_the_runtime_says_is_for_the_model_only() -> None:
    shown = {one.kind: not made(origin=one).is_meta for one in (HUMAN, peer("mate"), TASK_NOTIFICATION, SCHEDULE)}

    assert [kind for kind, is_shown in shown.items() if is_shown] == [OriginKind.HUMAN, OriginKind.PEER]


def test_an_origin_is_written_as_the_output_formats_have_it() -> None:
    assert [one.to_json() for one in (HUMAN, channel("ci"), peer("mate"), SCHEDULE)] == [
        {"kind": "human"},
        {"kind": "channel", "server": "ci"},
        {"kind": "peer", "from": "mate"},
        {"kind": "auto-continuation", "subkind": "schedule"},
    ]


def test_what_has_expired_counts_no_more() -> None:
    assert [made(expires_s=5.0).is_expired(now_s) for now_s in (4.9, 5.0)] == [False, True]
