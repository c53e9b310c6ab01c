"""A page that a program opens: it is closed without a trace wherever it is cut, and what fails in it stays in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.lowlevel
from trio_websocket import ConnectionClosed, wrap_client_stream

import greenroom as gr
from greenroom.core import UsageError
from greenroom.web import OpenedPage, open_page
from greenroom.web._shown_run import ShownRun
from tests.trace.unpacked import Unpacked
from tests.web.plain_requests import get
from tests.web.recorded_run import RECORDED, RUN, make_run


def address_of(page: OpenedPage) -> tuple[int, str]:
    """Return the port and the token."""
    front, _, token = page.url.partition("/#token=")
    return int(front.rpartition(":")[2]), token


async def ask(page: OpenedPage, path: str) -> tuple[int, Any]:
    port, token = address_of(page)
    status, _, body = await get(port, path, f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token}")
    return status, json.loads(body) if body.startswith(b"{") else body


async def test_a_page_beside_a_session_shows_that_run_alone(tmp_path: Path) -> None:
    make_run(tmp_path)
    model = gr.PlaybookModel({"main": lambda _: "Hello."})
    async with (
        gr.open_session(model=model, cwd=tmp_path, runs=tmp_path) as session,
        open_page(session) as page,
    ):
        await session.run("Hello?")
        _, found = await ask(page, "/data/runs")
        status, _ = await ask(page, f"/data/events?run={RUN}")
        before = page.viewers, page.statistics().accepted

    assert [run["run"] for run in found["runs"]] == [session.id]
    assert (status, before) == (404, (0, 2))


def what_is_open() -> tuple[int, int]:
    """Return the number of descriptors and of tasks."""
    return len(list(Path("/proc/self/fd").iterdir())), trio.lowlevel.current_statistics().tasks_living


@pytest.mark.promise("V-left")
async def test_a_page_that_is_cut_at_any_step_leaves_nothing(tmp_path: Path) -> None:
    journal = make_run(tmp_path)
    reached = []
    for steps in range(40):
        before = what_is_open()
        ports: list[int] = []
        async with trio.open_nursery() as nursery:

            async def cut(steps: int = steps, scope: trio.CancelScope = nursery.cancel_scope) -> None:
                for _ in range(steps):
                    await trio.lowlevel.checkpoint()
                scope.cancel()

            nursery.start_soon(cut)
            async with open_page(journal) as page:
                ports.append(address_of(page)[0])
                await ask(page, f"/data/events?run={RUN}&from=0&to=5")
                reached.append(steps)
                await trio.sleep_forever()
        assert what_is_open() == before
        for port in ports:
            with pytest.raises(OSError, match="all attempts"):
                await trio.open_tcp_stream("127.0.0.1", port)

    assert reached
    assert len(reached) < 40


@pytest.mark.promise("V-fails")
async def test_a_page_that_fails_is_logged_and_the_code_around_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: ShownRun) -> bool:
        raise RuntimeError("a fault of the page")

    monkeypatch.setattr(ShownRun, "step", fail)
    async with open_page(make_run(tmp_path)) as page:
        await ask(page, f"/data/events?run={RUN}&from=0&to=5")
        with trio.fail_after(20):
            while not caplog.records:
                await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()

    assert [record.getMessage() for record in caplog.records] == [
        "the page of the run has failed and is closed; the run goes on"
    ]


@pytest.mark.promise("V-ends")
async def test_viewers_get_the_last_rows_before_the_page_is_closed(tmp_path: Path) -> None:
    journal = make_run(tmp_path, RECORDED[:50])
    held, codes = Unpacked(), []

    async def view(page: OpenedPage) -> None:
        port, token = address_of(page)
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream, trio.open_nursery() as nursery:
            link = await wrap_client_stream(
                nursery, stream, f"127.0.0.1:{port}", "/live", subprotocols=["greenroom.page.1", token]
            )
            await link.send_message(json.dumps({"run": RUN, "has": {}}))
            try:
                while True:
                    message = await link.get_message()
                    assert isinstance(message, bytes)
                    length = int.from_bytes(message[:4], "little")
                    held.add(json.loads(message[4 : 4 + length]), message[4 + length :])
            except ConnectionClosed as closed:
                codes.append(closed.reason and closed.reason.code)
            nursery.cancel_scope.cancel()

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            async with open_page(journal) as page:
                nursery.start_soon(view, page)  # noqa: ASYNC111 - the viewer sees the page close
                while not page.viewers:
                    await trio.lowlevel.checkpoint()
                with journal.open("ab") as file:
                    file.write(b"".join(RECORDED[50:]))

    assert [row["seq"] for row in held.rows["events"]] == list(range(1, len(RECORDED)))
    assert codes == [1001]


async def test_what_is_not_a_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_bytes(RECORDED[0])
    async with open_page(tmp_path) as page:
        assert (await ask(page, "/data/runs"))[0] == 200
    with pytest.raises(UsageError, match="is not a run folder"):
        async with open_page(tmp_path / "none"):
            raise AssertionError
