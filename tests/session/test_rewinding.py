"""Setting files back to how they were when a message of the user's arrived."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import Appended
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import UsageError, event_of
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, ScriptedModel, ToolResultBlock
from greenroom.session import FilesRewound, Fork, Session, open_session
from greenroom.store._transcript_reader import read_transcript
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.tools.checkpoints.kept import FillingDisk

ON = {"fileCheckpointingEnabled": True}
SEEDS = count()
"""No two processes of one run have the same ids."""


def write(name: str, content: str) -> Call:
    return Call("Write", {"file_path": name, "content": content})


def edit(name: str, old: str, new: str) -> list[Call]:
    return [Call("Read", {"file_path": name}), Call("Edit", {"file_path": name, "old_string": old, "new_string": new})]


def lines_said(session: Session) -> list[str]:
    """The uuids of what the user said, in order."""
    lines = read_transcript(session.run_folder / "transcripts" / "main.jsonl")
    return [
        line["uuid"] for line in lines if line["type"] == "user" and line["message"]["content"][0]["type"] == "text"
    ]


def opened(tmp_path: Path, script: list[Any], *, settings: Mapping[str, Any] = ON, **more: Any) -> Any:
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    return open_session(
        model=ScriptedModel(script),
        cwd=folder,
        runs=tmp_path / "runs",
        tools=STANDARD_TOOLS,
        permission_mode="bypassPermissions",
        settings=settings,
        **{"ports": virtual_ports(next(SEEDS)), **more},
    )


async def test_files_go_back_to_any_message_and_forth_again(tmp_path: Path, autojump_clock: MockClock) -> None:
    script = [*edit("a.txt", "one", "two"), write("new.txt", "n\n"), "1", *edit("a.txt", "two", "three"), "2"]
    async with opened(tmp_path, script) as session:
        folder = session.files.cwd
        (folder / "a.txt").write_text("one\nsame\n", encoding="utf-8")
        (folder / "a.txt").chmod(0o640)
        await session.run("First.")
        await session.run("Second.", message_id="second")
        first, second = lines_said(session)
        tried = await session.files.rewind(second, dry_run=True)
        assert (folder / "a.txt").read_text(encoding="utf-8") == "three\nsame\n"
        done = await session.files.rewind("second")
        assert (folder / "a.txt").read_text(encoding="utf-8") == "two\nsame\n"
        assert (folder / "new.txt").exists()
        assert tried == done
        back = await session.files.rewind(first)
        assert (folder / "a.txt").read_text(encoding="utf-8") == "one\nsame\n"
        assert (folder / "a.txt").stat().st_mode & 0o777 == 0o640
        assert not (folder / "new.txt").exists()
        await session.files.rewind(second)
        assert (folder / "a.txt").read_text(encoding="utf-8") == "two\nsame\n"
        assert (folder / "new.txt").read_text(encoding="utf-8") == "n\n"
        events = [event_of(record) for record in session.runtime.recorder.latest() if record[2] is FilesRewound]

    assert (done.files, done.insertions, done.deletions) == ((folder / "a.txt",), 1, 1)
    assert (back.restored, back.removed) == ((folder / "a.txt",), (folder / "new.txt",))
    assert (back.insertions, back.deletions, back.changed_elsewhere, back.error) == (1, 2, (), "")
    assert [(event.message, event.restored, event.removed) for event in events if isinstance(event, FilesRewound)] == [
        ("second", 1, 0),
        (first, 1, 1),
        (second, 2, 0),
    ]


async def test_files_go_back_after_a_restart(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, [write("a.txt", "1\n"), "1"]) as first:
        await first.run("First.", message_id="m1")
        await first.wait_quiet()
    async with opened(tmp_path, [*edit("a.txt", "1", "2"), "2"], resume="last", settings={}) as second:
        await second.run("Second.", message_id="m2")
    async with opened(tmp_path, [], resume="last", settings={}) as third:
        await third.files.rewind("m2")
        assert (third.files.cwd / "a.txt").read_text(encoding="utf-8") == "1\n"
        await third.files.rewind(lines_said(third)[0])
        assert not (third.files.cwd / "a.txt").exists()
    async with opened(tmp_path, [], resume="last", settings={"fileCheckpointingEnabled": False}) as fourth:
        with pytest.raises(UsageError, match="not enabled"):
            await fourth.files.rewind("m2")
    async with opened(tmp_path, [], resume=Fork("last"), settings=ON) as forked:
        with pytest.raises(UsageError, match="No file checkpoint found for message 'm2'"):
            await forked.files.rewind("m2")


async def test_nothing_is_kept_unless_it_is_wanted(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, [write("a.txt", "1\n"), "1"], settings={}) as session:
        await session.run("First.", message_id="m1")
        with pytest.raises(UsageError, match="set fileCheckpointingEnabled"):
            await session.files.rewind("m1")
        assert not (session.run_folder / "files").exists()


@pytest.mark.parametrize("message", ["", "m2", "../m1"])
async def test_a_message_that_there_is_not_is_one_line(tmp_path: Path, autojump_clock: MockClock, message: str) -> None:
    async with opened(tmp_path, [write("a.txt", "1\n"), "1"]) as session:
        await session.run("First.", message_id="m1")
        with pytest.raises(UsageError, match="No file checkpoint found") as caught:
            await session.files.rewind(message)
        assert (session.files.cwd / "a.txt").exists()
    assert "\n" not in str(caught.value)


async def test_edits_of_sub_agents_count_to_the_message_during_which_they_happen(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """One works in the background while the user says something else: its later edits are the second message's."""
    go_on = trio.Event()

    @tool(name="Wait")
    async def wait() -> str:
        """Wait until the test goes on."""
        await go_on.wait()
        return ""

    def child(request: ModelRequest) -> AnswerLike:
        results = [
            block for message in request.messages for block in message.content if isinstance(block, ToolResultBlock)
        ]
        if not results:
            return [write("early.txt", "1\n")]
        if len(results) == 1:
            return [Call("Wait")]
        return [write("late.txt", "2\n")] if len(results) == 2 else "done"

    call = {"description": "d", "prompt": "p", "subagent_type": "general-purpose", "run_in_background": True}

    def main(request: ModelRequest) -> AnswerLike:
        if request.messages[-1].text == "First.":
            return [Call("Agent", call)]
        return "ok"

    folder = tmp_path / "work"
    folder.mkdir()
    async with open_session(
        model=PlaybookModel({"main": main, "general-purpose": child}),
        cwd=folder,
        runs=tmp_path / "runs",
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS, wait),
        permission_mode="bypassPermissions",
        settings=ON,
        ports=virtual_ports(),
    ) as session:
        await session.run("First.", message_id="m1")
        await trio.sleep(5)
        assert (folder / "early.txt").exists()
        await session.run("Second.", message_id="m2")
        go_on.set()
        await session.wait_quiet()
        assert (folder / "late.txt").exists()
        done = await session.files.rewind("m2")
        assert done.removed == (folder / "late.txt",)
        assert (await session.files.rewind("m1")).removed == (folder / "early.txt",)


