"""Plans of whole teams as Hypothesis draws them: short lists of operations, whose orders are a few rounds, two deep."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tools.soak import team_orders as do
from tools.soak.session_situations import Act, Round
from tools.soak.team_machine import Operation, Plan
from tools.soak.team_orders import APPROVE, REJECT, SILENT

NUMBERS: Final = st.integers(0, 3)
ITEMS: Final = st.none() | NUMBERS
ANSWERS: Final = st.sampled_from([APPROVE, REJECT, SILENT])
TROUBLES: Final = ("busy", "limited", "refused", "cut", "broken", "hopeless")
CHANGES: Final[list[dict[str, Any]]] = [
    {"status": "pending"},
    {"status": "completed"},
    {"status": "deleted"},
    {"owner": ""},
    {"subject": "renamed"},
]


def _acts(depth: int, *, is_main: bool) -> st.SearchStrategy[Act]:
    troubles = TROUBLES[:4] if is_main else TROUBLES
    acts: list[st.SearchStrategy[Act]] = [
        st.sampled_from([0.2, 0.5, 3.0]).map(do.nap),
        st.builds(do.finish, ITEMS),
        st.one_of(*(st.builds(act, ITEMS) for act in (do.take, do.give_back, do.rename, do.delete))),
        st.builds(do.assign, ITEMS, NUMBERS) | st.builds(do.link, ITEMS, NUMBERS),
        st.sampled_from(troubles).map(do.trouble),
        st.just(do.look()),
    ]
    if depth > 0:
        below = rounds(depth - 1)
        acts.append(items(depth - 1).map(do.create))
        acts.append(st.builds(do.mail, NUMBERS | st.sampled_from(["team-lead", "*"]), below))
        if is_main:
            acts.append(st.builds(do.ask_to_end, NUMBERS, ANSWERS) | NUMBERS.map(do.stop) | below.map(do.spawn))
    return st.one_of(acts)


def rounds(depth: int, *, is_main: bool = False) -> st.SearchStrategy[list[Round]]:
    """Return what somebody is told to do, with mail and items so many generations deep."""
    return st.lists(st.lists(_acts(depth, is_main=is_main), min_size=1, max_size=2), min_size=1, max_size=3)


def items(depth: int) -> st.SearchStrategy[list[Round]]:
    """Return what an item says; mostly that it is completed in the end."""
    work = st.lists(st.lists(_acts(depth, is_main=False), min_size=1, max_size=2), max_size=2)
    ends = st.sampled_from([[[do.finish()]], [[do.finish()]], [[do.give_back()]], []])
    return st.builds(_joined, work, ends)


def _joined(work: list[Round], end: list[Round]) -> list[Round]:
    return [*work, *end]


def planning() -> st.SearchStrategy[list[Round]]:
    """Return what one is told who plans first."""
    return st.builds(_joined, ANSWERS.map(_handed_in), rounds(1))


def _handed_in(answer: str) -> list[Round]:
    return [[do.plan(answer)]]


def operations() -> st.SearchStrategy[list[Operation]]:
    """Return what is done with a team; waiting is often among it, or all would happen at once."""
    waits = st.tuples(st.just("wait"), st.sampled_from([0.1, 0.4, 0.5, 1.0, 1.0, 4.0, 40.0]))
    one = st.one_of(
        st.tuples(st.just("send"), rounds(2, is_main=True)),
        st.tuples(st.just("tell"), NUMBERS, rounds(2)),
        st.tuples(st.just("create"), items(1)),
        _on_items(),
        waits,
        waits,
        NUMBERS.flatmap(_ends),
        st.sampled_from([("crash the board",), ("interrupt",)]),
        st.tuples(st.just("reopen"), st.booleans()),
        st.tuples(st.just("spawn"), st.sampled_from(["ann", "cid"]), rounds(1), st.just(False)),
        st.tuples(st.just("spawn"), st.just("dan"), planning(), st.just(True)),
        st.tuples(st.just("answer a plan"), st.booleans()),
    )
    some = st.one_of(st.tuples(one), NUMBERS.flatmap(_disturbed), NUMBERS.flatmap(_written_to))
    return st.lists(some, min_size=1, max_size=7).map(_flat)


def _on_items() -> st.SearchStrategy[tuple[Any, ...]]:
    return st.one_of(
        st.tuples(st.just("edit"), NUMBERS, st.sampled_from(CHANGES)),
        st.tuples(st.just("assign"), NUMBERS, NUMBERS, st.booleans()),
        st.tuples(st.just("link"), NUMBERS, NUMBERS),
    )


def _ends(member: int) -> st.SearchStrategy[tuple[Any, ...]]:
    """Return what ends a mate, or its turn."""
    return st.one_of(
        st.just(("abort", member)),
        st.just(("kill", member)),
        st.tuples(st.just("shutdown"), st.just(member), ANSWERS, st.sampled_from([0.6, 5.0, 70.0])),
    )


def _disturbed(member: int) -> st.SearchStrategy[tuple[tuple[Any, ...], ...]]:
    """Return work for a mate, and what comes while it is at that."""
    work = st.builds(
        _joined, st.sampled_from([[[do.nap(0.5)]], *([[do.trouble(trouble)]] for trouble in TROUBLES), []]), items(1)
    )
    begin = st.tuples(st.just("tell"), st.just(member), work) | st.tuples(st.just("create"), work)
    wait = st.tuples(st.just("wait"), st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]))
    comes = st.one_of(
        _ends(member),
        _ends(member),
        _on_items(),
        st.tuples(st.just("tell"), st.just(member), rounds(0)),
        st.sampled_from([("crash the board",), ("reopen", False), ("reopen", True), ("reopen", True)]),
    )
    return st.tuples(begin, wait, comes)


def _written_to(member: int) -> st.SearchStrategy[tuple[tuple[Any, ...], ...]]:
    """Return mail for a mate that is at work, and what comes before it was read."""
    busy = ("tell", member, [[do.nap(3.0)]])
    letter = st.tuples(st.just("send"), rounds(1).map(lambda below: [[do.mail(member, below)]]))
    comes = _ends(member) | st.just(("reopen", False))
    return st.tuples(st.just(busy), letter, st.just(("wait", 0.7)), comes)


def _flat(some: list[tuple[tuple[Any, ...], ...]]) -> list[Operation]:
    return [list(one) for more in some for one in more]


def plans() -> st.SearchStrategy[Plan]:
    """Return whole plans."""
    teams = st.sampled_from([{}, {}, {"agent_busy": True}])
    return st.builds(Plan, operations(), teams, st.sampled_from([False, False, False, True]))
