"""The side of a peer: answers each line "name count" with "cpu wall", the seconds that so many things took.

Only the standard library: what else is loaded would be measured with the peer. Rule 1: a benchmark measures its messages,
not the making of its actors. Rule 2: standard output belongs to the answers, so what a library prints goes to the errors.
"""

from __future__ import annotations

import gc
import importlib.metadata
import sys
import time
from collections.abc import Callable, Mapping
from typing import Self, TypeAlias


class Stopwatch:
    """Reads the clocks around a block: CPU of the whole process, and wall."""

    def __init__(self) -> None:
        self.cpu_s = self.wall_s = 0.0

    def __enter__(self) -> Self:
        gc.collect()
        self.cpu_s, self.wall_s = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s, self.wall_s = time.process_time() - self.cpu_s, time.perf_counter() - self.wall_s


Bench: TypeAlias = Callable[[int], Stopwatch]
"""Does so many things between peers, and returns how long they took."""


def serve(benches: Mapping[str, Bench], distribution: str | None = None) -> None:
    """Answer on standard output what standard input asks for, until it ends.

    Args:
        benches: By the names that the other side asks for.
        distribution: Whose version to tell; by default Python's.
    """
    answers, sys.stdout = sys.stdout, sys.stderr
    version = importlib.metadata.version(distribution) if distribution else sys.version.split()[0]
    print("ready", version, file=answers, flush=True)
    for line in sys.stdin:
        name, count = line.split()
        took = benches[name](int(count))
        print(took.cpu_s, took.wall_s, file=answers, flush=True)
