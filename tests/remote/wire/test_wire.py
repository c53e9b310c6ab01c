"""The numbered conversation: everything once and in order, over any cuts; and what a peer may not do."""

from __future__ import annotations

import tracemalloc
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.remote.wire._link_frames import (
    FRAME_OF,
    FRAMES,
    ChannelName,
    FoundFrame,
    KillFrame,
    LinkFrame,
    RefusedFrame,
    TellFrame,
)
from greenroom.remote.wire._numbered_channel import BAD_NUMBER, UNREADABLE, NumberedChannel, WireError
from greenroom.remote.wire._wire import MAX_DEPTH, LinkWire


def _ignore(_number: int, _frame: LinkFrame) -> None: ...


def tell(value: object) -> TellFrame:
    return TellFrame(to=1, lane="next", value=value)


class Pair:
    """Two wires, and the messages that are on their way between them."""

    def __init__(self, **limits: int) -> None:
        self.wires = (LinkWire(**limits), LinkWire(**limits))
        self.under_way: tuple[deque[bytes], deque[bytes]] = (deque(), deque())
        self.accepted: tuple[list[LinkFrame], list[LinkFrame]] = ([], [])
        self.delivered: tuple[list[LinkFrame], list[LinkFrame]] = ([], [])

    def put(self, side: int, frame: LinkFrame) -> None:
        if self.wires[side].put(frame) is not None:
            self.accepted[side].append(frame)

    def send(self, side: int) -> bool:
        message = self.wires[side].next_message()
        if message is not None:
            self.under_way[side].append(message)
        return message is not None

    def arrive(self, side: int) -> None:
        """Deliver the oldest message of a side to the other."""
        if self.under_way[side]:
            message = self.under_way[side].popleft()
            self.wires[1 - side].receive(message, lambda _, frame: self.delivered[side].append(frame))

    def cut(self, left: tuple[int, int]) -> None:
        """Lose the connection: of what is under way, only the given numbers of messages still arrive."""
        for side in (0, 1):
            for _ in range(min(left[side], len(self.under_way[side]))):
                self.arrive(side)
            self.under_way[side].clear()
        got = tuple(wire.got() for wire in self.wires)
        for side in (0, 1):
            self.wires[side].resume(got[1 - side])

    def settle(self) -> None:
        """Deliver everything."""
        for _ in range(1_000):
            for side in (0, 1):
                while self.send(side):
                    pass
                if self.wires[side].owed:
                    self.under_way[side].append(self.wires[side].acknowledgement())
            for side in (0, 1):
                while self.under_way[side]:
                    self.arrive(side)
            if not any(wire.has_more or wire.statistics().waiting for wire in self.wires):
                return
        raise AssertionError("frames are left")

    def check_prefixes(self) -> None:
        for side in (0, 1):
            for channel in ChannelName:
                came = [frame for frame in self.delivered[side] if frame.channel is channel]
                accepted = [frame for frame in self.accepted[side] if frame.channel is channel]
                assert came == accepted[: len(came)]


sides = st.integers(0, 1)
plans = st.lists(
    st.one_of(
        st.tuples(st.just("put"), sides, st.integers(1, 400), st.booleans()),
        st.tuples(st.just("send"), sides),
        st.tuples(st.just("arrive"), sides),
        st.tuples(st.just("cut"), st.tuples(st.integers(0, 3), st.integers(0, 3))),
    ),
    min_size=20,
    max_size=60,
)


def test_a_frame_that_waits_takes_no_more_memory_than_its_text() -> None:
    """The bytes that orjson returns keep a buffer of 4 KiB."""
    wire = LinkWire()
    tracemalloc.start()
    try:
        for number in range(1_000):
            wire.put(FoundFrame(find=number, to=0))
        traced, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert traced < 200_000


@pytest.mark.promise("R2-a")
@given(plans)
def test_every_frame_comes_once_and_in_order_over_any_cuts(plan: list[Any]) -> None:
    pair = Pair(max_frames=600)
    value = 0
    for verb, *arguments in plan:
        if verb == "put":
            side, count, is_data = arguments
            for _ in range(count if is_data else min(count, 20)):
                value += 1
                pair.put(side, tell(value) if is_data else KillFrame(to=value, why="over"))
        else:
            getattr(pair, verb)(*arguments)
        pair.check_prefixes()
    pair.settle()
    assert [sorted(map(repr, pair.delivered[side])) for side in (0, 1)] == [
        sorted(map(repr, pair.accepted[side])) for side in (0, 1)
    ]
    assert not any(wire.statistics().absorbed for wire in pair.wires)


