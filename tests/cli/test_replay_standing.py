"""The state of a run: running, with what it works on; ended; broken off. Also of journals that no session has begun."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from greenroom.actors import ActorBegan, ActorCreated, Behavior, Context, TurnBegan
from greenroom.agents.events import ModelBegan, ModelEnded, ToolBegan
from greenroom.cli import main
from greenroom.core import Event, RuntimeFailed, field_values
from greenroom.core.ports import Ports
from greenroom.session import EVENTS, SessionBegan, SessionEnded
from greenroom.supervisor import ChildSpec, Restart, SupervisorSpec, open_runtime
from greenroom.trace import JOURNAL, Codec, Entry, Header, end_of, has_ended, hold_run, open_journal, read_journal

RUN: Final = "20261120-225103-k3f9qz"
HEADER: Final = Header(run=RUN, greenroom="1.2", python="3.11", trio="0.30", started="2026-11-21T12:00:00+00:00")
AT: Final[dict[str, Any]] = {"inc": 1}
ANN: Final = "a0000000000000001"
BOB: Final = "a0000000000000002"


def new(actor: str, path: str) -> list[Event]:
    told: dict[str, Any] = {"behavior": "B", "supervisor": "x", "descent": "", "journal": "full"}
    return [ActorCreated(actor=actor, **AT, path=path, **told), ActorBegan(actor=actor, **AT)]


OPEN: Final[tuple[tuple[float, Event], ...]] = (
    (0.0, SessionBegan(session="s", model="m", cwd=".")),
    *((0.1, one) for one in (*new(ANN, "team/ann"), *new(BOB, "team/bob"))),
    (0.2, TurnBegan(actor=ANN, **AT, turn=1, msg=1)),
    (0.2, ModelBegan(actor=ANN, **AT, turn=1, round=1, messages=1)),
    (
        0.3,
        ModelEnded(
            actor=ANN,
            **AT,
            turn=1,
            round=1,
            state="completed",
            stop_reason="tool_use",
            error="",
            **dict.fromkeys(
                ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"), 1
            ),
        ),
    ),
    (0.5, ToolBegan(actor=ANN, **AT, turn=1, round=1, call="c1", tool="Crunch", summary="x")),
    (0.6, ToolBegan(actor=ANN, **AT, turn=1, round=1, call="c2", tool="Read", summary="x")),
    (1.0, TurnBegan(actor=BOB, **AT, turn=1, msg=1)),
)


def written(events: Sequence[tuple[float, Event]]) -> bytes:
    codec = Codec(EVENTS)
    lines = [codec.encode((seq, t, type(one), *field_values(one)), 0.0) for seq, (t, one) in enumerate(events, start=1)]
    return codec.encode_header(HEADER) + b"".join(lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / RUN
    made.mkdir()
    (made / JOURNAL).write_bytes(written(OPEN))
    before = time.time() - 8.0
    os.utime(made / JOURNAL, (before, before))
    return made


@pytest.fixture
def running(folder: Path) -> Iterator[Path]:
    with hold_run(folder):
        yield folder


def said(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    main(["replay", "last", "--runs", str(folder.parent), *more])
    return capsys.readouterr().out


def ended_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = [line for line in said(folder, capsys).splitlines() if line.startswith("ended ")]
    return line.removeprefix("ended ").strip()


def test_a_run_that_is_written_is_running_with_its_open_work(running: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ended_line(running, capsys)

    begin, _, rest = line.partition(", last event ")
    idle, _, work = rest.partition(" ago, open: ")
    assert begin == f"not yet: running (pid {os.getpid()})"
    assert 8.0 <= float(idle.removesuffix(" s")) < 30
    names = [part.rpartition(" for ")[0] for part in work.split(", ")]
    assert names == ["team/ann/Crunch", "team/ann/Read", "team/bob/turn"], "innermost only, the longest first"


def test_a_check_of_a_run_that_is_written_says_so(running: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(running, capsys, "--check")

    assert "sound" in text
    assert f"running (pid {os.getpid()}), last event" in text


@pytest.mark.parametrize("more", [(), ("--check",)])
def test_programs_are_told_who_runs_it(
    more: tuple[str, ...], running: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    facts = json.loads(said(running, capsys, "--json", *more))

    assert facts["standing"] == "running"
    assert facts["running"]["pid"] == os.getpid()
    assert [fact["what"] for fact in facts["running"]["open"]] == ["team/ann/Crunch", "team/ann/Read", "team/bob/turn"]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (None, "never: its process ended first (--check lists what was open)"),
        (SessionEnded(state="completed", error=""), "completed"),
        (SessionEnded(state="failed", error="ValueError: x"), "failed ValueError: x"),
        (SessionEnded(state="killed", error=""), "killed"),
    ],
)
def test_ends_and_crashes_are_told_apart(
    last: Event | None, expected: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = OPEN if last is None else (*OPEN, (2.0, last))
    (folder / JOURNAL).write_bytes(written(events))

    assert ended_line(folder, capsys) == expected


def test_a_process_that_hangs_and_is_killed_is_running_and_then_broken_off(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = (
        "import sys, time; from pathlib import Path; from greenroom.trace import hold_run\n"
        "with hold_run(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        running = ended_line(folder, capsys)
    finally:
        child.kill()
        child.communicate()

    assert running.startswith(f"not yet: running (pid {child.pid}), ")
    assert ended_line(folder, capsys).startswith("never: its process ended first")


# --- journals without a session -----------------------------------------------------------------------------------------


class Waits(Behavior[str]):
    """Fails when it is told so, else waits."""

    async def on_message(self, message: str, ctx: Context) -> None:
        if message == "fail":
            raise ValueError(message)
        await trio.sleep(0.05)


def plain(folder: Path, message: str, *, runtimes: int = 1) -> list[Entry]:
    """Run actors without a session in a journal of their own."""

    async def run() -> None:
        ports = Ports()
        async with open_journal(folder, ports=ports) as journal:
            for _ in range(runtimes):
                async with open_runtime(
                    ports=ports, recorder=journal.recorder, spec=SupervisorSpec(intensity=0)
                ) as runtime:
                    await runtime.spawn_supervisor("team")
                    ref = await runtime.spawn(Waits, name="w", spec=ChildSpec(restart=Restart.TRANSIENT))
                    ref.tell(message)
                    await trio.sleep(0.1)

    try:
        trio.run(run)
    except RuntimeFailed:
        assert message == "fail"
    return read_journal(folder / JOURNAL, EVENTS).entries


@pytest.mark.parametrize(("message", "expected"), [("wait", "completed"), ("fail", "failed SupervisorFailed: ")])
def test_a_journal_without_a_session_ends_with_its_runtime(
    message: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain(tmp_path / RUN, message)

    assert ended_line(tmp_path / RUN, capsys).startswith(expected)
    assert "never" not in said(tmp_path / RUN, capsys, "--check")


def test_a_journal_without_a_session_that_is_cut_anywhere_has_no_end(tmp_path: Path) -> None:
    entries = plain(tmp_path / RUN, "wait", runtimes=2)
    roots = [entry.seq for entry in entries if entry.kind == "actor.end" and entry["state"] and is_root(entries, entry)]

    ended = [count for count in range(len(entries) + 1) if has_ended(entries[:count])]

    assert len(roots) == 2
    last = end_of(entries)
    assert last is not None
    assert last.seq == roots[-1]
    gaps = {count for count in ended if entries[count - 1].seq not in roots and entries[count - 1].kind != "actor.gone"}
    assert gaps == set(), "only between two runtimes and after the last"


def is_root(entries: Sequence[Entry], end: Entry) -> bool:
    made = next(entry for entry in entries if entry.kind == "actor.new" and entry.event.actor == end.event.actor)
    return bool(made["supervisor"] == "")
