"""The server of the page of a run: its files, its data, and the connection over which columns come.

Rule 1: it only reads, and only runs of the folder that was named. Rule 2: data needs the token of the address; files need none, and hold
nothing of a run. Rule 3: a viewer that is slow gets the newest rows when it takes them; nothing is queued for it.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, final
from urllib.parse import parse_qs

import attrs
import trio

from greenroom.core import JournalError, UsageError, open_bare_nursery
from greenroom.core.ports import Ports
from greenroom.core.texts import as_json
from greenroom.gateway.record import find_journal
from greenroom.serving import (
    Connection,
    ConnectionEnded,
    Endpoint,
    Request,
    Resource,
    Response,
    Secrets,
    Server,
    Tcp,
    Upgrade,
    open_server,
)
from greenroom.terminal import Ladder, climbing
from greenroom.trace import read_header, runs_folder
from greenroom.web._page_files import page_endpoints
from greenroom.web._run_findings import FindProblems, RunFindings
from greenroom.web._run_list import RunList
from greenroom.web._shown_run import ShownRun

PROTOCOL: Final = "greenroom.page.1"
LIVE_PATH: Final = "/live"
DATA_PATH: Final = "/data/"
MAX_VIEWERS: Final = 32
MAX_FRAME_BYTES: Final = 65_536
MAX_ROWS: Final = 8_000
"""Rows of each table in one message."""
MAX_FOUND: Final = 5_000
"""Events that a search lists."""
PACE_S: Final = 0.05
"""Seconds between two messages to a viewer that has all rows."""
ALIVE_S: Final = 15.0
"""Seconds after which a viewer is told that there is nothing new."""
MAX_OPEN_RUNS: Final = 4
_TOKEN_BYTES: Final = 24
_ALIGNED_BYTES: Final = 8
_REFUSED: Final = 1008
_JSON: Final = "application/json; charset=utf-8"

Say = Callable[[str], object]
"""Prints a line."""


@final
class _Bad(Exception):
    """A request that cannot be answered."""

    def __init__(self, *, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@final
class RunPage:
    """The page of the runs of a folder. Made by `open_run_page`."""

    def __init__(self, runs: RunList, nursery: trio.Nursery, find_problems: FindProblems) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._runs = runs
        self._nursery = nursery
        self._find_problems = find_problems
        self._blocking = Ports().blocking
        self._secrets = Secrets({self.token: True})
        self._open: dict[str, tuple[ShownRun, trio.CancelScope]] = {}
        self._viewers: dict[str, int] = {}
        self._problems: dict[str, RunFindings] = {}

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return what a server has to serve. It blocks: the files are read once."""
        answers: dict[str, Callable[[Mapping[str, str]], object]] = {
            "events": lambda said: self._shown(said).events(_number(said, "from"), _number(said, "to")),
            "mailbox": lambda said: self._shown(said).mailbox(said.get("actor", ""), _number(said, "at")),
        }
        slow = {
            "runs": self._list_runs,
            "findings": self._findings,
            "search": self._search,
            "moment": self._moment,
            "talk": self._talk,
        }
        judge = self._secrets.find
        return (
            *page_endpoints("run"),
            *(
                Resource(path=DATA_PATH + name, answer=partial(self._answer, answer), judge=judge)
                for name, answer in answers.items()
            ),
            *(Resource(path=DATA_PATH + name, answer=answer, judge=judge) for name, answer in slow.items()),
            Upgrade(
                path=LIVE_PATH,
                serve=self._serve,
                judge=judge,
                protocol=PROTOCOL,
                has_credential_in_head=True,
                max_bytes=MAX_FRAME_BYTES,
                max_proven=MAX_VIEWERS,
            ),
        )

    def close(self) -> None:
        """Close the files of all runs."""
        for shown, scope in self._open.values():
            scope.cancel("the page is closed")
            shown.close()
        self._open.clear()

    # --- runs ---------------------------------------------------------------------------------------------------------------

    def _shown(self, said: Mapping[str, str]) -> ShownRun:
        return self._run(said.get("run", ""))

    def _run(self, run: str) -> ShownRun:
        found = self._open.get(run)
        if found is not None:
            return found[0]
        journal = self._runs.find(run)
        if journal is None:
            raise _Bad(status=404, why="no such run")
        try:
            shown = ShownRun(journal)
        except JournalError as error:
            raise _Bad(status=404, why=f"the run cannot be read: {error.why}") from None
        self._forget_others()
        scope = trio.CancelScope()
        self._open[run] = shown, scope
        self._nursery.start_soon(_read_on, shown, scope, name=f"reading of run {run}")
        return shown

    def _forget_others(self) -> None:
        """Close the run that was opened first of those that nobody looks at, where there are too many."""
        idle = [run for run in self._open if not self._viewers.get(run)]
        if len(self._open) >= MAX_OPEN_RUNS and idle:
            shown, scope = self._open.pop(idle[0])
            scope.cancel("nobody looks at it")
            shown.close()

    # --- requests -----------------------------------------------------------------------------------------------------------

    async def _answer(self, answer: Callable[[Mapping[str, str]], object], request: Request) -> Response:
        await trio.lowlevel.checkpoint()
        try:
            return Response(body=as_json(answer(_said(request))), content_type=_JSON)
        except (_Bad, JournalError) as error:
            return _refused(error)

    async def _list_runs(self, _: Request) -> Response:
        """Answer with the runs of the folder; they are read in a thread."""
        rows = await self._blocking.run(self._runs.rows)
        return Response(body=as_json({"runs": rows, "named": self._runs.named}), content_type=_JSON)

    async def _findings(self, request: Request) -> Response:
        """Answer with the problems of a run."""
        try:
            run = _said(request).get("run", "")
            shown = self._run(run)
            if run not in self._problems:
                self._problems[run] = RunFindings(shown.journal, self._find_problems, self._blocking)
            with self._held(run):
                body = await self._problems[run].look(shown.index)
        except (_Bad, JournalError) as error:
            return _refused(error)
        return Response(body=body, content_type=_JSON)

    async def _search(self, request: Request) -> Response:
        """Answer with the positions of the events whose lines hold all words, at most `MAX_FOUND` of them; they are read in a thread."""
        try:
            said = _said(request)
            words = [word.lower() for word in said.get("words", "").split()]
            index = self._shown(said).index
            with self._held(said["run"]):
                found = await self._blocking.run(index.find_words, words, most=MAX_FOUND)
        except (_Bad, JournalError) as error:
            return _refused(error)
        return Response(body=as_json({"found": found}), content_type=_JSON)

    async def _moment(self, request: Request) -> Response:
        """Answer with the state at a moment."""
        try:
            said = _said(request)
            shown = self._shown(said)
            with self._held(said["run"]):
                state = await shown.moment(_number(said, "at"), said.get("actor", ""))
        except (_Bad, JournalError) as error:
            return _refused(error)
        return Response(body=as_json(state), content_type=_JSON)

    async def _talk(self, request: Request) -> Response:
        """Answer with lines of a conversation, which is read in a thread."""
        try:
            said = _said(request)
            begin = _number(said, "from") if "from" in said else None
            shown, at_s = self._shown(said), _seconds(said, "t")
            with self._held(said["run"]):
                async with shown.lock:
                    talk = await self._blocking.run(shown.talk, said.get("actor", ""), begin, at_s)
        except (_Bad, JournalError) as error:
            return _refused(error)
        return Response(body=as_json(talk), content_type=_JSON)

    @contextmanager
    def _held(self, run: str) -> Iterator[None]:
        """Keep the files of a run open while it is read."""
        self._viewers[run] = self._viewers.get(run, 0) + 1
        try:
            yield
        finally:
            self._viewers[run] -= 1

    # --- the connection -----------------------------------------------------------------------------------------------------

    async def _serve(self, connection: Connection) -> None:
        """Send the rows of a run as they come: the viewer says which one, and which rows it has."""
        try:
            run, has = _greeting(await connection.receive())
            shown = self._run(run)
        except _Bad as error:
            await connection.close(_REFUSED, error.why)
            return
        with self._held(run):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_refuse_more, connection, nursery)
                await _send_rows(connection, shown, has)


