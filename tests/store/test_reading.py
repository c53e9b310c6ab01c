"""Reading transcripts: whatever is in the file, what is sound is read, in bounded memory."""

from __future__ import annotations

import gc
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import UsageError
from greenroom.core.ports import SeededIds
from greenroom.store import Line, Transcript, TranscriptHeader, read_conversation
from greenroom.store._transcript_reader import StoredConversation, chain, link_of, read_transcript

HEADER = TranscriptHeader(session_id="s", agent_id="a1", is_sidechain=False, cwd="/p", version="0.1")


def writer(path: Path, header: TranscriptHeader = HEADER) -> Transcript:
    def write(path: Path, content: bytes) -> None:
        with path.open("ab") as file:
            file.write(content)

    return Transcript(path, header, write=write, ids=SeededIds(1), wall=lambda: datetime(2026, 11, 21, tzinfo=UTC))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def read(path: Path, **more: Any) -> StoredConversation[Line]:
    return read_conversation(path, lambda line: line, **more)


def texts(lines: tuple[Line, ...]) -> list[str]:
    return [line["message"]["content"][0]["text"] for line in lines]


def linked(*links: tuple[str, str | None], **more: Any) -> list[Line]:
    return [{"uuid": uuid, "parentUuid": parent, "type": "user", "message": {}, **more} for uuid, parent in links]


def chained(lines: list[Line]) -> list[Line]:
    return [lines[place] for place in chain([link_of(line) for line in lines])]


# --- lines ------------------------------------------------------------------------------------------------------------


def test_a_tail_torn_at_any_byte_is_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    log = writer(path)
    for text in ("one", "zwei \U0001f600", "drei"):
        log.append("user", user(text))
    whole = path.read_bytes()
    lines = list(read_transcript(path))
    assert len(lines) == 3

    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        reader = read_transcript(path)

        # A line of which only the newline is missing is whole: it will be one as soon as somebody writes behind it.
        assert list(reader) == lines[: (whole + b"\n").count(b"\n", 0, end + 1)]
        is_torn = whole[:end].rpartition(b"\n")[2] != b""
        assert read(path).is_torn == is_torn
        assert reader.torn_bytes == (0 if whole[end : end + 1] == b"\n" else end - 1 - whole.rfind(b"\n", 0, end))


