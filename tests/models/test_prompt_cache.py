"""Request n+1 begins with request n, byte for byte, and has a mark where that one was cached.

Mechanism: `_marked` in the Messages API module. Without the mark before the last answer the property fails after a round of
more than 20 parallel calls; without the one between two messages of the user, after a request that was not answered; without
the one behind results, siblings pay for the calls that they have in common.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.models import (
    Block,
    Message,
    ModelRequest,
    TextBlock,
    Thinking,
    ThinkingBlock,
    ToolResultBlock,
    ToolSchema,
    ToolUseBlock,
    request_body,
)
from greenroom.testing import CacheMiss, PromptCache, ReceivedRequest, cached_share, check_cache_prefixes

TOOLS = (ToolSchema("Read", "reads", {"type": "object"}), ToolSchema("Grep", "searches", {"type": "object"}))
COUNT = st.sampled_from([1, 2, 21, 50])


@st.composite
def conversations(draw: st.DrawFn) -> list[ModelRequest]:
    """The requests of one agent whose turns are answered, cut, refused and aborted, in every order."""
    system, tools = draw(st.sampled_from(["", "You help."])), draw(st.sampled_from([(), TOOLS]))
    messages: list[Message] = []
    requests: list[ModelRequest] = []
    for number in range(draw(st.integers(1, 8))):
        texts = [TextBlock(f"prompt {number}.{at}") for at in range(draw(COUNT))]
        messages.append(Message("user", (*draw(st.sampled_from([(), (TextBlock(" "),)])), *texts)))
        while True:
            requests.append(ModelRequest(tuple(messages), system=system, tools=tools, agent="a"))
            ending = draw(st.sampled_from(["text", "calls", "aborted", "nothing", "max_tokens"]))
            if ending == "nothing":
                break
            blocks: tuple[Block, ...] = (ThinkingBlock("hm", "sig"), TextBlock("I say"))
            calls = draw(COUNT) if ending in {"calls", "aborted"} else 0
            uses = tuple(ToolUseBlock(f"t{len(messages)}_{at}", "Read", {"b": at, "a": 1}) for at in range(calls))
            messages.append(Message("assistant", (*blocks, *uses)))
            if ending == "text":
                break
            results = tuple(ToolResultBlock(use.id, "content") for use in uses)
            notes = () if ending == "aborted" else (TextBlock("a note, or to go on"),)
            messages.append(Message("user", (*results, *notes)))
            if ending == "aborted":
                break
    return requests


@given(conversations())
def test_each_request_begins_with_the_one_before_and_reads_what_it_cached(requests: list[ModelRequest]) -> None:
    assert check_cache_prefixes(requests) == len(requests) - 1


@given(conversations(), st.integers(2, 30))
def test_forks_of_one_answer_read_all_but_what_each_is_told(requests: list[ModelRequest], count: int) -> None:
    """Behaviours (1), line 8."""
    parent = requests[-1]
    calls = tuple(ToolUseBlock(f"f{at}", "Agent", {"prompt": f"a long prompt {at}" * 50}) for at in range(count))
    results = tuple(ToolResultBlock(call.id, "started") for call in calls)

    def fork(number: int) -> ModelRequest:
        told = Message("user", (*results, TextBlock(f"do {number}")))
        return attrs.evolve(parent, messages=(*parent.messages, Message("assistant", calls), told))

    cache = PromptCache(least_tokens=0)
    cache.serve(request_body(parent))
    billed = [cache.serve(request_body(fork(number))) for number in range(count)]

    assert billed[0].cache_creation_input_tokens > 10 * count
    assert all(bill.cache_creation_input_tokens + bill.input_tokens < 20 for bill in billed[1:])


@given(conversations())
def test_the_cache_reads_what_was_marked_before_and_bills_each_token_once(requests: list[ModelRequest]) -> None:
    cache = PromptCache(least_tokens=0)
    last = 0
    for request in requests:
        usage = cache.serve(request_body(request))
        assert usage.cache_read_input_tokens >= last
        assert min(usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens) >= 0
        last = usage.total
    assert cached_share(cache.serve(request_body(requests[-1]))) == 1.0
    assert cached_share(PromptCache(least_tokens=10**9).serve(request_body(requests[-1]))) == 0.0


@given(conversations(), conversations())
def test_agents_are_told_apart(some: list[ModelRequest], others: list[ModelRequest]) -> None:
    others = [attrs.evolve(request, agent="b", system="another one") for request in others]
    longer = max(len(some), len(others))
    mixed = [request for at in range(longer) for request in (*some[at : at + 1], *others[at : at + 1])]

    assert check_cache_prefixes(mixed) == len(some) + len(others) - 2


@given(conversations(), st.data())
def test_a_change_of_anything_that_was_sent_is_found(requests: list[ModelRequest], data: st.DataObject) -> None:
    last = requests[-1]
    at = data.draw(st.integers(0, len(last.messages) - 1))
    message = attrs.evolve(last.messages[at], content=(TextBlock("changed"),))
    changed = attrs.evolve(last, messages=(*last.messages[:at], message, *last.messages[at + 1 :]))

    with pytest.raises(CacheMiss) as caught:
        check_cache_prefixes([last, changed])
    assert caught.value.why.startswith(f"messages[{at}].content[")
    assert (caught.value.agent, caught.value.number) == ("a", 2)


HELLO = ModelRequest((Message.user("Hello?"),), system="You help.", tools=TOOLS)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (attrs.evolve(HELLO, tools=TOOLS[::-1]), "tools[0] was "),
        (attrs.evolve(HELLO, system="It is 12:01."), "system[0] was "),
        (attrs.evolve(HELLO, messages=()), "messages[0].content[0] is gone"),
        (attrs.evolve(HELLO, effort="high"), "output_config was null and is "),
        (attrs.evolve(HELLO, thinking=Thinking()), "thinking was null and is "),
        (attrs.evolve(HELLO, model="another"), 'model was "" and is "another"'),
    ],
)
def test_what_voids_the_cache_is_named(changed: ModelRequest, why: str) -> None:
    with pytest.raises(CacheMiss) as caught:
        check_cache_prefixes([HELLO, changed])
    assert caught.value.why.startswith(why)


def test_of_long_blocks_the_part_that_differs_is_shown() -> None:
    with pytest.raises(CacheMiss) as caught:
        check_cache_prefixes([attrs.evolve(HELLO, system=f"{'a' * 500}{at}{'b' * 500}") for at in range(2)])
    assert f"{'a' * 30}0bb" in caught.value.why
    assert f"{'a' * 30}1bb" in caught.value.why
    assert len(caught.value.why) < 250


def test_the_order_of_keys_counts() -> None:
    """To the provider they are other bytes."""
    first = Message("assistant", (ToolUseBlock("t", "Read", {"a": 1, "b": 2}),))
    second = Message("assistant", (ToolUseBlock("t", "Read", {"b": 2, "a": 1}),))
    with pytest.raises(CacheMiss):
        check_cache_prefixes([ModelRequest((first,)), ModelRequest((second,))])


def test_bodies_and_received_requests_are_checked_too() -> None:
    body: dict[str, Any] = {"model": "m", **request_body(HELLO), "system": "You help."}
    body["messages"] = [{"role": "user", "content": "Hello?"}]
    received = ReceivedRequest(method="POST", path="/v1/messages", headers={}, body=body)
    assert check_cache_prefixes([body, received, body]) == 2


def test_a_mark_too_far_away_and_a_fifth_mark_are_found() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    few: dict[str, Any] = {"messages": [{"role": "user", "content": [{"type": "text", "text": "0", **mark}]}]}

    def longer(more: int, every: int) -> dict[str, Any]:
        blocks = [{"type": "text", "text": str(at + 1), **({} if (at + 1) % every else mark)} for at in range(more)]
        return {"messages": [*[{"role": "user", "content": [{"type": "text", "text": "0"}, *blocks]}]]}

    assert check_cache_prefixes([few, longer(20, 20)]) == 1
    with pytest.raises(CacheMiss, match=r"no mark reaches messages\[0\]\.content\[0\]"):
        check_cache_prefixes([few, longer(21, 21)])
    with pytest.raises(CacheMiss, match="at most 4 marks are allowed, got 5"):
        check_cache_prefixes([longer(5, 1)])
