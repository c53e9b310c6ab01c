"""`--page` of the commands that run agents: where the address goes, what viewers see, and that the run is as without them."""

from __future__ import annotations

import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import trio
from trio_websocket import ConnectionClosed, wrap_client_stream

from greenroom.cli import main
from greenroom.testing import ReceivedRequest
from tests.cli.forked import Forked, run_forked
from tests.cli.place import Place, end_of, place
from tests.cli.served import served
from tests.swarm.small_repo import make_small_repo
from tests.trace.unpacked import Unpacked
from tests.web.plain_requests import get

__all__ = ["place"]

VIEWERS: Final = 9


async def read_runs(url: str) -> tuple[int, Any]:
    """Ask the page at an address for its runs."""
    split = urlsplit(url)
    head = (f"Host: {split.netloc}", f"Authorization: Bearer {split.fragment.removeprefix('token=')}")
    status, _, body = await get(split.port or 0, "/data/runs", *head)
    return status, json.loads(body)


async def watch(url: str, run: str, seen: list[tuple[Unpacked, str]]) -> None:
    """Read rows until the page is closed; note them, and the last standing."""
    split, held, standing = urlsplit(url), Unpacked(), ""
    token = split.fragment.removeprefix("token=")
    stream = await trio.open_tcp_stream("127.0.0.1", split.port or 0)
    async with stream, trio.open_nursery() as nursery:
        link = await wrap_client_stream(
            nursery, stream, split.netloc, "/live", subprotocols=["greenroom.page.1", token]
        )
        await link.send_message(json.dumps({"run": run, "has": {}}))
        try:
            while True:
                message = await link.get_message()
                if isinstance(message, bytes):
                    length = int.from_bytes(message[:4], "little")
                    head = json.loads(message[4 : 4 + length])
                    held.add(head, message[4 + length :])
                    standing = head["run"]["standing"]
        except ConnectionClosed as closed:
            seen.append((held, f"{standing} {closed.reason and closed.reason.code}"))
        nursery.cancel_scope.cancel()


async def misbehave(url: str, run: str) -> None:
    """Open connections that are no viewers, and then a viewer that never reads."""
    split = urlsplit(url)
    token = split.fragment.removeprefix("token=")
    head = (
        f"GET /live HTTP/1.1\r\nHost: {split.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        f"Sec-WebSocket-Protocol: greenroom.page.1, {token}\r\n\r\n"
    ).encode()
    greeting = json.dumps({"run": run, "has": {}}).encode()
    frame = bytes((0x81, 0x80 | len(greeting))) + bytes(4) + greeting
    for sent in (b"\xff" * 300, head + b"\xff", head + b"\x88\x80mask\x89\x80mask", b"GET / HTTP/1.1\r\n"):
        stream = await trio.open_tcp_stream("127.0.0.1", split.port or 0)
        await stream.send_all(sent)
        await trio.aclose_forcefully(stream)
    async with await trio.open_tcp_stream("127.0.0.1", split.port or 0) as stream:
        await stream.send_all(head + frame)
        await trio.sleep_forever()


def test_the_address_of_a_run_goes_to_standard_error_and_its_page_goes_with_it(place: Place) -> None:
    is_seen = threading.Event()

    def answer(_: ReceivedRequest) -> str:
        is_seen.wait(30)
        return "It is 42."

    with served(answer) as server, place.started(server.url, "What is it?", "--page") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        url = line.removeprefix("greenroom: note: page: ").strip()
        status, found = trio.run(read_runs, url)
        is_seen.set()
        done = end_of(process)

    assert (status, [run["standing"] for run in found["runs"]], found["named"]) == (
        200,
        ["running"],
        found["runs"][0]["run"],
    )
    assert (done.code, done.out, done.err) == (0, "It is 42.\n", "")
    with pytest.raises(OSError, match=r"refused|failed|all attempts"):
        trio.run(read_runs, url)


@pytest.mark.promise("V-viewer", "V-ends")
def test_a_swarm_with_viewers_reports_as_one_without_and_they_see_its_end(tmp_path: Path) -> None:
    repo = make_small_repo(tmp_path / "small")
    environ = {**os.environ, "GREENROOM_RUNS": str(tmp_path / "plain")}
    plain = run_forked("swarm", str(repo), "--json", environ=environ)
    environ["GREENROOM_RUNS"] = str(tmp_path / "watched")
    seen: list[tuple[Unpacked, str]] = []

    async def look(url: str) -> None:
        _, found = await read_runs(url)
        with trio.fail_after(50):
            async with trio.open_nursery() as others:
                others.start_soon(misbehave, url, found["named"])
                async with trio.open_nursery() as nursery:
                    for _ in range(VIEWERS):
                        nursery.start_soon(watch, url, found["named"], seen)
                others.cancel_scope.cancel()

    with Forked("swarm", str(repo), "--json", "--page", "--latency", "0.02", environ=environ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        with ThreadPoolExecutor(1) as pool:
            looked = pool.submit(trio.run, look, line.removeprefix("greenroom: page: ").strip())
            out, err = process.communicate(timeout=50)
            looked.result()

    (journal,) = (tmp_path / "watched").glob("2*/journal.jsonl")
    (report,) = (tmp_path / "watched").glob("2*/report.md")
    (other,) = (tmp_path / "plain").glob("2*/report.md")
    assert (plain.returncode, process.returncode, err) == (0, 0, "")
    assert "#token" not in out
    assert report.read_bytes() == other.read_bytes()
    assert ending_of(out) == ending_of(plain.stdout)
    count = len(journal.read_bytes().splitlines()) - 1
    assert [(len(held.rows["events"]), standing) for held, standing in seen] == [(count, "ended 1001")] * VIEWERS


def ending_of(out: str) -> dict[str, Any]:
    """Return the last line of a swarm, without what differs between any two runs."""
    ending: dict[str, Any] = json.loads(out.splitlines()[-1])
    for name in ("report", "run_folder", "replay", "duration_s"):
        del ending[name]
    return ending


@pytest.mark.parametrize("command", [["swarm"], ["run", "What is it?", "--model", "playbook"], ["replay"]])
def test_a_port_that_cannot_be_had_is_told_before_anything_begins(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GREENROOM_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)

    assert main([*command, "--port", "8420"]) == 2
    assert "--port needs --page" in capsys.readouterr().err
    assert main([*command, "--page", "--port", "70000"]) == 2
    assert "--port must be between 0 and 65535, got 70000" in capsys.readouterr().err


@pytest.mark.promise("V-port")
def test_a_port_in_use_is_one_line_and_leaves_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GREENROOM_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        code = main(["swarm", "--page", "--port", str(port)])

    assert (code, capsys.readouterr().err.count("\n")) == (2, 1)
    assert list((tmp_path / "runs").glob("2*")) == []
