"""Frames that wait for one connection: order, merging, limits, and what is said of losses."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.gateway.rpc._outbox import MAX_EVENT_BYTES, MAX_EVENTS, MAX_GAP_SESSIONS, FrameOutbox, Published
from greenroom.gateway.rpc._rpc_connection import DEAF_S, RpcConnection
from greenroom.gateway.rpc._rpc_frames import TRY_LATER
from greenroom.gateway.rpc._scopes import Grant

SESSIONS = ("a", "b")


def state(session: str, number: int, size: int = 0) -> Published:
    return Published("session", session, {"sessionKey": session, "number": number, "text": "x" * size})


def delta(session: str, at: int, text: str) -> Published:
    return Published(
        "chat", session, {"sessionKey": session, "state": "delta", "at": at, "message": text}, f"message of {session}"
    )


def drain(outbox: FrameOutbox) -> list[dict[str, Any]]:
    frames = []
    while (frame := outbox.take()) is not None:
        frames.append(json.loads(frame))
    return frames


def test_deltas_of_one_message_that_wait_are_one() -> None:
    outbox = FrameOutbox()
    for at, text in ((0, "one "), (4, "two "), (8, "thrée")):
        outbox.add(delta("a", at, text))
        outbox.add(delta("b", at, text.upper()))

    first, second = drain(outbox)
    assert (first["payload"]["at"], first["payload"]["message"]) == (0, "one two thrée")
    assert second["payload"]["message"] == "ONE TWO THRÉE"
    assert [first["seq"], second["seq"]] == [1, 2]


def test_delta_does_not_pass_another_event_of_its_session() -> None:
    outbox = FrameOutbox()
    outbox.add(delta("a", 0, "before"))
    outbox.add(state("a", 1))
    outbox.add(delta("a", 6, "behind"))

    assert [frame["payload"].get("message") for frame in drain(outbox)] == ["before", None, "behind"]


def test_deltas_are_lost_first_and_one_gap_says_so() -> None:
    outbox = FrameOutbox()
    for number in range(MAX_EVENTS - 2):
        outbox.add(state("a", number))
    outbox.add(delta("b", 0, "lost"))
    outbox.add(state("b", 0))
    outbox.add(state("a", 1_000))
    outbox.add(delta("b", 4, "lost"))

    frames = drain(outbox)
    gaps = [frame["payload"] for frame in frames if frame["event"] == "gap"]
    assert gaps == [{"events": ["chat"], "sessionKeys": ["b"]}]
    assert [frame["payload"]["number"] for frame in frames if frame["event"] == "session"] == [
        *range(MAX_EVENTS - 2),
        0,
        1_000,
    ]
    assert [frame["seq"] for frame in frames] == list(range(1, len(frames) + 1))


def test_other_events_are_lost_where_there_are_no_deltas() -> None:
    outbox = FrameOutbox()
    for number in range(MAX_EVENTS + 1):
        outbox.add(state("a", number))

    gap, last = drain(outbox)
    assert gap["payload"] == {"events": ["session"], "sessionKeys": ["a"]}
    assert last["payload"]["number"] == MAX_EVENTS
    assert outbox.lost == MAX_EVENTS


def test_events_have_at_most_a_mebibyte() -> None:
    outbox = FrameOutbox()
    for number in range(20):
        outbox.add(state("a", number, size=100_000))
        assert outbox.event_bytes <= MAX_EVENT_BYTES
    outbox.add(state("b", 0, size=MAX_EVENT_BYTES))
    for _ in range(20):
        outbox.add(delta("a", 0, "y" * 100_000))
        assert outbox.event_bytes <= MAX_EVENT_BYTES

    frames = drain(outbox)
    assert frames[0]["payload"] == {"events": ["session", "chat"], "sessionKeys": ["a", "b"]}
    assert all(len(json.dumps(frame)) <= MAX_EVENT_BYTES for frame in frames)


def test_gap_of_many_sessions_or_of_none_names_none() -> None:
    many, none = FrameOutbox(), FrameOutbox()
    for number in range((MAX_EVENTS + 1) * 2):
        many.add(state(f"s{number}", number))
        none.add(state("", number))

    assert MAX_EVENTS > MAX_GAP_SESSIONS
    assert drain(many)[0]["payload"]["sessionKeys"] is None
    assert drain(none)[0]["payload"]["sessionKeys"] is None


def test_answers_are_never_lost_and_keep_their_place() -> None:
    outbox = FrameOutbox()
    outbox.add_answer('{"answer": 1}')
    for number in range(MAX_EVENTS * 3):
        outbox.add(state("a", number))
    outbox.add_answer('{"answer": 2}')

    frames = drain(outbox)
    assert [frame["answer"] for frame in frames if "answer" in frame] == [1, 2]
    assert "answer" in frames[0]
    assert "answer" in frames[-1]
    assert outbox.answer_bytes == outbox.event_bytes == len(outbox) == 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("delta"), st.sampled_from(SESSIONS), st.sampled_from([1, 1, 1, 400_000])),
        st.tuples(st.just("state"), st.sampled_from(SESSIONS), st.sampled_from([0, 0, 0, 300_000])),
        st.tuples(st.just("states"), st.sampled_from(SESSIONS), st.just(100)),
        st.tuples(st.just("take"), st.just("a"), st.integers(1, 60)),
        st.tuples(st.just("answer"), st.just("a"), st.just(0)),
    ),
    max_size=40,
)


@pytest.mark.promise("A25-e")
@given(STEPS)
def test_everything_arrives_in_order_or_is_named_by_a_gap(steps: list[tuple[str, str, int]]) -> None:
    """GW-09: numbers are given behind the limit that drops."""
    outbox = FrameOutbox()
    frames: list[dict[str, Any]] = []
    published: dict[str, list[int]] = {session: [] for session in SESSIONS}
    texts = dict.fromkeys(SESSIONS, "")
    for verb, session, amount in steps:
        match verb:
            case "delta":
                piece = chr(97 + len(texts[session]) % 26) * amount
                outbox.add(delta(session, len(texts[session]), piece))
                texts[session] += piece
            case "state" | "states":
                for _ in range(amount if verb == "states" else 1):
                    published[session].append(len(published[session]))
                    outbox.add(state(session, published[session][-1], 0 if verb == "states" else amount))
            case "take":
                frames += [json.loads(frame) for _ in range(amount) if (frame := outbox.take()) is not None]
            case _:
                outbox.add_answer("{}")
        assert outbox.event_bytes <= MAX_EVENT_BYTES
    frames += drain(outbox)

    events = [frame for frame in frames if frame]
    assert [frame["seq"] for frame in events] == list(range(1, len(events) + 1))
    for session in SESSIONS:
        check_session(events, session, published[session], texts[session])


def check_session(events: list[dict[str, Any]], session: str, published: list[int], text: str) -> None:
    """Check that what is missing of a session was named, and that the rest is whole and in order."""
    seen: list[int] = []
    have = 0
    lost = {"chat": False, "session": False}
    for frame in events:
        payload = frame["payload"]
        if frame["event"] == "gap":
            if payload["sessionKeys"] is None or session in payload["sessionKeys"]:
                lost |= dict.fromkeys(payload["events"], True)
        elif payload["sessionKey"] == session:
            if frame["event"] == "chat":
                assert payload["at"] == have or (lost["chat"] and payload["at"] > have)
                assert text[payload["at"] :].startswith(payload["message"])
                have = payload["at"] + len(payload["message"])
            else:
                assert lost["session"] or payload["number"] == len(seen)
                seen.append(payload["number"])
    assert seen == sorted(seen)
    assert have == len(text) or lost["chat"]
    assert seen == published or lost["session"]


@pytest.mark.promise("A25-d")
async def test_deaf_client_is_closed_after_months_as_well(autojump_clock: MockClock) -> None:
    """A difference of two late times may stay a hair below the limit, and a wait for the rest of it does not move the clock."""
    closed: list[int] = []

    class Deaf:
        async def close(self, code: int, reason: str) -> None:
            await trio.lowlevel.checkpoint()
            closed.append(code)

    grant = Grant(account="t", id="t", scopes=frozenset(), sessions=None)
    connection = RpcConnection(Deaf(), grant, "1", lambda _: None, lambda _: True)  # type: ignore[arg-type, misc]
    looked_s, connection._sending_s = 2097161.376012531, 2097131.4047756058
    autojump_clock.jump(looked_s - trio.current_time())
    with trio.move_on_after(2 * DEAF_S):
        async with trio.open_nursery() as nursery:
            await connection._watch(nursery)

    assert closed == [TRY_LATER]