async def _read_on(shown: ShownRun, scope: trio.CancelScope) -> None:
    with scope:
        await shown.read_on()


async def _refuse_more(connection: Connection, nursery: trio.Nursery) -> None:
    """End a connection that says more than its greeting, or is over."""
    try:
        await connection.receive()
        await connection.close(_REFUSED, "this page only reads")
    except ConnectionEnded:
        pass
    nursery.cancel_scope.cancel("the viewer is gone")


async def _send_rows(connection: Connection, shown: ShownRun, has: dict[str, int]) -> None:
    sent: object = None
    while True:
        news = shown.news
        head, body = shown.pack(has, max_rows=MAX_ROWS)
        facts = shown.facts()
        if body or facts != sent or any(part["items"] for part in head["lists"].values()):
            sent = facts
            text = as_json({**head, "run": facts})
            text += b" " * (-(len(text) + 4) % _ALIGNED_BYTES)
            await connection.send(len(text).to_bytes(4, "little") + text + body)
            for name, part in (*head["tables"].items(), *head["lists"].items()):
                has[name] = part["from"] + (part["rows"] if "rows" in part else len(part["items"]))
            if has == shown.rows():
                await trio.sleep(PACE_S)  # what comes meanwhile goes together
            continue
        with trio.move_on_after(ALIVE_S) as limit:
            await news.wait()
        if limit.cancelled_caught:
            await connection.send("{}")


