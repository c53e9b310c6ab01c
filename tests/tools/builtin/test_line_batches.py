"""Batches of lines: nothing is lost uncounted, the order stays, the rate is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.tools.builtin._line_batches import (
    BATCH_S,
    FLOOD_S,
    LINE_CHARS,
    MAX_BATCHES,
    MAX_CHARS,
    MAX_LINES,
    PAUSE_S,
    WINDOW_S,
    LineBatch,
    LineBatches,
    LineSplitter,
)

GAPS_S = st.one_of(
    st.floats(0, 0.5), st.floats(0, 1), st.floats(0, 5), st.sampled_from([0.0, BATCH_S, PAUSE_S, FLOOD_S, WINDOW_S])
)
READS = st.lists(st.tuples(GAPS_S, st.integers(0, 150), st.integers(0, 3), st.booleans()), min_size=40, max_size=90)
"""Reads: seconds after the one before, lines, further lines that are only counted, and whether its batch is refused."""


def exactly(now_ms: int) -> float:
    return now_ms / 1000


@pytest.mark.promise("R12-c")
@given(READS)
def test_lines_are_batched_in_order_or_counted_within_the_rate(reads: list[tuple[float, int, int, bool]]) -> None:
    """No line is lost uncounted; batches have the order of the lines; any minute has at most 20 batches of 200 ms each."""
    machine, now_ms, added, extra = LineBatches(), 0, 0, 0
    came_s: dict[str, float] = {}
    sent: list[tuple[float, LineBatch]] = []
    accepted: list[LineBatch] = []
    for gap_s, count, more, is_refused in reads:
        now_ms += round(gap_s * 1000)
        now_s = exactly(now_ms)
        lines = [str(number) for number in range(added, added + count)]
        added, extra = added + count, extra + more
        came_s |= dict.fromkeys(lines, now_s)
        for batch in (machine.tick(now_s), machine.add(lines, now_s, more=more)):
            if batch is None:
                continue
            sent.append((now_s, batch))
            if is_refused:
                machine.refuse(batch)
            else:
                accepted.append(batch)

    told = [line for batch in accepted for line in batch.lines]
    assert told == sorted(told, key=int)
    counted = sum(batch.suppressed for batch in accepted) + machine.suppressed + machine.waiting
    assert len(told) + counted == added + extra
    times_s = [at_s for at_s, _ in sent]
    assert all(later - first >= WINDOW_S - 1e-6 for first, later in zip(times_s, times_s[MAX_BATCHES:], strict=False))
    assert [batch.number for _, batch in sent] == list(range(1, len(sent) + 1))
    for _, batch in sent:
        assert len(batch.lines) <= MAX_LINES
        assert not batch.lines or came_s[batch.lines[-1]] - came_s[batch.lines[0]] < BATCH_S


@pytest.mark.promise("R12-c")
@given(st.lists(st.one_of(st.floats(BATCH_S, 1.5), st.floats(1, PAUSE_S + 0.5)), min_size=60, max_size=120))
def test_a_flood_is_suppression_without_pause_for_half_a_minute(gaps_s: list[float]) -> None:
    """The flag is what a plain statement over the whole history says."""
    machine, now_s = LineBatches(), 0.0
    history: list[tuple[float, bool]] = []
    for gap_s in gaps_s:
        now_s = round(now_s + gap_s, 3)
        machine.add(["x"], now_s)
        history.append((now_s, machine.close(now_s) is None))

    assert machine.is_flooding == floods(history)


@pytest.mark.promise("R12-c")
def test_a_pause_begins_a_flood_anew() -> None:
    def flooded(pause_s: float) -> bool:
        machine, now_s = LineBatches(), 0.0
        for number in range(55):  # 20 batches, then 35 lines that are suppressed, with a pause among them
            now_s += pause_s if number == 40 else 0.9
            machine.add(["x"], now_s)
            machine.close(now_s)
        return machine.is_flooding

    assert flooded(PAUSE_S - 0.125)
    assert not flooded(PAUSE_S)


def floods(history: list[tuple[float, bool]]) -> bool:
    """Say whether any stretch of suppressed lines, none of them a pause behind the one before, takes half a minute."""
    for first, (first_s, _) in enumerate(history):
        before_s = first_s
        for at_s, is_suppressed in history[first:]:
            if not is_suppressed or at_s - before_s >= PAUSE_S:
                break
            if at_s - first_s >= FLOOD_S:
                return True
            before_s = at_s
    return False


@pytest.mark.promise("R12-c")
def test_lines_within_200_ms_are_one_batch_and_no_more() -> None:
    machine = LineBatches()

    assert machine.add(["a"], 1.0) is None
    assert machine.add(["b"], 1.1875) is None
    assert machine.add(["c"], 1.25) == LineBatch(number=1, lines=("a", "b"))
    assert machine.tick(1.4) is None
    assert machine.tick(1.5) == LineBatch(number=2, lines=("c",))


@pytest.mark.promise("R12-c")
def test_a_batch_tells_how_many_lines_were_suppressed_before_it() -> None:
    machine = LineBatches()
    for second in range(57):
        machine.add(["x"], float(second))
    machine.tick(58.0)

    assert machine.suppressed == 37
    machine.add(["y"], 61.0)
    assert machine.tick(61.5) == LineBatch(number=21, lines=("y",), suppressed=37)
    assert machine.suppressed == 0


def test_a_batch_that_is_too_large_counts_its_rest() -> None:
    many, long = LineBatches(), LineBatches()
    many.add([str(number) for number in range(MAX_LINES + 5)], 0.0, more=3)
    long.add(["x" * LINE_CHARS for _ in range(50)], 0.0)

    assert many.close(0.0) == LineBatch(number=1, lines=tuple(map(str, range(MAX_LINES))), suppressed=8)
    batch = long.close(0.0)
    assert batch is not None
    assert (len(batch.lines), batch.suppressed) == (MAX_CHARS // LINE_CHARS, 50 - MAX_CHARS // LINE_CHARS)


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=30), max_size=40), st.data())
def test_bytes_are_split_into_the_lines_they_hold_wherever_they_are_cut(lines: list[str], data: st.DataObject) -> None:
    content = "\n".join(lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=10)))
    splitter, found = LineSplitter(), list[str]()
    for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        split, more = splitter.feed(content[start:end])
        assert more == 0
        found += split
    found += splitter.end()

    assert found == (lines[:-1] if lines and not lines[-1] else lines)


def test_long_lines_are_cut_and_further_ones_counted() -> None:
    splitter = LineSplitter()

    assert splitter.feed(b"x" * 1_000_000) == ([], 0)
    (line,), more = splitter.feed(b"x" * 1_000_000 + b"\nrest")
    assert (len(line), line[-1], more) == (LINE_CHARS, "…", 0)
    lines, more = splitter.feed(b"\n" * (MAX_LINES + 7) + b"last")
    assert (lines[0], len(lines), more) == ("rest", MAX_LINES, 7)
    assert splitter.end() == ["last"]
