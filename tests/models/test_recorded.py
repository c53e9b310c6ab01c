"""Recorded runs: what came is what comes again, and the first request that differs is told with its difference."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import ProviderError, UsageError
from greenroom.models import (
    Block,
    Call,
    Message,
    Model,
    ModelRequest,
    ModelResponse,
    PlannedCrash,
    PlaybookModel,
    RetryPolicy,
    Say,
    ScriptedModel,
    StreamRestarted,
    TextBlock,
    Think,
    Thinking,
    ThinkingBlock,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
    Usage,
    UsageDelta,
    WrittenAnswer,
    retrying,
)
from greenroom.models._scripted import ScriptEntry, ScriptStep
from greenroom.models._types import TextDelta, ThinkingDelta, ToolInputDelta, ToolUseStarted
from greenroom.models.budgets import Budget, BudgetExceeded, Limits, budgeted
from greenroom.models.recordings import MODEL_FILE, RecordedModel, ReplayMismatch, read_recording, recording
from greenroom.models.recordings._plain_values import delta_of, error_of, plain, plain_error, request_of, response_of
from greenroom.models.recordings._recording_file import ModelRecording, parse_recording
from greenroom.testing import run_virtual
from tests.models.situations import HELLO, provider_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from greenroom.models._types import Delta


class Tape:
    """A file in memory."""

    def __init__(self) -> None:
        self.content = b""

    def write(self, lines: bytes) -> None:
        self.content += lines

    def read(self) -> ModelRecording:
        return parse_recording(self.content, source="tape")

    def model(self) -> RecordedModel:
        return RecordedModel(self.read())


@pytest.fixture
def tape() -> Tape:
    return Tape()


# --- values ----------------------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=8)  # with half surrogate pairs, which a server may cut
INPUTS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(TEXTS, INPUTS, max_size=3)
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, TEXTS),
    st.builds(ThinkingBlock, TEXTS, TEXTS, st.booleans()),
    st.builds(ToolUseBlock, TEXTS, TEXTS, OBJECTS),
    st.builds(ToolResultBlock, TEXTS, TEXTS, st.booleans()),
)
CONTENTS = st.lists(BLOCKS, max_size=3).map(tuple)
USAGES = st.builds(Usage, *[st.integers(0, 9)] * 4)
REQUESTS = st.builds(
    ModelRequest,
    st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), CONTENTS), max_size=3).map(tuple),
    system=TEXTS,
    tools=st.lists(st.builds(ToolSchema, TEXTS, TEXTS, OBJECTS), max_size=2).map(tuple),
    max_tokens=st.integers(1, 9),
    definition=st.sampled_from(["", "d"]),
    model=TEXTS,
    effort=st.sampled_from([None, "high"]),
    thinking=st.sampled_from([None, Thinking(), Thinking("enabled", 2048)]),
)
DELTAS: st.SearchStrategy[Delta] = st.one_of(
    st.builds(TextDelta, TEXTS),
    st.builds(ThinkingDelta, TEXTS),
    st.builds(ToolUseStarted, TEXTS, TEXTS),
    st.builds(ToolInputDelta, TEXTS, TEXTS),
    st.builds(UsageDelta, USAGES),
    st.builds(StreamRestarted, TEXTS, st.integers(), st.floats(0, 9), USAGES, st.none() | st.integers()),
)
RESPONSES = st.builds(ModelResponse, CONTENTS, st.none() | TEXTS, USAGES, TEXTS, TEXTS)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(plain(value)))


@given(REQUESTS, DELTAS, RESPONSES)
def test_values_come_back_as_they_were(request_: ModelRequest, delta: Delta, response: ModelResponse) -> None:
    assert request_of(through_json(request_)) == request_
    assert delta_of(through_json(delta)) == delta
    assert response_of(through_json(response)) == response


def facts(error: Exception | None) -> Any:
    return None if error is None else (type(error), str(error), {**vars(error)})


def test_errors_come_back_with_their_facts() -> None:
    provider = provider_error("rate_limited", retry_after_s=2.5)
    provider.add_note("given up: why")
    errors: list[Exception] = [provider, UsageError("no")]
    for limits in (Limits(tokens=0), Limits(usd=0), Limits(calls=0), Limits(wall_s=0)):  # type: ignore[arg-type]
        ticks = iter(range(100))
        with pytest.raises(BudgetExceeded) as caught:
            Budget(limits, now_s=partial(next, ticks)).take_nowait("claude-opus-5", HELLO)
        errors.append(caught.value)

    for error in errors:
        assert facts(error_of(through_json(plain_error(error)))) == facts(error)
    assert error_of(plain_error(ZeroDivisionError())) is None


# --- what came is what comes again -----------------------------------------------------------------------------------

ANSWERS = st.lists(
    st.one_of(
        st.builds(Say, st.text(st.characters(codec="utf-8"), max_size=9)),
        st.builds(Think, st.just("hm, well"), st.sampled_from(["", "sig"])),
        st.builds(Call, st.just("Read"), st.dictionaries(st.text("ab"), st.integers(), max_size=2)),
    ),
    max_size=4,
).map(WrittenAnswer)
STEPS: st.SearchStrategy[ScriptEntry] = st.one_of(
    st.builds(ScriptStep, answer=ANSWERS),
    st.builds(
        ScriptStep,
        answer=ANSWERS.map(lambda answer: attrs.evolve(answer, usage=Usage(7, 1))),
        error=st.sampled_from(["cut", "overloaded", "bad_request"]).map(provider_error),
        error_after=st.integers(0, 9),
    ),
)

Seen = list[tuple[Any, tuple[Block, ...], Usage]]


def unwaited(delta: Delta) -> Delta:
    """Return a delta without its wait: what is served again is not waited for."""
    return attrs.evolve(delta, wait_s=0.0) if isinstance(delta, StreamRestarted) else delta


async def watched(model: Model, request: ModelRequest, *, whole: bool = False) -> tuple[Seen, ModelResponse, Any]:
    """Return every delta with what was shown after it, what was there in the end, and the error."""
    seen: Seen = []
    error = None

    async def note(notice: StreamRestarted) -> None:
        seen.append((unwaited(notice), (), Usage()))

    async with model.stream(request) as stream:
        try:
            if whole:
                await stream.wait_response(note)
            else:
                async for delta in stream:
                    seen.append((unwaited(delta), stream.so_far.content, stream.so_far.usage))
        except ProviderError as problem:
            error = facts(problem)
        return seen, stream.so_far, error


async def conversation(model: Model, prompts: int, *, whole: bool = False) -> list[tuple[Seen, ModelResponse, Any]]:
    """Return what was seen of each answer; each is part of the next request."""
    messages: list[Message] = []
    told = []
    for at in range(prompts):
        messages.append(Message.user(f"prompt {at}"))
        told.append(await watched(model, ModelRequest(tuple(messages), agent="a"), whole=whole))
        if told[-1][1].content:
            messages.append(told[-1][1].message)
    return told


@given(steps=st.lists(STEPS, min_size=1, max_size=5), pieces=st.integers(1, 5), whole=st.booleans())
def test_a_recorded_run_repeats_itself_delta_by_delta(steps: list[ScriptEntry], pieces: int, whole: bool) -> None:
    """The errors and the usage too, and what was shown of an attempt that failed."""
    tape = Tape()
    scripted = ScriptedModel([*steps, *["end"] * 3], pieces=pieces)
    model = recording(retrying(scripted, RetryPolicy(attempts=3)), tape.write)
    first = run_virtual(partial(conversation, model, 3, whole=whole)).result

    replayed = tape.model()
    again = run_virtual(partial(conversation, replayed, 3, whole=whole)).result

    assert again == first
    replayed.assert_done()
    assert model.name == replayed.name == "scripted"


@given(st.lists(st.tuples(st.sampled_from("abc"), REQUESTS, st.booleans()), max_size=12))
def test_every_request_is_read_as_it_was_sent(sent: list[tuple[str, ModelRequest, bool]]) -> None:
    """Also where only what is new of it was written: half of the time a conversation goes on, half of the time it is another."""
    tape = Tape()
    model = recording(PlaybookModel({"": lambda _: "ok", "d": lambda _: "ok"}), tape.write)
    last: dict[str, ModelRequest] = {}
    requests = []
    for agent, request_, goes_on in sent:
        before = last[agent].messages if goes_on and agent in last else ()
        last[agent] = attrs.evolve(request_, agent=agent, messages=(*before, *request_.messages))
        requests.append(last[agent])

    async def ask() -> None:
        for request in requests:
            async with model.stream(request) as stream:
                await stream.wait_response()

    run_virtual(ask)

    read = (
        [
            attrs.evolve(request_of(exchange.request), agent=exchange.agent)
            for exchange in parse_recording(tape.content, source="").exchanges
        ]
        if requests
        else []
    )
    assert read == requests


def test_a_long_conversation_is_not_written_again_and_again(tape: Tape) -> None:
    """RC-117's other side: what is the same in every request takes no more room either."""
    model = recording(PlaybookModel({"": lambda _: "x" * 100}), tape.write)
    run_virtual(partial(conversation, model, 100))
    assert len(tape.content) < 100 * 1_000


