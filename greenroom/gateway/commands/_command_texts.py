"""Answers of commands in chats: the texts about what was done.

Must not know: clock, sessions, disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, final

import attrs

from greenroom.gateway.announce._announcement import cost_text, count_text, duration_text
from greenroom.gateway.announce._quotes import one_line, quoted
from greenroom.gateway.commands._chat_state import ChatState
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.trust._approval_desk import APPROVAL_WORDS, AnswerReceipt, QuestionEnd, ToolQuestion
from greenroom.gateway.trust._pairing import PairingResult, all_pairings
from greenroom.gateway.trust._senders import SenderKind

MAX_SESSIONS: Final = 20
"""Sessions in a list in a chat."""
SEND_WAIT_S: Final = 30.0
"""Seconds that `/subagents send` waits for the reply."""
_WHOM: Final = {
    SenderKind.OPERATOR: "a client",
    SenderKind.OWNER: "an owner",
    SenderKind.PERSON: "a person who may write",
}


@final
@attrs.frozen(kw_only=True)
class StopOutcome:
    """The result of a stop."""

    turn: Literal["ended", "none", "failed"] = "none"
    """The turn of the session: it has ended, none ran, or it has not ended yet."""
    stopped: tuple[str, ...] = ()
    """Runs whose end is on record."""
    failed: tuple[str, ...] = ()
    """Runs that have not ended."""
    ended_before: tuple[str, ...] = ()


@final
@attrs.frozen(kw_only=True)
class SendOutcome:
    """The result of a message to a sub-agent."""

    state: Literal["replied", "running", "failed"]
    run: str
    """Id of the run that the message began."""
    text: str = ""
    """The reply, or the error."""


def stop_text(outcome: StopOutcome) -> str:
    """Return the answer to a stop: only what has ended counts as stopped."""
    ended = ["the turn"] if outcome.turn == "ended" else []
    if outcome.stopped:
        ended.append(_count(len(outcome.stopped), "sub-agent"))
    failed = ["the turn"] if outcome.turn == "failed" else []
    failed += [run[:8] for run in outcome.failed]
    parts = [f"Stopped {' and '.join(ended)}."] if ended else []
    if failed:
        parts.append(f"Not ended yet: {', '.join(failed)}.")
    return " ".join(parts) or "Nothing to stop: 0 sub-agents ran."


def stop_runs_text(outcome: StopOutcome) -> str:
    """Return the answer to a stop of sub-agents."""
    parts = [f"Stopped {_count(len(outcome.stopped), 'sub-agent')}."]
    if outcome.failed:
        names = ", ".join(run[:8] for run in outcome.failed)
        parts.append(f"{len(outcome.failed)} not ended yet: {names}.")
    if outcome.ended_before:
        parts.append(f"{len(outcome.ended_before)} had ended before.")
    return " ".join(parts)


def send_text(outcome: SendOutcome) -> str:
    """Return the answer to a message to a sub-agent."""
    match outcome.state:
        case "replied":
            return quoted("Reply:", outcome.text or "(no text)")
        case "running":
            return f"Still running after {SEND_WAIT_S:.0f} s: run {outcome.run}"
    return quoted(f"Run {outcome.run} failed:", outcome.text or "no reason given")


def answer_text(id_: str, receipt: AnswerReceipt, end: QuestionEnd | None) -> str:
    """Return the answer to an answer about a call."""
    match receipt:
        case AnswerReceipt.TAKEN:
            assert end is not None
            return f"{_tool(end.question)}: {end.answer}."
        case AnswerReceipt.LATE if end is not None:
            by = f" by {end.who}" if end.who else ""
            return f"Too late: question {one_line(id_, 20)} was answered{by} with {end.answer}."
        case AnswerReceipt.LATE:
            return f"Too late: question {one_line(id_, 20)} has ended."
        case AnswerReceipt.FORBIDDEN:
            return "A session cannot answer its own questions."
    return f"Unknown question: {one_line(id_, 20)}"


def questions_text(questions: Sequence[ToolQuestion]) -> str:
    """Return the questions that wait."""
    if not questions:
        return "No questions wait."
    rows = (f"{each.id} • {_tool(each)} • {one_line(each.summary, 120)} • {each.session}" for each in questions)
    return "\n".join((f"Questions; answer with /approve ID {'|'.join(APPROVAL_WORDS)}", *rows))


def _tool(question: ToolQuestion) -> str:
    return one_line(question.tool, 80)


def pairing_result_text(verb: str, result: PairingResult, person: str) -> str:
    """Return the answer to a change of pairings."""
    match result:
        case PairingResult.DONE if verb == "approve":
            return f"Paired {person}: their direct messages are read."
        case PairingResult.DONE:
            return f"Removed {person}."
        case PairingResult.PAUSED:
            return "Too many wrong codes: try again in a minute."
    return "Nobody is paired by that name." if verb == "remove" else "Unknown or expired code."


def pairings_text(state: ChatState) -> str:
    """Return the people who are paired, and those who have asked."""
    rows = [
        f"{row.channel}:{one_line(row.sender, 100)} ({row.account}): {'paired' if row.is_approved else 'has a code'}"
        for row in all_pairings(state.registry.services.pairings)
        if row.is_approved or row.expires_s > state.now_s
    ]
    return "\n".join(rows) or "Nobody is paired, and nobody has asked."


def sessions_text(state: ChatState) -> str:
    """Return the sessions that were used last."""
    known = [row for row in state.registry.sessions.values() if row.state is not SessionState.ARCHIVED]
    newest = sorted(known, key=lambda row: row.used_s, reverse=True)[:MAX_SESSIONS]
    rows = (
        " • ".join(filter(None, (row.key, one_line(row.label, 64), f"{duration_text(state.now_s - row.used_s)} ago")))
        for row in newest
    )
    return "\n".join((f"Sessions: {len(known)}", *rows))


def status_text(state: ChatState) -> str:
    """Return the state of the session; a person who may write reads only whether it works."""
    facts, word = state.facts, "working" if state.is_busy else "idle"
    if not state.caller.kind.is_user:
        return f"The agent is {word}."
    tokens = f"{count_text(facts.sent_tokens)} in, {count_text(facts.received_tokens)} out"
    cost = "" if facts.cost is None else f" • {cost_text(facts.cost)}"
    lane = f"{facts.lane}: {facts.lane_active} of {facts.lane_width} at work, {facts.lane_waiting} waiting"
    active = [run for run in state.runs if not run.is_ended]
    lines = {
        "Session": f"{state.key} ({word})",
        "Model": " • ".join(filter(None, (facts.model, facts.thinking and f"thinking {facts.thinking}"))),
        "Tokens": f"{tokens}{cost}",
        "Queue": " • ".join(filter(None, (facts.queue, f"{facts.waiting} waiting"))),
        "Lane": lane if facts.lane else "",
        "Sub-agents": f"{len(active)} active, {len(state.runs) - len(active)} done",
        "Questions": str(sum(each.session == state.key for each in state.questions) or ""),
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)


def whoami_text(state: ChatState) -> str:
    """Return who somebody is to the gateway, and where."""
    return f"{one_line(state.caller.who, 200)}: {_WHOM.get(state.caller.kind, 'a stranger')}\nSession: {state.key}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