async def test_a_message_that_was_sent_can_be_gone_back_to(tmp_path: Path, autojump_clock: MockClock) -> None:
    heard: list[Appended] = []
    async with opened(
        tmp_path, [write("a.txt", "1\n"), "1", *edit("a.txt", "1", "2"), "2"], on_message=heard.append
    ) as session:
        session.send("First.", message_id="m1")
        await session.wait_quiet()
        sent = session.send("Second.", message_id="m2")
        await session.wait_quiet()
        assert [line.uuid for line in heard if line.message.text == "Second."] == [sent]
        await session.files.rewind(sent)
        assert (session.files.cwd / "a.txt").read_text(encoding="utf-8") == "1\n"
        await session.files.rewind("m1")
        assert not (session.files.cwd / "a.txt").exists()


async def test_what_commands_did_is_undone_only_where_tools_had_changed_a_file(tmp_path: Path) -> None:
    command = Call("Bash", {"command": "rm known.txt; echo mine > unknown.txt"})
    async with opened(tmp_path, [write("known.txt", "1\n"), "1", command, "2"], ports=None) as session:
        await session.run("First.")
        await session.run("Second.", message_id="m2")
        done = await session.files.rewind("m2")
        assert (session.files.cwd / "known.txt").read_text(encoding="utf-8") == "1\n"
        assert (session.files.cwd / "unknown.txt").exists()
    assert done.restored == done.changed_elsewhere == (session.files.cwd / "known.txt",)


