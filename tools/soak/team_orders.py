"""Members of a team that do as they are told: the model of a whole team's machine.

What is said to a member, and what an item says, names an order, a list of acts for each model request; the book has what it says. The
model reads it back from the conversation alone, so that a member obeys however it came to it: by the host, by mail of another,
by an item, by mail that waited while its team was closed. What it was told last counts. Requests to end and plans say themselves what
their reader makes of them.

    book.text([nap(1)], [create([[finish()]]), mail(1, [[take(0)]])])
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, final

import attrs

from greenroom.core import ProviderError
from greenroom.models import Call, Message, ModelRequest, ModelStream, Say, ScriptedModel, TextBlock, WrittenAnswer
from greenroom.models._scripted import ScriptStep
from greenroom.models._written_answers import Part
from greenroom.teams import LEAD
from tools.soak.session_situations import USAGE, Act, Round, error_of

ENOUGH: Final = 4
"""So often an item is given back, or on; whoever is handed it then completes it."""
APPROVE, REJECT, SILENT = "approve", "reject", "silent"
_ORDER: Final = re.compile(r"ORDER (\d+)")
_ITEM: Final = re.compile(r"Task #(\d+) is yours")
_SHUTDOWN: Final = re.compile(r'"shutdown_request", .*?"request(?:_i|I)d": "([^"]+)".*?answer: (\w+)', re.DOTALL)
_PLAN: Final = re.compile(r'"plan_approval_request", .*?"request(?:_i|I)d": "([^"]+)".*?answer: (\w+)', re.DOTALL)
_CHANGE: Final = "Your plan is not approved"


# --- acts ---------------------------------------------------------------------------------------------------------------


def say(text: str) -> Act:
    """Say something beside the calls of the answer; by itself it is the last word of the turn."""
    return ["say", text]


def nap(seconds: float) -> Act:
    """Call a tool that takes so long."""
    return ["call", "Nap", {"seconds": seconds}]


def look() -> Act:
    """Read the list."""
    return ["call", "TaskList", {}]


def create(rounds: list[Round]) -> Act:
    """Put an item on the board, whose owner does this."""
    return ["create", rounds]


def finish(item: int | None = None) -> Act:
    """Set an item completed: the so-manieth that there is, or the one that was handed over last."""
    return ["update", item, {"status": "completed"}]


def take(item: int | None = None) -> Act:
    """Begin with an item."""
    return ["update", item, {"status": "in_progress"}]


def give_back(item: int | None = None) -> Act:
    """Set an item pending."""
    return ["update", item, {"status": "pending"}]


def delete(item: int | None = None) -> Act:
    """Take an item off the board."""
    return ["update", item, {"status": "deleted"}]


def rename(item: int | None = None) -> Act:
    """Change what an item says."""
    return ["update", item, {"subject": "renamed", "metadata": {"seen": True}}]


def assign(item: int | None, member: int) -> Act:
    """Make an item another's."""
    return ["assign", item, member]


def link(item: int | None, other: int) -> Act:
    """Let an item wait for another."""
    return ["link", item, other]


def mail(to: int | str, rounds: list[Round]) -> Act:
    """Write orders to a member: the so-manieth that there was, `team-lead`, or `*` for all."""
    return ["mail", to, rounds]


def plan(answer: str) -> Act:
    """Hand in a plan, to which the lead's model says that."""
    return ["plan", answer]


def ask_to_end(member: int, answer: str) -> Act:
    """Ask a mate to end, whose model says that."""
    return ["end", member, answer]


def stop(member: int) -> Act:
    """End a mate with `TaskStop`."""
    return ["stop", member]


def spawn(rounds: list[Round]) -> Act:
    """Let a mate join that does this."""
    return ["spawn", rounds]


def trouble(kind: str) -> Act:
    """Let the provider fail instead of answering, as `tools.soak.session_situations.trouble` says; `broken`: a bug of ours.

    `broken` happens to each reader of an order once, `hopeless` is the same without an end, save for the lead.
    """
    return ["trouble", kind]


# --- who reads them -----------------------------------------------------------------------------------------------------


@final
@attrs.define(eq=False)
class OrderBook:
    """Orders, and the numbers under which texts name them; the same order has the same number."""

    numbers: dict[str, int] = attrs.Factory(dict)
    orders: list[list[Round]] = attrs.Factory(list)

    def text(self, rounds: list[Round]) -> str:
        """Return a text whose reader does this."""
        number = self.numbers.setdefault(json.dumps(rounds), len(self.orders))
        if number == len(self.orders):
            self.orders.append(rounds)
        return f"ORDER {number}"

    def read(self, text: str) -> list[Round]:
        """Return what a text orders last; nothing where it orders nothing."""
        found = _ORDER.findall(text)
        return self.orders[int(found[-1])] if found else []