@pytest.mark.parametrize("line", [b"garbage", b"[]", b"1", b'{"a":', b"\xff", bytes(40)])
def test_a_damaged_line_is_left_out_and_counted(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "main.jsonl"
    path.write_bytes(b"{}\n" + line + b"\n\n{}\n")
    reader = read_transcript(path)

    assert list(reader) == [{}, {}]
    assert reader.damaged == 1


def test_a_writer_goes_on_behind_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    log = writer(path)
    for text in ("one", "two"):
        log.append("user", user(text))
    path.write_bytes(path.read_bytes()[:-5])
    before = read(path)
    later = writer(path)
    later.follow(before.last_uuid, is_torn=before.is_torn)

    for text in ("three", "four"):
        later.append("user", user(text))

    assert texts(read(path).lines) == ["one", "three", "four"]
    assert read(path).notes == ("1 damaged lines were left out",)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.jsonl"):
        list(read_transcript(tmp_path / "missing.jsonl"))
    with pytest.raises(UsageError, match=r"missing\.jsonl"):
        read(tmp_path / "missing.jsonl")


# --- conversations ----------------------------------------------------------------------------------------------------


def test_lines_of_other_kinds_and_of_other_agents_are_passed_over(tmp_path: Path) -> None:
    """CL-31; Behaviours (10), line 3."""
    path = tmp_path / "main.jsonl"
    log = writer(path)
    log.append("user", user("mine"))
    foreign: list[Line] = [
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        {"type": "file-history-snapshot", "message": 3},
        {"type": "user", "isSidechain": True, "agentId": "b", "message": user("a child's"), "uuid": "z"},
        {"type": "user", "message": "no object"},
        {"type": None},
    ]
    with path.open("ab") as file:
        file.write(b"".join(orjson.dumps(line) + b"\n" for line in foreign))
    log.append("user", user("mine too"))

    found = read(path)

    assert texts(found.lines) == ["mine", "mine too"]
    assert (found.agent_id, found.session_id, found.is_torn, found.notes) == ("a1", "s", False, ())


def test_a_conversation_begins_at_its_last_compaction(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    log = writer(path)
    for number in range(3):
        log.append("user", user(f"old {number}"))
        log.append_compaction(user(f"summary {number}"), trigger="auto", pre_tokens=7)
        log.append("user", user('a tool showed "isCompactSummary":true'))

    found = read(path)

    assert texts(found.lines) == ["summary 2", 'a tool showed "isCompactSummary":true']
    (boundary,) = [line for line in list(read_transcript(path))[-3:] if line["type"] == "system"]
    assert boundary["subtype"] == "compact_boundary"
    assert boundary["compactMetadata"] == {"trigger": "auto", "preTokens": 7}
    assert boundary["parentUuid"] is None


def test_a_compaction_torn_at_any_byte_leaves_the_conversation_before_it(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    log = writer(path)
    log.append("user", user("before"))
    size = path.stat().st_size
    log.append_compaction(user("summary"), trigger="manual", pre_tokens=7)
    whole = path.read_bytes()

    for end in range(size, len(whole) + 1):
        path.write_bytes(whole[:end])
        before = read(path)
        expected = ["before"] if end < len(whole) - 1 else ["summary"]
        assert texts(before.lines) == expected, end
        later = writer(path)
        later.follow(before.last_uuid, is_torn=before.is_torn)
        later.append("user", user("after"))
        assert texts(read(path).lines) == [*expected, "after"], end


@pytest.mark.parametrize("padding", [0, 1, 17, 250_000, 262_100, 262_144, 600_000])
def test_a_compaction_is_found_wherever_it_lies_in_the_pieces_that_are_read(tmp_path: Path, padding: int) -> None:
    path = tmp_path / "main.jsonl"
    log = writer(path)
    log.append("user", user("x" * 300_000))
    log.append_compaction(user("summary"), trigger="auto", pre_tokens=1)
    log.append("user", user("y" * padding))

    assert len(read(path).lines) == 2
    for limit in (padding + 500, padding + 100_000):
        assert len(read(path, limit_bytes=limit).lines) <= 2


def test_what_is_too_far_from_the_end_is_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    log = writer(path)
    for number in range(100):
        log.append("user", user(f"{number:03d}"))

    found = read(path, limit_bytes=2_000)

    assert texts(found.lines)[-1] == "099"
    assert 0 < len(found.lines) < 10
    assert "left out" in found.notes[0]


# --- the chain --------------------------------------------------------------------------------------------------------


def test_a_rewound_branch_is_not_part_of_the_conversation() -> None:
    lines = linked(("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "d"))
    assert [line["uuid"] for line in chained(lines)] == ["a", "d", "e"]


def test_a_missing_parent_is_the_line_before() -> None:
    lines = linked(("a", None), ("b", "a"), ("d", "c"), ("e", "d"))
    assert [line["uuid"] for line in chained(lines)] == ["a", "b", "d", "e"]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.sampled_from("abcdefg"))))
def test_every_chain_ends_with_the_last_line_and_goes_backwards(links: list[tuple[str, str | None]]) -> None:
    lines = linked(*links)
    places = chain([link_of(line) for line in lines])

    assert places == sorted(set(places))
    assert places[-1:] == ([len(lines) - 1] if lines else [])


# --- memory -----------------------------------------------------------------------------------------------------------


def peak_bytes(function: Any, *args: Any) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_depends_on_the_conversation_and_not_on_the_file(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    line = {"type": "user", "uuid": "u", "parentUuid": None, "message": user("x" * 1_000)}
    path.write_bytes((orjson.dumps(line) + b"\n") * 7_000)
    assert path.stat().st_size > 7_500_000
    log = writer(path)
    log.append_compaction(user("summary"), trigger="auto", pre_tokens=1)
    list(read_transcript(path, start=path.stat().st_size - 1))  # imports

    def walk() -> None:
        for _ in read_transcript(path):
            pass

    assert peak_bytes(walk) < 1_500_000
    assert peak_bytes(read, path) < 1_500_000
    with path.open("ab") as file:
        file.write((orjson.dumps(line) + b"\n") * 7_000)
    assert peak_bytes(lambda: read(path, limit_bytes=1_000_000)) < 4_000_000
