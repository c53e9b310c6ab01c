"""State of a chat in a terminal: events of the gateway, folded into lines for people.

Rule 1: a line that was shown is never taken back; text that still grows is `partial`. Rule 2: text with a hole is not shown until the
whole of it is there. Rule 3: nothing from outside can move the cursor.

Must not know: the terminal, the connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, final

from greenroom.core.texts import printable_text
from greenroom.terminal import printable

_REMEMBERED: Final = 200
_SHOWN: Final = 65_536
NOTE: Final = "· "
"""In front of lines that nobody has said."""


@final
class ChatView:
    """One session, as its user sees it."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.partial = ""
        """The end of the reply that is being written: what follows its last line break."""
        self.questions: dict[str, str] = {}
        """Calls that wait for an answer: their ids, each with a line."""
        self._have = 0
        self._run = ""
        self._shown = ""
        self._is_holed = False
        self._is_after_note = False
        self._status: dict[str, str] = {}
        self._children: dict[str, str] = {}
        self._replies: deque[str] = deque(maxlen=_REMEMBERED)

    @property
    def is_busy(self) -> bool:
        """True while a turn of the session runs or waits."""
        return bool(self._status)

    @property
    def status(self) -> str:
        """A line about what happens now; empty if nothing does."""
        parts = list(dict.fromkeys(self._status.values()))
        if self._children:
            parts.append(f"{len(self._children)} sub-agent{'s' * (len(self._children) > 1)}")
        if self.questions:
            parts.append(f"{len(self.questions)} to approve: y once, a always, n no, then Enter")
        return ", ".join(parts)

    def fold(self, name: str, payload: Mapping[str, Any]) -> list[str]:
        """Take an event into account, and return the lines that it adds."""
        session = str(payload.get("sessionKey", ""))
        match name:
            case "chat" if session == self.session:
                return list(self._chat(payload))
            case "agent" if session == self.session:
                return list(self._turn(payload))
            case "agent" if payload.get("requester") == self.session:
                return list(self._child(session, payload))
            case "approval":
                return list(self._approval(payload))
            case "shutdown":
                return [f"{NOTE}the gateway stops: {printable(str(payload.get('reason', '')))}"]
        return []

    def read_anew(self, messages: Iterable[Mapping[str, Any]], approvals: Iterable[Mapping[str, Any]]) -> list[str]:
        """Return the lines of replies that were missed, after a break or a gap.

        Args:
            messages: The end of the conversation.
            approvals: The calls that wait for an answer.
        """
        replies = [str(each.get("text", "")) for each in messages if each.get("role") == "assistant"]
        known = [number for number, text in enumerate(replies) if text in self._replies]
        missed = replies[known[-1] + 1 :] if known else replies[-1:] if self._replies else []
        self._replies.extend(replies if not self._replies else missed)
        self._is_holed = bool(self._have)
        self._status.clear()
        self._children.clear()
        self.partial = ""
        self.questions.clear()
        lines = [line for text in missed for line in _lines(text)]
        for each in approvals:
            lines += self._approval({**each, "state": "asked"})
        return lines

    # --- the session itself -------------------------------------------------------------------------------------------

    def _chat(self, payload: Mapping[str, Any]) -> Iterator[str]:
        text, run = str(payload.get("message") or ""), str(payload.get("runId", ""))
        match payload.get("state"):
            case "delta":
                yield from self._delta(run, int(payload.get("at") or 0), text)
            case "final":
                yield from self._whole(run, text)
            case "aborted":
                yield from self._rest()
                yield f"{NOTE}aborted"
            case "error":
                yield from self._rest()
                yield f"{NOTE}error: {printable(str(payload.get('error') or text))}"

    def _delta(self, run: str, at: int, text: str) -> Iterator[str]:
        if at == 0:
            self._begin(run)
        if at != self._have or run != self._run:
            self._is_holed = True
        if self._is_holed:
            self.partial = ""
            return
        self._have = at + len(text)
        self._shown = (self._shown + text)[-_SHOWN:]
        if self._is_after_note:  # the line stands between two messages already
            self._is_after_note, text = False, text.lstrip("\n")
        *whole, self.partial = (self.partial + text).split("\n")
        yield from map(printable_text, whole)

    def _whole(self, run: str, text: str) -> Iterator[str]:
        if self._is_holed:
            yield f"{NOTE}some of it was missed; here is the whole:"
        shown = "" if self._is_holed else self._shown
        overlap = next((size for size in range(min(len(shown), len(text)), 0, -1) if shown.endswith(text[:size])), 0)
        rest = text[overlap:]
        if overlap or not self.partial:
            rest, self.partial = self.partial + rest, ""
        self._replies.append(text)
        yield from self._rest()
        if rest or not overlap:
            yield from _lines(rest)
        self._begin(run)

    def _rest(self) -> Iterator[str]:
        partial, self.partial = self.partial, ""
        if partial:
            yield printable_text(partial)

    def _begin(self, run: str) -> None:
        self._have, self._shown, self._is_holed, self.partial, self._run = 0, "", False, "", run
        self._is_after_note = False

    def _turn(self, payload: Mapping[str, Any]) -> Iterator[str]:
        run = str(payload.get("runId", ""))
        match payload.get("phase"):
            case "accepted" | "queued":
                self._status[run] = "waiting for a place"
            case "start":
                self._status[run] = "working"
            case "tool":
                yield from self._rest()
                self._is_after_note = True
                yield f"{NOTE}{printable(_of_tool(payload))}"
            case "end":
                self._status.pop(run, None)

    def _child(self, session: str, payload: Mapping[str, Any]) -> Iterator[str]:
        name = printable(str(payload.get("label") or payload.get("task") or session.rpartition(":")[2][:8]), 40)
        match payload.get("phase"):
            case "accepted" | "queued" | "start":
                if session not in self._children:
                    yield f"{NOTE}sub-agent {name} started"
                self._children[session] = name
            case "end":
                self._children.pop(session, None)
                yield f"{NOTE}sub-agent {name} ended: {printable(str(payload.get('status', '')), 40)}"

    def _approval(self, payload: Mapping[str, Any]) -> Iterator[str]:
        id_ = str(payload.get("approvalId", ""))
        if payload.get("state", "asked") != "asked":
            self.questions.pop(id_, None)
            return
        if id_ and id_ not in self.questions:
            of = "" if payload.get("sessionKey") == self.session else f" (of {payload.get('sessionKey')})"
            line = printable(f"{_of_tool(payload)}{of}")
            self.questions[id_] = line
            yield f"{NOTE}approve {printable(id_, 40)}? {line}"


def _of_tool(payload: Mapping[str, Any]) -> str:
    return f"{payload.get('tool', 'a tool')} {payload.get('summary') or ''}".strip()


def _lines(text: str) -> list[str]:
    return [printable_text(line) for line in text.split("\n")]
