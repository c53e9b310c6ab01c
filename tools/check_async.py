"""Run flake8 with its async rules, in a third of the time: python -m tools.check_async FILE... (called by `make check`).

Of flake8-async's rules that `.flake8` enables, all but ASYNC101 look at the syntax tree that flake8 has anyway. ASYNC101 is
about a `yield`, and goes through a second tree, of libcst, which takes three quarters of the time. So the second tree is made
only of files that say `yield`. What is found is the same.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, Final

import flake8_async
from flake8.main.cli import main
from flake8_async.runner import Flake8AsyncRunner_cst
from flake8_async.visitors.visitor101 import Visitor101

_WORD: Final = "yield"
_parse: Final = flake8_async.cst_parse_module_native


class _Runner(Flake8AsyncRunner_cst):
    """Goes through the second tree where some rule could find anything in it."""

    module: Any
    """The text of a file first, then its tree."""

    def run(self) -> Iterator[Any]:
        source = self.module
        if _WORD not in source and all(type(visitor) is Visitor101 for visitor in self.visitors):
            return
        self.module = _parse(source)
        yield from super().run()


def check(arguments: list[str] | None = None) -> int:
    """Run flake8, and return its exit code.

    Args:
        arguments: As on the command line of flake8; None: those of this process.
    """
    flake8_async.cst_parse_module_native = str  # parsed by the runner, if at all
    flake8_async.Flake8AsyncRunner_cst = _Runner
    return int(main(arguments))


if __name__ == "__main__":
    # Trees have no cycles, and going through all live nodes again and again takes a fifth of the time.
    gc.disable()
    raise SystemExit(check())
