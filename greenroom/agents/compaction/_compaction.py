"""Compaction of conversations: when it happens, the request for a summary, and the conversation that follows.

Every decision is a function of sizes, settings and what was tried before. What the user said in a turn that
is not over survives word for word; a summary is somebody's reading of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, final

import attrs

from greenroom.actors import Request
from greenroom.agents.compaction._triggers import CompactionTrigger
from greenroom.core import PeerError, UsageError
from greenroom.core.validation import checked, read_switch
from greenroom.models import Message, TextBlock

WINDOW_TOKENS: Final = 200_000
SUMMARY_TOKENS: Final = 20_000
MAX_FAILURES: Final = 3
"""Automatic compactions that fail in a row; after them only manual ones run."""
MAX_REFILLS: Final = 3
"""Compactions in a row after which the very next request was at the limit again."""
VERBATIM_CHARS: Final = 20_000
"""Maximum number of characters that survive word for word."""


@final
class CompactionFailed(PeerError):
    """There is no summary that could stand for the conversation; it is as it was."""


@final
class CompactionBlocked(PeerError):
    """A hook refused the compaction; the conversation is as it was.

    Attributes:
        reason: What the hook said.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"a hook refused the compaction: {reason}")
        self.reason = reason


@final
class ContextRefilled(PeerError):
    """The conversation was at its limit again right after each of several compactions: one more would not help.

    Attributes:
        times: How many compactions there were.
    """

    def __init__(self, times: int) -> None:
        super().__init__(
            f"the conversation was full again right after each of {times} compactions; "
            "begin a new one, or let tools return less at a time"
        )
        self.times = times


