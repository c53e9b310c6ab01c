"""Lines of a headless run for other programs, as pure functions of what happened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.actors import TurnBegan
from greenroom.agents import Answer, Appended, Denial, OutOfTurns, PromptBlocked, StoppedByHook
from greenroom.agents.events import (
    AgentDefined,
    CompactBegan,
    CompactEnded,
    ModelBegan,
    ModelEnded,
    ModelRetried,
    PermissionDenied,
    ToolBegan,
)
from greenroom.core import Event, InternalError, ProviderError, Recorder, TurnFailed, TurnKilled, event_of
from greenroom.headless._ending import INTERRUPTED, Ending, ended_badly, ended_well
from greenroom.headless._event_printer import origin_of
from greenroom.headless._runner import unknown_tools
from greenroom.headless._stream_json import (
    Counts,
    Opening,
    event_lines,
    failure_line,
    init_line,
    message_lines,
    result_line,
)
from greenroom.headless._usage_meter import Meter
from greenroom.inbox import AUTO_CONTINUATION, HOOK, HUMAN, TASK_NOTIFICATION, Origin
from greenroom.inbox._origin import channel
from greenroom.models import (
    RETRYABLE,
    Block,
    Message,
    ModelResponse,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    error_category,
)
from greenroom.models.budgets import BudgetExceeded, Limited, Spent
from greenroom.store import encode_line
from greenroom.swarm._event_reader import Waits
from greenroom.terminal._narrator import Narrator

TEXTS = st.text(min_size=1, max_size=5)
SAID: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, TEXTS),
    st.builds(ThinkingBlock, TEXTS, TEXTS),
    st.builds(ToolUseBlock, TEXTS, TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=2)),
)
TOLD: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, TEXTS), st.builds(ToolResultBlock, TEXTS, TEXTS, st.booleans())
)
CALLS = {"tool_use", "tool_result"}


def said(*blocks: Block, stop_reason: str | None = "end_turn") -> Appended:
    response = ModelResponse(blocks, stop_reason, Usage(1, 2), "m", "msg_1")
    return Appended(agent="a1", message=response.message, uuid="u1", is_hidden=False, response=response)


def told(*blocks: Block, is_hidden: bool = False) -> Appended:
    return Appended(agent="a1", message=Message("user", blocks), uuid="u1", is_hidden=is_hidden, response=None)


APPENDED = st.one_of(
    st.lists(SAID, min_size=1, max_size=3).map(lambda blocks: said(*blocks)),
    st.builds(lambda blocks, is_hidden: told(*blocks, is_hidden=is_hidden), st.lists(TOLD, max_size=3), st.booleans()),
)


# --- messages -----------------------------------------------------------------------------------------------------------


@given(APPENDED, st.none() | st.just("toolu_1"), st.booleans())
def test_every_line_says_who_where_and_which(one: Appended, parent: str | None, with_text: bool) -> None:
    """A child's lines have its call's id, and nothing but calls unless its text is wanted.

    The prompt alone is left out of main's. Behaviours (13), line 2.
    """
    lines = message_lines(one, session="s1", new_id=lambda: "u2", parent=parent, with_text=with_text)

    encoded = [block for line in lines for block in line["message"]["content"]]
    if parent is not None and not (with_text and one.message.role == "assistant"):
        assert {block["type"] for block in encoded} <= CALLS
    elif lines:
        assert len(encoded) == len(one.message.content)
    if not lines:
        types = {type(block) for block in one.message.content}
        assert parent is not None or (one.message.role == "user" and ToolResultBlock not in types)
        return
    (line,) = lines
    assert (line["type"], line["session_id"], line["uuid"]) == (one.message.role, "s1", "u1")
    assert line["parent_tool_use_id"] == parent
    assert line["message"]["role"] == one.message.role
    assert "tool_use_result" not in line
    assert json.loads(encode_line(line)) == line


@given(
    st.lists(TEXTS, min_size=1, max_size=4, unique=True),
    st.dictionaries(TEXTS, st.dictionaries(TEXTS, TEXTS), min_size=1, max_size=3),
)
def test_what_programs_read_of_a_result_is_on_the_line_of_that_result(
    calls: list[str], data: dict[str, dict[str, str]]
) -> None:
    """Mechanism: a line with `tool_use_result` has one block, and the blocks together are the message's."""
    attached = {call: data[call] for call in calls if call in data}
    one = attrs.evolve(told(*[ToolResultBlock(call, "ok") for call in calls]), attached=attached)
    ids = iter(range(9))

    lines = message_lines(one, session="s1", new_id=lambda: f"new{next(ids)}")

    blocks = [block for line in lines for block in line["message"]["content"]]
    assert [block["tool_use_id"] for block in blocks] == calls
    assert lines[0]["uuid"] == "u1"
    assert len({line["uuid"] for line in lines}) == len(lines) == (len(calls) if attached else 1)
    found = {line["message"]["content"][0]["tool_use_id"]: line.get("tool_use_result") for line in lines}
    assert {call: values for call, values in found.items() if values is not None} == attached


