"""A regular expression that cannot hang the program.

`re` is fast, and may take longer than the universe has; it also keeps every other thread from running meanwhile. So it
searches only where a bound on its work, worked out from the pattern and the length of the line, is small; everything
else goes to the automaton, which is slower by a factor of about ten and linear.

Rule 1: both give the same answer; which one gave it depends on the line alone, never on a clock.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, final

from greenroom.tools.builtin._automaton import Automaton, SearchBudget
from greenroom.tools.builtin._file_reader import BLOCK_BYTES, LINE_BYTES, Block
from greenroom.tools.builtin._programs import Parsed, Tree, compile_program, compiled

CHEAP_STEPS: Final = 1_000_000
"""The most steps that `re` may need for one line: about 10 ms."""
BLOCK_STEPS: Final = 10 * CHEAP_STEPS
"""The same for a block, which is a thousand lines."""
_TEXT_EDGE: Final = re.compile(r"\\[AZz]|\(\?\w*-")
_LENGTHS: Final = tuple(2**power for power in range(17))


@final
class LinePattern:
    """A pattern for single lines.

    Raises:
        BadPattern: It needs what is not supported.
    """

    def __init__(self, pattern: Parsed) -> None:
        self._automaton = Automaton(compile_program(pattern), SearchBudget(), says_where=False)
        self._search = compiled(pattern.tree).search
        self.cheap_length = max(
            (length for length in _LENGTHS if steps(pattern.tree, length) <= CHEAP_STEPS), default=0
        )
        """The longest line, in characters, that `re` gets to see."""
        self._find = _finder(pattern)
        self._literal = "" if pattern.flags & re.IGNORECASE else _literal(pattern.tree)

    def matching(self, block: Block) -> list[int]:
        """Return which lines of a block match, counted from 0.

        Raises:
            BadPattern: The pattern's budget is used up.
        """
        if not block.count or self._literal not in block.text:
            return []
        if self._find is not None and self._find(block.text) is None:
            return []
        return [at for at, line in enumerate(block.lines) if self._literal in line and self.matches(line)]

    def matches(self, line: str) -> bool:
        """True if a line contains a match."""
        if len(line) <= self.cheap_length:
            return self._search(line) is not None
        return self._automaton.matches(line)


@final
class MultilinePattern:
    """A pattern for whole texts, in which a match may span several lines.

    A match ends at the first place where it can, as if all its quantifiers were lazy.
    """

    def __init__(self, pattern: Parsed) -> None:
        budget = SearchBudget()
        self._forward = Automaton(compile_program(pattern), budget)
        backward = compile_program(pattern, is_reversed=True)
        self._backward = Automaton(backward, budget, is_reversed=True)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of the matches, none of which overlap.

        Raises:
            BadPattern: The pattern's budget is used up.
        """
        at = 0
        while at <= len(text):
            end = self._forward.earliest_end(text, at, len(text))
            if end is None:
                return
            yield self._backward.leftmost_start(text, end, at), end
            at = end if end > at else at + 1


def _finder(pattern: Parsed) -> Callable[[str], re.Match[str] | None] | None:
    r"""Return a search over whole blocks that finds something wherever a line matches, if there is a cheap one.

    A line feed is to `\b` what the edge of a line is, and `^` and `$` can be told to see it as one; `\A` and `\Z` not.
    """
    # `(?-m:` would take the line edges away again.
    if _TEXT_EDGE.search(pattern.text) or steps(pattern.tree, BLOCK_BYTES + LINE_BYTES) > BLOCK_STEPS:
        return None
    return compiled(pattern.tree_for_blocks).search


def _literal(tree: Tree) -> str:
    """Return the longest text that every match contains, as far as the outermost level of a tree tells."""
    runs = [""]
    for op, argument in tree:
        if op.name == "LITERAL":
            runs[-1] += chr(argument)
        else:
            runs.append("")
    return max(runs, key=len)


def steps(tree: Tree, length: int) -> float:
    """Return a bound on the steps that backtracking needs for a text of that length, up to a small factor."""
    return (length + 1) * _ways(tree, length)


def _ways(tree: Tree, length: int) -> float:
    """In how many ways a tree can be tried at one place."""
    ways = 1.0
    for op, argument in tree:
        ways *= _ways_of(op.name, argument, length)
    return ways


def _ways_of(name: str, argument: Any, length: int) -> float:
    if name == "BRANCH":
        return sum(_ways(branch, length) for branch in argument[1])
    if name == "SUBPATTERN":
        return _ways(argument[3], length)
    if name in {"MAX_REPEAT", "MIN_REPEAT"}:
        least, most, inner = argument
        return _ways_of_rounds(int(least), min(int(most), length + 1), _ways(inner, length))
    return 1.0


def _ways_of_rounds(least: int, most: int, within: float) -> float:
    # Each round may be tried in every way: the number of rounds is the exponent.
    if most * math.log2(within) > 64:
        return math.inf
    return (max(most - least, 0) + 1) * math.pow(within, most)
