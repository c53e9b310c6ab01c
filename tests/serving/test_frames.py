"""The gauge of messages against the library that reads the frames."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from wsproto.frame_protocol import FrameProtocol

from greenroom.serving._frames import MAX_FRAGMENTS, FrameGauge

MESSAGES = st.lists(st.lists(st.binary(max_size=200), min_size=1, max_size=4), max_size=6)


def framed(messages: list[list[bytes]]) -> bytes:
    """Return the frames of a client that sends each message in these parts, with a ping behind each."""
    client = FrameProtocol(client=True, extensions=[])
    sent = b""
    for parts in messages:
        for number, part in enumerate(parts):
            sent += client.send_data(part, fin=number == len(parts) - 1)
        sent += client.ping(b"x" * 125)
    return sent


def chunked(sent: bytes, sizes: list[int]) -> list[bytes]:
    chunks = []
    for size in sizes:
        chunks.append(sent[:size])
        sent = sent[size:]
    return [*chunks, sent]


@given(messages=MESSAGES, sizes=st.lists(st.integers(0, 40)), limit=st.integers(0, 300))
def test_a_message_fits_exactly_if_its_bytes_do(messages: list[list[bytes]], sizes: list[int], limit: int) -> None:
    gauge = FrameGauge(limit)

    fits = all(gauge.take(chunk) for chunk in chunked(framed(messages), sizes))

    assert fits == all(sum(map(len, parts)) <= limit for parts in messages)


@given(st.binary(max_size=400), st.lists(st.integers(0, 40)))
def test_any_bytes_are_gauged_alike_in_any_pieces(sent: bytes, sizes: list[int]) -> None:
    whole, pieces = FrameGauge(100), FrameGauge(100)

    assert whole.take(sent) == all(pieces.take(chunk) for chunk in chunked(sent, sizes))


def test_a_frame_is_refused_by_its_announced_length() -> None:
    assert not FrameGauge(1_048_576).take(b"\x82\xff" + (1 << 30).to_bytes(8, "big") + b"mask")


def test_empty_fragments_are_counted() -> None:
    empty = b"\x00\x80mask"
    gauge = FrameGauge(1_048_576)

    assert gauge.take(b"\x01\x80mask" + empty * (MAX_FRAGMENTS - 1))
    assert not gauge.take(empty)
