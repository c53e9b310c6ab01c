"""The command `greenroom replay`, as a person or a program at the command line sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from greenroom.actors import Behavior, Context
from greenroom.agents.events import AgentDefined, ModelBegan, ModelEnded, ToolBegan, ToolEnded
from greenroom.cli import main
from greenroom.session import EVENTS, SessionBegan, SessionEnded
from greenroom.supervisor import ChildSpec, Restart, Runtime
from greenroom.teams import ItemCreated
from greenroom.trace import JOURNAL, RECENT, Journal
from tests.trace.disks import MemoryDisk
from tests.trace.scenarios import FOLDER, Worker, run_journal, together, work

RUN: Final = "20261120-225103-k3f9qz"
OTHER: Final = "20261121-225103-k3f9qz"


def write_run(runs: Path, name: str, content: bytes) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    (folder / JOURNAL).write_bytes(content)
    return folder


def written(scenario: Any, seed: int = 1) -> bytes:
    async def run(runtime: Any, _: Any) -> None:
        await scenario(runtime)

    disk = MemoryDisk()
    run_journal(run, disk, seed=seed)
    return disk.files[FOLDER / JOURNAL]


@pytest.fixture(scope="module")
def journal() -> bytes:
    return written(work)


@pytest.fixture
def runs(tmp_path: Path, journal: bytes) -> Path:
    write_run(tmp_path, RUN, journal)
    return tmp_path


class Replay:
    """Calls the command and keeps what it printed."""

    def __init__(self, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.runs = runs
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str]:
        code = main(["replay", *arguments, "--runs", str(self.runs)])
        printed = self.capsys.readouterr()
        self.error = printed.err
        return code, printed.out

    def json(self, *arguments: str) -> tuple[int, Any]:
        code, text = self(*arguments, "--json")
        return code, json.loads(text)


@pytest.fixture
def replay(runs: Path, capsys: pytest.CaptureFixture[str]) -> Replay:
    return Replay(runs, capsys)


def seq_of(journal: bytes, kind: str, nth: int = 0) -> int:
    lines = [json.loads(line) for line in journal.splitlines()[1:]]
    found: int = [line["seq"] for line in lines if line["ev"] == kind][nth]
    return found


# --- summary and transitions ------------------------------------------------------------------------------------------


def test_the_last_run_is_summed_up(replay: Replay) -> None:
    code, text = replay()

    assert code == 0
    assert RUN in text
    for word in ("5: 4 completed, 1 killed", "restarts  2", "turns", "median", "dead", "--actor GLOB narrows"):
        assert word in text, word


def test_the_summary_is_readable_at_80_columns(replay: Replay) -> None:
    _, text = replay()
    head, _, table, figures, _ = text.split("\n\n")
    assert all(len(line) <= 80 for line in [*head.splitlines(), *figures.splitlines()] if not line.startswith("file "))
    # A row begins with number, time and actor; its details may be cut by a terminal.
    assert all(line[:6].strip().isdigit() for line in table.splitlines()[1:])


def test_an_actor_is_shown_with_its_mail(replay: Replay) -> None:
    code, text = replay(RUN, "--actor", "watch*")

    assert code == 0
    assert "message.leased" in text
    assert " worker " not in text.partition("\n\n")[2].replace("(worker", "")


def test_the_summary_as_json(replay: Replay, journal: bytes) -> None:
    code, facts = replay.json()

    assert code == 0
    assert facts["run"] == "run"
    assert facts["events"] == journal.count(b"\n") - 1
    assert (facts["end"]["state"], facts["end"]["error"]) == ("completed", "")
    assert facts["spans"]["turn"]["outcomes"]["killed"] == 2
    assert facts["transitions"][0]["ev"] == "actor.new"


def test_a_torn_tail_is_told(replay: Replay, runs: Path, journal: bytes) -> None:
    write_run(runs, OTHER, journal[:-5])
    code, text = replay()
    assert code == 0
    assert "torn" in text


# --- a whole session ---------------------------------------------------------------------------------------------------


async def _agent_at_work(runtime: Runtime, journal: Journal) -> None:
    """Put on record what a session with one agent does."""
    emit = journal.recorder.emit
    emit(SessionBegan(session=RUN, model="playbook", cwd="."))
    agent = await runtime.spawn(Worker, name="main\x1b[2J")
    about: dict[str, Any] = {"actor": agent.id, "inc": 1, "turn": 1, "round": 1}
    emit(AgentDefined(actor=agent.id, inc=1, definition="lead", model="playbook", transcript=""))
    emit(ModelBegan(**about, messages=1))
    await trio.sleep(0.25)
    usage: dict[str, Any] = {"input_tokens": 1_000, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 34}
    emit(ModelEnded(**about, **usage, state="completed", stop_reason="tool_use", output_tokens=56, error=""))
    for call, state in (("one", "completed"), ("two", "failed")):
        emit(ToolBegan(**about, call=call, tool="Read", summary="README.md"))
        await trio.sleep(130)
        emit(ToolEnded(**about, call=call, tool="Read", state=state, output_chars=5, error=""))
    emit(ToolBegan(**about, call="three", tool="Grep", summary="TODO"))
    emit(ItemCreated(actor=agent.id, inc=1, item="1", subject="Read it", description="x" * 200, by="lead"))


def session_journal(*, has_end: bool) -> bytes:
    disk = MemoryDisk()

    async def session(runtime: Runtime, journal: Journal) -> None:
        await _agent_at_work(runtime, journal)
        if has_end:
            journal.recorder.emit(SessionEnded(state="failed", error="ValueError: boom"))

    return run_journal(session, disk, catalog=EVENTS)


def test_requests_calls_and_tokens_are_summed_up(replay: Replay, runs: Path) -> None:
    write_run(runs, OTHER, session_journal(has_end=True))

    _, text = replay()

    for line in (
        "ended     failed ValueError: boom",
        "requests  1: 1 completed; median 250 ms, longest 250 ms",
        "calls     2: 1 completed, 1 failed; median 2 min 10 s, longest 2 min 10 s",
        "tokens    1,234 in, 56 out; not billed, as fixed rules did the work",
    ):
        assert line in text.splitlines(), text
    assert "\x1b" not in text


def test_a_moment_shows_what_other_folders_keep(replay: Replay, runs: Path, journal: bytes) -> None:
    content = session_journal(has_end=True)
    write_run(runs, OTHER, content)

    _, text = replay("last", "--at", str(seq_of(content, "item.created")))
    _, narrowed = replay("last", "--at", str(seq_of(content, "item.created")), "--actor", "(root)")

    assert "doing Grep TODO" in text
    assert "subject Read it" in text
    assert "agents:" not in narrowed


def test_a_call_without_an_end_is_a_violation_once_its_session_has_ended(replay: Replay, runs: Path) -> None:
    write_run(runs, OTHER, session_journal(has_end=True))
    code, text = replay("--check")
    assert code == 1
    assert "tool.begin" in text


def test_a_run_that_went_on_in_another_process_says_so(replay: Replay, runs: Path) -> None:
    first = session_journal(has_end=False).splitlines(keepends=True)
    lines = [json.loads(line) for line in session_journal(has_end=True).splitlines()[1:]]
    cut = len(first) // 2
    later = [{**line, "seq": line["seq"] + cut - 1} for line in lines if line["ev"].startswith("session.")]
    later = [{**line, "seq": cut + place} for place, line in enumerate(later)]
    write_run(runs, OTHER, b"".join(first[:cut]) + "".join(json.dumps(line) + "\n" for line in later).encode())

    _, text = replay()
    code, _ = replay("--check")

    assert "again     opened 1 more time" in text
    assert "lost" in text
    assert code == 0


# --- one moment -------------------------------------------------------------------------------------------------------


def test_a_moment_shows_the_tree_with_open_turns_and_mail(replay: Replay, journal: bytes) -> None:
    seq = seq_of(journal, "turn.abort_requested")

    code, text = replay(RUN, "--at", str(seq))

    assert code == 0
    [worker] = [line for line in text.splitlines() if line.startswith("  worker")]
    assert "running" in worker
    assert "being aborted" in worker
    assert "waiting, 1 leased" in worker
    assert "\n(root)" in text


def test_a_moment_may_be_narrowed_to_an_actor_and_those_above(replay: Replay, journal: bytes) -> None:
    _, text = replay(RUN, "--at", str(seq_of(journal, "turn.abort_requested")), "--actor", "quiet")
    assert "(root)" in text
    assert "  quiet" in text
    assert "  watcher" not in text


def test_every_moment_can_be_shown(replay: Replay, journal: bytes) -> None:
    for seq in range(1, journal.count(b"\n")):
        code, facts = replay.json(RUN, "--at", str(seq))
        assert (code, facts["seq"], facts["faults"]) == (0, seq, [])


def test_at_the_end_all_are_gone(replay: Replay, journal: bytes) -> None:
    _, text = replay(RUN, "--at", str(journal.count(b"\n") - 1))
    assert "gone: (root), worker" in text


# --- check ------------------------------------------------------------------------------------------------------------


def test_a_sound_run_passes_and_says_what_was_not_checked(replay: Replay) -> None:
    code, brief = replay("--check")
    _, text = replay("--check", "--verbose")

    assert code == 0
    assert text.startswith("sound")
    assert text.startswith(brief)
    assert "not checked" not in brief
    assert "not checked for 3 of 5 actors" in text
    assert "open" not in text, "it ended, though no session did"


def test_an_unsound_run_names_the_first_offending_event(replay: Replay, runs: Path, journal: bytes) -> None:
    lines = journal.splitlines(keepends=True)
    twin = next(place for place, line in enumerate(lines) if b'"turn.end"' in line)
    write_run(runs, OTHER, b"".join([*lines[:twin], lines[twin], *lines[twin:]]))

    code, text = replay("--check")
    _, facts = replay.json("--check")

    assert code == 1
    seq = json.loads(lines[twin])["seq"]
    assert f"the first at event {seq}" in text
    assert "I-2" in text
    assert facts["violations"][0]["seq"] == seq


def test_what_was_open_when_the_process_ended_is_listed_and_no_violation(
    replay: Replay, runs: Path, journal: bytes
) -> None:
    lines = journal.splitlines(keepends=True)
    cut = seq_of(journal, "turn.abort_requested") + 1
    write_run(runs, OTHER, b"".join(lines[:cut]) + lines[cut][:10])

    code, text = replay("--check")

    assert code == 0
    assert "worker turn.begin 2" in text
    assert "torn: 10 bytes" in text


# --- diff -------------------------------------------------------------------------------------------------------------


def test_a_run_with_other_ids_is_the_same(replay: Replay, runs: Path) -> None:
    write_run(runs, OTHER, written(work, seed=5))
    assert replay(RUN, "--diff", "last")[0] == 0
    assert replay.json(RUN, "--diff", OTHER) == (
        0,
        {"left": "run", "right": "run", "is_same": True, "divergence": None},
    )


def test_another_run_differs_and_the_first_divergence_is_shown(replay: Replay, runs: Path) -> None:
    write_run(runs, OTHER, written(together))

    code, text = replay(RUN, "--diff", OTHER)

    assert code == 1
    assert "the first divergence" in text
    assert [line for line in text.splitlines() if line.startswith("- actor.new")]


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["--at", "0"],
        ["--at", "100000"],
        ["--at", "soon"],
        ["--actor", "nobody"],
        ["--check", "--diff", RUN],
        ["--check", "--actor", "worker"],
        ["--diff", "nothing"],
        ["--unknown"],
    ],
)
def test_a_mistake_is_one_line_and_exit_2(arguments: list[str], replay: Replay) -> None:
    code, text = replay(*arguments)
    assert (code, text) == (2, "")
    assert replay.error.startswith("greenroom: ")
    assert replay.error.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"hello\n", b"{}\n", b"\x00\xff\n", bytes(10_000)])
@pytest.mark.parametrize("options", [[], ["--check"], ["--json"], ["--diff", RUN]])
def test_a_foreign_file_is_one_line_and_exit_2(
    content: bytes, options: list[str], replay: Replay, tmp_path: Path
) -> None:
    place = tmp_path / "foreign.bin"
    place.write_bytes(content)
    code, text = replay(str(place), *options)
    assert (code, text) == (2, "")
    assert replay.error.count("\n") == 1


def test_a_damaged_journal_names_the_line(replay: Replay, runs: Path, journal: bytes) -> None:
    lines = journal.splitlines(keepends=True)
    write_run(runs, OTHER, b"".join([*lines[:4], b"garbage\n", *lines[5:]]))
    assert replay()[0] == 2
    assert "line 5" in replay.error


# --- the recent past --------------------------------------------------------------------------------------------------


class Plain(Behavior[str]):
    """Has a journal of its life, and none of its turns."""

    def on_message(self, message: str, ctx: Context) -> None:
        if message == "boom":
            raise ValueError("boom")


async def fail(runtime: Runtime) -> None:
    other = await runtime.spawn(Plain, name="other")
    plain = await runtime.spawn(Plain, name="plain", spec=ChildSpec(restart=Restart.TEMPORARY))
    other.tell("seen")
    for message in ("one", "two", "boom"):
        plain.tell(message)
    await plain.wait_ended()


@pytest.fixture
def failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Replay:
    async def run(runtime: Any, _: Any) -> None:
        await fail(runtime)

    disk = MemoryDisk()
    run_journal(run, disk)
    folder = write_run(tmp_path, RUN, disk.files[FOLDER / JOURNAL])
    (folder / RECENT).write_bytes(disk.files[FOLDER / RECENT])
    return Replay(tmp_path, capsys)


def test_what_happened_around_a_failure_is_shown(failed: Replay) -> None:
    code, text = failed("--recent")

    assert code == 0
    first, *rows = text.splitlines()
    assert first.startswith("around event ")
    assert "actor.end of plain" in first
    assert "ValueError" in first
    assert [row.split()[2:4] for row in rows if "turn.noted" in row] == [["other", "turn.noted"]] + [
        ["plain", "turn.noted"]
    ] * 3


def test_the_recent_past_can_be_narrowed_and_read_by_programs(failed: Replay) -> None:
    code, found = failed.json("--recent", "--actor", "other")

    assert code == 0
    (moment,) = found["moments"]
    assert moment["why"] == "actor.end"
    assert [entry["ev"] for entry in moment["recent"]] == ["turn.noted"]
    _, nothing = failed("--recent", "--at", "1")
    assert nothing.startswith("nothing was kept")


def test_a_run_without_failures_has_no_recent_past_on_disk(replay: Replay) -> None:
    code, text = replay("--recent")

    assert (code, text) == (
        0,
        "nothing was kept: nothing failed, or the journal has all there is to know of what did\n",
    )


def test_the_recent_past_is_one_question_among_others(replay: Replay) -> None:
    code, _ = replay("--recent", "--check")

    assert code == 2
    assert "2 questions" in replay.error