async def test_a_command_of_the_users_own_counts_to_its_message(tmp_path: Path) -> None:
    async with opened(tmp_path, [write("known.txt", "1\n"), "1"], ports=None) as session:
        await session.run("First.")
        sent = session.send("!echo 2 > known.txt; echo 2 > unknown.txt")
        await session.wait_quiet()
        assert (session.files.cwd / "known.txt").read_text(encoding="utf-8") == "2\n"
        done = await session.files.rewind(sent)
        assert (session.files.cwd / "known.txt").read_text(encoding="utf-8") == "1\n"
    assert done.files == (session.files.cwd / "known.txt",)


async def test_what_a_skill_of_the_users_does_as_an_agent_counts_to_its_message(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    skill = tmp_path / "work" / ".greenroom" / "skills" / "tidy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tidy\ndescription: d\ncontext: fork\n---\nTidy up.", encoding="utf-8")
    script = [write("early.txt", "1\n"), "1", write("late.txt", "2\n"), "tidied"]
    async with opened(tmp_path, script, sources=["project"]) as session:
        await session.run("First.", message_id="m1")
        await session.run("/tidy", message_id="m2")
        assert (session.files.cwd / "late.txt").exists()
        assert (await session.files.rewind("m2")).removed == (session.files.cwd / "late.txt",)


async def test_the_agent_has_to_read_a_file_again_that_was_set_back(tmp_path: Path, autojump_clock: MockClock) -> None:
    edits = edit("a.txt", "1", "2")
    model = [write("a.txt", "1\n"), "1", *edits, "2", edits[1], "3"]
    async with opened(tmp_path, model) as session:
        await session.run("First.")
        await session.run("Second.", message_id="m2")
        await session.files.rewind("m2")
        await session.run("Third.")
        assert (session.files.cwd / "a.txt").read_text(encoding="utf-8") == "1\n"
        said = (session.run_folder / "transcripts" / "main.jsonl").read_text(encoding="utf-8")
    assert "it was changed since it was read; read it again" in said


async def test_an_edit_is_made_though_no_copy_can_be_kept_and_the_host_is_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    is_full = False
    disk = FillingDisk(lambda path: not (is_full and "files" in path.parts))
    ports = attrs.evolve(virtual_ports(), disk=disk)
    script = [*edit("a.txt", "1", "2"), write("new.txt", "n\n"), "1", *edit("b.txt", "1", "2"), "2"]
    async with opened(tmp_path, script, ports=ports) as session:
        for name in ("a.txt", "b.txt"):
            (session.files.cwd / name).write_text("1\n", encoding="utf-8")
        is_full = True
        await session.run("First.", message_id="m1")
        is_full = False
        await session.run("Second.", message_id="m2")
        assert (session.files.cwd / "a.txt").read_text(encoding="utf-8") == "2\n"
        tried = await session.files.rewind("m1", dry_run=True)
        done = await session.files.rewind("m1")
        assert (session.files.cwd / "a.txt").read_text(encoding="utf-8") == "2\n"
        assert (session.files.cwd / "b.txt").read_text(encoding="utf-8") == "1\n"
    assert tried == done
    assert done.files == (session.files.cwd / "b.txt", session.files.cwd / "new.txt")
    why = "no copy of it could be kept: no space left on device"
    assert done.error == f"1 file could not be set back: {session.files.cwd / 'a.txt'}: {why}"
