"""Agents that do as they are told: the model of a crew's tests, and the tools that go wrong in it.

A prompt holds what its agent is to do, one list of acts for each model request; see `ordered`. The model reads it back
from the conversation alone, so that an agent obeys in whatever way it came to its orders: as main, child, fork, by a
message or after a resume. What it was told last counts; when that is done, or lost, it says so and its turn ends.

    ordered([nap(1)], [spawn([nap(2)], background=True), fail()])
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeAlias, final

import trio

from greenroom.core import InternalError, ProviderError, point
from greenroom.models import (
    AnswerLike,
    Call,
    Message,
    ModelRequest,
    ModelStream,
    Say,
    ScriptedModel,
    TextBlock,
    Usage,
    WrittenAnswer,
)
from greenroom.models._scripted import ScriptStep
from greenroom.models._written_answers import Part
from greenroom.tools import ToolError, tool

Act: TypeAlias = list[Any]
"""A verb and what it needs; plain JSON, for it travels in prompts."""
Round: TypeAlias = list[Act]
"""What an agent does in one answer: its calls run side by side."""

USAGE: Final = Usage(100, 7)
REVIEWERS: Final = ("call-review", "handoff-review")
_ORDER: Final = re.compile(r"ORDER (\[.*\]) END", re.DOTALL)


def ordered(*rounds: Round) -> str:
    """Return a prompt whose reader does this."""
    return f"ORDER {json.dumps(list(rounds))} END"


# --- acts: what a model does ------------------------------------------------------------------------------------------


def say(text: str) -> Act:
    """Say something beside the calls of the answer; by itself it is the agent's last word."""
    return ["say", text]


def silence() -> Act:
    """End the turn without a word."""
    return ["silence"]


def nap(seconds: float) -> Act:
    """Call a tool that takes so long."""
    return ["call", "Nap", {"seconds": seconds}]


def cling(seconds: float) -> Act:
    """Call a tool that hears nobody for so long."""
    return ["call", "Cling", {"seconds": seconds}]


def fail() -> Act:
    """Call a tool that refuses."""
    return ["call", "Refuse", {}]


def stumble() -> Act:
    """Call a tool with a bug."""
    return ["call", "Stumble", {}]


def spawn(*rounds: Round, background: bool = False, name: str = "", kind: str = "general-purpose") -> Act:
    """Start an agent that does this; the kind `fork` is a fork."""
    values: dict[str, Any] = {"description": "a piece of work", "prompt": ordered(*rounds)}
    values |= {"subagent_type": kind} | ({"run_in_background": True} if background else {})
    return ["call", "Agent", values | ({"name": name} if name else {})]


def message(to: int | str, *rounds: Round) -> Act:
    """Send orders to an agent: the so-manieth that there was, or a name."""
    return ["call", "SendMessage", {"to": to, "message": ordered(*rounds)}]


def stop(task: int) -> Act:
    """End a run."""
    return ["call", "TaskStop", {"task_id": task}]


def output(task: int, *, wait_ms: int = 0) -> Act:
    """Ask what a run has come to, and wait for it so long."""
    return ["call", "TaskOutput", {"task_id": task, "block": bool(wait_ms), "timeout": wait_ms}]


def trouble(kind: str) -> Act:
    """Let the provider fail instead of answering.

    `busy`: refused twice with 529, then it answers. `limited`: always refused with 429. `refused`: 400. `cut`: the first
    words come, then the connection breaks, each time. `broken`: not the provider's fault, but a bug of ours.
    """
    return ["trouble", kind]


# --- who reads them ---------------------------------------------------------------------------------------------------