@pytest.mark.promise("R2-b")
@given(
    st.lists(st.sampled_from(["pass", "twice", "drop", "swap", "again"]), min_size=1, max_size=12), st.integers(1, 60)
)
def test_a_connection_that_repeats_loses_or_swaps_delivers_a_prefix_and_is_closed(
    faults: list[str], frames: int
) -> None:
    pair = Pair()
    kept: list[bytes] = []
    for fault in faults:
        for value in range(frames):
            pair.put(0, tell([fault, value]))
        pair.send(0)
        queue = pair.under_way[0]
        if not queue:  # as much is in flight as may be: nothing was acknowledged
            break
        if fault == "twice":
            queue.append(queue[-1])
        elif fault == "drop":
            queue.pop()
        elif fault == "again" and kept:
            queue.appendleft(kept[0])
        elif fault == "swap":
            pair.put(0, tell("behind"))
            pair.send(0)
            queue.reverse()
        kept.extend(queue)
        with suppress(WireError):
            while queue:
                pair.arrive(0)
        pair.check_prefixes()
    pair.check_prefixes()


def test_the_window_refuses_what_does_not_fit_and_has_room_again_after_an_acknowledgement() -> None:
    pair = Pair(max_frames=3)
    assert [pair.wires[0].put(tell(value)) for value in range(5)] == [1, 2, 3, None, None]
    pair.settle()
    assert pair.wires[0].put(tell(5)) == 4


def test_the_window_counts_bytes_too() -> None:
    wire = LinkWire(max_bytes=200)
    assert wire.put(tell("a" * 300)) == 1, "one that is alone goes always"
    assert wire.put(tell("a")) is None


@pytest.mark.promise("R2-g")
def test_an_order_overtakes_data_that_waits() -> None:
    pair = Pair()
    for value in range(4_000):
        pair.put(0, tell(value))
    pair.send(0)
    pair.put(0, KillFrame(to=1, why="stop it"))
    pair.send(0)
    pair.arrive(0)
    pair.arrive(0)
    came = [type(frame) for frame in pair.delivered[0]]
    assert came.count(TellFrame) <= 512
    assert KillFrame in came


@pytest.mark.promise("R2-g")
def test_no_more_data_is_in_flight_than_the_limit_until_some_is_acknowledged() -> None:
    pair = Pair()
    for value in range(4_000):
        pair.put(0, tell(value))
    while pair.send(0):
        pass
    assert sum(len(orjson.loads(message)[1]) - 1 for message in pair.under_way[0]) == 512


def test_what_was_given_to_a_connection_that_broke_is_given_to_the_next_one() -> None:
    pair = Pair()
    for value in range(1_000):
        pair.put(0, tell(value))
    while pair.send(0):
        pass
    pair.cut((1, 0))
    pair.settle()
    assert [frame.value for frame in pair.delivered[0]] == list(range(1_000))  # type: ignore[attr-defined]


def test_messages_keep_to_the_limit_of_the_other_side() -> None:
    pair = Pair(max_message=2_000)
    for value in range(300):
        pair.put(0, KillFrame(to=value, why="x" * (value % 97)))
        pair.put(0, tell("y" * (value * 6)))
    sizes = []
    while any(wire.has_more for wire in pair.wires):
        for side in (0, 1):
            while pair.send(side):
                sizes.append(len(pair.under_way[side][-1]))
                pair.arrive(side)
            if pair.wires[side].owed:
                pair.under_way[side].append(pair.wires[side].acknowledgement())
                pair.arrive(side)
    assert max(sizes) <= 2_000
    assert len(pair.delivered[0]) == 600


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (tell("a" * 5_000_000), "is too large: a message may have"),
        (tell(2**70), "64-bit"),
        (tell({1, 2}), "cannot be sent"),
        (tell("\ud800"), "cannot be sent"),
        (tell(orjson.loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))), "nested deeper than 64"),
    ],
    ids=["size", "integer", "set", "surrogate", "depth"],
)
def test_what_cannot_be_sent_is_refused_before_it_has_a_number(frame: LinkFrame, says: str) -> None:
    wire = LinkWire()
    with pytest.raises(UsageError, match=says):
        wire.put(frame)
    assert wire.put(tell(1)) == 1


DEEP = b"[" * 80 + b"]" * 80


