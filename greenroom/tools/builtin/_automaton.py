"""Searching in time that grows with the text and never with the pattern's ambiguity.

Rule 1: a state is the set of nodes that the text so far may have reached, with the kind of the last character; states are
made when they are first needed (a lazy DFA). Rule 2: what making them costs is counted, and a search that spends more
than its budget ends: a count is the same on every machine, a time is not. Must not know: lines, files.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final

import attrs

from greenroom.tools.builtin._programs import AssertionPlace, BadPattern, Op, Program

BUDGET: Final = 3_000_000
"""Nodes that one search may look at while it makes states; some seconds of work."""
MAX_TRANSITIONS: Final = 100_000
"""Transitions that are kept; beyond it all are forgotten and made again."""


class CharacterKind(IntEnum):
    """The classes of characters for assertions."""

    EDGE = 0
    """There is none: the start or the end of the text."""
    NEWLINE = 1
    WORD = 2
    OTHER = 3


@attrs.define
class SearchBudget:
    """The remaining work of one search."""

    left: int = BUDGET

    def spend(self, nodes: int) -> None:
        """Count work.

        Raises:
            BadPattern: There is nothing left.
        """
        self.left -= nodes
        if self.left < 0:
            raise BadPattern("the pattern is too ambiguous to search all of this; make it simpler, or search less")


@final
class AutomatonState(dict[str, "AutomatonState"]):
    """A set of nodes; as a dict, the state after each character that has been seen here."""

    __slots__ = ("_ends", "before", "is_match", "nodes", "owner")

    def __init__(self, owner: Automaton, nodes: frozenset[int], before: CharacterKind, *, is_match: bool) -> None:
        self.owner = owner
        self.nodes = nodes
        self.before = before
        self.is_match = is_match
        """True if a match ended just before the character that led here."""
        self._ends: dict[CharacterKind, bool] = {}

    def __missing__(self, character: str) -> AutomatonState:
        return self.owner.grow(self, character)

    def ends(self, after: CharacterKind) -> bool:
        """True if a match ends here and such a character comes next."""
        if after not in self._ends:
            self._ends[after] = self.owner.reached(self, after)[1]
        return self._ends[after]


@final
class Automaton:
    """A program that runs over text.

    Args:
        program: The pattern.
        budget: What making states is charged to.
        is_reversed: Whether the program reads backward.
        says_where: Whether it is asked where matches are; otherwise only whether there is one, by `matches`.
    """

    def __init__(
        self, program: Program, budget: SearchBudget, *, is_reversed: bool = False, says_where: bool = True
    ) -> None:
        self._nodes = program.nodes
        self._is_ascii = program.is_ascii
        self._budget = budget
        self._is_reversed = is_reversed
        # Where only "whether" matters, a match is a state that stays: the loop over a line then has nothing to ask.
        self._keeps_match = not says_where
        # Forward, a match may begin at every character; backward, it ends where the search forward has found it to.
        self._always = frozenset() if is_reversed else frozenset({program.start})
        self._start = frozenset({program.start})
        self._states: dict[tuple[frozenset[int], CharacterKind, bool], AutomatonState] = {}
        self._transitions = 0

    def matches(self, text: str) -> bool:
        """True if a text contains a match."""
        state = self._state(self._start, CharacterKind.EDGE, is_match=False)
        for character in text:
            state = state[character]
        return state.is_match or state.ends(CharacterKind.EDGE)

    def earliest_end(self, text: str, start: int, stop: int) -> int | None:
        """Return the end of the match that ends first, searching from `start`; None if none has ended before `stop`."""
        state = self._state(self._start, self._kind_at(text, start - 1), is_match=False)
        for at in range(start, stop):
            state = state[text[at]]
            if state.is_match:
                return at
        return stop if state.ends(self._kind_at(text, stop)) else None

    def leftmost_start(self, text: str, end: int, floor: int) -> int:
        """Return the start of the longest match that ends at `end`, not before `floor`; for a reversed program."""
        state = self._state(self._start, self._kind_at(text, end), is_match=False)
        found = end
        for at in range(end - 1, floor - 1, -1):
            state = state[text[at]]
            if state.is_match:
                found = at + 1
            if not state.nodes:
                return found
        return floor if state.ends(self._kind_at(text, floor - 1)) else found

    def grow(self, state: AutomatonState, character: str) -> AutomatonState:
        """Make and keep the state that follows."""
        if self._keeps_match and state.is_match:
            return state
        kind = self._kind(character)
        characters, is_match = self.reached(state, kind)
        nodes = {to for at in characters if self._nodes[at].argument.match(character) for to in self._nodes[at].to}
        self._transitions += 1
        if self._transitions > MAX_TRANSITIONS:
            self._forget()
        state[character] = after = self._state(self._always | nodes, kind, is_match=is_match)
        return after

    def reached(self, state: AutomatonState, after: CharacterKind) -> tuple[list[int], bool]:
        """Return the character nodes that a state stands at before such a character, and whether a match ends there."""
        before, behind = (after, state.before) if self._is_reversed else (state.before, after)
        waiting = list(state.nodes)
        seen = set(waiting)
        characters: list[int] = []
        is_match = False
        while waiting:
            at = waiting.pop()
            node = self._nodes[at]
            if node.op is Op.CHARACTER:
                characters.append(at)
                continue
            if node.op is Op.MATCH:
                is_match = True
            elif node.op is Op.SPLIT or _holds(node.argument, before, behind):
                waiting += [to for to in node.to if to not in seen]
                seen.update(node.to)
        self._budget.spend(len(seen) + 1)
        return characters, is_match

    def _state(self, nodes: frozenset[int], before: CharacterKind, *, is_match: bool) -> AutomatonState:
        key = (nodes, before, is_match)
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = AutomatonState(self, nodes, before, is_match=is_match)
        return state

    def _forget(self) -> None:
        for state in self._states.values():
            state.clear()
        self._states.clear()
        self._transitions = 0

    def _kind_at(self, text: str, at: int) -> CharacterKind:
        return self._kind(text[at]) if 0 <= at < len(text) else CharacterKind.EDGE

    def _kind(self, character: str) -> CharacterKind:
        if character == "\n":
            return CharacterKind.NEWLINE
        is_word = character.isalnum() or character == "_"
        return CharacterKind.WORD if is_word and (not self._is_ascii or character.isascii()) else CharacterKind.OTHER


def _holds(place: AssertionPlace, before: CharacterKind, after: CharacterKind) -> bool:
    is_boundary = (before is CharacterKind.WORD) != (after is CharacterKind.WORD)
    return {
        AssertionPlace.TEXT_START: before is CharacterKind.EDGE,
        AssertionPlace.TEXT_END: after is CharacterKind.EDGE,
        AssertionPlace.LINE_START: before in {CharacterKind.EDGE, CharacterKind.NEWLINE},
        AssertionPlace.LINE_END: after in {CharacterKind.EDGE, CharacterKind.NEWLINE},
        AssertionPlace.BOUNDARY: is_boundary,
        AssertionPlace.NO_BOUNDARY: not is_boundary,
    }[place]
