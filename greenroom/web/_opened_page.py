"""Pages of runs that are served: beside a session, around one, or by a command of their own.

Rule 1: a page only reads the run's files; the session does not know of it. Rule 2: if a page fails, it is closed and logged, and the code
around it goes on. Rule 3: when the block is left, nothing of the page is left: no task, no socket, no open file.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, final

import trio

from greenroom.core import UsageError, calm_collector, open_bare_nursery, split_cancelled
from greenroom.gateway.record import find_journal
from greenroom.replay import problem_facts
from greenroom.serving import Server, ServerStatistics, Tcp, open_server
from greenroom.session import Session
from greenroom.terminal import Ladder, climbing
from greenroom.trace import JOURNAL, read_header, runs_folder
from greenroom.web._run_findings import FindProblems
from greenroom.web._run_list import RunList
from greenroom.web._run_page import RunPage

_log: Final = logging.getLogger("greenroom")

_LOOKED_THROUGH: Final = 5_000
"""Objects that the garbage collector looks at between two parts of a run: some milliseconds."""

Say = Callable[[str], object]
"""Prints a line."""


@final
class OpenedPage:
    """A page that is served. Made by `open_page`."""

    def __init__(self, page: RunPage, runs: RunList, server: Server) -> None:
        self.url = f"{server.addresses[0]}/#token={page.token}"
        """Its address, with the token behind `#`: whoever has it, on this machine, can read the runs of the page."""
        self._page = page
        self._runs = runs
        self._server = server

    def __repr__(self) -> str:
        return f"<OpenedPage at {self._server.addresses[0]}, {self.viewers} viewers>"

    @property
    def viewers(self) -> int:
        """Number of browsers that are connected."""
        return self._page.viewers

    def statistics(self) -> ServerStatistics:
        """Return the figures of the page's server at this moment."""
        return self._server.statistics()

    def show(self, journal: Path) -> None:
        """Have the page begin with another run."""
        self._runs.show(journal)

    async def finish(self) -> None:
        """Give viewers the last rows, for a second at most."""
        await self._page.finish()


@asynccontextmanager
async def open_page(run: Session | Path, *, port: int = 0, runs: Path | None = None) -> AsyncIterator[OpenedPage]:
    """Serve the page of a run on this machine until the block is left.

    It reads the run folder as another process would, so it can be opened before, during and after the run, and is closed without a trace
    in it. Around `open_session`, it shows the end of the run too. Viewers get the last rows when the block is left, for a second at
    most; if the block is cancelled or raises, all connections are closed at once.

    Args:
        run: An open session, or a run folder or its journal.
        port: The port on 127.0.0.1; 0 for any free one.
        runs: A folder of runs that the page lists too; by default it shows this run alone.

    Raises:
        UsageError: The run does not exist, or the port cannot be listened at.
        JournalError: The journal cannot be read.
    """
    async with open_run_page(_journal_of(run), runs=runs, port=port) as page:
        yield page


def _journal_of(run: Session | Path) -> Path:
    folder = run.run_folder if isinstance(run, Session) else run
    journal = folder / JOURNAL if folder.is_dir() else folder
    if not journal.is_file():
        raise UsageError(f"{str(folder)!r} is not a run folder: it has no {JOURNAL}")
    read_header(journal)
    return journal


@asynccontextmanager
async def open_run_page(
    journal: Path | None, *, runs: Path | None, port: int = 0, find_problems: FindProblems = problem_facts
) -> AsyncIterator[OpenedPage]:
    """Serve the page of a run, as `open_page` does.

    Args:
        journal: The journal of the run; None for one that begins later, see `OpenedPage.show`.
        runs: The folder whose runs are listed; None for this run alone.
        port: The port; 0 for any free one.
        find_problems: Returns what is listed as findings.

    Raises:
        UsageError: The port cannot be listened at.
    """
    async with open_bare_nursery() as nursery:
        page = await nursery.start(_serve_page, RunList(journal, runs), port, find_problems)
        try:
            yield page
            await page.finish()
        finally:
            nursery.cancel_scope.cancel("the page is closed")


async def _serve_page(
    listed: RunList, port: int, find_problems: FindProblems, task_status: trio.TaskStatus[OpenedPage]
) -> None:
    """Serve until it is cancelled; an error after the start is logged, and ends the page alone."""
    has_started = False
    try:
        async with open_bare_nursery() as nursery:
            page = RunPage(listed, nursery, find_problems)
            try:
                async with open_server(page.endpoints(), listen=[Tcp(port=port)]) as server:
                    has_started = True
                    task_status.started(OpenedPage(page, listed, server))
                    await trio.sleep_forever()
            finally:
                page.close()
    except BaseException as error:  # noqa: ASYNC103 - whatever a page does, the run goes on
        cancelled, rest = split_cancelled(error)
        if rest is not None and not (has_started and isinstance(rest, Exception)):
            raise
        if rest is not None:
            _log.error("the page of the run has failed and is closed; the run goes on", exc_info=rest)
        if cancelled is not None:
            raise cancelled from None  # noqa: ASYNC104 - the cancelled part of it


# --- commands -----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_page_ahead(runs: Path, *, port: int) -> AsyncIterator[Callable[[Path], str]]:
    """Serve the page of a run that begins inside the block: the port is taken before anything starts, the end of the run is shown.

    Yields:
        A function that shows a run folder and returns the address.

    Raises:
        UsageError: The port cannot be listened at.
    """
    async with open_run_page(None, runs=runs, port=port) as page:

        def show(folder: Path) -> str:
            page.show(folder / JOURNAL)
            return page.url

        yield show


def show_page(run: str, *, runs: Path | None, port: int, place: str, find_problems: FindProblems, say: Say) -> int:
    """Serve the page of a run, and print its address; return the exit code.

    Args:
        run: As for `greenroom replay`.
        runs: The folder of the runs; None for the project's.
        port: The port; 0 for any free one.
        place: The number of the event to begin at; empty for the end.
        find_problems: What is listed as findings.
        say: Prints a line.

    Raises:
        UsageError: The run does not exist, the place is no number, or the port is taken.
        JournalError: The journal cannot be read.
    """
    folder = runs_folder(runs)
    journal = find_journal(run, folder)
    read_header(journal)
    if place and not place.isdecimal():
        raise UsageError(f"--at must be the number of an event for --page, got {place!r}")
    listed = folder if journal.parent.parent == folder else None
    with page_collector():
        return trio.run(_serve, journal, listed, port, f"&at={place}" if place else "", find_problems, say)


def page_collector() -> AbstractContextManager[None]:
    """Return the setting of the garbage collector in a process that does nothing but show a run: a long run is a million objects without
    garbage, and to look through them stands in the way of those who look at the page.
    """
    return calm_collector(_LOOKED_THROUGH, looks_once=True)


async def _serve(journal: Path, runs: Path | None, port: int, place: str, find_problems: FindProblems, say: Say) -> int:
    ladder = Ladder(lambda _: None)
    async with climbing(ladder):
        with ladder.stop_scope:
            async with open_run_page(journal, runs=runs, port=port, find_problems=find_problems) as page:
                say(f"Page: {page.url}{place}")
                say("It only reads the run. Ctrl+C ends it.")
                await trio.sleep_forever()
    return 0