@final
@attrs.define(eq=False)
class ObedientMembers:
    """The model of all members: does what the conversation orders.

    Args:
        book: What orders say.
        name_of: Returns the name of the so-manieth mate that there was.
        item_of: Returns the id of the so-manieth item that there is.
    """

    book: OrderBook
    name_of: Callable[[int], str]
    item_of: Callable[[int], str]
    wait_s: float = 0.5
    """Seconds before each answer."""
    is_tidying: bool = False
    """Whether every item is completed by whoever is handed it, whatever it says."""
    name: str = "obedient"
    _tries: Counter[tuple[str, str]] = attrs.Factory(Counter)
    _handed: dict[str, set[tuple[str, int]]] = attrs.Factory(dict)
    """To whom each item was handed, and where in the conversation."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Do nothing."""
        yield

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Answer as ordered."""
        return ScriptedModel([self._step(request)], name=self.name, pieces=1).stream(request)

    def _step(self, request: ModelRequest) -> ScriptStep:
        acts = self._answers(request) or self._next_round(request.messages)
        for verb, *values in acts:
            if verb == "trouble":
                error = self._error(values[0], request)
                if error is not None:
                    said = [Say("I had begun to")] if values[0] == "cut" else []
                    answer = WrittenAnswer(said, usage=USAGE)
                    return ScriptStep(answer=answer, error=error, error_after=2 if said else 0, wait_s=self.wait_s)
        parts = [self._part(act, request.messages) for act in acts]
        return ScriptStep(answer=WrittenAnswer(parts, usage=USAGE), wait_s=self.wait_s)

    def _error(self, kind: str, request: ModelRequest) -> ProviderError | None:
        place = (request.agent, f"{kind} {_last_words(request.messages)}")
        self._tries[place] += 1
        is_once = kind == "broken" or request.definition == "main"  # the session ends with its main agent
        if is_once and kind in {"broken", "hopeless"} and self._tries[place] > 1:
            return None
        return error_of("broken" if kind == "hopeless" else kind, self._tries[place])

    def _answers(self, request: ModelRequest) -> Round:
        """Return what is said at once to requests, and to an item when all that is left is to be done."""
        text = _said_last(request.messages)
        asked = [*_PLAN.findall(text), *_SHUTDOWN.findall(text)]
        answers = [["answer", one, word] for one, word in asked if word != SILENT]
        if not answers and self._is_handed_enough(request):
            return [finish()]
        if not answers and _CHANGE in text:
            return [plan(APPROVE)]
        return answers

    def _is_handed_enough(self, request: ModelRequest) -> bool:
        """Whether the agent was just handed an item, and completes it whatever that says."""
        last = request.messages[-1]
        handed = _ITEM.match((_texts(last) or [""])[-1])
        if handed is None or last.role != "user":
            return False
        times = self._handed.setdefault(handed[1], set())
        times.add((request.agent, len(request.messages)))
        return self.is_tidying or len(times) > ENOUGH

    def _next_round(self, messages: Sequence[Message]) -> Round:
        """Return what the agent of a conversation does now."""
        if self.is_tidying:
            return [say("I tidy up.")]
        said = 0
        for message in reversed(messages):
            if message.role == "assistant":
                said += 1
                continue
            rounds = self.book.read("\n".join(_texts(message)))
            if rounds:
                return rounds[said] if said < len(rounds) else [say(f"Done after {said}.")]
        return [say("I wait.")]

    def _part(self, act: Act, messages: Sequence[Message]) -> Part:
        match act:
            case ["say", text]:
                return Say(text)
            case ["call", name, given]:
                return Call(name, given)
            case ["create", rounds]:
                return Call("TaskCreate", {"subject": "one", "description": self.book.text(rounds)})
            case ["update", item, changes]:
                return self._update(item, messages, changes)
            case ["assign", item, member]:
                return self._update(item, messages, {"owner": self.name_of(member)})
            case ["link", item, other]:
                return self._update(item, messages, {"addBlockedBy": [self.item_of(other)]})
            case ["trouble", _]:
                return Say("At last.")
            case _:
                return self._message(act)

    def _update(self, item: int | None, messages: Sequence[Message], changes: dict[str, Any]) -> Call:
        return Call("TaskUpdate", {"taskId": _own_item(messages) if item is None else self.item_of(item), **changes})

    def _message(self, act: Act) -> Call:
        match act:
            case ["mail", to, rounds]:
                name = self.name_of(to) if isinstance(to, int) else to
                return Call("SendMessage", {"to": name, "message": self.book.text(rounds), "summary": "orders"})
            case ["plan", answer]:
                return Call("ExitPlanMode", {"plan": f"It is done.\n\nanswer: {answer}"})
            case ["end", member, answer]:
                said = {"type": "shutdown_request", "reason": f"answer: {answer}"}
                return Call("SendMessage", {"to": self.name_of(member), "message": said})
            case ["stop", member]:
                return Call("TaskStop", {"task_id": self.name_of(member)})
            case ["spawn", rounds]:
                values = {"description": "some work", "prompt": self.book.text(rounds), "name": "eve"}
                return Call("Agent", {**values, "team_name": "crew", "subagent_type": "general-purpose"})
            case ["answer", request, word]:
                kind, to = "shutdown_response", LEAD
                if request.startswith("plan-"):
                    kind, to = "plan_approval_response", request.partition("@")[2]
                more = {} if word == APPROVE else {"feedback" if to != LEAD else "reason": "not yet"}
                said = {"type": kind, "request_id": request, "approve": word == APPROVE, **more}
                return Call("SendMessage", {"to": to, "message": said})
        raise AssertionError(act)


def _texts(message: Message) -> list[str]:
    return [block.text for block in message.content if isinstance(block, TextBlock)]


def _said_last(messages: Sequence[Message]) -> str:
    """Return what the agent was told since it spoke last."""
    told: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        told = [*_texts(message), *told]
    return "\n".join(told)


def _last_words(messages: Sequence[Message]) -> str:
    """Return what was said last that is an order."""
    return next((text for message in reversed(messages) for text in _texts(message) if "ORDER" in text), "")


def _own_item(messages: Sequence[Message]) -> str:
    """Return the id of the item that was handed over last; of none, an id that nothing has."""
    found = [item for message in messages for text in _texts(message) for item in _ITEM.findall(text)]
    return found[-1] if found else "0"