def test_an_answer_that_was_cut_off_is_marked() -> None:
    (line,) = message_lines(said(TextBlock("a"), stop_reason=None), session="s1", new_id=lambda: "u2")

    assert line["aborted"] is True
    assert line["message"]["stop_reason"] is None


def test_what_no_person_said_is_marked() -> None:
    (line,) = message_lines(told(TextBlock("go on"), is_hidden=True), session="s1", new_id=lambda: "u2")

    assert line["isSynthetic"] is True


def test_init_has_the_documented_keys() -> None:
    opening = Opening(
        session="s1", cwd="/w", model="m", permission_mode="plan", version="1", api_key_source="none", tools=("Read",)
    )

    assert set(init_line(opening, uuid="u")) == {
        *("type", "subtype", "cwd", "session_id", "tools", "mcp_servers", "model", "permissionMode"),
        *(
            "slash_commands",
            "agents",
            "skills",
            "plugins",
            "output_style",
            "apiKeySource",
            "claude_code_version",
            "capabilities",
            "uuid",
        ),
    }


# --- results ------------------------------------------------------------------------------------------------------------


def failed(cause: BaseException) -> TurnFailed:
    error = TurnFailed("a1", str(cause), partial="so far")
    error.__cause__ = cause
    return error


def exceeded(limit: Limited) -> BudgetExceeded:
    return BudgetExceeded(budget="the run", limit=limit, allowed=1.0, spent=Spent(), asked=Spent())


@pytest.mark.parametrize(
    ("error", "subtype", "reason"),
    [
        (failed(OutOfTurns(1)), "error_max_turns", "max_turns"),
        (failed(exceeded("usd")), "error_max_budget_usd", "budget_exhausted"),
        (failed(exceeded("tokens")), "error_during_execution", "budget_exhausted"),
        (failed(ProviderError("no", kind="overloaded", status=529)), "error_during_execution", "api_error"),
        (failed(ProviderError("no", kind="too_large")), "error_during_execution", "prompt_too_long"),
        (failed(StoppedByHook("enough")), "error_during_execution", "hook_stopped"),
        (failed(PromptBlocked("no")), "error_during_execution", "hook_stopped"),
        (failed(InternalError("bug")), "error_during_execution", ""),
        (TurnKilled("a1", who="host", why="SIGINT", partial="so far"), "error_during_execution", "aborted_streaming"),
    ],
)
def test_how_a_turn_ended_is_told_in_the_documented_words(
    error: TurnFailed | TurnKilled, subtype: str, reason: str
) -> None:
    ending = ended_badly(error)
    line = result_line(ending, Counts(), session="s", uuid="u")

    assert (ending.subtype, ending.reason, ending.text, ending.exit_code) == (subtype, reason, "so far", 1)
    assert line["is_error"] is True
    assert line["errors"] == [ending.error]
    assert line.get("terminal_reason", "") == reason
    assert "result" not in line


def test_a_turn_that_was_ended_in_its_tools_says_so() -> None:
    ending = ended_badly(TurnKilled("a1", who="host", why="x"), was_in_tools=True)

    assert (ending.reason, ending.error) == ("aborted_tools", INTERRUPTED)


def test_a_success_has_a_result_and_no_errors() -> None:
    ending = ended_well(Answer(text="Done.", usage=Usage(), rounds=2, stop_reason="end_turn"))
    denials = [Denial(tool="Write", call="toolu_1", input={"file_path": "a"})]
    counts = Counts(duration_ms=5, api_ms=3, rounds=2, usage=Usage(1, 2, 3, 4), denials=denials)

    line = result_line(ending, counts, session="s", uuid="u")

    assert ending.exit_code == 0
    assert "errors" not in line
    assert (line["subtype"], line["is_error"], line["result"], line["num_turns"]) == ("success", False, "Done.", 2)
    assert (line["duration_ms"], line["duration_api_ms"], line["terminal_reason"]) == (5, 3, "completed")
    assert line["permission_denials"] == [
        {"tool_name": "Write", "tool_use_id": "toolu_1", "tool_input": {"file_path": "a"}}
    ]
    assert line["usage"] == {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 4,
    }
    assert "origin" not in line