def test_what_was_answered_is_written_once(tape: Tape) -> None:
    """In the pieces of the answer: neither beside them nor in the next request."""
    model = recording(PlaybookModel({"": lambda _: Call("Read", {"path": "x" * 1_000})}), tape.write)
    told = run_virtual(partial(conversation, model, 5)).result

    assert len(tape.content) < 5 * 1_700
    assert [exchange.response for exchange in tape.read().exchanges] == [plain(answer) for _, answer, _ in told]
    assert tape.read().exchanges[4].sent.messages[-2] == told[3][1].message


def test_what_agents_have_in_common_is_written_once(tape: Tape) -> None:
    model = recording(PlaybookModel({"": lambda _: "ok"}), tape.write)
    first = ModelRequest((Message.user("a"),), system="x" * 1_000, agent="a")
    other = attrs.evolve(first, agent="b", effort="high")

    async def ask() -> None:
        for request in (first, other):
            async with model.stream(request) as stream:
                await stream.wait_response()

    run_virtual(ask)
    assert len(tape.content) < 2_000
    assert [exchange.sent for exchange in tape.read().exchanges] == [first, other]


def test_a_file_of_the_first_version_is_read() -> None:
    answer = {"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": {}, "model": "m"}
    messages = [{"role": "user", "content": []}, {"role": "assistant", "content": answer["content"]}]
    lines: list[Any] = [
        {"v": 1, "model": "m"},
        {"n": 1, "agent": "a", "request": {"messages": messages[:1]}},
        {"n": 1, "said": [{"type": "text", "text": "hi", "shown": [1, 2]}], "response": answer, "end": "complete"},
        {"n": 2, "agent": "a", "like": 1, "kept": 1, "request": {"messages": messages[1:]}},
    ]
    read = parse_recording("\n".join(map(json.dumps, lines)).encode(), source="")

    assert [exchange.request["messages"] for exchange in read.exchanges] == [messages[:1], messages]
    assert read.exchanges[0].response == answer


