"""A session's inbox under many schedules: whatever was handed in is taken up, once, and nobody sleeps on it."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from greenroom.agents import Agent, AgentDefinition, AgentProfile, AgentServices, AgentState, Note, Prompt
from greenroom.agents.subagents import MainAgent
from greenroom.core import TurnKilled, point
from greenroom.core.ports import InlineBlocking
from greenroom.inbox import SCHEDULE, TASK_NOTIFICATION, InboxItem
from greenroom.mailbox import Lane
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, TextBlock, ToolResultBlock
from greenroom.permissions import ApprovalQueue
from greenroom.session.parts._session_inbox import SessionInbox
from greenroom.testing import BareAgentPorts, Faults, Search, Sim, explore, pct
from greenroom.tools import ToolSet, tool

LONG_S = 1_000.0


@tool(name="Dig", read_only=True)
async def dig() -> str:
    """Dig for a moment."""
    await point("digging")
    await trio.sleep(0.1)
    return "dug"


def play(request: ModelRequest) -> AnswerLike:
    """Dig once after each thing that is said, then be done."""
    return "Done." if isinstance(request.messages[-1].content[0], ToolResultBlock) else Call("Dig")


def make_home() -> AgentState:
    model = PlaybookModel({"tester": play}, wait_s=0.1)
    services = AgentServices(model=model, cwd=Path("/"), roots=(Path("/"),), blocking=InlineBlocking())
    return AgentState(
        profile=AgentProfile(definition=AgentDefinition(name="tester", max_turns=50), tools=ToolSet([dig])),
        services=services,
        ports=BareAgentPorts(),
    )


def told(home: AgentState) -> list[str]:
    assert home.conversation is not None
    blocks = [block for message in home.conversation.messages if message.role == "user" for block in message.content]
    return [block.text for block in blocks if isinstance(block, TextBlock)]


class NothingStored:
    """The durable side of an inbox that keeps nothing."""

    def add_now(self, item: InboxItem) -> None:
        """Do nothing."""


async def hand_in(sim: Sim) -> None:
    """Hand in from three sides, interrupt in the middle, and look at the end who sleeps on what."""
    home, sent = make_home(), list[str]()
    async with sim.open_runtime() as runtime, home.services.model.open():
        main = await runtime.spawn(Agent, home, name="main")
        approvals = ApprovalQueue(sim.ports.ids)
        agent = MainAgent()
        agent.begin(main, home)
        stored = NothingStored()
        inbox = SessionInbox(
            agent,
            stored,  # type: ignore[arg-type]
            ports=sim.ports,
            is_command=lambda text: text.startswith("/"),
            approvals=approvals,
        )
        await inbox.open(await runtime.spawn_supervisor("session"))

        async def user() -> None:
            for text, priority in (("one", None), ("/two", None), ("three", "now"), ("four", "later")):
                await point("user")
                sent.append(text)
                inbox.send(text, priority=priority)

        async def system() -> None:
            for number in range(3):
                await point("system")
                sent.extend([f"notice {number}", f"tick {number}"])
                main.tell(Note(f"notice {number}", is_hidden=True, origin=TASK_NOTIFICATION), Lane.LATER)
                inbox.send(f"tick {number}", origin=SCHEDULE)

        async def ask() -> None:
            await point("asker")
            with suppress(TurnKilled):
                await main.ask(Prompt("asked"), timeout_s=math.inf)

        async def interrupt() -> None:
            await trio.sleep(0.15)
            await point("interrupter")
            inbox.interrupt("enough", cancel_queued=False)

        async with trio.open_nursery() as nursery:
            for work in (user, system, ask, interrupt):
                nursery.start_soon(work)
        await trio.sleep(LONG_S)

        waiting = main.statistics()
        assert not main.is_busy
        assert (waiting.now, waiting.next, waiting.later) == (0, 0, 0), "an idle agent, and something waits for it"
        assert not inbox.is_behind
        assert inbox.queued() == ()
        assert Counter(text for text in told(home) if text != "asked") == Counter(sent)
        assert [text for text in told(home) if text in {"one", "/two"}] == ["one", "/two"]


@pytest.mark.parametrize("strategy", ["random", pct(3)])
def test_an_inbox_that_is_not_empty_and_an_idle_agent_mean_a_wake(strategy: Search | str) -> None:
    """RC-35. Mechanism: a put wakes, and both the queue and the agent look at their mailbox before they sleep."""
    explored = explore(hand_in, schedules=60, strategy=strategy, faults=Faults(sleeps_s=(0.1, 0.2)))

    assert explored.journals > 30
