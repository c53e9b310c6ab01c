"""The open streams of a session's events; all of them end with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, final

from greenroom.core import Recorder
from greenroom.core.ports import Blocking
from greenroom.session.assembly._host_ports import Hosted
from greenroom.session.parts._event_stream import KEPT, EventStream
from greenroom.session.parts._live_events import LiveEvents, wire
from greenroom.trace import Journal

if TYPE_CHECKING:
    from greenroom.session.parts._session_watch import SessionWatch


@final
class Streams:
    """The streams that are open; all of them end with the session.

    Args:
        recorder: Holds the journal's events.
        live: The live events.
    """

    def __init__(self, recorder: Recorder, live: LiveEvents) -> None:
        self._recorder = recorder
        self._live = live
        self._open: dict[EventStream, None] = {}
        self._has_ended = False

    def note_open(self) -> None:
        """Note that the session is open: live events from before are no longer kept for streams from the start."""
        self._live.opened()

    def open(self, *, from_start: bool, capacity: int | None = KEPT) -> EventStream:
        """Return a stream of the events from now on, or from the oldest one that the recorder still holds."""
        stream = EventStream(capacity)
        if from_start:
            numbered = [record for record in self._recorder.latest() if record[0] > 0]  # others are the recorder's only
            for record in self._live.merged(numbered):
                stream.put(record)
        if self._has_ended:
            stream.close()
            return stream
        unsubscribe = self._recorder.listen(stream.put), self._live.subscribe(stream.put)

        def forget() -> None:
            for stop in unsubscribe:
                stop()
            self._open.pop(stream, None)

        self._open[stream] = None
        stream.on_close = forget
        return stream

    @asynccontextmanager
    async def watch(self, journal: Journal, blocking: Blocking, *, capacity: int = KEPT) -> AsyncIterator[SessionWatch]:
        """Open the state of the session with what each event changes in it; leave it to stop watching.

            async with session.watch() as view:
                async for change in view:       # the first one has no event: it is the state as it is
                    view.state.section("agents")

        The session never waits for a reader. One that is too slow gets a snapshot in place of the events that it lost.

        Args:
            journal: The session's journal.
            blocking: Runs what reads its file.
            capacity: Number of events that wait for a slow reader.
        """
        from greenroom.session.parts._session_watch import SessionWatch

        with (
            self.open(from_start=False, capacity=capacity) as stream,
            closing(SessionWatch(stream, journal, blocking)) as watch,
        ):
            yield watch

    def close(self) -> None:
        """End every stream after the events that it holds."""
        self._has_ended = True
        for stream in list(self._open):
            stream.close()


def open_streams(host: Hosted, recorder: Recorder) -> tuple[Streams, Hosted]:
    """Return the streams of a session, and the program's side of it with callbacks that publish its live events."""
    live, wired = wire(host, recorder)
    return Streams(recorder, live), wired