def _positive(_: Any, attribute: attrs.Attribute[int], value: int) -> None:
    if value < 1:
        raise UsageError(f"{attribute.name} has to be at least 1, not {value!r}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class CompactionSettings:
    """When conversations are compacted."""

    enabled: bool = True
    """True if conversations can be compacted; if false, a request to compact is an error."""
    auto: bool = True
    """True if a conversation near the limit is compacted automatically."""
    window_tokens: int = attrs.field(default=WINDOW_TOKENS, validator=_positive)
    """The context window of the model, in tokens."""
    summary_tokens: int = attrs.field(default=SUMMARY_TOKENS, validator=_positive)
    """The size of a summary, in tokens; this much of the window is kept free for it."""
    at_percent: int | None = attrs.field(default=None)
    """The percentage of the window at which to compact, 1 to 100; it can lower the limit, but not raise it."""

    @at_percent.validator
    def _check_share(self, _: Any, value: int | None) -> None:
        if value is not None and not 1 <= value <= 100:
            raise UsageError(f"at_percent is a number from 1 to 100, not {value!r}")

    @summary_tokens.validator
    def _check_summary(self, _: Any, value: int) -> None:
        if value * 2 > self.window_tokens:
            raise UsageError(f"summary_tokens ({value}) may be half of window_tokens ({self.window_tokens}) at most")

    @cached_property
    def threshold_tokens(self) -> int:
        """The size from which on a conversation is compacted."""
        # 13,000 of 200,000 are for what comes between two looks: results of tools, and the request for the summary.
        most = self.window_tokens - self.summary_tokens - self.window_tokens * 13 // 200
        return most if self.at_percent is None else max(1, min(most, self.window_tokens * self.at_percent // 100))


def compaction_from_environment(environ: Mapping[str, str], settings: CompactionSettings) -> CompactionSettings:
    """Return settings with what variables say: they come before files.

    `GREENROOM_DISABLE_COMPACT`, `GREENROOM_DISABLE_AUTO_COMPACT`, `GREENROOM_AUTO_COMPACT_WINDOW` (tokens),
    `GREENROOM_AUTOCOMPACT_PCT_OVERRIDE` (1 to 100).

    Raises:
        UsageError: One that should be a number is none, or is out of range.
    """
    said: dict[str, Any] = {}
    if read_switch(environ, "GREENROOM_DISABLE_COMPACT"):
        said["enabled"] = False
    if read_switch(environ, "GREENROOM_DISABLE_AUTO_COMPACT"):
        said["auto"] = False
    for name, field in (
        ("GREENROOM_AUTO_COMPACT_WINDOW", "window_tokens"),
        ("GREENROOM_AUTOCOMPACT_PCT_OVERRIDE", "at_percent"),
    ):
        text = environ.get(name, "").strip()
        if text:
            if not text.isdecimal():
                raise UsageError(f"{name} is a whole number, not {text!r}")
            said[field] = int(text)
    return attrs.evolve(settings, **said) if said else settings


# --- when -------------------------------------------------------------------------------------------------------------


@final
@attrs.define
class CompactionRecord:
    """The results of the compactions of one conversation."""

    failures: int = 0
    """Automatic ones that failed, since the last that did not."""
    refills: int = 0
    requests: int | None = None
    """Model requests since the last compaction; None before the first."""

    def note_request(self) -> None:
        """A request was answered."""
        if self.requests is not None:
            self.requests += 1

    def note_failure(self) -> None:
        """Count an automatic compaction that failed."""
        self.failures += 1

    def note_done(self) -> None:
        """The conversation was compacted."""
        self.failures = 0
        self.requests = 0

    def is_due(self, tokens: int, settings: CompactionSettings) -> bool:
        """Say whether a conversation of this size is to be compacted before the next request.

        Raises:
            ContextRefilled: It was full again right after each of the last compactions.
        """
        if not (settings.enabled and settings.auto) or tokens < settings.threshold_tokens:
            return False
        if self.failures >= MAX_FAILURES:
            return False
        self.refills = self.refills + 1 if self.requests is not None and self.requests <= 1 else 0
        if self.refills >= MAX_REFILLS:
            raise ContextRefilled(self.refills)
        return True


# --- what is asked for, and what comes of it --------------------------------------------------------------------------

_DIRECTIVE: Final = """\
The conversation up to here is about to be replaced by a summary. You write that summary, now, as your whole answer. Whoever \
goes on has nothing else: no message, no result of a tool, no file that was shown. Use no tools.

Put it between <summary> and </summary>, under these headings, and leave out those that there is nothing for:

1. What the user wants: every request, and every wish or limit that was stated, as literally as it matters.
2. What was decided, and why; what was tried and given up.
3. Files, commands and other things that matter: paths, names, signatures, the lines of code that are needed to go on.
4. Errors that came up, and what repaired them.
5. What runs now: background tasks and other agents, with their ids.
6. What is left to be done.
7. What was being done in this moment, and the next step."""

_FOCUS: Final = "What to look at in particular, as the summary was asked for:"

_BEGINNING: Final = "This conversation goes on from an earlier one, which had become too long. This is its summary:"
_GOING_ON: Final = (
    "Go on where it stopped, as if it had never been interrupted: without repeating the summary, and without asking what to "
    "do next."
)
_VERBATIM: Final = "What the user said in the turn that is not over yet, word for word:"
_SUMMARY: Final = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
_ANALYSIS: Final = re.compile(r"<analysis>.*?</analysis>", re.DOTALL)


def summary_directive(focus: Sequence[str] = ()) -> str:
    """Return what the model is asked.

    Args:
        focus: What to look at in particular, from the caller and from hooks.
    """
    wanted = [focu.strip() for focu in focus if focu.strip()]
    return "\n\n".join([_DIRECTIVE, _FOCUS, *wanted]) if wanted else _DIRECTIVE


def summary_in(answer: str) -> str:
    """Return the summary in what the model answered; empty where there is none."""
    found = _SUMMARY.search(answer)
    return (found[1] if found else _ANALYSIS.sub("", answer)).strip()


def said_in_this_turn(messages: Sequence[Message]) -> list[str]:
    """Return the texts that were said to the model since it last came to an end, oldest first.

    What is beyond `VERBATIM_CHARS` is left out, the oldest first; the summary has to do for it.
    """
    texts: list[str] = []
    left = VERBATIM_CHARS
    for message in reversed(messages):
        if message.role == "assistant" and not message.tool_uses:
            break
        if message.role == "user":
            for block in reversed(message.content):
                if isinstance(block, TextBlock) and len(block.text) <= left:
                    texts.append(block.text)
                    left -= len(block.text)
    texts.reverse()
    return texts


def beginning_after(summary: str, *, said: Sequence[str] = (), survivors: Sequence[str] = ()) -> list[str]:
    """Return the texts that a compacted conversation begins with.

    Args:
        summary: What the model wrote.
        said: The user's words in a running turn; empty if no turn is running.
        survivors: What survives besides: what runs, lists, skills.
    """
    texts = [f"{_BEGINNING}\n\n{summary}"]
    if said:
        texts += [_VERBATIM, *said]
    texts += survivors
    return [*texts, _GOING_ON] if said else texts


@final
@attrs.frozen(kw_only=True)
class Compacted:
    """A conversation was compacted."""

    trigger: CompactionTrigger
    summary: str
    pre_tokens: int
    """Its size before; an estimate where the provider has not counted it."""
    post_tokens: int
    """An estimate."""


@final
@attrs.frozen
class Compact(Request[Compacted]):
    """Compact the conversation now, in a turn of its own; the text says what the summary is to look at in particular."""

    text: str = ""
