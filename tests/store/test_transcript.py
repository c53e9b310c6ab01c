"""Transcripts: every line can be written and read again, and is linked to the one before."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import JournalError
from greenroom.core.ports import SeededIds, SystemIds
from greenroom.store import Transcript, TranscriptHeader, encode_line, new_uuid

PATH = Path("transcripts/main.jsonl")
HEADER = TranscriptHeader(session_id="s", agent_id="main", is_sidechain=False, cwd="/p", version="0.1")
HELLO = {"role": "user", "content": "Hello"}


def transcript(write: Callable[[Path, bytes], None], *, last_uuid: str | None = None) -> Transcript:
    return Transcript(
        PATH,
        HEADER,
        write=write,
        ids=SeededIds(1),
        wall=lambda: datetime(2026, 11, 21, 12, 0, 0, 5_000, tzinfo=UTC),
        last_uuid=last_uuid,
    )


def nested(levels: int) -> Any:
    value: Any = "deep"
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return value


def written(value: Any) -> Any:
    """Return what a reader sees of a value that was written."""
    content = encode_line({"input": value})
    assert content.count(b"\n") == 1
    return orjson.loads(content)["input"]


# --- appending --------------------------------------------------------------------------------------------------------


def test_lines_name_the_folder_of_their_time_and_the_branch_only_where_it_is_known() -> None:
    """Mechanism: a move changes what later lines say."""
    out: list[dict[str, Any]] = []
    one = Transcript(
        PATH,
        attrs.evolve(HEADER, branch="main"),
        write=lambda _, content: out.append(orjson.loads(content)),
        ids=SeededIds(1),
        wall=lambda: datetime(2026, 11, 21, tzinfo=UTC),
    )
    for place in ("", "/tree", "/p"):
        if place:
            one.move(place)
        one.append("user", HELLO)

    assert [(line["cwd"], line.get("gitBranch")) for line in out] == [("/p", "main"), ("/tree", None), ("/p", "main")]


def test_a_line_says_who_where_and_when() -> None:
    out: list[tuple[Path, bytes]] = []

    name = transcript(lambda path, content: out.append((path, content))).append("user", HELLO, {"isMeta": True})

    [(path, content)] = out
    assert path == PATH
    assert orjson.loads(content) == {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/p",
        "sessionId": "s",
        "version": "0.1",
        "agentId": "main",
        "type": "user",
        "message": HELLO,
        "isMeta": True,
        "uuid": name,
        "timestamp": "2026-11-21T12:00:00.005Z",
    }


@given(st.lists(st.integers(min_value=-3_000_000, max_value=3_000_000), min_size=1, max_size=8))
def test_each_line_says_its_own_time(offsets_us: list[int]) -> None:
    """Also where lines share a second, where they are a hair apart in two, and where somebody sets the clock back."""
    times = [datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC) + timedelta(microseconds=one) for one in offsets_us]
    waiting, out = iter(times), list[bytes]()
    log = Transcript(PATH, HEADER, write=lambda _, line: out.append(line), ids=SeededIds(1), wall=lambda: next(waiting))

    for _ in times:
        log.append("user", HELLO)

    said = [orjson.loads(line)["timestamp"] for line in out]
    assert said == [f"{time.isoformat('T', 'milliseconds')[:23]}Z" for time in times]


def test_each_line_is_linked_to_the_one_before() -> None:
    out: list[bytes] = []
    log = transcript(lambda _, content: out.append(content), last_uuid="earlier")

    names = [log.append("user", HELLO) for _ in range(5)]

    lines = [orjson.loads(one) for one in out]
    assert [line["uuid"] for line in lines] == names
    assert [line["parentUuid"] for line in lines] == ["earlier", *names[:-1]]
    assert len(set(names)) == 5


def test_a_line_that_is_no_message_is_linked_to_nothing() -> None:
    out: list[bytes] = []
    log = transcript(lambda _, content: out.append(content), last_uuid="earlier")
    log.follow("earlier", is_torn=True)

    log.note("queue-operation", {"operation": "enqueue", "content": "Go."})
    log.append("user", HELLO)

    assert out[0].startswith(b"\n"), "what a crash tore is closed"
    assert orjson.loads(out[0]) == {
        "type": "queue-operation",
        "timestamp": "2026-11-21T12:00:00.005Z",
        "sessionId": "s",
        "operation": "enqueue",
        "content": "Go.",
    }
    assert orjson.loads(out[1])["parentUuid"] == "earlier"
    assert not out[1].startswith(b"\n")


def test_a_line_that_was_refused_is_no_parent() -> None:
    out: list[bytes] = []
    is_full = False

    def write(path: Path, content: bytes) -> None:
        if is_full:
            raise JournalError(str(path), "No space left")
        out.append(content)

    log = transcript(write)
    first = log.append("user", HELLO)
    is_full = True
    with pytest.raises(JournalError):
        log.append("assistant", HELLO)
    is_full = False

    log.append("user", HELLO)

    assert [line["parentUuid"] for line in map(orjson.loads, out)] == [None, first]


def test_a_message_of_any_depth_can_be_appended() -> None:
    """A model's tool input of 300 levels once failed the turn, and the conversation went on without the answer."""
    out: list[bytes] = []
    log = transcript(lambda _, content: out.append(content))

    log.append("assistant", {"role": "assistant", "content": [{"type": "tool_use", "input": nested(300)}]})
    log.append("user", HELLO)

    first, second = map(orjson.loads, out)
    assert second["parentUuid"] == first["uuid"]


