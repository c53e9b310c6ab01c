"""Sub-agents in a chat: which one is meant, and the texts about them.

Rule 1: only runs that the session itself asked for can be meant, whatever the form: another session's are as if they did not exist. Rule 2:
what a model or a person called something is one line, and what a model said is quoted.
Must not know: clock, sessions, disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, final

import attrs

from greenroom.core.texts import FRAMES, REMINDER
from greenroom.gateway.announce._announcement import duration_text
from greenroom.gateway.announce._quotes import one_line, quoted
from greenroom.gateway.keepers._session_models import knows_effort
from greenroom.gateway.record._machines import UNFINISHED_WORDS
from greenroom.gateway.record._rows import MAX_LISTED, Run, SessionRow

SHOWN_ID: Final = 8
"""Characters of a run's id in lists."""
LOG_LIMIT: Final = 20
MAX_LOG: Final = 200
MAX_LOG_TEXT: Final = 4_000
"""Characters of one message in a log."""
_ALL_TAGS: Final = "|".join(map(re.escape, FRAMES))
_REMINDERS: Final = re.compile(rf"<{REMINDER}[^>]*>.*?</{REMINDER}>\s*", re.DOTALL)
_TAGS: Final = re.compile(rf"[ \t]*</?(?:{_ALL_TAGS})(?:\s[^<>]*)?>\n?")


class TargetProblem(StrEnum):
    """The reasons why no run is meant."""

    MISSING = "missing id"
    OUT_OF_RANGE = "index out of range"
    UNKNOWN_SESSION = "unknown session"
    UNKNOWN_ID = "unknown id"
    AMBIGUOUS = "ambiguous id"


@final
@attrs.frozen
class NoTarget:
    """No run is meant."""

    problem: TargetProblem
    text: str


def find_run(runs: Sequence[Run], target: str) -> Run | NoTarget:
    """Return the run that a person means.

    Args:
        runs: The runs of the session, the newest first.
        target: A number from the list, `last`, a session key, or the beginning of a run's id.
    """
    wanted = target.strip()
    shown = one_line(wanted, 80)
    if not wanted:
        return NoTarget(
            TargetProblem.MISSING, "Missing id: give a number from the list, `last`, a session key or a run id."
        )
    if ":" in wanted:
        found = [run for run in runs if run.session == wanted]
        return found[0] if found else NoTarget(TargetProblem.UNKNOWN_SESSION, f"Unknown session: {shown}")
    if wanted.lower() == "last":
        wanted = "1"
    is_number = wanted.isascii() and wanted.isdigit() and len(wanted) <= SHOWN_ID
    if is_number and 1 <= int(wanted) <= len(runs):
        return runs[int(wanted) - 1]
    found = [run for run in runs if run.id.lower().startswith(wanted.lower())]
    exact = [run for run in found if run.id.lower() == wanted.lower()]
    if len(found) == 1 or exact:
        return (exact or found)[0]
    if found:
        names = ", ".join(run.id[: max(SHOWN_ID, len(wanted) + 4)] for run in found[:5])
        return NoTarget(TargetProblem.AMBIGUOUS, f"Ambiguous id: {shown} fits {len(found)} runs ({names})")
    if is_number:
        return NoTarget(TargetProblem.OUT_OF_RANGE, f"Index out of range: {shown}; the list has {len(runs)} runs.")
    return NoTarget(TargetProblem.UNKNOWN_ID, f"Unknown id: {shown}")


# --- list and info ----------------------------------------------------------------------------------------------------


def list_text(runs: Sequence[Run], now_s: float) -> str:
    """Return the list of a session's sub-agents, the newest first."""
    if not runs:
        return "No sub-agents in this session."
    active = sum(not run.is_ended for run in runs)
    head = f"Sub-agents: {active} active, {len(runs) - active} done"
    rows = (f"{number}. {_row(run, now_s)}" for number, run in enumerate(runs, start=1))
    return "\n".join((head, *rows))


def _row(run: Run, now_s: float) -> str:
    return " • ".join((status_word(run), shown_name_of(run), _time(run, now_s), run.id[:SHOWN_ID], run.session))


