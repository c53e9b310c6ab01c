"""Very many agents at once against the loopback server, over real sockets, with tools, journal and transcripts.

What is held before and afterwards (descriptors, Trio tasks, threads, child processes) has to be the same. As a program it
runs a crowd of any size: `python -m tools.crowd --agents 1000`.
"""

from __future__ import annotations

import argparse
import gc
import re
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import attrs
import trio
import trio.testing

from greenroom.agents import Agent, AgentDefinition, AgentProfile, AgentServices, AgentState, Prompt
from greenroom.agents import Answer as TurnAnswer
from greenroom.core import Recorder, calm_collector
from greenroom.core.ports import Ports
from greenroom.models import AnswerLike, AnthropicModel, Call
from greenroom.session import EVENTS
from greenroom.session.record._resume import transcript_opener
from greenroom.supervisor import Runtime, open_runtime
from greenroom.testing import BareAgentPorts, MessagesServer, ReceivedRequest, StreamReply, open_messages_server
from greenroom.tools import ToolContext, ToolSet, open_processes, tool
from greenroom.tools.builtin import read_tool
from greenroom.trace import open_journal

TIMEOUT_S: Final = 3_600.0
STARTS_PROGRAM: Final = 10
"""Every tenth agent starts a program; it costs what a hundred calls of the other tools do."""
_CACHED: Final = re.compile(r"Trio thread \d+")
"""An idle thread of Trio's cache, which ends after ten seconds."""


@attrs.frozen(kw_only=True)
class Held:
    """What a process holds."""

    descriptors: tuple[str, ...]
    """What each of them leads to, without numbers of sockets and pipes."""
    tasks: int
    threads: tuple[str, ...]
    children: tuple[str, ...]


def held() -> Held:
    """Return what this process holds now; to be called in a Trio run, while nothing is running."""
    gc.collect()
    threads = sorted(one.name for one in threading.enumerate() if not _CACHED.fullmatch(one.name))
    children = [pid for path in Path("/proc/self/task").iterdir() for pid in (path / "children").read_text().split()]
    return Held(
        descriptors=tuple(sorted(filter(None, map(_target, Path("/proc/self/fd").iterdir())))),
        tasks=trio.lowlevel.current_statistics().tasks_living,
        threads=tuple(threads),
        children=tuple(children),
    )


def _target(descriptor: Path) -> str:
    try:
        return re.sub(r"\d+", "n", str(descriptor.readlink()))
    except OSError:  # the one of the listing itself
        return ""


@tool(read_only=True)
async def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: One.
        b: The other.
    """
    return str(a + b)


@tool
async def start(ctx: ToolContext) -> str:
    """Start a program and wait for its end."""
    ended = await ctx.run_process(["true"], timeout_s=60)
    return f"it ended with {ended.exit_code}"


def script(rounds: int) -> Callable[[ReceivedRequest], StreamReply]:
    """Return what the provider says: two calls side by side, a file, sometimes a program, then one call a round."""

    def reply(request: ReceivedRequest) -> StreamReply:
        messages = request.body["messages"]
        one = Call("Add", {"a": 1, "b": len(messages)}, id=f"one_{len(messages)}")
        said: AnswerLike = one
        number = int(messages[0]["content"][0]["text"].split()[-1])
        match len(messages):
            case count if count >= 2 * rounds - 1:
                said = "done"
            case 1:
                said = (one, Call("Add", {"a": 2, "b": 2}, id="two"))
            case 3:
                said = Call("Read", {"file_path": "notes.txt"}, id="read")
            case 5 if number % STARTS_PROGRAM == 0:
                said = Call("Start", {}, id="start")
        return StreamReply(answer=said, is_joined=True)

    return reply


async def run_crowd(agents: int, rounds: int, folder: Path) -> None:
    """Run so many agents side by side, each with so many rounds, and check that each came to its end."""
    (folder / "notes.txt").write_text("a note\n" * 20)
    ports = Ports()
    recorder = Recorder(ports.clock.bind())
    run_folder = folder / "run"
    async with AsyncExitStack() as stack:
        server: MessagesServer = await stack.enter_async_context(open_messages_server(script(rounds)))
        model = AnthropicModel("claude-loopback", api_key="key", base_url=server.url)
        await stack.enter_async_context(model.open())
        journal = await stack.enter_async_context(
            open_journal(run_folder, ports=ports, recorder=recorder, catalog=EVENTS)
        )
        processes = await stack.enter_async_context(
            open_processes(blocking=ports.blocking, ids=ports.ids, folder=run_folder / "tasks", mark="crowd")
        )
        runtime: Runtime = await stack.enter_async_context(open_runtime(ports=ports, recorder=recorder))
        services = AgentServices(
            model=model,
            cwd=folder,
            roots=(folder,),
            blocking=ports.blocking,
            processes=processes,
            open_transcript=transcript_opener(
                run_folder, "crowd", folder, ports=ports, version="0", write=journal.write_before
            ),
        )
        definition = AgentDefinition(name="member")
        tools = ToolSet([add, read_tool, start])
        answers: list[TurnAnswer] = []

        async def use_agent(number: int) -> None:
            home = AgentState(
                profile=AgentProfile(definition=definition, tools=tools), services=services, ports=BareAgentPorts()
            )
            ref = await runtime.spawn(Agent, home)
            answers.append(await ref.ask(Prompt(f"You are number {number}"), timeout_s=TIMEOUT_S))
            assert home.conversation is not None
            assert not any(
                getattr(block, "is_error", False) for message in home.conversation.messages for block in message.content
            )

        async with trio.open_nursery() as nursery:
            for number in range(agents):
                nursery.start_soon(use_agent, number)
        assert [(answer.text, answer.rounds) for answer in answers] == [("done", rounds)] * agents
        assert len(server.requests) == agents * rounds


async def check_crowd(agents: int, rounds: int) -> None:
    """Run a crowd, and check that nothing is held afterwards that was not before.

    Raises:
        AssertionError: Something is.
    """
    with tempfile.TemporaryDirectory() as folder:
        await run_crowd(1, rounds, _new(folder, "first"))  # what is made once and kept: imports, the first thread
        before = held()
        await run_crowd(agents, rounds, _new(folder, "second"))
        await trio.testing.wait_all_tasks_blocked()
        after = held()
    assert after == before, f"held before: {before}, and afterwards: {after}"


def _new(folder: str, name: str) -> Path:
    made = Path(folder) / name
    made.mkdir()
    return made


def main() -> None:
    """Run one crowd and say what it took."""
    parser = argparse.ArgumentParser(prog="python -m tools.crowd", description=__doc__)
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    began, cpu = time.perf_counter(), time.process_time()
    with calm_collector():
        trio.run(check_crowd, options.agents, options.rounds)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    per_round = cpu_s / options.agents / options.rounds * 1_000
    print(f"{options.agents:,} agents, {options.rounds} rounds each, nothing left: {wall_s:.1f} s, {cpu_s:.1f} s CPU")
    print(f"{per_round:.2f} ms CPU a round, the server's side in it")


if __name__ == "__main__":
    main()
