"""A run of one agent with tools is done again from its record."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom import rerun, tool
from greenroom.core import UsageError
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel
from greenroom.reruns._mapped_folders import FolderMap
from greenroom.session import Fork, Session, open_session
from greenroom.testing import run_virtual, virtual_ports
from tests.reruns.recorded_team import asking, record_agent

pytestmark = pytest.mark.promise("RR-1")


def read_and_say(request: ModelRequest) -> AnswerLike:
    """Read two files at once, look for one that is missing, and say what is in them."""
    if len(request.messages) == 1:
        return [Call("Read", {"file_path": "a.txt"}), Call("Read", {"file_path": "b.txt"})]
    if len(request.messages) == 3:
        return Call("Read", {"file_path": "missing.txt"})
    return f"They say {request.messages[2].content!r} and {request.messages[-1].content[0]!r}."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    (folder / "b.txt").write_text("b\n")
    return record_agent(folder, PlaybookModel({"main": read_and_say}))


def test_results_of_tools_come_from_the_record(run: Path, tmp_path: Path) -> None:
    (tmp_path / "project" / "a.txt").write_text("changed\n")
    (tmp_path / "project" / "b.txt").unlink()

    again = rerun(run, asking("Begin."))

    assert again.difference is None
    assert again.tokens == 0
    events = [(run / "journal.jsonl").read_text().splitlines(), (again.run / "journal.jsonl").read_text().splitlines()]
    assert events[0][1:] == events[1][1:]  # the heads name versions and dates


def test_a_run_is_done_again_in_another_folder(run: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert rerun(run, asking("Begin."), cwd=elsewhere).is_equal


def test_nothing_gets_out_of_a_rerun(run: Path) -> None:
    """No connection, no process, no file written outside the folder of the re-run."""
    seen: list[str] = []
    is_on = [True]

    def audit(event: str, args: tuple[object, ...]) -> None:
        if not is_on[0]:
            return
        if event in {"socket.connect", "subprocess.Popen", "os.fork", "os.posix_spawn", "os.system"}:
            seen.append(event)
        if event == "open" and isinstance(args[2], int) and args[2] & 3:
            path = str(args[0])
            if "/reruns/" not in path and not path.endswith(".pyc") and "__pycache__" not in path:
                seen.append(f"open {path}")

    sys.addaudithook(audit)
    try:
        again = rerun(run, asking("Begin."))
        found = [each for each in seen if each != "open /dev/null"]
        subprocess.run(["true"], check=True)  # the hook does hear of processes
        assert "subprocess.Popen" in seen
    finally:
        is_on[0] = False

    assert again.is_equal
    assert found == []


def test_the_record_is_for_its_owner_alone(run: Path) -> None:
    assert stat.S_IMODE((run / "effects.jsonl").stat().st_mode) == 0o600


def test_another_prompt_is_told_with_its_place(run: Path) -> None:
    difference = rerun(run, asking("Start.")).difference

    assert difference is not None
    assert (difference.what, difference.where) == ("request 1", "messages[0].content[0].text")
    assert (difference.recorded, difference.now) == ("Begin.", "Start.")


def test_more_work_than_recorded_is_a_difference(run: Path) -> None:
    difference = rerun(run, asking("Begin.", "And again.")).difference

    assert difference is not None
    assert (difference.what, difference.cause) == ("request 4", "too many")


def test_less_work_than_recorded_is_a_difference(run: Path) -> None:
    difference = rerun(run, asking()).difference

    assert difference is not None
    assert difference.cause == "too few"


def test_a_call_that_is_not_on_record_is_not_run(run: Path) -> None:
    lines = (run / "effects.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if "missing.txt" not in line]
    (run / "effects.jsonl").write_text("".join(kept))

    difference = rerun(run, asking("Begin.")).difference

    assert difference is not None
    assert difference.cause == "not recorded"
    assert difference.now == {"name": "Read", "input": {"file_path": "missing.txt"}}


def test_a_killed_run_is_equal_up_to_its_end(run: Path) -> None:
    """Wherever the files of the record end, the re-run ends there without a difference."""
    journal = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    head, *model = filter(bytes.strip, (run / "model.jsonl").read_bytes().splitlines(keepends=True))
    for count in range(1, 6):
        (run / "model.jsonl").write_bytes(head + b"".join(model[:count]))
        number = json.loads(model[count - 1])["n"]
        begun = [at for at, line in enumerate(journal) if b'"model.begin"' in line]
        (run / "journal.jsonl").write_bytes(b"".join(journal[: begun[number - 1] + 1]))

        again = rerun(run, asking("Begin."))

        assert (again.difference, again.was_cut) == (None, True)


@pytest.mark.parametrize("name", ["effects.jsonl", "model.jsonl"])
def test_a_run_without_a_record_is_refused(run: Path, name: str) -> None:
    (run / name).unlink()
    with pytest.raises(UsageError, match="record"):
        rerun(run, asking("Begin."))


def test_a_damaged_record_is_refused_with_its_line(run: Path) -> None:
    content = (run / "effects.jsonl").read_text().splitlines()
    (run / "effects.jsonl").write_text("\n".join([*content[:2], "{not json", *content[2:]]))
    with pytest.raises(UsageError, match="line 3: malformed JSON"):
        rerun(run, asking("Begin."))


def test_a_run_whose_journal_names_another_place_is_refused(run: Path, tmp_path: Path) -> None:
    """A run may come from anybody: its id becomes the name of a folder."""
    journal = run / "journal.jsonl"
    journal.write_text(journal.read_text().replace(f'"session":"{run.name}"', '"session":"../../../../elsewhere"'))
    assert "elsewhere" in journal.read_text()
    with pytest.raises(UsageError, match="not the id of a session"):
        rerun(run, asking("Begin."))
    assert not (tmp_path / "elsewhere").exists()
    assert not list(tmp_path.rglob("elsewhere"))


def test_a_run_that_was_resumed_behind_a_torn_line_is_refused_as_resumed(run: Path) -> None:
    content = (run / "effects.jsonl").read_bytes().lstrip()
    head = content.splitlines()[0]
    (run / "effects.jsonl").write_bytes(content + b'{"of": "tool", "ag' + b"\n" + head + b"\n")
    with pytest.raises(UsageError, match="was resumed"):
        rerun(run, asking("Begin."))


def test_a_tool_that_fails_fails_again_in_the_same_words(tmp_path: Path) -> None:
    calls: list[str] = []

    @tool(read_only=True)
    async def weather(place: str) -> str:
        """Tell the weather."""
        calls.append(place)
        raise RuntimeError(f"no weather in {place}")

    def ask(request: ModelRequest) -> AnswerLike:
        return Call("Weather", {"place": "Ulm"}) if len(request.messages) == 1 else "It failed."

    allowed = {"permissions": {"allow": ["Weather"]}}
    run = record_agent(tmp_path, PlaybookModel({"main": ask}), tools=(weather,), settings=allowed)
    assert calls == ["Ulm"]

    assert rerun(run, asking("Begin."), tools=(weather,), settings=allowed).is_equal
    assert calls == ["Ulm"]


def test_a_program_that_ends_with_another_error_is_a_difference(tmp_path: Path) -> None:
    """A run that failed is done again up to the same failure: without one, or with another one, it is not equal."""

    def failing(error: Exception | None) -> Any:
        async def program(session: Session) -> None:
            await session.run("Begin.")
            if error is not None:
                raise error

        return program

    async def record() -> Path:
        with pytest.raises(LookupError):
            async with open_session(
                model=PlaybookModel({"main": lambda _: "Done."}),
                cwd=tmp_path,
                runs=tmp_path / "runs",
                settings={"record": "effects"},
                ports=virtual_ports(),
            ) as session:
                await failing(LookupError("then"))(session)
        return session.run_folder

    run = run_virtual(record).result

    assert rerun(run, failing(LookupError("then"))).is_equal
    for error in (None, LookupError("now")):
        difference = rerun(run, failing(error)).difference
        assert difference is not None
        assert (difference.what, difference.recorded) == ("the end of the program", "LookupError: then")
        assert difference.now == (None if error is None else "LookupError: now")


@pytest.mark.parametrize(
    ("text", "mapped"),
    [
        ("It is /old/run.", "It is /new/run."),
        ("/old/run, /old/run/a.txt", "/new/run, /new/run/a.txt"),
        ("/old/run.bak /old/running /old/run-2", "/old/run.bak /old/running /old/run-2"),
    ],
)
def test_folders_are_mapped_as_whole_names(text: str, mapped: str) -> None:
    folders = FolderMap([("/old/run", "/new/run")])
    assert folders.to_now(text) == mapped
    assert folders.to_recorded(mapped) == text


def test_a_thread_of_the_program_is_waited_for(tmp_path: Path) -> None:
    is_read = threading.Event()

    async def program(session: Session) -> None:
        await session.run("Begin.")
        await trio.to_thread.run_sync(is_read.wait, 5)
        await session.run("And again.")

    async def record() -> Path:
        async with open_session(
            model=PlaybookModel({"main": lambda _: "Done."}),
            cwd=tmp_path,
            runs=tmp_path / "runs",
            settings={"record": "effects"},
            ports=virtual_ports(),
        ) as session:
            is_read.set()
            await program(session)
        return session.run_folder

    run = run_virtual(record).result
    is_read.clear()
    threading.Timer(0.05, is_read.set).start()

    assert rerun(run, program).difference is None


@pytest.mark.parametrize("is_fork", [False, True])
def test_a_run_that_continues_another_is_refused(tmp_path: Path, is_fork: bool) -> None:
    """Whether or not the earlier part was recorded: a re-run has no conversation to continue."""

    async def record(resume: Path | Fork | None, **settings: str) -> Path:
        async with open_session(
            model=PlaybookModel({"main": lambda _: "Done."}),
            cwd=tmp_path,
            runs=tmp_path / "runs",
            settings=settings,
            ports=virtual_ports(seed=int(resume is not None)),
            resume=resume,
        ) as session:
            await session.run("Begin.")
        return session.run_folder

    async def both() -> Path:
        earlier = await record(None)
        return await record(Fork(earlier) if is_fork else earlier, record="effects")

    run = run_virtual(both).result
    with pytest.raises(UsageError, match="was forked" if is_fork else "was resumed"):
        rerun(run, asking("Begin."))
