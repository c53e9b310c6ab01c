"""The server of the page of a run: what it lets in, what it sends, and that it only reads."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream

from greenroom.session import EVENTS, FOLDS
from greenroom.trace import RunIndex, fold, read_journal
from greenroom.web import _run_list, _run_page
from greenroom.web._opened_page import OpenedPage
from greenroom.web._run_page import PROTOCOL
from greenroom.web._shown_run import ShownRun
from tests.trace.unpacked import Unpacked, sections_of
from tests.web.plain_requests import get
from tests.web.recorded_run import RECORDED, RUN, files_in, make_run, open_recorded_page

LINKED: Final = ("20261120-225104-aaaaaa", "20261120-225104-bbbbbb")
"""Names of runs that are links out of the folder: the folder itself, and its journal."""
STRANGE: Final = (
    *LINKED,
    *("..", ".", "../..", "../../etc", f"../{RUN}", f"../runs/{RUN}", f"./{RUN}", f"{RUN}/", f"{RUN}/.", f"{RUN}/../{RUN}"),
    *(f"{RUN}/transcripts", f"{RUN}/journal.jsonl", f"{RUN}\\..", f"..\\{RUN}", "/etc/passwd", "//etc", "~", "C:\\", "file:///etc"),
    *("%2e%2e", "%252e%252e", "..%2f..", f"{RUN}%00", f"%20{RUN}", f"{RUN}%0a", "%ff", "", "last", "*", RUN.upper(), RUN[:-1], f"{RUN}x"),
    *("20261120-225103-000000", "20261120-225103-k3f9q%D1%8F", "x" * 4000),
)  # fmt: skip


def token_of(page: OpenedPage) -> str:
    return page.url.partition("#token=")[2]


def port_of(page: OpenedPage) -> int:
    return urlsplit(page.url).port or 0


async def ask(page: OpenedPage, path: str, *lines: str, token: str | None = None) -> tuple[int, Any]:
    """Return the status of a request for data, and its JSON."""
    said = f"Authorization: Bearer {token_of(page) if token is None else token}"
    head = (f"Host: 127.0.0.1:{port_of(page)}", said, *lines)
    status, _, body = await get(port_of(page), f"/data/{path}", *head)
    return status, json.loads(body) if body.startswith((b"{", b"[")) else None


@asynccontextmanager
async def live(page: OpenedPage) -> AsyncIterator[WebSocketConnection]:
    """Open a connection for columns."""
    stream = await trio.open_tcp_stream("127.0.0.1", port_of(page))
    async with stream, trio.open_nursery() as nursery:
        host = f"127.0.0.1:{port_of(page)}"
        yield await wrap_client_stream(nursery, stream, host, "/live", subprotocols=[PROTOCOL, token_of(page)])
        nursery.cancel_scope.cancel()


async def receive_rows(socket: WebSocketConnection, held: Unpacked) -> dict[str, Any]:
    """Take the next rows, and return what is said of the run."""
    while True:
        message = await socket.get_message()
        if isinstance(message, bytes):
            length = int.from_bytes(message[:4], "little")
            head: dict[str, Any] = json.loads(message[4 : 4 + length])
            held.add(head, message[4 + length :])
            return dict(head["run"])


async def receive_events(socket: WebSocketConnection, held: Unpacked, count: int) -> dict[str, Any]:
    """Take rows until there are as many events."""
    run: dict[str, Any] = {}
    with trio.fail_after(20):
        while len(held.rows.get("events", ())) < count:
            run = await receive_rows(socket, held)
    return run


@pytest.mark.promise("V-rows")
async def test_all_rows_come_over_the_connection_and_are_those_of_the_journal(tmp_path: Path) -> None:
    journal = make_run(tmp_path)
    entries = read_journal(journal, EVENTS).entries
    async with open_recorded_page(journal) as page, live(page) as socket:
        await socket.send_message(json.dumps({"run": RUN, "has": {}}))
        held = Unpacked()
        await receive_events(socket, held, len(entries))

        assert [row["seq"] for row in held.rows["events"]] == [entry.seq for entry in entries]
        assert token_of(page) not in page.url.partition("#")[0]


@pytest.mark.promise("V-rows")
async def test_a_run_that_grows_goes_on_in_the_same_connection_and_another_takes_up_where_it_was_cut(
    tmp_path: Path,
) -> None:
    journal = make_run(tmp_path, RECORDED[:101])
    held = Unpacked()
    async with open_recorded_page(journal) as page:
        async with live(page) as socket:
            await socket.send_message(json.dumps({"run": RUN, "has": {}}))
            await receive_events(socket, held, 100)
            with journal.open("ab") as file:
                file.write(b"".join(RECORDED[101:151]) + RECORDED[151][:20])
            await receive_events(socket, held, 150)
        with journal.open("ab") as file:
            file.write(RECORDED[151][20:] + b"".join(RECORDED[152:]))
        async with live(page) as socket:
            await socket.send_message(json.dumps({"run": RUN, "has": held.has()}))
            await receive_events(socket, held, len(RECORDED) - 1)

    seqs = [row["seq"] for row in held.rows["events"]]
    assert seqs == list(range(1, len(RECORDED)))


async def test_a_run_without_an_end_whose_writer_is_gone_is_told_to_be_broken_off(tmp_path: Path) -> None:
    journal = make_run(tmp_path, RECORDED[:101])
    (journal.parent / "run.lock").touch()
    async with open_recorded_page(journal) as page, live(page) as socket:
        await socket.send_message(json.dumps({"run": RUN, "has": {}}))
        held = Unpacked()
        with trio.fail_after(20):
            while (await receive_rows(socket, held))["standing"] != "broken off":
                pass


@pytest.mark.promise("V-moment")
async def test_data_is_that_of_the_fold_and_of_the_lines(tmp_path: Path) -> None:
    journal = make_run(tmp_path)
    entries = read_journal(journal, EVENTS).entries
    async with open_recorded_page(journal) as page:
        for count in (0, 1, 57, len(entries)):
            while (await ask(page, f"moment?run={RUN}&at={count}"))[1]["seq"] < (
                entries[count - 1].seq if count else 0
            ):
                await trio.lowlevel.checkpoint()
            _, moment = await ask(page, f"moment?run={RUN}&at={count}")
            sections = {name: subjects for name, subjects in moment["sections"].items() if subjects}
            assert sections == sections_of(fold(entries[:count], FOLDS))
        _, events = await ask(page, f"events?run={RUN}&from=3&to=6")
        _, runs = await ask(page, "runs")
        _, found = await ask(page, f"findings?run={RUN}")

    assert [json.dumps(event, separators=(",", ":")) for event in events] == [
        json.dumps(json.loads(line), separators=(",", ":")) for line in RECORDED[4:7]
    ]
    assert [run["run"] for run in runs["runs"]] == [RUN]
    assert {"failed", "restarted"} <= {problem["kind"] for problem in found["problems"]}


@pytest.mark.promise("V-token")
async def test_without_the_right_token_there_is_no_data_and_no_connection(tmp_path: Path) -> None:
    async with open_recorded_page(make_run(tmp_path)) as page:
        right = token_of(page)
        assert len(right) >= 22  # 128 bits
        async with open_recorded_page(tmp_path / RUN / "journal.jsonl") as other:
            assert token_of(other) != right
        for wrong in ("", right[:-1] + ("A" if right[-1] != "A" else "B")):
            for name in ("events", "moment", "mailbox", "talk", "runs", "findings", "search"):
                assert (await ask(page, f"{name}?run={RUN}", token=wrong))[0] == 401
            upgrade = (
                f"Host: 127.0.0.1:{port_of(page)}",
                "Connection: Upgrade",
                "Upgrade: websocket",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                f"Sec-WebSocket-Protocol: {PROTOCOL}, {wrong or 'none'}",
            )
            with trio.fail_after(20):
                assert (await get(port_of(page), "/live", *upgrade))[0] == 403
        assert (await ask(page, f"events?run={RUN}"))[0] == 200
        async with live(page) as socket:
            assert socket.subprotocol == PROTOCOL  # and not the token, which was sent beside it
        with pytest.raises(OSError, match="all attempts"):  # it listens at one address, not at all of this machine
            await trio.open_tcp_stream("127.0.0.2", port_of(page))


@pytest.mark.promise("V-runs")
async def test_only_listed_runs_are_found(tmp_path: Path) -> None:
    assert len(STRANGE) >= 30
    journal = make_run(tmp_path / "runs")
    elsewhere = make_run(tmp_path / "elsewhere")
    (tmp_path / "runs" / LINKED[0]).symlink_to(elsewhere.parent)
    (tmp_path / "runs" / LINKED[1]).mkdir()
    (tmp_path / "runs" / LINKED[1] / elsewhere.name).symlink_to(elsewhere)
    async with open_recorded_page(journal) as page:
        answers = {name: (await ask(page, f"events?run={name}&from=0&to=5"))[0] for name in (RUN, *STRANGE)}
        _, runs = await ask(page, "runs")

    assert answers == {RUN: 200, **dict.fromkeys(STRANGE, 404)}
    assert [row["run"] for row in runs["runs"]] == [RUN]


@pytest.mark.parametrize("first", ["", "x", "[]", "{}", '{"run": 3}', '{"run": "r", "has": {"events": -1}}', "null"])
async def test_a_connection_that_begins_wrong_is_closed_and_the_next_is_served(tmp_path: Path, first: str) -> None:
    async with open_recorded_page(make_run(tmp_path)) as page:
        async with live(page) as socket:
            await socket.send_message(first)
            with trio.fail_after(20), pytest.raises(ConnectionClosed):
                await socket.get_message()
        assert (await ask(page, "runs"))[0] == 200


@pytest.mark.promise("V-reads")
async def test_a_viewer_that_says_more_than_its_greeting_is_closed_and_nothing_is_written(tmp_path: Path) -> None:
    journal = make_run(tmp_path)
    before = files_in(tmp_path)
    async with open_recorded_page(journal) as page:
        async with live(page) as socket:
            await socket.send_message(json.dumps({"run": RUN, "has": {}}))
            await socket.send_message(json.dumps({"kill": "main"}))
            with trio.fail_after(20), pytest.raises(ConnectionClosed):
                while True:
                    await socket.get_message()
        assert (await ask(page, "events?run=" + RUN, "Origin: http://evil.example"))[0] == 403

    assert files_in(tmp_path) == before


async def test_damaged_and_foreign_journals_are_shown_as_far_as_they_are_sound(tmp_path: Path) -> None:
    lines = [*RECORDED[:50], b"{damaged\n", *RECORDED[50:60], RECORDED[60][:30]]
    journal = make_run(tmp_path, lines)
    make_run(tmp_path, [b"not a journal\n"], run="20261120-225104-aaaaaa")
    async with open_recorded_page(journal) as page, live(page) as socket:
        await socket.send_message(json.dumps({"run": RUN, "has": {}}))
        run = await receive_events(socket, Unpacked(), 59)
        _, runs = await ask(page, "runs")
        status, said = await ask(page, "events?run=20261120-225104-aaaaaa")

    assert (run["damaged_lines"], "line 51" in run["damage"]) == (1, True)
    assert [row["run"] for row in runs["runs"]] == [RUN]
    assert (status, "cannot be read" in said["error"]) == (404, True)


async def test_a_run_that_is_removed_or_cut_while_it_is_shown_is_told_and_the_next_request_is_answered(
    tmp_path: Path,
) -> None:
    removed, cut = make_run(tmp_path), make_run(tmp_path, run="20261120-225104-aaaaaa")
    async with open_recorded_page(removed) as page:
        for journal, standing in ((removed, "vanished"), (cut, "replaced")):
            async with live(page) as socket:
                await socket.send_message(json.dumps({"run": journal.parent.name, "has": {}}))
                held = Unpacked()
                await receive_events(socket, held, len(RECORDED) - 1)
                if journal is removed:
                    journal.unlink()
                else:
                    journal.write_bytes(b"".join(RECORDED[:20]))
                with trio.fail_after(20):
                    while (await receive_rows(socket, held))["standing"] != standing:
                        pass
        assert (await ask(page, "runs"))[0] == 200


async def test_all_rows_of_lists_come_if_they_are_more_than_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message holds a part of each table and list; the longest decides when all is sent."""
    monkeypatch.setattr(_run_page, "MAX_ROWS", 50)
    journal = make_run(tmp_path, RECORDED[:101])
    shown = ShownRun(journal)
    while shown.step():
        pass
    assert shown._world.columns is not None
    cards = shown._world.columns.cards
    cards += cards * 30
    sent: list[Any] = []

    async def send(message: bytes | str) -> None:
        assert isinstance(message, bytes)
        length = int.from_bytes(message[:4], "little")
        sent.extend(json.loads(message[4 : 4 + length])["lists"]["cards"]["items"])

    connection: Any = SimpleNamespace(send=send)
    with trio.move_on_after(5):
        await _run_page._send_rows(connection, shown, {}, is_over=lambda: True)
    shown.close()

    assert len(sent) == len(cards) > 101


def test_runs_are_listed_latest_first_and_only_so_many_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_run_list, "MAX_RUNS", 2)
    journals = [make_run(tmp_path, RECORDED[:5], run=f"20261120-22510{number}-aaaaaa") for number in range(4)]
    read: list[str] = []

    def reading(path: Path, events: Any) -> RunIndex:
        read.append(path.parent.name)
        return RunIndex(path, events)

    monkeypatch.setattr(_run_list, "RunIndex", reading)
    rows = _run_list.RunList(journals[3], tmp_path).rows()

    assert [row["run"] for row in rows] == read == [journals[3].parent.name, journals[2].parent.name]


async def test_too_many_fields_are_a_bad_request(tmp_path: Path) -> None:
    async with open_recorded_page(make_run(tmp_path)) as page:
        assert (await ask(page, "events?" + "&".join(f"x{number}=1" for number in range(30))))[0] == 400
