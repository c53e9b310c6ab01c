"""The notes of an agent, kept beside its turns: inside their folder and nowhere else, one run at a time."""

from __future__ import annotations

import math
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, final

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents import ForkFailed, Prompt
from greenroom.agents._repair import faults_of
from greenroom.agents.events import ForkEnded, ToolBegan, ToolEnded
from greenroom.agents.memory import MemoryFolder, NotesUnavailable, hold_notes
from greenroom.agents.side import NoteKeeper
from greenroom.core import JournalError, ProviderError, UsageError, event_of
from greenroom.core.ports import InlineBlocking
from greenroom.models import Call, ScriptedModel, ToolResultBlock, Usage
from greenroom.models._scripted import ScriptStep
from greenroom.permissions import Effect, Mode, Policy, Scope, Source, parse_rule
from greenroom.testing import check_cache_prefixes, run_virtual
from greenroom.tools import Tool, tool
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.agents.situations import Bytes, Stage, open_stage

BASH_RAN: list[str] = []


@tool(name="Bash")
async def bash(command: str, file_path: str = "") -> str:
    """Note a command.

    Args:
        command: What.
        file_path: Whatever.
    """
    BASH_RAN.append(command)
    return "ran"


@tool(name="Write")
async def foreign_write(file_path: str, content: str) -> str:
    """Write wherever somebody says.

    Args:
        file_path: Where.
        content: What.
    """
    return f"{len(content)} characters to {file_path}"


FILE_TOOLS = tuple(standard_tool for standard_tool in STANDARD_TOOLS if standard_tool.name in {"Read", "Write", "Edit"})


@asynccontextmanager
async def noting(
    folder: Path, script: Iterable[Any], *, tools: Sequence[Tool] = (*FILE_TOOLS, bash), **services: Any
) -> AsyncIterator[tuple[Stage, NoteKeeper, ScriptedModel]]:
    """Open an agent with notes in a folder; it has taken one turn."""
    model = ScriptedModel(["Done.", *script])
    async with open_stage(model, tools=tools, **services) as stage:
        stage.home.replace(memory=MemoryFolder(folder=folder))
        await stage.agent.ask(Prompt("Go."), timeout_s=math.inf)
        yield stage, NoteKeeper(stage.home, stage.agent.id, stage.runtime.recorder.emit_fields), model


def events(stage: Stage, *kinds: type[Any]) -> list[Any]:
    return [event for event in map(event_of, stage.runtime.recorder.latest()) if isinstance(event, kinds)]


def results(model: ScriptedModel) -> list[ToolResultBlock]:
    """Return what the run read of its calls."""
    blocks = [block for message in model.requests[-1].messages for block in message.content]
    return [block for block in blocks if isinstance(block, ToolResultBlock)]


def write(path: Path | str, content: str = "x") -> Call:
    return Call("Write", {"file_path": str(path), "content": content})