def status_word(run: Run) -> str:
    """Return the state of a run for people."""
    return UNFINISHED_WORDS[run.state] if run.words is None else run.words.listed


def shown_name_of(run: Run) -> str:
    """Return the label of a run, else its task, on one line."""
    return one_line(run.label or run.task, MAX_LISTED)


def _time(run: Run, now_s: float) -> str:
    if run.is_ended:
        return f"{duration_text(run.worked_s(now_s))}, {_ago(run.ended_s, now_s)}"
    if not run.began_s:
        return f"waits for {duration_text(now_s - run.created_s)}"
    return duration_text(run.worked_s(now_s))


def info_text(run: Run, row: SessionRow | None, *, transcript: str, now_s: float, result: str = "") -> str:
    """Return everything about a run.

    Args:
        run: The run.
        row: Its session; None if nobody knows that any more.
        transcript: The path of its transcript.
        now_s: The wall clock.
        result: The text that announces its end; empty if there is none.
    """
    is_cleaned = row is not None and row.archived_s > 0
    facts = {
        "Status": status_word(run),
        "Label": one_line(run.label, MAX_LISTED),
        "Task": one_line(run.task, 500),
        "Run": run.id,
        "Session": run.session,
        "Session id": run.session_id,
        "Transcript": transcript,
        "Run time": duration_text(run.worked_s(now_s)) if run.began_s else "",
        "Created": _moment(run.created_s, now_s),
        "Started": _moment(run.began_s, now_s),
        "Ended": _moment(run.ended_s, now_s),
        "Thinking": _thinking(row),
        "Cleanup": f"{run.cleanup}{', done' if is_cleaned else ''}",
        "Archive": _moment(row.archived_s or row.archive_at_s, now_s) if row is not None else "",
        "Outcome": "" if run.words is None else run.words.status,
        "Stopped by": run.who,
    }
    lines = [f"{name}: {value}" for name, value in facts.items() if value]
    texts = {"Error:": run.error, "Announced:": result}
    lines += [quoted(label, text) for label, text in texts.items() if text]
    return "\n".join((f"Sub-agent {run.id[:SHOWN_ID]}", *lines))


def _thinking(row: SessionRow | None) -> str:
    """Return the level of thinking of a sub-agent, and whether its model knows that."""
    level = "" if row is None else str(row.settings.get("thinking") or "")
    if row is None or level in {"", "off"} or knows_effort(str(row.settings.get("model") or "")):
        return level
    return f"none: the model cannot be told how much to think ({level} was asked)"


def _moment(at_s: float, now_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S} UTC ({_ago(at_s, now_s)})" if at_s else ""


def _ago(at_s: float, now_s: float) -> str:
    return f"{duration_text(now_s - at_s)} ago" if at_s <= now_s else f"in {duration_text(at_s - now_s)}"


# --- log --------------------------------------------------------------------------------------------------------------


@final
@attrs.frozen(kw_only=True)
class LogMessage:
    """A message of a transcript."""

    is_user: bool
    """False for a message of the agent."""
    text: str
    is_tool: bool = False
    """True for a call of a tool, and for its result."""


def log_limit(number: int | None) -> int:
    """Return how many messages a log shows."""
    return LOG_LIMIT if number is None else min(MAX_LOG, max(1, number))


def log_text(messages: Iterable[LogMessage], *, limit: int, with_tools: bool) -> str:
    """Return the newest messages of a sub-agent, in order.

    Args:
        messages: Its messages, the oldest first.
        limit: The number of messages that are shown.
        with_tools: True to show calls of tools and their results.
    """
    shown = [(each, text) for each in messages if with_tools or not each.is_tool if (text := without_markup(each.text))]
    lines = (quoted(f"{_role(each)}:", text[:MAX_LOG_TEXT]) for each, text in shown[-limit:])
    return "\n".join(lines) or "No messages yet."


def _role(message: LogMessage) -> str:
    return f"{'user' if message.is_user else 'assistant'}{' (tool)' if message.is_tool else ''}"


def without_markup(text: str) -> str:
    """Return a text of a transcript without the runtime's reminders and tags; the words inside other tags stay."""
    return _TAGS.sub("", _REMINDERS.sub("", text)).strip()