def test_the_cost_is_that_of_all_models_and_unknown_where_one_has_no_price() -> None:
    both = {"a": Usage(1, 1), "b": Usage(2, 2)}
    priced = Counts(by_model=both, cost_usd={"a": Decimal("0.1"), "b": Decimal("0.2")})
    half = Counts(by_model=both, cost_usd={"a": Decimal("0.1")})
    ending = Ending(subtype="success")

    line = result_line(ending, priced, session="s", uuid="u")

    assert line["total_cost_usd"] == 0.3
    assert line["modelUsage"]["b"]["costUSD"] == 0.2
    line = result_line(ending, half, session="s", uuid="u")
    assert line["total_cost_usd"] is None
    assert line["modelUsage"]["b"]["costUSD"] is None


def test_a_follow_up_says_where_it_came_from() -> None:
    line = result_line(Ending(subtype="success"), Counts(), session="s", uuid="u", origin=TASK_NOTIFICATION)

    assert line["origin"] == {"kind": "task-notification"}


@pytest.mark.parametrize(
    ("text", "origin", "shown"),
    [
        ("Go.", HUMAN, None),
        ("Continue from where you left off.", AUTO_CONTINUATION, None),
        ("<task-notification>\n</task-notification>", TASK_NOTIFICATION, {"kind": "task-notification"}),
        ("<task-notification> is what I ask about", HUMAN, None),
        ("a hook says", HOOK, {"kind": "auto-continuation", "subkind": "hook"}),
        ("the build is red", channel("ci"), {"kind": "channel", "server": "ci"}),
    ],
)
def test_the_first_message_says_what_led_to_a_turn(text: str, origin: Origin, shown: Mapping[str, str] | None) -> None:
    led = origin_of(attrs.evolve(told(TextBlock(text)), origin=origin))

    assert (None if led is None else led.to_json()) == shown


@pytest.mark.parametrize("kind", sorted(RETRYABLE))
def test_every_kind_of_error_has_a_documented_category(kind: str) -> None:
    documented = (
        "authentication_failed oauth_org_not_allowed billing_error rate_limit overloaded invalid_request "
        "model_not_found server_error max_output_tokens unknown"
    )
    ending = ended_badly(failed(ProviderError("no", kind=kind)))
    line = failure_line(ending.error, ending.category, session="s", uuid="u")

    assert error_category(kind) in documented.split()[:-1]
    assert (line["error"], line["message"]["model"]) == (error_category(kind), "<synthetic>")


def test_refused_calls_and_compactions_are_told() -> None:
    place: dict[str, Any] = {"actor": "a1", "inc": 1, "parent": 0, "turn": 1, "round": 1}
    (denied,) = event_lines(PermissionDenied(call="c1", tool="Bash", reason="no", **place))
    (begun,) = event_lines(CompactBegan(trigger="auto", tokens=9, **place))
    compacted, nothing = (
        event_lines(CompactEnded(trigger="auto", state=state, pre_tokens=9, post_tokens=1, error="", **place))
        for state in ("completed", "failed")
    )

    assert (denied["subtype"], denied["tool_name"], denied["tool_use_id"]) == ("permission_denied", "Bash", "c1")
    assert begun == {"type": "system", "subtype": "status", "status": "compacting"}
    assert compacted[1]["compact_metadata"] == {"trigger": "auto", "pre_tokens": 9}
    assert compacted[:1] == nothing == [{"type": "system", "subtype": "status", "status": None}]


def test_every_limit_of_a_budget_has_an_ending() -> None:
    for limit in get_args(Limited):
        assert ended_badly(failed(exceeded(limit))).is_error


# --- counting, rules ----------------------------------------------------------------------------------------------------


def test_a_meter_that_has_seen_nothing_has_counted_nothing() -> None:
    meter = Meter("a1")

    meter.see(Event(), 0.0)

    assert (meter.rounds, meter.api_s, meter.usage, meter.by_model) == (0, 0.0, Usage(), {})


ROUNDS = st.lists(st.tuples(st.sampled_from(["a1", "a2"]), st.integers(0, 9), st.integers(0, 9)), max_size=8)


