"""A turn with tools that is aborted, killed or crashes at every instant: what is left is sound, and leads to the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
import trio

from greenroom.agents import (
    CONTINUE,
    Agent,
    AgentDefinition,
    AgentProfile,
    AgentServices,
    AgentState,
    Loaded,
    Note,
    Prompt,
)
from greenroom.agents._profile import ConversationStart
from greenroom.agents._repair import faults_of
from greenroom.core import InternalError
from greenroom.core.ports import InlineBlocking
from greenroom.mailbox import Lane
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, Say, ToolResultBlock
from greenroom.store._transcript_reader import read_transcript
from greenroom.supervisor import ChildSpec, Runtime, open_runtime
from greenroom.testing import BareAgentPorts, CancelAt, cancel_sweep, run_virtual, virtual_ports
from greenroom.tools import ToolSet
from tests.agents.situations import Bytes, change, look, stumble

DEFINITION = AgentDefinition(name="tester", system_prompt="You test.")
ANSWERED = "I am done."


def play(request: ModelRequest) -> AnswerLike:
    """Look twice side by side and fail once, change twice in a row, then say so; interrupted calls are made again."""
    last = request.messages[-1]
    done = {
        block.content
        for message in request.messages
        for block in message.content
        if isinstance(block, ToolResultBlock) and not block.is_error
    }
    if not {"saw a", "saw b"} <= done:
        return [Say("Let me see."), Call("Look", {"place": "a"}), Call("Look", {"place": "b"}), Call("Stumble")]
    if not {"changed x", "changed y"} <= done:
        return [Call("Change", {"thing": "x"}), Call("Change", {"thing": "y"})]
    assert last.role == "user"
    return ANSWERED


def make_home(
    disk: Bytes, loaded: Loaded | None = None, play: Callable[[ModelRequest], AnswerLike] = play
) -> AgentState:
    model = PlaybookModel({"tester": play}, wait_s=1.0)
    services = AgentServices(
        model=model,
        cwd=Path("/"),
        roots=(Path("/"),),
        blocking=InlineBlocking(),
        open_transcript=disk.open,
    )
    return AgentState(
        ports=BareAgentPorts(),
        profile=AgentProfile(definition=DEFINITION, tools=ToolSet([look, change, stumble])),
        services=services,
        start=ConversationStart(loaded=loaded),
    )


async def run_turn(disk: Bytes, each_event: Callable[[Runtime], None] = lambda _: None) -> None:
    """Make an agent take one turn, with a note that comes in the middle of it."""
    async with open_runtime(ports=virtual_ports()) as runtime:
        agent = await runtime.spawn(Agent, make_home(disk), name="agent")
        runtime.recorder.listen(lambda _: each_event(runtime))
        agent.tell(Note("Go."))
        await trio.sleep(1.5)
        agent.tell(Note("By the way."), Lane.LATER)
        await trio.sleep(20)


def resume_to_the_end(content: bytes, path: Path) -> Bytes:
    """Read a transcript that a process left, check it, let another process go on with it, and check what that left."""
    disk = Bytes(path, content)
    loaded = disk.load()

    async def later() -> None:
        async with open_runtime(ports=virtual_ports(1)) as runtime:
            spec = ChildSpec(as_id=loaded.agent_id or None)
            home = make_home(disk, loaded)
            agent = await runtime.spawn(Agent, home, name="agent", spec=spec)
            assert not loaded.agent_id or agent.id == loaded.agent_id
            assert home.conversation is not None
            assert faults_of(home.conversation.messages) == []
            answer = await agent.ask(Prompt(CONTINUE if loaded.was_cut else "Go.", is_hidden=loaded.was_cut))
            assert answer.text == ANSWERED
            live = home.conversation.messages
        again = disk.load()
        assert not again.was_cut
        assert faults_of(again.messages) == []
        assert again.messages == live, "what is read is what was there"

    run_virtual(later)
    assert disk.content.startswith(content), "what was written is never changed"
    return disk


def test_at_every_event_a_crash_leaves_what_another_process_brings_to_the_end(tmp_path: Path) -> None:
    """RC-67: at every persisted point the transcript is one that the provider takes, and can be resumed."""
    disk = Bytes(tmp_path / "main.jsonl")
    seen: dict[bytes, None] = {}
    events = 0

    def look_at(_: Runtime) -> None:
        nonlocal events
        events += 1
        seen[disk.content] = None

    run_virtual(run_turn, disk, look_at)

    assert events > 30
    assert len(seen) == 7
    for content in seen:
        resume_to_the_end(content, tmp_path / "main.jsonl")


def test_a_crash_in_the_middle_of_a_write_leaves_what_another_process_brings_to_the_end(tmp_path: Path) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    run_virtual(run_turn, disk)
    ends = [end for end, byte in enumerate(disk.content, start=1) if byte == 10]
    path = tmp_path / "main.jsonl"

    for begin, end in zip([0, *ends], ends, strict=False):
        for cut in (begin + 1, (begin + end) // 2, end - 1):
            left = resume_to_the_end(disk.content[:cut], path)
            path.write_bytes(left.content)
            reader = read_transcript(path)
            list(reader)
            assert reader.damaged == (cut < end - 1), "only the line that the crash tore"


Strike: TypeAlias = Callable[[], object]
Aim: TypeAlias = Callable[[Runtime, Strike], Callable[[], object]]
"""Sees to it that the strike comes, and returns what makes an end of that."""


async def end_a_turn(disk: Bytes, aim: Aim, how: str) -> None:
    """Make an agent take one turn that is ended when `aim` says so; what is left is sound, at once and on disk."""
    async with open_runtime(ports=virtual_ports()) as runtime:
        home = make_home(disk)
        agent = await runtime.spawn(Agent, home, name="agent")
        agent.tell(Note("Go."))
        rest = aim(runtime, agent.abort_turn if how == "abort" else agent.kill)
        await trio.sleep(1.5)
        agent.tell(Note("By the way."), Lane.LATER)
        await trio.sleep(20)
        rest()
        assert home.conversation is not None
        assert faults_of(home.conversation.messages) == []
        if how == "abort":
            assert (await agent.ask(Prompt("Go on."))).text == ANSWERED
            assert faults_of(home.conversation.messages) == []
        live = home.conversation.messages
    assert disk.load().messages == live


@pytest.mark.parametrize("how", ["abort", "kill"])
def test_a_turn_that_is_ended_at_any_event_leaves_what_is_sound_and_leads_to_the_end(tmp_path: Path, how: str) -> None:
    """RC-67, where the strike comes from inside: at each event, in the very step that it is of."""
    contents: dict[bytes, None] = {}
    event = count = 0

    def aim(runtime: Runtime, strike: Strike) -> Callable[[], object]:
        def on_event(_: object) -> None:
            nonlocal count
            count += 1
            if count == event:
                strike()

        return runtime.recorder.listen(on_event)

    while event <= count:
        event, count = event + 1, 0
        disk = Bytes(tmp_path / "main.jsonl")
        run_virtual(end_a_turn, disk, aim, how)
        contents[disk.content] = None

    assert event > 20
    assert len(contents) > 7
    for content in contents:
        resume_to_the_end(content, tmp_path / "main.jsonl")


@pytest.mark.parametrize("how", ["abort", "kill"])
@pytest.mark.parametrize("seed", [None, 1])
def test_a_turn_that_is_ended_between_any_two_steps_leaves_what_is_sound_and_leads_to_the_end(
    tmp_path: Path, how: str, seed: int | None
) -> None:
    """RC-14, RC-16."""

    async def scenario(at: CancelAt) -> bytes:
        disk = Bytes(tmp_path / "main.jsonl")

        def aim(_: Runtime, strike: Strike) -> Callable[[], object]:
            at.aim(strike)
            return at.rest

        await end_a_turn(disk, aim, how)
        return disk.content

    runs = cancel_sweep(scenario, choices=seed)

    assert len(runs) > 15
    for content in {run.result for run in runs}:
        resume_to_the_end(content, tmp_path / "main.jsonl")


def test_an_agent_that_crashes_in_a_turn_nobody_asked_for_goes_on_with_it(tmp_path: Path) -> None:
    disk = Bytes(tmp_path / "main.jsonl")
    has_crashed: list[bool] = []

    def broken_once(request: ModelRequest) -> AnswerLike:
        if len(request.messages) == 3 and not has_crashed:
            has_crashed.append(True)
            raise InternalError("a promise does not hold")
        return play(request)

    async def scenario() -> list[str]:
        async with open_runtime(ports=virtual_ports()) as runtime:
            home = make_home(disk, play=broken_once)
            agent = await runtime.spawn(Agent, home, name="agent")
            agent.tell(Note("Go."))
            await trio.sleep(20)
            assert home.conversation is not None
            assert faults_of(home.conversation.messages) == []
            return [message.text for message in home.conversation.messages]

    texts = run_virtual(scenario).result

    assert texts[-1] == ANSWERED
    assert sum(CONTINUE in text for text in texts) == 1
    assert [message.text for message in disk.load().messages] == texts
