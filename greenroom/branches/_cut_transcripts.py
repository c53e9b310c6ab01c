"""Transcripts of a branch: the lines of each agent up to its edge, with the changes in them.

It looks at the disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, final

from greenroom.branches._branch_changes import BranchChanges, names_of
from greenroom.branches._consistent_cut import Stand
from greenroom.core import UsageError
from greenroom.core.texts import REMINDER, begins_with
from greenroom.session import is_file_of_run

Line = dict[str, Any]

TRANSCRIPTS: Final = "transcripts"
_REPLACED: Final = ("typed", "toolUseResult")
"""Fields of a line that say once more what a change replaces."""
_TICK_S: Final = 0.002
"""Times of lines are rounded to milliseconds."""


@final
class CutTranscripts:
    """The transcripts of a branch.

    Args:
        folder: The run folder.
        session: The id of the branch.
        changes: What is replaced in them.
    """

    def __init__(self, folder: Path, session: str, changes: BranchChanges) -> None:
        self._folder = folder
        self._session = session
        self._changes = changes
        self._messages = dict(changes.messages)
        self._results = dict(changes.results)
        self._calls: list[str] = []
        """The calls whose results are kept."""
        self._said: list[tuple[frozenset[str], int]] = []
        """The lines of people's words that are kept, with the names of their agent."""

    def cut(self, stand: Stand, *, is_main: bool, began: datetime | None) -> bytes:
        """Return the lines of an agent up to its edge; empty if there are none.

        Args:
            stand: Where it is cut.
            is_main: True for the main agent.
            began: When the run began.

        Raises:
            UsageError: Its transcript is missing, or lacks the line that the journal names.
        """
        import orjson

        if not stand.edge.line:
            return b""
        name = stand.agent.transcript
        if not is_file_of_run(self._folder, f"{TRANSCRIPTS}/{name}"):
            raise UsageError(f"cannot read the transcript {name}: it is missing, or a link to another file")
        try:
            lines = [*_read(self._folder / TRANSCRIPTS / name)]
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise UsageError(f"cannot read the transcript {name}: {why}") from None
        count = _count(lines, stand, None if began is None else began.timestamp())
        if count is None:
            raise UsageError(f"the transcript {name} has no line {stand.edge.line}, which the journal names")
        kept = lines[:count]
        names = names_of(stand.agent, is_main=is_main)
        for number, line in enumerate(kept, 1):
            self._change(line, number, names)
        return b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in kept)

    def check_used(self) -> None:
        """Refuse changes that have replaced nothing.

        Raises:
            UsageError: The conversation has no such line or call; the text says what there is.
        """
        for agent, number in self._messages:
            raise UsageError(
                f"message:{agent}:{number}: the conversation up to there has no such line of a person's words; "
                f"{self._lines_of(agent)}"
            )
        for call in self._results:
            known = ", ".join(self._calls[-8:]) or "none"
            raise UsageError(
                f"result:{call}: no result of such a call is in the conversations up to there; the last: {known}"
            )

    def _change(self, line: Line, number: int, names: frozenset[str]) -> None:
        for key in ("sessionId", "parentSessionId"):
            if key in line:
                line[key] = self._session
        content = (line.get("message") or {}).get("content")
        if not isinstance(content, list):
            return
        for block in content:
            call = block.get("tool_use_id")
            if block.get("type") == "tool_result" and isinstance(call, str):
                self._calls.append(call)
                if call in self._results:
                    block["content"] = self._results.pop(call)
                    line.pop("toolUseResult", None)
        if is_said(line):
            self._said.append((names, number))
            for name in names:
                text = self._messages.pop((name, number), None)
                if text is not None:
                    line["message"]["content"] = _with_text(content, text)
                    for field in _REPLACED:
                        line.pop(field, None)

    def _lines_of(self, agent: str) -> str:
        numbers = [str(number) for names, number in self._said if agent in names]
        return f"there are the lines {', '.join(numbers)}" if numbers else "it has none"


def is_said(line: Mapping[str, Any]) -> bool:
    """True if a line holds what somebody said to the agent: no answer, no result, and not for the model only."""
    content = (line.get("message") or {}).get("content")
    if (
        line.get("type") != "user"
        or line.get("isMeta")
        or line.get("isCompactSummary")
        or not isinstance(content, list)
    ):
        return False
    return any(block.get("type") == "text" for block in content) and not _has_result(line)


def _has_result(line: Mapping[str, Any]) -> bool:
    content = (line.get("message") or {}).get("content")
    return isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)


def _with_text(content: Sequence[Mapping[str, Any]], text: str) -> list[Mapping[str, Any]]:
    """Return the blocks of a message with other words; reminders for the model, and images, stay."""
    others = [
        block for block in content if block.get("type") != "text" or begins_with(str(block.get("text", "")), REMINDER)
    ]
    return [*others, {"type": "text", "text": text}]


def _read(path: Path) -> Iterator[Line]:
    import orjson

    with path.open("rb") as file:
        for raw in file:
            try:
                line = orjson.loads(raw)
            except orjson.JSONDecodeError:  # a crash has torn it
                continue
            if isinstance(line, dict):
                yield line


def _count(lines: Sequence[Line], stand: Stand, began_s: float | None) -> int | None:
    """Return how many lines are kept; None if the line of the edge is not among them."""
    edge = stand.edge
    at = next((number for number, line in enumerate(lines, 1) if line.get("uuid") == edge.line), None)
    if at is None or not edge.is_idle:
        return at
    if edge.is_answered:
        at = next((number for number, line in enumerate(lines[at:], at + 1) if line.get("type") == "assistant"), at)
    while at < len(lines) and _belongs(lines[at], edge.first_s, began_s):
        at += 1
    return at


def _belongs(line: Line, until_s: float, began_s: float | None) -> bool:
    """True if a line behind the last answer of a turn belongs to what was there before the next turn."""
    if _has_result(line):
        return True
    is_summary = line.get("isCompactSummary") is True or line.get("type") == "system"
    if line.get("isAtRest") or is_summary:
        return began_s is not None and _time_of(line) <= began_s + until_s + _TICK_S
    return line.get("aborted") is True or line.get("type") not in {"assistant", "user"}


def _time_of(line: Line) -> float:
    try:
        return datetime.fromisoformat(str(line.get("timestamp"))).timestamp()
    except ValueError:
        return 0.0
