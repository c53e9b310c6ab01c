"""Plans for gateways as Hypothesis draws them: short lists of operations, whose agents start children and write to each other."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tools.soak.gateway_machine import PEOPLE, GatewayPlan
from tools.soak.session_machine import Operation
from tools.soak.session_situations import Act, Round, ordered, say, silence, trouble

NUMBERS: Final = st.integers(0, 5)
PERSONS: Final = st.sampled_from([*range(len(PEOPLE)), 0, 0, 1, 1, 2, 2])
CHANNELS: Final = st.sampled_from(["plain", "keyed", "mute"])
SECONDS: Final = st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 40.0, 130.0])
WIDTHS: Final = st.sampled_from([1, 1, 2, 4])
COMMANDS: Final = (
    "/stop",
    "/new",
    "/subagents stop all",
    "/subagents list",
    "/status",
    "/queue steer",
    "/queue interrupt",
)


def nap(seconds: float) -> Act:
    """Think for a while before this answer."""
    return ["nap", seconds]


def _spawn(below: list[Round], cleanup: str, limit_s: float) -> Act:
    return ["call", "sessions_spawn", {"task": ordered(*below), "cleanup": cleanup, "runTimeoutSeconds": limit_s}]


def _send(key: int, below: list[Round], wait_s: float) -> Act:
    return ["call", "sessions_send", {"sessionKey": key, "message": ordered(*below), "timeoutSeconds": wait_s}]


def _runs(action: str, runs: list[int], wait_s: float) -> Act:
    return ["call", "subagents", {"action": action, "runIds": runs, "timeoutSeconds": wait_s}]


def acts(depth: int) -> st.SearchStrategy[Act]:
    """Return one thing that an agent does."""
    plain = st.sampled_from(
        [nap(1.0), nap(5.0), nap(100.0), say("Well."), silence(), trouble("busy"), trouble("refused")]
    )
    if depth == 0:
        return plain
    below = rounds(depth - 1)
    spawns = st.builds(_spawn, below, st.sampled_from(["keep", "keep", "delete"]), st.sampled_from([0, 0, 3]))
    sends = st.builds(_send, NUMBERS, below, st.sampled_from([0, 3, 30]))
    waits = st.builds(
        _runs, st.sampled_from(["wait", "cancel"]), st.lists(NUMBERS, min_size=1, max_size=2), st.just(20)
    )
    return st.one_of(plain, spawns, spawns, spawns, sends, sends, waits)


def rounds(depth: int) -> st.SearchStrategy[list[Round]]:
    """Return what an agent is told to do."""
    return st.lists(st.lists(acts(depth), min_size=1, max_size=3), min_size=1, max_size=3)


def operations() -> st.SearchStrategy[list[Operation]]:
    """Return what is done to a gateway; messages and waits are often among it."""
    says = st.tuples(st.just("say"), PERSONS, rounds(2))
    waits = st.tuples(st.just("wait"), SECONDS)
    change: list[st.SearchStrategy[tuple[Any, ...]]] = [
        st.tuples(st.just("command"), PERSONS, st.sampled_from(COMMANDS)),
        st.tuples(st.sampled_from(["stop_run", "abort", "crash", "reset"]), NUMBERS),
        st.tuples(st.just("archive"), NUMBERS, st.booleans()),
        st.tuples(st.just("patch"), NUMBERS, st.sampled_from(["low", "high"])),
        st.tuples(st.just("reload"), WIDTHS, WIDTHS),
        st.tuples(st.just("lose"), CHANNELS, st.booleans()),
        st.tuples(st.just("return"), CHANNELS),
        st.sampled_from([("fill",), ("empty",), ("restart",), ("kill",)]),
    ]
    talk = st.one_of(says, says, waits)
    return st.lists(st.one_of(talk, talk, st.one_of(*change)).map(list), min_size=4, max_size=14)


def gateway_plans() -> st.SearchStrategy[GatewayPlan]:
    """Return whole plans."""
    return st.builds(
        GatewayPlan,
        operations(),
        st.sampled_from([[4, 8], [1, 1], [2, 1]]),
        st.sampled_from(["collect", "steer", "followup", "interrupt"]),
        st.sampled_from([200, 200, 1, 2]),
        st.sampled_from([True, True, True, False]),
    )
