"""Auto mode in one session: its settings, what the user said, how often it has blocked.

There is one of these in a session, for all of its agents: they share the count, as they share the person who would be asked.
What the user said is handed in by the intake, never read out of a conversation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

import attrs

from greenroom.agents.review._block_count import BlockCount, ReviewOutcome
from greenroom.agents.review._review_settings import AutoModeSettings
from greenroom.core import PeerError
from greenroom.models import Usage

MAX_WORDS: Final = 1_000
"""Maximum number of messages of the user that are remembered, the latest."""
MAX_CHARS: Final = 20_000
"""So much is remembered of each: its beginning and its end."""
_ADVICE: Final = "allow such calls by rules, say in `autoMode` what may be trusted, or let somebody answer questions (can_use_tool, has_approver)"


@final
class AutoModeEnded(PeerError):
    """The reviewer of auto mode has blocked too often, and nobody can be asked: the turn has ended.

    Attributes:
        tool: Of the call at which it ended.
        reason: Why that was not run.
    """

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(
            f"auto mode did not allow too many calls, and nobody can be asked in this session; the last was {tool}: {reason}; "
            f"{_ADVICE}"
        )
        self.tool = tool
        self.reason = reason


@final
@attrs.frozen(kw_only=True)
class AutoModeStatistics:
    """Statistics of the reviewer of a session."""

    allowed: int
    """Calls that it allowed."""
    blocked: int
    """Calls that it blocked."""
    failed: int
    """Reviews of calls without a verdict: nothing was allowed by them."""
    count: BlockCount
    """The count that leads to a pause."""
    usage: Usage
    """The tokens that its requests have used, those about agents that have ended included; part of what the agents have used."""


@final
class AutoMode:
    """The reviewing of one session.

    Args:
        settings: How it reviews.
        model: The exact name of the model that it asks; empty for the session's own.
    """

    def __init__(self, settings: AutoModeSettings | None = None, *, model: str = "") -> None:
        self.settings = settings or AutoModeSettings()
        self.model = model
        self.count = BlockCount()
        self.usage = Usage()
        """The tokens that its reviews have used."""
        self._user: list[str] = []
        self._outcomes = dict.fromkeys(ReviewOutcome, 0)
        self._has_ended = False

    def __repr__(self) -> str:
        return f"<AutoMode: {'paused' if self.count.is_paused else 'reviewing'}, {self.count.in_all} blocked>"

    @property
    def user(self) -> tuple[str, ...]:
        """The user's messages, oldest first."""
        return tuple(self._user)

    def hear(self, text: str) -> None:
        """Record what the user says. After an end because nobody could be asked, this permits another attempt."""
        if len(text) > MAX_CHARS:
            half = MAX_CHARS // 2
            text = f"{text[:half]}\n[{len(text) - 2 * half} characters are left out here]\n{text[-half:]}"
        self._user.append(text)
        del self._user[:-MAX_WORDS]
        if self._has_ended:
            self._has_ended = False
            self.resume()

    def recall(self, texts: Iterable[str]) -> None:
        """Record what the user said in an earlier process of the run."""
        for text in texts:
            self.hear(text)

    def note(self, outcome: ReviewOutcome) -> None:
        """Record the outcome of the review of a call; it may pause the reviewer."""
        self._outcomes[outcome] += 1
        self.count = self.count.after(outcome)

    def resume(self) -> None:
        """Review again: a person has allowed a call."""
        self.count = self.count.resumed()

    def end(self, tool: str, reason: str) -> AutoModeEnded:
        """Return the error that ends a turn in which nobody can be asked; the user's next message resumes the work."""
        self._has_ended = True
        return AutoModeEnded(tool, reason)

    def add_usage(self, usage: Usage) -> None:
        """Count what a review has used."""
        self.usage += usage

    def statistics(self) -> AutoModeStatistics:
        """Return the counters as of now."""
        return AutoModeStatistics(
            allowed=self._outcomes[ReviewOutcome.ALLOWED],
            blocked=self._outcomes[ReviewOutcome.BLOCKED],
            failed=self._outcomes[ReviewOutcome.FAILED],
            count=self.count,
            usage=self.usage,
        )