@pytest.mark.parametrize(
    ("message", "code", "says"),
    [
        (b"", UNREADABLE, "no JSON"),
        (b"\xff\xfe", UNREADABLE, "no JSON"),
        (b"{}", UNREADABLE, "two batches"),
        (b"[[0]]", UNREADABLE, "two batches"),
        (b"[[0],{}]", UNREADABLE, "a batch must be a list"),
        (b"[[],[0]]", UNREADABLE, r"control\[0\]: an acknowledgement"),
        (b"[[true],[0]]", UNREADABLE, "acknowledgement"),
        (b"[[-1],[0]]", UNREADABLE, "acknowledgement"),
        (b"[[0],[1]]", BAD_NUMBER, "frame 1 was acknowledged, and the last one sent was 0"),
        (b'[[0],[0,[2,"tell",1,"next",1]]]', BAD_NUMBER, "frame 2 came after frame 0"),
        (b'[[0],[0,[0,"tell",1,"next",1]]]', UNREADABLE, r"data\[1\]: a frame must begin"),
        (b'[[0],[0,[1,"boo"]]]', UNREADABLE, r"data\[1\]: no kind of frame of this channel"),
        (b'[[0],[0,[1,["tell"]]]]', UNREADABLE, "no kind"),
        (b'[[0],[0,[1,"kill",1]]]', UNREADABLE, "no kind of frame of this channel"),
        (b'[[0],[0,[1,"tell","a","next",1]]]', UNREADABLE, r"data\[1\].tell: to must be"),
        (b'[[0],[0,[1,"tell",1]]]', UNREADABLE, r"data\[1\].tell"),
        (b'[[0],[0,[1,"tell",1,"next",1,0,"",1]]]', UNREADABLE, r"data\[1\].tell"),
        (b'[[0],[0,[1,"tell",1,"next",' + DEEP + b"]]]", UNREADABLE, f"nested deeper than {MAX_DEPTH}"),
        (b"[" * 100_000, UNREADABLE, "no JSON"),
        (b" " * 5_000_000, UNREADABLE, "is larger than"),
    ],
)
def test_what_a_peer_may_not_send_has_a_code_and_a_place(message: bytes, code: int, says: str) -> None:
    with pytest.raises(WireError, match=says) as caught:
        LinkWire().receive(message, _ignore)
    assert caught.value.code == code


@pytest.mark.promise("R2-f")
@given(st.one_of(st.binary(max_size=200), st.recursive(st.integers() | st.text(), st.lists).map(repr).map(str.encode)))
def test_any_bytes_at_all_do_no_more_than_break_the_wire(message: bytes) -> None:
    with suppress(WireError):
        LinkWire().receive(message, _ignore)


def test_the_frames_before_a_bad_one_are_delivered() -> None:
    came: list[int] = []
    deliver: Callable[[int, LinkFrame], None] = lambda number, _: came.append(number)  # noqa: E731
    with pytest.raises(WireError):
        LinkWire().receive(b'[[0],[0,[1,"tell",1,"next",1],[2,"tell",1,"next",1],[4,"tell",1,"next",1]]]', deliver)
    assert came == [1, 2]


def test_a_peer_that_forgot_what_it_had_acknowledged_is_refused() -> None:
    channel = NumberedChannel()
    channel.put(b"a")
    channel.next_batch(max_frames=1, max_bytes=10)
    channel.acknowledge(1)
    with pytest.raises(WireError, match="the other side had frame 1, and now says 0"):
        channel.resume(0)


def test_the_table_of_kinds_is_complete() -> None:
    assert set(FRAMES) == set(LinkFrame.__subclasses__())
    assert len(FRAME_OF) == len(FRAMES)


def test_what_ends_or_withdraws_travels_on_the_control_channel() -> None:
    control = {kind for kind, each in FRAME_OF.items() if each.channel is ChannelName.CONTROL}
    assert control == {"cancel", "abort", "stop", "kill", "credit", "refused", "unwatch"}


def test_a_peer_that_acknowledges_no_answers_is_refused() -> None:
    wire = LinkWire(max_frames=4)

    def refuse(number: int, _: LinkFrame) -> None:
        wire.put(RefusedFrame(tell=number, to=1, why="no_actor"))

    with pytest.raises(WireError, match="17 frames were sent and not acknowledged") as caught:
        wire.receive(orjson.dumps([[0], [0, *([each, "tell", 1, "next", 5] for each in range(1, 100))]]), refuse)
    assert caught.value.code == BAD_NUMBER
    assert wire.statistics().waiting == 17


def test_a_wire_is_full_from_a_refusal_to_an_acknowledgement() -> None:
    pair = Pair(max_frames=2)
    for value in range(2):
        pair.wires[0].put(tell(value))
    assert not pair.wires[0].is_full
    assert pair.wires[0].put(tell(2)) is None
    assert pair.wires[0].is_full
    pair.settle()
    assert not pair.wires[0].is_full
