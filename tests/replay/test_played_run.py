"""A run that is played: every place shows the state that its events fold to, however the run is reached or grows."""

from __future__ import annotations

import random
import shutil
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
import trio
from trio.testing import MockClock

from greenroom.cli import main
from greenroom.core import JournalError, UsageError
from greenroom.replay._played_run import PlayedRun, PlayedStory
from greenroom.session import FOLDS
from greenroom.terminal.screen import (
    ChangeSpeed,
    GoTo,
    Quit,
    ScreenControls,
    ScreenMode,
    ScreenSize,
    StepEvents,
    StepFailure,
    SwarmPicture,
    SwarmStory,
    TogglePlay,
)
from greenroom.trace import TRANSCRIPTS, Moments, fold, hold_run
from tests.replay.recorded import record
from tests.trace.growing import HEADER, append

CONTROLS = ScreenControls(mode=ScreenMode.PAST)
SIZE = ScreenSize(width=100, height=30)


def read_whole(run: PlayedRun) -> None:
    """Read and fold on until nothing is new."""

    async def read() -> None:
        with trio.move_on_after(1):
            await run.read_on()

    _run_virtually(read)


def shown(run: PlayedRun) -> SwarmPicture:
    return run.picture(CONTROLS, SIZE)


def facts_of(picture: SwarmPicture) -> dict[str, Any]:
    """Return what a picture and the folded state both say."""
    return {
        # One that is to be restarted with a sibling is shown as starting from then on; it ends its turn meanwhile.
        "busy": {row.id: row.state == "working" for row in picture.agents if row.state != "starting"},
        "items": {card.id: (card.subject, card.column.value, card.owner) for card in picture.cards},
        "requests": picture.totals.requests,
        "tokens": picture.totals.tokens,
    }


COLUMNS = {"pending": "open", "in_progress": "in progress", "completed": "done"}


def facts_at(sections: Any, agents: Collection[str]) -> dict[str, Any]:
    """Return the same of the sections that `greenroom replay --at N --json` prints, for these agents."""
    items = [value for value in sections["items"].values() if value["status"] in COLUMNS]
    usage = [value["usage"] for value in sections["agents"].values()]
    return {
        "busy": {actor: sections["actors"][actor]["is_busy"] for actor in agents},
        "items": {each["id"]: (each["subject"], COLUMNS[each["status"]], each["owner"] or "") for each in items},
        "requests": sum(value["requests"] for value in sections["agents"].values()),
        "tokens": sum(sum(each.values()) for each in usage),
    }


@pytest.mark.promise("S-fold")
def test_200_places_show_what_replay_at_prints(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    journal, text = record(tmp_path)
    run = PlayedRun(journal, is_followed=False)
    run._moments = Moments(run.index.entries, PlayedStory(run.story().copy()), spacing=32)
    read_whole(run)
    choose = random.Random(5)
    for round_ in range(200):
        seq = choose.randint(1, len(text.entries))
        run.act(GoTo(str(seq)))

        picture = shown(run)
        assert picture.time is not None
        assert picture.time.event == seq
        facts = facts_of(picture)
        folded = {name: _plain(section) for name, section in fold(text.entries, FOLDS, at=seq).sections.items()}
        assert facts == facts_at(folded, facts["busy"])
        if round_ % 20 == 0:
            assert main(["replay", str(journal), "--at", str(seq), "--json"]) == 0
            assert facts == facts_at(orjson.loads(capfd.readouterr().out)["sections"], facts["busy"])
        naive = _naive(text.entries[:seq]).picture(picture.elapsed_s)
        assert (picture.agents, picture.cards, picture.notes) == (naive.agents, naive.cards, naive.notes)
    run.close()


def _plain(section: Any) -> dict[Any, Any]:
    return {subject: attrs.asdict(value) if attrs.has(type(value)) else value for subject, value in section.items()}


@pytest.mark.promise("S-jump")
def test_keys_move_in_time(tmp_path: Path) -> None:
    journal, text = record(tmp_path)
    run = PlayedRun(journal, is_followed=False)
    read_whole(run)
    failures = [entry.seq for entry in text.entries if "failed" in {entry.get("state"), entry.get("reason")}]

    def event() -> int:
        time = shown(run).time
        assert time is not None
        return time.event

    run.act(StepEvents(3))
    assert event() == 3
    run.act(StepEvents(-1))
    assert event() == 2
    run.act(StepFailure(1))
    assert event() == failures[0]
    run.act(StepFailure(-1))
    assert "(no earlier failure)" in shown(run).title
    run.act(ChangeSpeed(1))
    assert "no earlier" not in shown(run).title
    run.act(TogglePlay())
    position = shown(run).time
    assert position is not None
    assert position.speed == 2
    assert [round(t_s, 3) for t_s in position.failures] == [
        round(text.entries[seq - 1].t - text.entries[0].t, 3) for seq in failures
    ]
    read_whole(run)
    assert event() > failures[0]
    run.close()


@pytest.mark.promise("S-follow")
def test_a_run_that_is_watched_shows_events_within_a_poll_and_who_reads_it_can_leave(tmp_path: Path) -> None:
    journal, text = record(tmp_path)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:100]))
    run = PlayedRun(journal, is_followed=True)
    seen = []

    async def watch() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run.read_on)
            for line in lines[100:]:
                append(journal, line[:7])
                await trio.sleep(0.001)
                append(journal, line[7:])
                await trio.sleep(0.03)
                seen.append(shown(run).time)
            run.act(Quit())
            await run.wait_quit()
            nursery.cancel_scope.cancel()

    with hold_run(tmp_path):
        _run_virtually(watch)

    assert [time.event for time in seen if time is not None] == list(range(100, len(lines)))
    assert all(time.is_growing for time in seen[:50] if time is not None)
    assert facts_of(shown(run)) == facts_of(_naive(text.entries).picture())
    run.close()


