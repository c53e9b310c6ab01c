"""The pages for those who embed: their programs run as they stand."""

from __future__ import annotations

import asyncio
import json
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
import trio

from tests.docs.programs import ROOT, blocks_of, run_python

pytest_plugins = (
    "pytester",
)  # in a process of its own: one within this process unloads what it was the first to import

PLUGIN = "[pytest]\naddopts = -p greenroom.testing.pytest_plugin -p no:cacheprovider\nfilterwarnings = error\n"


def outputs_of(page: str) -> list[str]:
    """Return what the programs of a page print, as the page shows it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [part.partition("```")[0] for part in text.split("```text\n")[1:]]


def test_actor_programs_print_what_the_page_says(tmp_path: Path) -> None:
    *programs, _ = blocks_of("docs/how-to/actors.md")

    shown = [run_python(program, cwd=tmp_path) for program in programs]

    assert shown == ["2\n", *outputs_of("docs/how-to/actors.md")]


def test_actor_test_of_the_page_passes(pytester: pytest.Pytester) -> None:
    *_, test = blocks_of("docs/how-to/actors.md")
    pytester.makeini(PLUGIN)
    pytester.makepyfile(test_account=test)

    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_asyncio_programs_answer(tmp_path: Path) -> None:
    to_thread, trio_thread, _, guest = blocks_of("docs/how-to/asyncio.md")

    assert run_python(to_thread, cwd=tmp_path) == "Hello.\n"
    assert run_python(trio_thread, cwd=tmp_path) == "Hello.\nGoodbye.\n"
    assert run_python(guest, cwd=tmp_path) == "Hello.\n"


@pytest.fixture
def trio_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to import `trio_thread` from, which the page asks its readers to copy."""
    code = blocks_of("docs/how-to/asyncio.md")[1].replace("asyncio.run(main())\n", "")
    (tmp_path / "trio_thread.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("trio_thread", None)


def test_starlette_application_answers_and_shuts_down(trio_thread: Path) -> None:
    (trio_thread / "app.py").write_text(blocks_of("docs/how-to/asyncio.md")[2], encoding="utf-8")
    app = runpy.run_path(str(trio_thread / "app.py"))["app"]

    async def ask_twice() -> list[bytes]:
        async with app.router.lifespan_context(app):
            return [await request(app, "/ask", text) for text in (b"Hello.", b"Goodbye.")]

    assert asyncio.run(ask_twice()) == [b"You said: Hello.", b"You said: Goodbye."]
    assert len(list((trio_thread / "runs").glob("*/journal.jsonl"))) == 1


async def request(app: object, path: str, body: bytes) -> bytes:
    """Send one request to an ASGI application and return the body of its response."""
    scope = {"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b"", "http_version": "1.1"}
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    await app(scope, receive, send)  # type: ignore[operator]
    assert sent[0]["status"] == 200
    return b"".join(message.get("body", b"") for message in sent)  # type: ignore[misc]


def test_cancelled_call_interrupts_the_turn(trio_thread: Path) -> None:
    (trio_thread / "cancelled.py").write_text(
        "from trio_thread import *\n"
        "from greenroom.models import ScriptStep\n"
        "async def cancelled():\n"
        "    model = gr.ScriptedModel([ScriptStep(answer='late', wait_s=60), 'next'])\n"
        "    async with TrioThread(gr.open_session(model=model, cwd='.')) as agent:\n"
        "        call = asyncio.create_task(agent.call(run, agent.value, 'Wait.'))\n"
        "        async def wait_asked():\n"
        "            while not model.requests:\n"
        "                await trio.sleep(0.01)\n"
        "        await agent.call(wait_asked)\n"
        "        call.cancel()\n"
        "        return await agent.call(run, agent.value, 'Go on.')\n",
        encoding="utf-8",
    )

    cancelled = runpy.run_path(str(trio_thread / "cancelled.py"))["cancelled"]

    assert asyncio.run(cancelled()) == "next"


def test_session_that_cannot_be_opened_raises_in_asyncio(trio_thread: Path) -> None:
    names = runpy.run_path(str(trio_thread / "trio_thread.py"))
    session = names["gr"].open_session(model=names["gr"].ScriptedModel([]), cwd=trio_thread / "missing")

    async def enter() -> None:
        async with names["TrioThread"](session):
            raise AssertionError("it was opened")

    with pytest.raises(names["gr"].UsageError):
        asyncio.run(enter())


@contextmanager
def line_server(code: str, folder: Path) -> Iterator[int]:
    """Run the server of the page until the block is left, then end it by SIGTERM; yields its port."""
    command = [sys.executable, "-W", "error", "-c", code]
    server = subprocess.Popen(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with server:
        yield int(read_line(server.stdout))
        server.send_signal(signal.SIGTERM)
        _, problems = server.communicate(timeout=30)
    assert (server.returncode, problems) == (0, "")


def read_line(output: IO[str] | None) -> str:
    assert output is not None
    return output.readline()


async def talk(port: int, *lines: str) -> list[dict[str, str]]:
    """Send lines to the server and return the answers to all but the first."""
    with trio.fail_after(30):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            received = b""
            for line in lines:
                await stream.send_all(f"{line}\n".encode())
            while received.count(b"\n") < len(lines) - 1:
                received += await stream.receive_some()
    return [json.loads(line) for line in received.splitlines()]


def test_two_sessions_answer_side_by_side(tmp_path: Path) -> None:
    program = blocks_of("docs/how-to/embed-in-a-server.md")[0].replace("/tmp/runs", str(tmp_path / "runs"))

    assert run_python(program, cwd=tmp_path) == "Heard 1. Heard 1.\n"
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_server_resumes_a_users_conversation_after_a_restart(tmp_path: Path) -> None:
    code = blocks_of("docs/how-to/embed-in-a-server.md")[1]

    with line_server(code, tmp_path) as port:
        first = trio.run(talk, port, "ann", "Hello.", "And again.")
    with line_server(code, tmp_path) as port:
        later = trio.run(talk, port, "ann", "I am back.")

    assert first == [{"text": "Heard 1."}, {"text": "Heard 3."}]
    assert later == [{"text": "Heard 5."}]
    assert len(list((tmp_path / "runs").glob("*/journal.jsonl"))) == 1


def test_model_of_the_page_passes_the_conformance_kit(pytester: pytest.Pytester) -> None:
    model, test = blocks_of("docs/how-to/write-a-model.md")
    assert len(model.splitlines()) <= 150
    pytester.makeini(PLUGIN)
    pytester.syspathinsert()
    pytester.makepyfile(my_model=model, test_my_model=test)

    pytester.runpytest_subprocess().assert_outcomes(passed=10)
