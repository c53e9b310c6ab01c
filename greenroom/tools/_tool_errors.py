"""Errors of tool calls: text for the model, facts for the program."""

from __future__ import annotations

from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import PeerError

PROBLEMS_SHOWN: Final = 20


class ToolError(PeerError):
    """The call failed in a way that the model should read; the message is the text of its error result.

    It is the outside world's fault, never the program's: the model asked for something that is not there or not
    allowed, or the world refused. Any other exception that leaves a tool is a bug of the tool.
    """


@attrs.frozen
class Problem:
    """One argument that cannot be used."""

    path: str
    """Its place in the input, such as `edits[2].line`; empty for the input as a whole."""
    given: str
    """The given value, shortened; empty for a missing argument."""
    expected: str
    """The expected value."""

    def __str__(self) -> str:
        return f"{self.path or 'the input'}: expected {self.expected}, got {self.given or 'nothing'}"


@final
class InvalidInput(ToolError):
    """The input does not fit the tool's schema; every problem is named, not only the first.

    Attributes:
        tool: Name of the tool.
        problems: Every argument that cannot be used.
    """

    def __init__(self, tool: str, problems: tuple[Problem, ...]) -> None:
        lines = [f"- {problem}" for problem in problems[:PROBLEMS_SHOWN]]
        if len(problems) > PROBLEMS_SHOWN:
            lines.append(f"- and {len(problems) - PROBLEMS_SHOWN} more")
        super().__init__(f"{tool} was called with bad arguments:\n" + "\n".join(lines))
        self.tool = tool
        self.problems = problems


@final
class UnknownTool(ToolError):
    """No tool has this name.

    Attributes:
        name: The name that was asked for.
        known: The names of the tools that there are.
    """

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        there_is = "expected one of: " + ", ".join(known) if known else "no tools are available"
        super().__init__(f"unknown tool {name!r}; {there_is}")
        self.name = name
        self.known = known


@final
class OutsideRoots(ToolError):
    """A path leads to a place outside the directories that the session may use.

    Attributes:
        path: The path as it was given.
        target: Where it leads, with links resolved.
        roots: The directories that are allowed.
    """

    def __init__(self, path: str, target: str, roots: tuple[Path, ...]) -> None:
        leads = "" if target == path else f" (it leads to {target!r})"
        allowed = ", ".join(repr(str(root)) for root in roots) or "none"
        super().__init__(f"{path!r} is outside the directories that this session may use{leads}; allowed: {allowed}")
        self.path = path
        self.target = target
        self.roots = roots