# --- encoding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [1, 200, 250, 255, 300, 1_000, 100_000])
def test_what_is_nested_too_deeply_is_written_as_text(levels: int) -> None:
    text = written(nested(levels))
    depth = 0
    while not isinstance(text, str):
        text, depth = text["a"] if isinstance(text, dict) else text[0], depth + 1

    assert (text == "deep" and depth == levels) or levels > 199
    if levels == 300:
        assert orjson.loads(text) == nested(levels - depth)  # nothing is lost, it is only quoted


def test_a_value_that_holds_itself_is_written() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert written(loop)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("half \ud83d", "half ?"),
        ({"\udc00": 1}, {"?": 1}),
        (2**64, str(2**64)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        (2**64 - 1, 2**64 - 1),
        (-(2**63), -(2**63)),
        (["\ud83d", 1, None, True, 0.5], ["?", 1, None, True, 0.5]),
        (float("nan"), None),
        ({1: (2**64,)}, {"1": [str(2**64)]}),
        ({2**64, "x"}, None),
        (b"\xff", "b'\\xff'"),
        ("\ud83d\ude00 \U0001f600 \x00", None),
    ],
)
def test_what_json_writers_refuse_is_written_as_text(value: Any, expected: Any) -> None:
    read = written(value)
    assert expected is None or read == expected


def test_a_number_of_thousands_of_digits_is_written() -> None:
    """Python refuses to write it in decimal."""
    assert written(10**5_000) == hex(10**5_000)


class Sulking:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise ValueError("no")


def test_a_value_that_cannot_be_shown_is_named_by_its_type() -> None:
    assert "Sulking" in written(Sulking())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda values: st.lists(values) | st.dictionaries(st.text(st.characters(codec=None)), values),
)


@given(JSON)
def test_every_value_makes_one_line_that_can_be_read(value: Any) -> None:
    written(value)


@given(st.recursive(st.none() | st.integers(-(2**63), 2**64 - 1) | st.text(), st.lists))
def test_what_json_can_hold_is_read_as_it_was(value: Any) -> None:
    assert written(value) == value


# --- ids --------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**128 - 1))
def test_an_id_of_a_line_is_a_uuid_of_version_4(bits: int) -> None:
    class Fixed:
        def bits(self, count: int) -> int:
            assert count == 128
            return bits

    text = new_uuid(Fixed())

    read = uuid.UUID(text)
    assert str(read) == text
    assert (read.version, read.variant) == (4, uuid.RFC_4122)
    changed = (0xF << 76) | (0b11 << 62)
    assert read.int & ~changed == bits & ~changed  # only version and variant are not chance


def test_ids_of_lines_follow_the_seed() -> None:
    assert new_uuid(SeededIds(1)) == new_uuid(SeededIds(1)) != new_uuid(SystemIds())
