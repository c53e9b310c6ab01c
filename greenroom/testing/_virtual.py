"""Runs in virtual time with a known order of tasks: once, or twice to detect other influences."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import zip_longest
from typing import Any, Generic, TypeVar, TypeVarTuple, final

import attrs
import trio
import trio.testing

from greenroom.core import CLASS, FIELDS, SEQ, TIME, Record
from greenroom.testing._scheduler import Choices, scheduled

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


@final
@attrs.frozen
class VirtualRun(Generic[T]):
    """Result of a run, and the choices that repeat it."""

    result: T
    choices: tuple[int, ...]
    """The task chosen first, wherever there was a choice; passed as `choices`, they repeat the run."""


def run_virtual(
    scenario: Callable[[*Ts], Awaitable[T]],
    *args: *Ts,
    choices: Choices = None,
    instruments: Sequence[trio.abc.Instrument] = (),
) -> VirtualRun[T]:
    """Run an async function in virtual time: waiting costs nothing, and the order of tasks is controlled.

    Its exceptions leave unchanged, with a note that holds the choices so far.

    Args:
        scenario: The async function.
        args: Its arguments.
        choices: None runs tasks first in, first out; an int is a seed; a list is followed, then first in, first out.
        instruments: Trio instruments for the run. They must not raise.
    """
    clock = trio.testing.MockClock(autojump_threshold=0)
    with scheduled(choices) as log:
        try:
            result = trio.run(scenario, *args, clock=clock, instruments=instruments)
        except BaseException as error:
            error.add_note(f"to repeat this run: choices={log!r}")
            raise
    return VirtualRun(result, tuple(log))


@final
class Diverged(AssertionError):
    """Two runs of the same scenario with the same choices differ: something else affects them.

    Attributes:
        index: The index of the first different line.
        first: That line of the first run; empty if it had ended.
        second: That line of the second run.
    """

    def __init__(self, index: int, first: str, second: str) -> None:
        super().__init__(f"two runs differ at line {index}:\n  {first}\n  {second}")
        self.index = index
        self.first = first
        self.second = second


def record_lines(records: Sequence[Record]) -> list[str]:
    """Return records as text, one line each: equal text means equal records."""
    return [f"{record[SEQ]} {record[TIME]!r} {record[CLASS].__name__} {record[FIELDS:]!r}" for record in records]


def double_run(
    scenario: Callable[[*Ts], Awaitable[Sequence[Record]]], *args: *Ts, choices: Choices = None
) -> VirtualRun[Sequence[Record]]:
    """Run a scenario twice with the same choices and compare the returned records.

    Args:
        scenario: The async function; it returns records, such as `runtime.recorder.latest()`. Each call must create its
            own ports.
        args: Its arguments.
        choices: As for `run_virtual`.

    Raises:
        Diverged: The runs differ.
    """
    first: VirtualRun[Sequence[Record]] = run_virtual(scenario, *args, choices=choices)
    second: VirtualRun[Sequence[Record]] = run_virtual(scenario, *args, choices=choices)
    refuse_difference(first.result, first.choices, second.result, second.choices)
    return first


def refuse_difference(
    records: Sequence[Record], choices: Sequence[int], other_records: Sequence[Record], other_choices: Sequence[int]
) -> None:
    """Compare the records of two runs, and then their choices.

    Raises:
        Diverged: They differ; the first difference is named.
    """
    lines: tuple[list[Any], list[Any]] = (record_lines(records), record_lines(other_records))
    for ours, theirs in ((lines[0], lines[1]), (list(choices), list(other_choices))):
        for index, (left, right) in enumerate(zip_longest(ours, theirs, fillvalue="")):
            if left != right:
                raise Diverged(index, str(left), str(right))
