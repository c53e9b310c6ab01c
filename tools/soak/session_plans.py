"""Plans as Hypothesis draws them: short lists of operations, whose agents do a few rounds, two generations deep."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tools.soak.session_machine import Operation, Plan
from tools.soak.session_situations import (
    Act,
    Round,
    cling,
    fail,
    message,
    nap,
    output,
    say,
    silence,
    spawn,
    stop,
    stumble,
    trouble,
)

NUMBERS: Final = st.integers(0, 4)
SECONDS: Final = st.sampled_from([0.5, 1.0, 2.0, 5.0])
NAMES: Final = st.sampled_from(["", "", "ann", "bob"])
TROUBLES: Final = ("busy", "limited", "refused", "cut")


def _acts(depth: int, *, is_main: bool) -> st.SearchStrategy[Act]:
    troubles = TROUBLES if is_main else (*TROUBLES, "broken")
    acts: list[st.SearchStrategy[Act]] = [
        SECONDS.map(nap),
        st.sampled_from([say("Well."), silence(), fail(), stumble(), cling(3.0), nap(150.0)]),
        st.sampled_from(troubles).map(trouble),
        NUMBERS.map(stop),
        st.builds(output, NUMBERS, wait_ms=st.sampled_from([0, 3_000])),
    ]
    if depth >= 0:
        acts.append(st.builds(_message, NUMBERS | st.sampled_from(["main", "ann"]), rounds(-1, is_main=True)))
    if depth > 0:
        below = rounds(depth - 1)
        kinds = st.sampled_from(["general-purpose", "general-purpose", "brief", "fork"])
        spawns = st.builds(_spawn, below, background=st.booleans(), name=NAMES, kind=kinds)
        acts += [spawns, spawns, spawns]
    return st.one_of(acts)


def _spawn(below: list[Round], **how: Any) -> Act:
    return spawn(*below, **how)


def rounds(depth: int, *, is_main: bool = False) -> st.SearchStrategy[list[Round]]:
    """Return what an agent is told to do, with children so many generations deep; below 0 it writes to nobody either."""
    return st.lists(st.lists(_acts(depth, is_main=is_main), min_size=1, max_size=3), min_size=1, max_size=3)


def _message(to: int | str, below: list[Round]) -> Act:
    return message(to, *below)


def operations() -> st.SearchStrategy[list[Operation]]:
    """Return what is done in a session; waiting is often among it, or all would happen at once."""
    mains = rounds(2, is_main=True)
    how = st.fixed_dictionaries(
        {"background": st.booleans()}, optional={"notify": st.just("main"), "name": st.just("ann")}
    )
    waits = st.tuples(st.just("wait"), st.sampled_from([0.0, 0.5, 1.0, 1.5, 3.0, 10.0, 40.0, 130.0]))
    one = st.one_of(
        st.tuples(st.just("send"), mains, st.sampled_from([None, "now", "later"])),
        st.tuples(st.just("ask"), mains),
        st.tuples(st.just("spawn"), rounds(1), how),
        waits,
        waits,
        waits,
        st.tuples(st.just("tell"), NUMBERS, rounds(1)),
        st.tuples(st.just("resume"), NUMBERS, rounds(1)),
        st.tuples(st.just("kill"), NUMBERS),
        st.tuples(st.just("interrupt"), st.booleans()),
        st.sampled_from([("background_all",), ("kill_all",), ("compact",)]),
        st.tuples(st.just("move"), NUMBERS),
        st.tuples(st.just("cancel"), NUMBERS),
    )
    return st.lists(one.map(list), min_size=1, max_size=9)


def plans() -> st.SearchStrategy[Plan]:
    """Return whole plans."""
    delegation = st.fixed_dictionaries(
        {},
        optional={
            "fork": st.just("explicit"),
            "max_running": st.sampled_from([1, 2]),
            "auto_background_ms": st.sampled_from([0, 2_500]),
            "background_by_default": st.just(True),
        },
    )
    seldom = st.sampled_from([False, False, False, True])
    return st.builds(Plan, operations(), delegation, seldom, seldom)
