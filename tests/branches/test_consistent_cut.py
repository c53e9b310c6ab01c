"""Consistent cuts of journals of a few events, written down one by one."""

from __future__ import annotations

from typing import Any

import pytest

from greenroom.branches._agent_edges import find_edges
from greenroom.branches._consistent_cut import Cut, plan_cut
from greenroom.session import EVENTS
from greenroom.trace import Codec, Entry

TURN = {"turn": 1, "round": 1}
DONE = {"state": "completed"}


def journal(*events: tuple[str, str, dict[str, Any]]) -> list[Entry]:
    """Return a journal of events, each given by its kind, its actor and its other fields."""
    codec = Codec(EVENTS)
    told = (
        {"seq": seq, "t": float(seq), "ev": kind, "actor": actor, "inc": 1, **more}
        for seq, (kind, actor, more) in enumerate(events, 1)
    )
    return [codec.decode(line) for line in told]


def agent(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        ("actor.new", name, {"path": name, "journal": "full"}),
        ("agent.defined", name, {"definition": name, "transcript": f"{name}.jsonl", "agent": name}),
    ]


def turn(name: str, put: dict[str, Any], first: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Return a message, and the turn that begins with it, up to its first answer."""
    return [
        ("message.put", name, {"msg": 1, "lane": "next", "type": "Note", **put}),
        ("message.leased", name, {"msg": 1, "lane": "next", **put}),
        ("turn.begin", name, {"turn": 1, "msg": 1, **put}),
        ("model.begin", name, {**TURN, "messages": 1, "after": f"line of {name}", "parent": first + 2}),
        ("model.end", name, {**TURN, **DONE, "stop_reason": "tool_use", "parent": first + 3}),
    ]


def cut_of(entries: list[Entry], at: int) -> Cut:
    return plan_cut(entries, find_edges(entries), at)


@pytest.mark.promise("W-cut")
def test_a_message_of_a_round_that_is_done_again_was_never_read() -> None:
    """The message belongs to its sender: its receiver is cut before it read it."""
    entries = journal(
        *agent("a"),
        *agent("b"),
        *turn("a", {}, 5),  # 5 to 9
        ("tool.begin", "a", {**TURN, "call": "c1", "tool": "SendMessage", "parent": 7}),
        *turn("b", {"parent": 7}, 11),  # 11 to 15
        ("tool.end", "a", {**TURN, **DONE, "call": "c1", "tool": "SendMessage", "parent": 10}),
    )

    cut = cut_of(entries, 15)

    assert [*cut.kept] == [1, 2, 3, 4, 5, 6, 7]
    assert [str(stand) for stand in cut.stands] == ["a: before request 1 of turn 1", "b: between turns"]


@pytest.mark.promise("W-cut")
def test_a_result_that_followed_from_a_lost_message_is_lost() -> None:
    """Answers of a board that had read something that is left out are left out, and so is the call that read it."""
    board = {"msg": 1, "lane": "next", "type": "Ask"}
    of_b = {"parent": 15}
    entries = journal(
        ("actor.new", "board", {"path": "board", "journal": "full"}),
        *agent("a"),
        *agent("b"),
        *turn("a", {}, 6),  # 6 to 10
        ("tool.begin", "a", {**TURN, "call": "c1", "tool": "TaskList", "parent": 8}),
        ("message.put", "a", {"msg": 2, "lane": "next", "type": "Note"}),
        *turn("b", {}, 13),  # 13 to 17
        ("tool.begin", "b", {**TURN, "call": "c2", "tool": "TaskUpdate", **of_b}),
        ("message.put", "board", {**board, **of_b}),
        ("message.leased", "board", {"msg": 1, "lane": "next", **of_b}),
        ("turn.begin", "board", {"turn": 1, "msg": 1, **of_b}),
        ("turn.end", "board", {"turn": 1, "msg": 1, **DONE, "parent": 21}),
        ("message.put", "board", {**board, "msg": 2, "parent": 8}),
        ("message.leased", "board", {"msg": 2, "lane": "next", "parent": 8}),
        ("turn.begin", "board", {"turn": 2, "msg": 2, "parent": 8}),
        ("turn.end", "board", {"turn": 2, "msg": 2, **DONE, "parent": 25}),
        ("tool.end", "a", {**TURN, **DONE, "call": "c1", "tool": "TaskList", "parent": 11}),
        ("model.begin", "a", {"turn": 1, "round": 2, "messages": 3, "after": "later line", "parent": 8}),
    )

    cut = cut_of(entries, 28)

    assert [str(stand) for stand in cut.stands] == ["a: before request 1 of turn 1", "b: before request 1 of turn 1"]
    assert max(cut.kept) == 15
    assert 20 not in cut.kept