@given(ROUNDS)
def test_usage_is_the_main_agents_and_the_rest_everybodys(rounds: list[tuple[str, int, int]]) -> None:
    """RC-81."""
    clock = [0.0]
    recorder = Recorder(lambda: clock[0])
    meter = Meter("a1")
    recorder.listen(lambda record: meter.see(event_of(record), record[1]))
    for actor, model in (("a1", "claude-sonnet-5"), ("a2", "unheard-of")):
        recorder.emit(AgentDefined(actor=actor, inc=1, parent=0, definition="d", model=model, transcript=""))
    recorder.emit(TurnBegan(actor="a1", inc=1, parent=0, turn=1, msg=1))

    for actor, seconds, tokens in rounds:
        place: dict[str, Any] = {"actor": actor, "inc": 1, "parent": 0, "turn": 1, "round": 1}
        recorder.emit(ModelBegan(messages=1, **place))
        clock[0] += seconds
        usage: dict[str, Any] = {"input_tokens": tokens, "output_tokens": 0, "cache_creation_input_tokens": 0}
        recorder.emit(
            ModelEnded(state="completed", stop_reason="end_turn", cache_read_input_tokens=0, error="", **usage, **place)
        )

    mine = [one for one in rounds if one[0] == "a1"]
    assert meter.rounds == len(mine)
    assert meter.usage == Usage(sum(tokens for _, _, tokens in mine))
    assert sum(one.total for one in meter.by_model.values()) == sum(tokens for _, _, tokens in rounds)
    assert meter.api_s == sum(seconds for _, seconds, _ in rounds)
    assert set(meter.cost_usd) <= {"claude-sonnet-5"}


def test_what_runs_beside_a_turn_costs_and_is_no_part_of_the_turn() -> None:
    clock = [0.0]
    recorder = Recorder(lambda: clock[0])
    meter, waits = Meter("a1"), Waits()
    recorder.listen(lambda record: meter.see(event_of(record), record[1]))
    recorder.listen(lambda record: waits.see(clock[0], event_of(record)))
    own: dict[str, Any] = {"actor": "a1", "inc": 1, "parent": 0, "turn": 1, "round": 1}
    asides = [{**own, "inc": 0, "turn": 0, "round": number} for number in (1, 2)]
    usage: dict[str, Any] = {"output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    recorder.emit(AgentDefined(actor="a1", inc=1, parent=0, definition="d", model="m", transcript=""))
    recorder.emit(TurnBegan(actor="a1", inc=1, parent=0, turn=1, msg=1))
    for place in (own, *asides):
        recorder.emit(ModelBegan(messages=1, **place))
        clock[0] += 1
    recorder.emit(ModelEnded(state="completed", stop_reason="tool_use", error="", input_tokens=1, **usage, **own))
    recorder.emit(ModelBegan(messages=3, **{**own, "round": 2}))
    for place in asides:
        clock[0] += 1
        recorder.emit(ModelEnded(state="completed", stop_reason="end_turn", error="", input_tokens=1, **usage, **place))
        recorder.emit(ToolBegan(call="c", tool="Write", summary="", **place))

    assert (meter.rounds, meter.stop_reason, meter.was_in_tools) == (2, "tool_use", False)
    assert (meter.usage, meter.api_s) == (Usage(3), 3 + 3 + 3)
    assert waits.waited_s("a1", clock[0]) == 2


def test_a_request_that_is_tried_again_has_a_line_and_is_waited_for_from_then_on() -> None:
    """Attempts are counted as retries there: the first request is none."""
    about: dict[str, Any] = {"actor": "a1", "inc": 1, "parent": 0, "turn": 1, "round": 1}
    event = ModelRetried(attempt=2, attempts=8, delay_s=8.25, status=529, error="overloaded", **about)
    waits = Waits()
    waits.see(0.0, ModelBegan(messages=1, **about))
    waits.see(3.0, event)

    assert event_lines(event) == [
        {
            "type": "system",
            "subtype": "api_retry",
            "attempt": 1,
            "max_retries": 7,
            "retry_delay_ms": 8250,
            "error_status": 529,
            "error": "overloaded",
        }
    ]
    assert Narrator().words(event) == ("a1", "model.retried", "overloaded 529, attempt 2 of 8 in 8.2 s")
    assert [waits.waited_s("a1", now) for now in (4.0, 12.25)] == [0.0, 1.0]


def test_a_rule_about_a_tool_that_is_not_there_is_noticed() -> None:
    rules = ["Read", "read", "Raed(x)", "mcp__a__b", "mcp__*", "Bash(git *)"]

    assert unknown_tools(rules, ["Read", "Bash"]) == ["Raed"]
