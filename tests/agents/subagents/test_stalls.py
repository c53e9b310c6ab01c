"""An agent in the background whose model sends nothing for long fails; nobody else does."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, final

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents.subagents import DelegationSettings, delegation_from_environment
from greenroom.models import AnswerLike, Call, Model, ModelRequest, ModelStream, Say, WrittenAnswer
from greenroom.models._layer import Layer, LayerSource
from greenroom.models._types import Delta
from greenroom.tools import tool
from tests.agents.crews import main_messages, notices, open_crew, violations
from tests.agents.pages import Page, agent, in_order

LINGER_S = 5_000


@tool
async def linger() -> str:
    """Take long."""
    await trio.sleep(LINGER_S)
    return "done"


@final
class Halting(LayerSource):
    """Halts before each piece of an answer."""

    halt_s: float = 0.0

    async def next_delta(self) -> Delta | None:
        if self._stream is None:
            self._stream = await self._enter()
        await trio.sleep(self.halt_s)
        return await anext(self._stream, None)


def halting(halts: dict[str, float]) -> Any:
    """Return a model that halts for so long in answers that follow the text of a message."""

    def around(model: Model) -> Model:
        def source(manager: AbstractAsyncContextManager[ModelStream], request: ModelRequest) -> Halting:
            made = Halting(manager, model.name)
            said = str(request.messages[-1])
            made.halt_s = max([0.0, *(halt for text, halt in halts.items() if text in said)])
            return made

        return Layer(model, "halting", source)

    return around


def starting(**more: Any) -> Page:
    return in_order([agent("dig", **more)], otherwise="Noted.")


def digging() -> Page:
    """Return the page of an agent that calls a tool which takes long, and then reports."""

    def page(request: ModelRequest) -> AnswerLike:
        if len(request.messages) == 1:
            return WrittenAnswer([Say("Half of it is dug."), Call("Linger")])
        return "All of it is dug."

    return page


@pytest.mark.parametrize(
    ("halt_s", "settings", "is_failed"),
    [(299, {}, False), (601, {}, True), (601, {"stall_s": 0}, False), (30, {"stall_s": 20}, True)],
)
async def test_in_the_background_an_agent_fails_whose_model_stands_still(
    halt_s: float, settings: dict[str, float], is_failed: bool, tmp_path: Path, autojump_clock: MockClock
) -> None:
    """A tool may take longer, and each piece of an answer begins the time anew, save what it has used so far; what it had said is not lost."""
    around = halting({"done": halt_s})
    async with open_crew(
        tmp_path,
        starting(run_in_background=True),
        pages={"general-purpose": digging()},
        tools=(linger,),
        delegation=settings,
        around=around,
    ) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        (notice,) = notices(crew)

    assert ("<status>failed</status>" in notice) is is_failed
    assert ("<status>completed</status>" in notice) is not is_failed
    assert ("Half of it is dug." if is_failed else "All of it is dug.") in notice
    assert (f"its model sent nothing for {settings.get('stall_s', 600)} s" in notice) is is_failed
    assert violations(crew) == []


async def test_main_and_an_agent_that_a_call_waits_for_may_stand_still(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    around = halting({"dig": 700, "go": 700})
    delegation = {"auto_background_ms": 0}
    async with open_crew(tmp_path, starting(run_in_background=False), delegation=delegation, around=around) as crew:
        answer = await crew.run("go")

    assert answer.text == "Noted."
    assert "dig" in main_messages(crew)[2]


async def test_the_variable_goes_before_the_setting(tmp_path: Path, autojump_clock: MockClock) -> None:
    environ = {"GREENROOM_ASYNC_AGENT_STALL_TIMEOUT_MS": "5000"}
    delegation = delegation_from_environment(environ, DelegationSettings(stall_s=9))
    async with open_crew(
        tmp_path, starting(run_in_background=True), around=halting({"dig": 6}), delegation=delegation
    ) as crew:
        await crew.run("go")
        await crew.wait_quiet()
        (notice,) = notices(crew)

    assert "its model sent nothing for 5 s" in notice
