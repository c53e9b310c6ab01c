"""The server of the page of a run: its files, its data, and the connection over which columns come.

Rule 1: it only reads, and only runs of the folder that was named. Rule 2: data needs the token of the address; files need none, and hold
nothing of a run. Rule 3: a viewer that is slow gets the newest rows when it takes them; nothing is queued for it.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final, final
from urllib.parse import parse_qs

import trio

from greenroom.core import JournalError
from greenroom.core.ports import Ports
from greenroom.core.texts import as_json
from greenroom.serving import Connection, ConnectionEnded, Endpoint, Request, Resource, Response, Secrets, Upgrade
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
LAST_ROWS_S: Final = 1.0
"""Seconds within which viewers can take the last rows when a page is closed."""
_TOKEN_BYTES: Final = 24
_ALIGNED_BYTES: Final = 8
_REFUSED: Final = 1008
_GOING_AWAY: Final = 1001
_JSON: Final = "application/json; charset=utf-8"


@final
class _Bad(Exception):
    """A request that cannot be answered."""

    def __init__(self, *, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@final
class RunPage:
    """The page of the runs of a folder. Made by `open_run_pages`."""

    def __init__(self, runs: RunList, nursery: trio.Nursery, find_problems: FindProblems) -> None:
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._runs = runs
        self._nursery = nursery
        self._find_problems = find_problems
        self._blocking = Ports().blocking
        self._secrets = Secrets({self.token: True})
        self._open: dict[str, tuple[ShownRun, trio.CancelScope]] = {}
        self._viewers: dict[str, int] = {}
        self._reading: dict[str, int] = {}
        self._problems: dict[str, RunFindings] = {}
        self._is_over = False
        self._has_left = trio.Event()

    @property
    def viewers(self) -> int:
        """Number of connections over which rows are sent."""
        return sum(self._viewers.values())

    def endpoints(self) -> tuple[Endpoint, ...]:
        """Return what a server has to serve. It blocks: the files are read once."""
        answers: dict[str, Callable[[Mapping[str, str]], object]] = {
            "events": lambda said: self._shown(said).events(_number(said, "from"), _number(said, "to")),
        }
        slow = {
            "runs": self._list_runs,
            "findings": self._findings,
            "mailbox": self._mailbox,
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

    async def finish(self) -> None:
        """Send viewers the last rows, and return when they have them or `LAST_ROWS_S` have passed."""
        with trio.move_on_after(LAST_ROWS_S):
            for shown, _ in list(self._open.values()):
                while shown.step():
                    await trio.lowlevel.checkpoint()
            self._is_over = True
            for shown, _ in self._open.values():
                shown.news.set()
            while self.viewers:
                await self._has_left.wait()

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
        idle = [run for run in self._open if not (self._viewers.get(run) or self._reading.get(run))]
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

    async def _mailbox(self, request: Request) -> Response:
        """Answer with the messages in a mailbox at a moment, which are read in a thread."""
        try:
            said = _said(request)
            shown, at = self._shown(said), _number(said, "at")
            with self._held(said["run"]):
                box = await self._blocking.run(shown.mailbox, said.get("actor", ""), at)
        except (_Bad, JournalError) as error:
            return _refused(error)
        return Response(body=as_json(box), content_type=_JSON)

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
        self._reading[run] = self._reading.get(run, 0) + 1
        try:
            yield
        finally:
            self._reading[run] -= 1

    # --- the connection -----------------------------------------------------------------------------------------------------

    async def _serve(self, connection: Connection) -> None:
        """Send the rows of a run as they come: the viewer says which one, and which rows it has."""
        try:
            run, has = _greeting(await connection.receive())
            shown = self._run(run)
        except _Bad as error:
            await connection.close(_REFUSED, error.why)
            return
        self._viewers[run] = self._viewers.get(run, 0) + 1
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_refuse_more, connection, nursery)
                await _send_rows(connection, shown, has, is_over=lambda: self._is_over)
                await connection.close(_GOING_AWAY, "the page is closed")
                nursery.cancel_scope.cancel("the page is closed")
        finally:
            self._viewers[run] -= 1
            self._has_left.set()
            self._has_left = trio.Event()


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


async def _send_rows(
    connection: Connection, shown: ShownRun, has: dict[str, int], *, is_over: Callable[[], bool] = lambda: False
) -> None:
    """Send the rows that a viewer does not have yet, and return when there are none and no further ones will come."""
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
        if is_over():
            return
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
