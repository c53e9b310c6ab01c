"""Kill runs and hosts at the moments of a remote agent, lose the link between them, and compare with the expected table: `make chaos-hosts`.

First the whole table of `tests.hosting.expected_ends` in virtual time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import trio
import trio.testing

from tests.hosting.expected_ends import EXPECTED, STOPS, Seen
from tests.hosting.lives import seen_of_fault, seen_of_stop


def compare_table() -> int:
    """Print the table of all faults at all moments; return the number of cells that are not as expected."""
    cells = [
        (f"{fault} | {moment}", expected, partial(seen_of_fault, fault=fault, moment=moment))
        for fault, row in EXPECTED.items()
        for moment, expected in row.items()
    ]
    cells += [
        (f"{fault} | stop on record", expected, partial(seen_of_stop, fault=fault)) for fault, expected in STOPS.items()
    ]
    return sum(_compare(*cell) for cell in cells)


def _compare(name: str, expected: Seen, look: Callable[[Path], Awaitable[Seen]]) -> bool:
    """Print a cell; return True if it is not as expected."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            seen: object = trio.run(look, Path(folder), clock=trio.testing.MockClock(autojump_threshold=0))
        except Exception as error:  # noqa: BLE001 - it is printed, and counts
            seen = repr(error)
    print(f"{'' if seen == expected else 'NOT AS EXPECTED '}{name} | {seen}")
    return seen != expected


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the table."""
    argparse.ArgumentParser(description=__doc__).parse_args(arguments)
    wrong = compare_table()
    print(f"{wrong} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