def test_a_run_whose_process_has_gone_is_broken_off_at_its_end_only(tmp_path: Path) -> None:
    journal, _ = record(tmp_path)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:200]) + b'{"seq":')
    run = PlayedRun(journal, is_followed=True)
    read_whole(run)
    assert shown(run).state == "broken off"
    run.act(StepEvents(-1))
    assert shown(run).state == "running"
    run.close()


def test_a_run_that_vanishes_stays_as_far_as_it_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    journal, text = record(folder)
    run = PlayedRun(journal, is_followed=True)
    read_whole(run)
    shutil.rmtree(folder)
    read_whole(run)
    run.act(GoTo("150"))

    picture = shown(run)
    assert "the journal has vanished" in picture.title
    assert facts_of(picture) == facts_of(_naive(text.entries[:150]).picture())
    run.close()


def test_damaged_lines_are_left_out_and_told(tmp_path: Path) -> None:
    journal, text = record(tmp_path)
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[40] = b"\x00\x00\n"
    lines[60] = b'{"seq":60,"t":"soon"}\n'
    journal.write_bytes(b"".join(lines))
    run = PlayedRun(journal, is_followed=True)
    read_whole(run)

    picture = shown(run)
    assert "2 damaged lines left out (line 41 is damaged" in picture.title
    left = [entry for entry in text.entries if entry.seq not in {40, 60}]
    assert facts_of(picture) == facts_of(_naive(left).picture())
    run.close()


def test_a_long_run_that_is_followed_shows_its_end_before_it_is_folded(tmp_path: Path) -> None:
    journal, text = record(tmp_path)
    run = PlayedRun(journal, is_followed=True)
    run.head.advance(0)

    picture = shown(run)
    assert facts_of(picture) == facts_of(_naive(text.entries).picture())
    assert picture.time is not None
    assert picture.time.event == len(text.entries)
    assert f"read 0 of {len(text.entries)} events" in picture.title
    read_whole(run)
    assert "read" not in shown(run).title
    run.close()


def test_a_conversation_is_shown_as_far_as_it_had_come(tmp_path: Path) -> None:
    journal, text = record(tmp_path)
    header = orjson.loads(journal.read_bytes().partition(b"\n")[0])
    started = header["started"].removesuffix("+00:00")
    lead = next(entry for entry in text.entries if entry.kind == "agent.defined")
    transcripts = tmp_path / TRANSCRIPTS
    transcripts.mkdir()
    lines = [
        orjson.dumps(
            {
                "type": "user",
                "timestamp": f"{started}.{milliseconds:03}Z",
                "message": {"role": "user", "content": f"text {milliseconds}"},
            }
        )
        for milliseconds in (100, 200, 200, 300)
    ]
    (transcripts / lead["transcript"]).write_bytes(b"\n".join([*lines[:2], b"garbage", *lines[2:]]) + b'\n{"type":')
    run = PlayedRun(journal, is_followed=False)
    read_whole(run)
    controls = ScreenControls(mode=ScreenMode.PAST, opened=lead.event.actor)
    first_s = text.entries[0].t
    for t_s, expected in [(0.05, 0), (0.15, 1), (0.25, 3), (0.35, 4), (0.15, 1)]:
        run.act(GoTo(f"{t_s - first_s}s"))

        assert [part.text for part in run.picture(controls, SIZE).talk] == [
            "text 100",
            "text 200",
            "text 200",
            "text 300",
        ][:expected]
    run.close()


@pytest.mark.parametrize("name", ["../journal.jsonl", "/etc/hostname", "missing.jsonl"])
def test_a_transcript_outside_of_the_run_is_not_read(name: str, tmp_path: Path) -> None:
    journal, text = record(tmp_path)
    lead = next(entry for entry in text.entries if entry.kind == "agent.defined")
    journal.write_bytes(journal.read_bytes().replace(lead["transcript"].encode(), name.encode()))
    run = PlayedRun(journal, is_followed=True)
    read_whole(run)

    assert run.picture(ScreenControls(mode=ScreenMode.PAST, opened=lead.event.actor), SIZE).talk == ()
    run.close()


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"", JournalError), (b"hello\n", JournalError), (HEADER + b'{"seq":1,"t":0,"ev":"gateway.begin"}\n', UsageError)],
)
def test_what_is_no_run_of_a_session_is_refused_in_one_line(
    content: bytes, error: type[Exception], tmp_path: Path
) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(content)
    with pytest.raises(error) as caught:
        PlayedRun(journal, is_followed=False)
    assert "\n" not in str(caught.value)


def test_a_header_alone_can_be_played(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(HEADER)
    run = PlayedRun(journal, is_followed=False)
    read_whole(run)
    moves: list[Callable[[], object]] = [
        lambda: run.act(StepEvents(1)),
        lambda: run.act(StepFailure(1)),
        lambda: run.act(TogglePlay()),
        lambda: run.act(GoTo("end")),
    ]
    for move in moves:
        move()
        assert shown(run).agents == ()
    run.close()


def _naive(entries: Any) -> SwarmStory:
    story = SwarmStory()
    for entry in entries:
        story.take(entry.seq, entry.t, entry.event)
    return story


def _run_virtually(test: Callable[[], Awaitable[None]]) -> None:
    trio.run(test, clock=MockClock(autojump_threshold=0))
