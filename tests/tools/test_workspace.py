from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from greenroom.tools._workspace import MAX_FILES, Seen, SeenFiles, Stamp, merged

RANGES = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=8).map(tuple)
OLD, NEW = Stamp(1, 10, 7), Stamp(2, 10, 7)
FILE = Path("/f")


@given(RANGES)
def test_merged_ranges_are_the_same_lines_in_order_and_apart(ranges: tuple[tuple[int, int], ...]) -> None:
    lines = {line for first, last in ranges for line in range(first, last + 1)}

    found = merged(ranges)

    assert {line for first, last in found for line in range(first, last + 1)} == lines
    assert all(before[1] + 1 < after[0] for before, after in pairwise(found))


def test_parts_read_one_after_the_other_make_a_whole() -> None:
    seen = SeenFiles()
    seen.note(FILE, Seen(stamp=OLD, ranges=((1, 5),)))
    first = seen.find(FILE)
    seen.note(FILE, Seen(stamp=OLD, ranges=((6, 9),), lines=9, digest=b"d"))
    both = seen.find(FILE)

    assert first is not None
    assert not first.is_whole
    assert both == Seen(stamp=OLD, ranges=((1, 9),), lines=9, digest=b"d")
    assert both.is_whole


def test_parts_of_different_states_make_no_whole() -> None:
    seen = SeenFiles()
    seen.note(FILE, Seen(stamp=OLD, ranges=((1, 5),)))
    seen.note(FILE, Seen(stamp=NEW, ranges=((6, 9),), lines=9))
    later = seen.find(FILE)

    assert later == Seen(stamp=NEW, ranges=((6, 9),), lines=9)
    assert not later.is_whole


def test_a_file_is_known_by_content_or_else_by_its_stamp() -> None:
    whole, part = Seen(stamp=OLD, digest=b"d"), Seen(stamp=OLD)

    assert whole.is_still(NEW, b"d")
    assert not whole.is_still(OLD, b"e")
    assert part.is_still(OLD, b"e")
    assert not part.is_still(NEW, b"d")


def test_what_was_seen_longest_ago_is_forgotten_first() -> None:
    seen = SeenFiles()
    for number in range(MAX_FILES):
        seen.note(Path(f"/{number}"), Seen(stamp=OLD))
    seen.note(Path("/0"), Seen(stamp=OLD))
    seen.note(Path("/new"), Seen(stamp=OLD))

    assert len(seen) == MAX_FILES
    assert seen.find(Path("/0")) is not None
    assert seen.find(Path("/1")) is None
