"""Live events: what `session.events()` carries besides the journal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from trio.testing import MockClock

from greenroom.agents.events import ToolBegan
from greenroom.core import Event, Recorder
from greenroom.models import PlaybookModel
from greenroom.session import LIVE_EVENTS, EventStream, HookReported, MessageAppended, PromptTaken, open_session
from greenroom.session.parts._live_events import LiveEvents
from greenroom.session.parts._open_streams import Streams
from greenroom.testing import virtual_ports


def events_of(stream: EventStream) -> list[tuple[int, Event]]:
    """Return what waits, each event with its number."""
    found = []
    while (numbered := stream.next_nowait()) is not None:
        found.append((numbered[0], numbered[2]))
    return found


def tool_began(call: str) -> ToolBegan:
    return ToolBegan(actor="a1", turn=1, round=1, call=call, tool="Read", summary="")


def test_early_live_events_keep_their_places_among_the_journal() -> None:
    recorder = Recorder(lambda: 0.0)
    live = LiveEvents(recorder, LIVE_EVENTS)
    streams = Streams(recorder, live)
    live.publish(PromptTaken, "", "before")
    recorder.emit(tool_began("1"))
    live.publish(PromptTaken, "", "between")
    recorder.emit(tool_began("2"))
    live.publish(PromptTaken, "", "behind")
    live.opened()

    stream = streams.open(from_start=True)
    live.publish(PromptTaken, "", "later")
    recorder.emit(tool_began("3"))

    taken = [event.prompt if isinstance(event, PromptTaken) else number for number, event in events_of(stream)]
    assert taken == ["before", 1, "between", 2, "behind", "later", 3]


def test_a_closed_stream_gets_no_live_event() -> None:
    recorder = Recorder(lambda: 0.0)
    live = LiveEvents(recorder, LIVE_EVENTS)
    stream = Streams(recorder, live).open(from_start=False)

    stream.close()
    live.publish(PromptTaken, "", "late")

    assert stream.waiting == 0


@pytest.mark.parametrize("live", [(), (HookReported,), (MessageAppended,)])
async def test_only_wanted_live_events_are_made(
    tmp_path: Path, autojump_clock: MockClock, live: Sequence[type[Event]]
) -> None:
    async with open_session(
        model=PlaybookModel({"main": lambda _: "Done."}), cwd=tmp_path, ports=virtual_ports(), live=live
    ) as session:
        stream = session.events(capacity=None)
        await session.run("Go.")
        messages = [event for _, event in events_of(stream) if isinstance(event, MessageAppended)]

    assert [message.appended.message.text for message in messages] == (
        ["Go.", "Done."] if MessageAppended in live else []
    )