async def test_what_was_learned_is_noted_and_nobody_in_the_conversation_knows(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    disk, folder = Bytes(tmp_path / "main.jsonl"), tmp_path / "notes"
    index = folder / "MEMORY.md"
    script = [[write("MEMORY.md", "- tabs\n"), write("sub/tabs.md")], "Noted.", "Yes."]
    async with noting(folder, script, open_transcript=disk.open) as (stage, keeper, model):
        before = (stage.messages, disk.content, stage.agent.statistics(), stage.home.activity)
        changes = await keeper.extract()
        assert (stage.messages, disk.content, stage.agent.statistics(), stage.home.activity) == before
        assert changes is not None
        assert (changes.written, changes.removed, changes.text) == ((index, folder / "sub/tabs.md"), (), "Noted.")
        assert index.read_text() == "- tabs\n"
        assert [(event.inc, event.turn, event.tool) for event in events(stage, ToolBegan)] == [(0, 0, "Write")] * 2
        (ended,) = events(stage, ForkEnded)
        assert (ended.purpose, ended.state, ended.rounds) == ("memory extraction", "completed", 2)
        assert len(stage.home.workspace.seen) == 0
        await stage.agent.ask(Prompt("Well?"), timeout_s=math.inf)
    own, first, second, after = model.requests
    assert check_cache_prefixes([own, first, second]) == 2
    assert check_cache_prefixes([own, after]) == 1
    assert faults_of(second.messages) == []
    assert "notes" not in str(after.messages)


async def test_nothing_is_asked_when_nothing_is_new_or_the_agent_noted_it_itself(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    script = ["NOTHING", [write(folder / "MEMORY.md")], "I noted it.", "Two.", "NOTHING"]
    async with noting(folder, script) as (stage, keeper, model):
        assert await keeper.extract() is not None
        assert await keeper.extract() is None
        await stage.agent.ask(Prompt("Note it."), timeout_s=math.inf)
        assert await keeper.extract() is None
        await stage.agent.ask(Prompt("More."), timeout_s=math.inf)
        assert await keeper.extract() is not None
    assert "the last 2 messages" in model.requests[-1].messages[-1].text
    assert "- MEMORY.md" in model.requests[-1].messages[-1].text


async def test_a_failure_leaves_everything_as_it_was_and_the_next_time_begins_there(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    script = [ProviderError("busy", kind="overloaded"), [write("a.md")], "Noted."]
    async with noting(tmp_path / "notes", script) as (stage, keeper, _):
        before = stage.messages
        with pytest.raises(ProviderError):
            await keeper.extract()
        assert stage.messages == before
        changes = await keeper.extract()
        assert changes is not None
        assert [one.name for one in changes.written] == ["a.md"]


async def test_notes_are_merged_and_what_is_left_empty_is_removed(autojump_clock: MockClock, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- a\n- b\n")
    (folder / "b.md").write_text("b\n")
    (folder / "blank.md").write_text("")
    reads = [Call("Read", {"file_path": "MEMORY.md"}), Call("Read", {"file_path": "b.md"})]
    edit = Call("Edit", {"file_path": "MEMORY.md", "old_string": "- b\n", "new_string": ""})
    async with noting(folder, [reads, [edit, write("b.md", "\n")], "Dropped b."]) as (_, keeper, _model):
        changes = await keeper.consolidate()
    assert (changes.written, changes.removed) == ((folder / "MEMORY.md",), (folder / "b.md",))
    assert sorted(path.name for path in folder.iterdir()) == ["MEMORY.md", "blank.md"]
    assert (folder / "MEMORY.md").read_text() == "- a\n"


async def test_without_notes_there_is_nothing_to_put_in_order(autojump_clock: MockClock, tmp_path: Path) -> None:
    async with noting(tmp_path / "notes", []) as (_, keeper, _model):
        assert (await keeper.consolidate()).text == ""


async def test_a_run_that_comes_to_no_end_says_what_it_wrote_or_fails(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    script = [*[[write(f"{number}.md")] for number in range(6)], *[[write("/elsewhere")]] * 6]
    async with noting(tmp_path / "notes", script) as (stage, keeper, _):
        changes = await keeper.extract()
        assert changes is not None
        assert (len(changes.written), changes.text) == (6, "")
        stage.home.conversation.say(["More."])  # type: ignore[union-attr]
        with pytest.raises(ForkFailed):
            await NoteKeeper(stage.home, stage.agent.id, stage.runtime.recorder.emit_fields).extract()
        assert [event.state for event in events(stage, ForkEnded)] == ["failed", "failed"]


async def test_an_agent_without_notes_or_without_the_tools_is_refused(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    for tools in (
        (bash,),
        (*FILE_TOOLS[:2], bash),
        (foreign_write, *(file_tool for file_tool in FILE_TOOLS if file_tool.name != "Write")),
    ):
        async with noting(tmp_path / "notes", [], tools=tools) as (stage, keeper, _):
            with pytest.raises(UsageError, match="Read, Write and Edit"):
                await keeper.consolidate()
            stage.home.replace(memory=None)
            with pytest.raises(UsageError, match="keeps no notes"):
                await keeper.extract()


async def test_what_the_rules_deny_or_want_asked_about_is_refused(autojump_clock: MockClock, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    source = Source(scope=Scope.CLI, name="test")
    texts = [(f"Edit(/{folder}/no.md)", Effect.DENY), (f"Edit(/{folder}/ask.md)", Effect.ASK)]
    rules = tuple(rule for text, effect in texts if (rule := parse_rule(text, effect, source)[0]) is not None)
    own = (str(folder),)
    policy = Policy(rules=rules, mode=Mode.PLAN, home="/", directories=own, own_folders=own)
    calls = [write("no.md"), write("ask.md"), write("yes.md")]
    async with noting(folder, [calls, "Noted."]) as (stage, keeper, model):
        stage.home.replace(policy=policy)
        changes = await keeper.extract()
        assert changes is not None
        assert [one.name for one in changes.written] == ["yes.md"]
        assert [event.state for event in events(stage, ToolEnded)] == ["failed", "failed", "completed"]
        assert stage.home.run.denials == ()
    assert [result.is_error for result in results(model)] == [True, True, False]


async def test_what_cannot_be_put_on_record_is_not_written(autojump_clock: MockClock, tmp_path: Path) -> None:
    async def refuse() -> None:
        raise JournalError("journal", "no space")

    folder = tmp_path / "notes"
    async with noting(folder, [[write("a.md")], "Well."], wait_durable=refuse) as (_, keeper, model):
        changes = await keeper.extract()
        assert changes is not None
        assert changes.written == ()
    assert "cannot be recorded" in results(model)[0].content
    assert not (folder / "a.md").exists()


async def test_two_runs_never_overlap_in_a_process_or_across(autojump_clock: MockClock, tmp_path: Path) -> None:
    """Two keepers are as two processes: what they share is the folder alone."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- a\n")
    step = ScriptStep(answer="Fine.", wait_s=5.0)
    async with noting(folder, [step] * 3) as (stage, keeper, _):
        other = NoteKeeper(stage.home, stage.agent.id, stage.runtime.recorder.emit_fields)
        async with trio.open_nursery() as nursery:
            for one in (keeper, keeper, other):
                nursery.start_soon(one.consolidate)
        kinds = [event_of(record).kind for record in stage.runtime.recorder.latest()]
        assert [kind for kind in kinds if kind.startswith("fork.")] == ["fork.begin", "fork.end"] * 3


async def test_somebody_who_does_not_let_go_is_not_waited_for_forever(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    memory = MemoryFolder(folder=tmp_path / "notes")
    async with hold_notes(memory, InlineBlocking()):
        with pytest.raises(NotesUnavailable, match="60 s"):
            async with hold_notes(memory, InlineBlocking()):
                pass
    async with hold_notes(memory, InlineBlocking()):
        assert [path.name for path in memory.folder.iterdir()] == [".lock"]
    assert list(memory.folder.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(NotesUnavailable):
        async with hold_notes(MemoryFolder(folder=tmp_path / "file"), InlineBlocking()):
            pass


# --- no call outside the folder is ever performed --------------------------------------------------------------------

_PARTS = ["notes", "..", "secret.txt", "MEMORY.md", "out", "in", "back", "project", ".", "~", "new.md", "", "sub"]


@settings(max_examples=150, deadline=None)
@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["Read", "Write", "Edit", "Bash", "Glob", "Nothing"]),
            st.lists(st.sampled_from(_PARTS), min_size=1, max_size=5),
            st.booleans(),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_call_outside_the_folder_is_ever_performed(calls: list[tuple[str, list[str], bool]]) -> None:
    """Whatever the model calls, with whatever path: outside the folder nothing is read or changed, and no other tool runs."""
    BASH_RAN.clear()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        folder, outside = root / "notes", root / "project"
        for each_path in (folder / "in", outside):
            each_path.mkdir(parents=True)
        (outside / "secret.txt").write_text("the secret")
        (folder / "MEMORY.md").write_text("- a\n")
        (folder / "out").symlink_to(outside)  # a link that leads outside
        (folder / "in" / "back").symlink_to(folder)
        (folder / "secret.txt").symlink_to(outside / "secret.txt")
        script = [[_call(root, *call) for call in calls], "Done."]

        async def scenario() -> list[ToolResultBlock]:
            async with noting(folder, script, tools=(*FILE_TOOLS, bash)) as (stage, keeper, model):
                stage.home.replace(more_roots=(folder,))
                await keeper.consolidate()
                assert stage.home.usage == Usage()
                return results(model)

        read = run_virtual(scenario).result
        assert len(read) == len(calls)
        assert not any("the secret" in one.content for one in read)
        assert {path.name: path.read_text() for path in outside.iterdir()} == {"secret.txt": "the secret"}
        assert sorted(path.name for path in root.iterdir()) == ["notes", "project"]
    assert BASH_RAN == []


def _call(root: Path, name: str, parts: list[str], is_absolute: bool) -> Call:
    path = "/".join(parts)
    path = f"{root}/{path}" if is_absolute else path
    if name == "Bash":
        return Call("Bash", {"command": f"rm {path}", "file_path": path})
    values = {"file_path": path}
    if name == "Write":
        values["content"] = "changed"
    elif name == "Edit":
        values |= {"old_string": "the secret", "new_string": "changed"}
    return Call(name, values)


@final
class Served:
    """Effects of a re-run, in which each call of a tool has succeeded."""

    is_served = True

    async def served(self, of: str, agent: str, key: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a result."""
        return {"text": f"{of} {asked['name']} of {agent}: done"}

    def note(self, of: str, agent: str, key: str, asked: Mapping[str, Any], got: Mapping[str, Any]) -> None:
        """Do nothing."""

    def reading(self, of: str, owner: str, value: float) -> float:
        """Return the value."""
        return value

    async def wait_edge(self, actor: str) -> None:
        """Return at once."""


async def test_a_rerun_writes_and_removes_no_notes(autojump_clock: MockClock, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "blank.md").touch()
    script = [[write("MEMORY.md"), write("blank.md")], "Noted."]
    async with noting(folder, script, effects=Served()) as (stage, keeper, model):
        changes = await keeper.extract()
        assert changes is not None
        assert [result.content for result in results(model)] == [f"tool Write of {stage.agent.id}: done"] * 2
    assert [path.name for path in folder.iterdir()] == ["blank.md"]
