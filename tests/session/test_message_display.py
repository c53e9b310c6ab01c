"""Hooks of `MessageDisplay`: what is shown of a message, and what stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition, Appended
from greenroom.agents.events import AgentNoticed
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import TurnKilled
from greenroom.hooks import HookSource, SourceKind, parse_callbacks
from greenroom.models import AnswerLike, Call, PlaybookModel, Say
from greenroom.session import EventStream, MessageShown, Session, open_session
from greenroom.testing import virtual_ports
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.agents.pages import agent, echo, in_order
from tests.session.teamwork import told


class Screen:
    """A display of messages, and the hook that looks at them."""

    def __init__(self, *says: str | None, takes_s: float = 0.0) -> None:
        self.says = list(says)
        """The texts that the hook wants shown, message by message; None for nothing else."""
        self.takes_s = takes_s
        self.told: list[Mapping[str, Any]] = []
        self.shown: list[Appended] = []
        self.heard: list[Appended] = []

    async def look(self, _: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        self.told.append(values)
        await trio.sleep(self.takes_s)
        text = self.says.pop(0) if self.says else None
        specific = {"hookEventName": "MessageDisplay", **({} if text is None else {"displayContent": text})}
        return {"continue": False, "hookSpecificOutput": specific}

    def take(self, stream: EventStream) -> None:
        """Take the messages that were shown from a stream, without waiting for more."""
        while (found := stream.next_nowait()) is not None:
            if isinstance(found[2], MessageShown):
                self.shown.append(found[2].appended)

    @property
    def texts(self) -> list[str]:
        return [one.message.text for one in self.shown]


READ = Call("Read", {"file_path": "a.txt"})


async def opened(folder: Path, screen: Screen, *answers: AnswerLike, prompts: int = 1) -> Session:
    """Take turns in a session, and return it when it has ended."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    (project / "a.txt").write_text("42")
    async with open_session(
        model=PlaybookModel({"main": in_order(*answers), "general-purpose": echo}),
        cwd=project,
        runs=folder / "runs",
        main=AgentDefinition(name="main", system_prompt="You lead."),
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS),
        ports=virtual_ports(),
        permission_mode="bypassPermissions",
        on_message=screen.heard.append,
        live=(MessageShown,),
    ) as session:
        stream = session.events()
        groups = {"MessageDisplay": [{"hookCallbackIds": ["look"]}]}
        session.add_hooks(parse_callbacks(groups, HookSource("host", SourceKind.HOST), screen.look))
        for _ in range(prompts):
            answer = await session.run("go")
            assert answer.text in {"Done.", "key-123 works."}
        await session.wait_quiet()
    screen.take(stream)
    return session


async def test_a_hook_is_told_each_message_that_holds_text_once_and_whole(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    screen = Screen()
    session = await opened(tmp_path, screen, [Say("Let me look."), READ], READ, "Done.", "Done.", prompts=2)

    usual = {"session_id", "prompt_id", "cwd", "transcript_path", "permission_mode", "hook_event_name"}
    about = [{key: one[key] for key in one if key not in usual} for one in screen.told]
    assert [(entry["delta"], entry["index"], entry["final"]) for entry in about] == [
        ("Let me look.", 0, True),
        ("Done.", 0, True),
        ("Done.", 0, True),
    ]
    assert set(about[0]) == {"turn_id", "message_id", "index", "final", "delta"}
    turns = [UUID(entry["turn_id"]) for entry in about]
    assert (turns[0] == turns[1], turns[1] == turns[2]) == (True, False)
    assert len({UUID(entry["message_id"]) for entry in about}) == 3
    written = (session.run_folder / "transcripts" / "main.jsonl").read_text()
    lines = [json.loads(line) for line in written.splitlines()]
    assert {entry["message_id"] for entry in about} <= {line["uuid"] for line in lines if "uuid" in line}


async def test_what_it_answers_is_shown_and_nothing_else_changes(tmp_path: Path, autojump_clock: MockClock) -> None:
    screen = Screen("I look.", None, "key-*** works.")
    session = await opened(tmp_path, screen, [Say("Let me look."), READ], [Say("Hm."), READ], "key-123 works.")

    assert screen.texts == ["I look.", "Hm.", "key-*** works."]
    assert [len(one.message.tool_uses) for one in screen.shown] == [1, 1, 0]
    assert [line.message.text for line in screen.heard if line.is_shown_later] == [
        "Let me look.",
        "Hm.",
        "key-123 works.",
    ]
    text = (session.run_folder / "transcripts" / "main.jsonl").read_text()
    assert "key-123" in text
    assert "***" not in text


async def test_a_message_may_be_hidden(tmp_path: Path, autojump_clock: MockClock) -> None:
    screen = Screen("", "")
    await opened(tmp_path, screen, [Say("Let me look."), READ], "Done.")

    assert screen.texts == ["", ""]
    assert [len(one.message.content) for one in screen.shown] == [1, 0]


async def test_a_hook_that_takes_longer_than_10_s_changes_nothing_and_is_a_notice(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    screen = Screen("late", takes_s=11)
    session = await opened(tmp_path, screen, "Done.")

    assert screen.texts == ["Done."]
    (notice,) = told(session, AgentNoticed)
    assert notice.text.endswith("look: timed out after 10 s")


async def test_messages_of_children_are_not_looked_at(tmp_path: Path, autojump_clock: MockClock) -> None:
    screen = Screen()
    await opened(tmp_path, screen, agent("child", run_in_background=False), "Done.")

    assert [entry["delta"] for entry in screen.told] == ["Done."]
    assert any(line.message.text.startswith("Report on") for line in screen.heard)


@pytest.mark.parametrize("calls", [[], [READ]])
async def test_a_turn_that_is_cut_while_a_hook_looks_shows_the_message_as_it_is(
    tmp_path: Path, autojump_clock: MockClock, calls: list[Call]
) -> None:
    screen = Screen("later", takes_s=5)
    project = tmp_path / "project"
    project.mkdir()
    async with open_session(
        model=PlaybookModel({"main": in_order([Say("Let me look."), *calls], "Done.")}),
        cwd=project,
        runs=tmp_path / "runs",
        main=AgentDefinition(name="main", system_prompt="You lead."),
        ports=virtual_ports(),
        live=(MessageShown,),
    ) as session:
        stream = session.events()
        groups = {"MessageDisplay": [{"hookCallbackIds": ["look"]}]}
        session.add_hooks(parse_callbacks(groups, HookSource("host", SourceKind.HOST), screen.look))

        async def run() -> None:
            with pytest.raises(TurnKilled):
                await session.run("go")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.sleep(2)
            session.interrupt()
        screen.take(stream)
        assert screen.texts == ["Let me look."]
        assert (await session.run("go on")).text == "Done."

    screen.take(stream)
    assert screen.texts == ["Let me look.", "later"]


async def test_without_such_a_hook_nothing_is_shown_later(tmp_path: Path, autojump_clock: MockClock) -> None:
    screen = Screen()
    project = tmp_path / "project"
    project.mkdir()
    async with open_session(
        model=PlaybookModel({"main": in_order("Done.")}),
        cwd=project,
        runs=tmp_path / "runs",
        main=AgentDefinition(name="main", system_prompt="You lead."),
        ports=virtual_ports(),
        on_message=screen.heard.append,
        live=(MessageShown,),
    ) as session:
        stream = session.events()
        await session.run("go")

    screen.take(stream)
    assert screen.shown == []
    assert not any(line.is_shown_later for line in screen.heard)