# --- what differs ----------------------------------------------------------------------------------------------------

TOOLS = (ToolSchema("Read", "reads", {"type": "object"}),)
ASKED = ModelRequest(
    (Message.user("Fix the test."), Message("assistant", (ToolUseBlock("t", "Read", {"path": "a.py", "limit": 1}),))),
    system="You help. " * 20 + "It is Monday.",
    tools=TOOLS,
    definition="d",
    model="m",
    agent="a",
)


def recorded(*requests: ModelRequest, answers: Sequence[ScriptEntry] = ()) -> Tape:
    tape = Tape()
    model = recording(ScriptedModel(answers or ["ok"] * len(requests)), tape.write)

    async def ask() -> None:
        for request in requests:
            await watched(model, request)

    run_virtual(ask)
    return tape


async def ask(model: Model, request_: ModelRequest) -> str:
    async with model.stream(request_) as stream:
        return (await stream.wait_response()).text


def mismatch(model: Model, *requests: ModelRequest) -> ReplayMismatch:
    """Return the error of the last of these requests; the others are answered."""

    async def ask_all() -> ReplayMismatch:
        for request in requests[:-1]:
            assert await ask(model, request) == "ok"
        with pytest.raises(ReplayMismatch) as caught:
            await ask(model, requests[-1])
        return caught.value

    return run_virtual(ask_all).result


