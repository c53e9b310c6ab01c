"""Runs in virtual time whose order of tasks is known: once, or twice to see whether anything else decides too."""

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
    """What came out of a run, and what repeats it."""

    result: T
    choices: tuple[int, ...]
    """Which task ran first, wherever there was a choice; given back as `choices`, it repeats the run."""


def run_virtual(
    scenario: Callable[[*Ts], Awaitable[T]],
    *args: *Ts,
    choices: Choices = None,
    instruments: Sequence[trio.abc.Instrument] = (),
) -> VirtualRun[T]:
    """Run an async function in virtual time: waiting costs nothing, and the order of tasks is ours.

    What it raises leaves as it is, with a note that holds the choices so far.

    Args:
        scenario: The async function.
        args: What it is called with.
        choices: None lets tasks run first in, first out; an int is a seed; a list is followed, then first in, first out.
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
    """Two runs of the same scenario with the same choices were not the same: something else decides as well.

    Attributes:
        index: The number of the first line that differs, from 0.
        first: That line of the first run; empty when it had ended.
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
    """Run a scenario twice with the same choices and compare what it returns, record by record.

    Args:
        scenario: The async function; it returns records, such as `runtime.recorder.latest()`. Each call has to make
            its own ports.
        args: What it is called with.
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
    """Compare what two runs recorded, and then what was chosen in them.

    Raises:
        Diverged: They differ; the first difference is named.
    """
    lines: tuple[list[Any], list[Any]] = (record_lines(records), record_lines(other_records))
    for one, other in ((lines[0], lines[1]), (list(choices), list(other_choices))):
        for index, (left, right) in enumerate(zip_longest(one, other, fillvalue="")):
            if left != right:
                raise Diverged(index, str(left), str(right))