@final
class ObedientModel:
    """Does what the conversation orders.

    Args:
        find: Returns the id of the so-manieth agent that there was, for acts that are about one.
        wait_s: Seconds before each answer.
    """

    def __init__(self, find: Callable[[int], str] = str, *, wait_s: float = 1.0) -> None:
        self._find = find
        self._wait_s = wait_s
        self._tries: Counter[tuple[str, int]] = Counter()
        self.requests: list[tuple[float, str]] = []
        """When who asked, each attempt."""

    @property
    def name(self) -> str:
        """Always the same."""
        return "obedient"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Do nothing."""
        yield

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Answer as ordered."""
        self.requests.append((trio.current_time(), request.agent))
        step = self._step(request)
        return ScriptedModel([step], name=self.name, pieces=1).stream(request)

    def _step(self, request: ModelRequest) -> ScriptStep:
        if request.definition in REVIEWERS:
            return ScriptStep(answer=WrittenAnswer([Say(verdict_on(request))], usage=USAGE), wait_s=self._wait_s)
        acts = next_round(request.messages)
        for act in acts:
            if act[0] == "trouble":
                place = (request.agent, len(request.messages))
                self._tries[place] += 1
                error = error_of(act[1], self._tries[place])
                if error is not None:
                    said = [Say("I had begun to")] if act[1] == "cut" else []
                    answer: AnswerLike = WrittenAnswer(said, usage=USAGE)
                    return ScriptStep(answer=answer, error=error, error_after=2 if said else 0, wait_s=self._wait_s)
        # As providers do, and scripted models do not: no id comes back after a compaction, when the conversation is as long again.
        ids = (f"toolu_{request.agent}_{len(self.requests)}_{number}" for number in itertools.count(1))
        parts = [part for act in acts for part in self._parts(act, ids)]
        return ScriptStep(answer=WrittenAnswer(parts, usage=USAGE), wait_s=self._wait_s)

    def _parts(self, act: Act, ids: Iterator[str]) -> list[Part]:
        verb, *values = act
        if verb == "say":
            return [Say(values[0])]
        if verb != "call":
            return [Say("At last.")] if verb == "trouble" else []
        name, given = values[0], dict(values[1])
        for key in ("to", "task_id"):
            if isinstance(given.get(key), int):
                given[key] = self._find(given[key])
        return [Call(name, given, id=next(ids))]


def next_round(messages: Sequence[Message]) -> Round:
    """Return what the agent of a conversation does now."""
    said = 0
    for one in reversed(messages):
        if one.role == "assistant":
            said += 1
            continue
        for block in reversed(one.content):
            if not isinstance(block, TextBlock):
                continue
            if "<summary>" in block.text and one is messages[-1]:  # asked for by a compaction
                return [say("<summary>Much was done.</summary>")]
            found = _ORDER.search(block.text)
            if found is not None:
                rounds: list[Round] = json.loads(found[1])
                return rounds[said] if said < len(rounds) else [say(f"Done after {said}.")]
    return [say("I wait.")]


def verdict_on(request: ModelRequest) -> str:
    """Return what a reviewer says: of what it reads some is blocked, and to some it has no answer."""
    chance = len(request.messages[0].text) % 5
    return {0: '{"verdict": "block", "reason": "not like this"}', 1: "Hm."}.get(chance, '{"verdict": "allow"}')


def error_of(kind: str, attempt: int) -> ProviderError | None:
    """Return how the provider fails at that attempt; see `trouble`."""
    if kind == "broken":
        raise InternalError("a promise does not hold")
    if kind == "busy" and attempt > 2:
        return None
    status, retryable = {"busy": (529, True), "limited": (429, True), "cut": (None, True), "refused": (400, False)}[
        kind
    ]
    return ProviderError(f"the provider is {kind}", kind=kind, status=status, is_retryable=retryable)


# --- tools ------------------------------------------------------------------------------------------------------------


@tool(name="Nap", read_only=True)
async def nap_tool(seconds: float) -> str:
    """Sleep.

    Args:
        seconds: How long.
    """
    await point("nap")
    await trio.sleep(seconds)
    return f"slept {seconds:g} s"


@tool(name="Cling", read_only=True)
async def cling_tool(seconds: float) -> str:
    """Work on, whoever cancels, and swallow what came meanwhile.

    Args:
        seconds: How long.
    """
    await point("cling")
    with trio.CancelScope(shield=True):
        await trio.sleep(seconds)
    return "worked"


@tool(name="Refuse", read_only=True)
async def refuse_tool() -> str:
    """Refuse."""
    await point("refuse")
    raise ToolError("not today")


@tool(name="Stumble", read_only=True)
async def stumble_tool() -> str:
    """Fail with a bug."""
    await point("stumble")
    raise ZeroDivisionError("a bug")


TOOLS: Final = (nap_tool, cling_tool, refuse_tool, stumble_tool)