def changed(at: int, *content: Block) -> tuple[Message, ...]:
    messages = list(ASKED.messages)
    messages[at] = attrs.evolve(messages[at], content=content)
    return tuple(messages)


@pytest.mark.parametrize(
    ("asked", "path", "was", "now"),
    [
        ({"messages": changed(0, TextBlock("Fix it."))}, "messages[0].content[0].text", "Fix the test.", "Fix it."),
        (
            {"messages": changed(1, ToolUseBlock("t", "Read", {"path": "b.py", "limit": 1}))},
            "messages[1].content[0].input.path",
            "a.py",
            "b.py",
        ),
        (
            {"messages": changed(1, ToolUseBlock("t", "Read", {"path": "a.py", "limit": True}))},
            "messages[1].content[0].input.limit",
            1,
            True,
        ),
        ({"messages": changed(1, TextBlock("x"))}, "messages[1].content[0].type", "tool_use", "text"),
        ({"messages": (*ASKED.messages, Message.user("x"))}, "messages[2]", None, plain(Message.user("x"))),
        ({"messages": ASKED.messages[:1]}, "messages[1]", plain(ASKED.messages[1]), None),
        ({"messages": ASKED.messages[:1], "tools": ()}, "tools[0]", plain(TOOLS[0]), None),
        ({"max_tokens": 7}, "max_tokens", 8192, 7),
        ({"effort": "high"}, "effort", None, "high"),
        ({"thinking": Thinking()}, "thinking", None, {}),
        ({"model": "n"}, "model", "m", "n"),
    ],
)
def test_the_first_difference_is_named_with_both_values(
    asked: dict[str, Any], path: str, was: object, now: object
) -> None:
    error = mismatch(recorded(ASKED).model(), attrs.evolve(ASKED, **asked))

    assert (error.path, error.recorded, error.asked) == (path, was, now)
    assert (error.agent, error.number) == ("a", 1)
    assert str(error).startswith(f"request 1 of 'a' differs from the recording: {path} was ")


def test_of_long_texts_the_part_that_differs_is_shown() -> None:
    error = mismatch(recorded(ASKED).model(), attrs.evolve(ASKED, system="You help. " * 20 + "It is Tuesday."))

    assert str(error).endswith("system was ...'You help. It is Monday.' and is ...'You help. It is Tuesday.'")


def test_a_difference_is_final() -> None:
    """Or a retry and a restart would go on in a run that is another one."""
    tape = recorded(ASKED, ASKED)
    model = tape.model()
    first = mismatch(retrying(model), ASKED, attrs.evolve(ASKED, system=""))

    again = mismatch(model, ASKED)

    assert again is not first
    assert (str(again), again.path) == (str(first), first.path) == (str(model.mismatch), "system")
    with pytest.raises(ReplayMismatch):
        model.assert_done()

    async def open_and_close() -> None:
        with pytest.raises(ReplayMismatch):
            async with model.open():
                pass

    run_virtual(open_and_close)


def test_a_request_more_and_a_request_less_are_found() -> None:
    model = recorded(ASKED, ASKED).model()
    assert run_virtual(ask, model, ASKED).result == "ok"
    with pytest.raises(ReplayMismatch, match="1 more requests of 'a' were recorded") as caught:
        model.assert_done()
    assert (caught.value.number, caught.value.recorded["system"]) == (2, ASKED.system)

    error = mismatch(model, ASKED, ASKED)

    assert "request 3 of 'a' was not recorded" in str(error)
    assert (error.number, error.path, error.asked["model"]) == (3, "", "m")


def test_what_may_differ_is_taken_out_on_both_sides() -> None:
    model = RecordedModel(
        recorded(ASKED).read(), normalize=lambda request_: attrs.evolve(request_, system=request_.system[:100])
    )
    assert run_virtual(ask, model, attrs.evolve(ASKED, system="You help. " * 20 + "It is Friday.")).result == "ok"
    model.assert_done()