def _greeting(message: str | bytes) -> tuple[str, dict[str, int]]:
    try:
        said = json.loads(message)
        run, has = said["run"], said.get("has", {})
        if isinstance(run, str) and all(isinstance(rows, int) and rows >= 0 for rows in has.values()):
            return run, dict(has)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise _Bad(status=400, why="the first message must be a JSON object with run and has")


def _said(request: Request) -> dict[str, str]:
    try:
        return {name: values[0] for name, values in parse_qs(request.query, max_num_fields=20).items()}
    except ValueError as error:
        raise _Bad(status=400, why=f"the query of the address is invalid: {error}") from None


def _number(said: Mapping[str, str], name: str) -> int:
    try:
        return int(said.get(name, "0")[:20])
    except ValueError:
        raise _Bad(status=400, why=f"{name} must be a number") from None


def _seconds(said: Mapping[str, str], name: str) -> float:
    try:
        number = float(said.get(name, "0"))
    except ValueError:
        number = math.nan
    if not -1e9 <= number <= 1e9:
        raise _Bad(status=400, why=f"{name} must be a number of seconds")
    return number


def _refused(error: _Bad | JournalError) -> Response:
    status, why = (error.status, error.why) if isinstance(error, _Bad) else (404, error.why)
    return Response(status=status, body=as_json({"error": why}), content_type=_JSON)


@final
@attrs.frozen(kw_only=True)
class OpenedPage:
    """A page that is served."""

    url: str
    """Its address, with the token behind `#`."""
    server: Server


@asynccontextmanager
async def open_run_page(
    journal: Path, *, runs: Path | None, port: int = 0, find_problems: FindProblems
) -> AsyncIterator[OpenedPage]:
    """Serve the page of a run until the block is left.

    Args:
        journal: The journal of the run.
        runs: The folder whose runs are listed; None for this run alone.
        port: The port; 0 for any free one.
        find_problems: What is listed as findings.

    Raises:
        UsageError: The port cannot be listened at.
    """
    async with open_bare_nursery() as nursery:
        listed = RunList(journal, runs)
        page = RunPage(listed, nursery, find_problems)
        try:
            async with open_server(page.endpoints(), listen=[Tcp(port=port)]) as server:
                yield OpenedPage(url=f"{server.addresses[0]}/#token={page.token}", server=server)
        finally:
            page.close()
            nursery.cancel_scope.cancel("the page is closed")


# --- the program --------------------------------------------------------------------------------------------------------


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
    return trio.run(_serve, journal, listed, port, f"&at={place}" if place else "", find_problems, say)


async def _serve(journal: Path, runs: Path | None, port: int, place: str, find_problems: FindProblems, say: Say) -> int:
    ladder = Ladder(lambda _: None)
    async with climbing(ladder):
        with ladder.stop_scope:
            async with open_run_page(journal, runs=runs, port=port, find_problems=find_problems) as page:
                say(f"Page: {page.url}{place}")
                say("It only reads the run. Ctrl+C ends it.")
                await trio.sleep_forever()
    return 0