# --- agents ----------------------------------------------------------------------------------------------------------


@given(order=st.permutations(range(6)), same_ids=st.booleans())
def test_agents_are_found_by_what_they_ask_in_whichever_order(order: list[int], same_ids: bool) -> None:
    """Their ids are others in another run. Two of these three begin alike: either may have the answers of the other."""
    prompts = ["look", "look", "write"]

    def asks(agent: int) -> list[ModelRequest]:
        first = (Message.user(prompts[agent]),)
        second = (*first, Message("assistant", (TextBlock(f"{prompts[agent]}!"),)), Message.user("more"))
        return [ModelRequest(first, agent=f"old{agent}"), ModelRequest(second, agent=f"old{agent}")]

    def answer(request_: ModelRequest) -> str:
        return f"{request_.messages[0].text}!"

    tape = Tape()
    model = recording(PlaybookModel({"": answer}), tape.write)
    for agent in range(3):
        for one in asks(agent):
            run_virtual(ask, model, one)

    replayed = tape.model()
    left = {agent: iter(asks(agent)) for agent in range(3)}
    for place in order:
        one = next(left[place % 3])
        one = one if same_ids else attrs.evolve(one, agent=one.agent.replace("old", "new"))
        assert run_virtual(ask, replayed, one).result == answer(one)
    replayed.assert_done()


def test_an_agent_that_begins_otherwise_is_compared_with_one_of_its_definition() -> None:
    other = attrs.evolve(ASKED, agent="b", definition="e", system="others")
    error = mismatch(recorded(other, ASKED).model(), attrs.evolve(ASKED, agent="new", model="n"))
    assert (error.path, error.agent) == ("model", "new")

    error = mismatch(recorded(ASKED).model(), attrs.evolve(ASKED, agent="new", definition="unknown"))
    assert "request 1 of 'new' was not recorded" in str(error)


def by(agent: str, prompt: str) -> ModelRequest:
    return ModelRequest((Message.user(prompt),), agent=agent)


def test_what_an_agent_asks_says_more_than_its_id() -> None:
    replayed = recorded(by("a", "look"), by("b", "write")).model()
    for one in (by("b", "look"), by("a", "write")):
        assert run_virtual(ask, replayed, one).result == "ok"
    replayed.assert_done()


def test_a_place_that_is_taken_stays_so() -> None:
    """Also where what comes next in it is what another agent begins with."""
    replayed = recorded(by("a", "look"), by("a", "look"), by("b", "look")).model()
    for agent in ("new", "newer", "new"):
        assert run_virtual(ask, replayed, by(agent, "look")).result == "ok"
    replayed.assert_done()


def test_an_agent_with_the_id_of_a_recorded_one_is_compared_with_it() -> None:
    other = attrs.evolve(ASKED, agent="b", definition="e")
    error = mismatch(recorded(ASKED, other).model(), attrs.evolve(other, agent="a", system="others"))
    assert (error.path, error.recorded, error.asked) == ("definition", "d", "e")


# --- ends ------------------------------------------------------------------------------------------------------------


def test_a_request_that_was_cancelled_waits_for_its_cancel_and_not_forever(tape: Tape) -> None:
    model = recording(ScriptedModel([ScriptStep(answer="one two"), "never"], pieces=2), tape.write)

    async def read_one(model: Model) -> ModelResponse:
        async with model.stream(HELLO) as stream:
            while stream.so_far.text != "one ":
                await anext(stream)
            return stream.so_far

    async def read_on(model: Model) -> None:
        with trio.move_on_after(30) as scope:
            async with model.stream(HELLO) as stream:
                await stream.wait_response()
        assert scope.cancelled_caught
        assert stream.so_far.text == "one "

    part = run_virtual(read_one, model).result
    assert run_virtual(read_one, tape.model()).result == part
    run_virtual(read_on, tape.model())

    error = mismatch(tape.model(), HELLO)
    assert "it was cancelled in the recorded run, but not in 60 s of this one" in str(error)


def test_an_error_that_no_model_has_by_contract_cannot_be_served(tape: Tape) -> None:
    def fail(_: ModelRequest) -> Any:
        raise ZeroDivisionError("no")

    model = recording(PlaybookModel({"": fail}), tape.write)

    async def fails() -> None:
        with pytest.raises(ZeroDivisionError):
            await ask(model, HELLO)

    run_virtual(fails)

    assert "cannot be replayed: it failed with ZeroDivisionError: no" in str(mismatch(tape.model(), HELLO))


def test_a_denial_of_a_budget_is_served_too(tape: Tape) -> None:
    async def denied(model: Model) -> Any:
        with pytest.raises(BudgetExceeded) as caught:
            await ask(model, HELLO)
        return facts(caught.value)

    async def first() -> Any:
        return await denied(
            recording(budgeted(ScriptedModel([]), Budget(Limits(calls=0), now_s=lambda: 0.0)), tape.write)
        )

    told = run_virtual(first).result
    assert run_virtual(denied, tape.model()).result == told


def test_a_request_that_cannot_be_written_is_not_sent() -> None:
    scripted = ScriptedModel(["ok"])

    def refuse(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    async def fails() -> None:
        with pytest.raises(OSError, match="No space"):
            await ask(recording(scripted, refuse), HELLO)

    run_virtual(fails)
    assert scripted.requests == []


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_run_is_read_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / MODEL_FILE).write_bytes(recorded(HELLO).content)

    assert repr(read_recording(tmp_path)) == "<Recording of 1 requests to 'scripted'>"
    assert read_recording(str(tmp_path / MODEL_FILE)) == read_recording(tmp_path)
    assert repr(RecordedModel(read_recording(tmp_path))) == "<RecordedModel 'scripted' left=1>"
    with pytest.raises(UsageError, match="was the run recorded"):
        read_recording(tmp_path / "other")


def test_a_process_that_died_leaves_what_it_had_written_and_the_next_one_goes_on() -> None:
    whole = recorded(HELLO, HELLO).content
    next_one = recorded(HELLO).content
    for length in range(len(whole.split(b"\n")[1]) + 2, len(whole)):
        part = parse_recording(whole[:length] + next_one, source="it")
        alone = parse_recording(whole[:length], source="it")
        assert part.exchanges[:-1] == alone.exchanges
        assert part.exchanges[-1].end == "complete"
        assert [exchange.number for exchange in part.exchanges] == list(range(1, len(part.exchanges) + 1))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "its head is missing"),
        (b'{"n": 1}\n', "its head is missing"),
        (b'{"v": 3}\n', "unsupported recording version 3, expected 2"),
        (
            b'{"v": 2}\n{"n": 1, "agent": "a", "request": {"messages": [{"answer": 1}]}}\n',
            "line 2: malformed recording entry",
        ),
        (b'{"v": 1}\n{"n"\n{"n": 1, "agent": "a", "request": {"messages": []}}\n', "line 2: malformed JSON"),
        (b'{"v": 1}\n{"n": 1, "agent": "a", "request": {}}\n', "line 2: malformed recording entry"),
        (
            b'{"v": 1}\n{"n": 1, "agent": "a", "request": {"messages": [{"role": "user"}]}}\n',
            "line 2: malformed recording entry",
        ),
        (b'{"v": 1}\n{"n": 1, "end": "complete"}\n', "line 2: malformed recording entry"),
        (
            b'{"v": 1}\n{"n": 1, "agent": "a", "like": 7, "kept": 0, "request": {"messages": []}}\n',
            "line 2: malformed recording entry",
        ),
        (b'{"v": 1}\n[1]\n', "line 2: malformed recording entry"),
    ],
)
def test_a_broken_file_says_where(content: bytes, why: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_recording(content, source="model.jsonl")
    assert str(caught.value).startswith("model.jsonl")
    assert why in str(caught.value)


def test_a_planned_crash_is_served_as_one() -> None:
    """It crashes the agent again, so that a re-run has the same restarts."""
    again = error_of(plain_error(PlannedCrash("a planned crash")))
    assert isinstance(again, PlannedCrash)
    assert str(again) == "a planned crash"
