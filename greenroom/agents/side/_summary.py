"""Progress summaries: what an agent is doing, in a few words of its own, while it runs.

At most one request in every period, and none where nothing happened since the last one. A summary that
cannot be had leaves the one before; the first failure of several in a row is a notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio

from greenroom.agents._forked import run_forked
from greenroom.agents._side_run import Emit, SideRun, notice, open_side_run
from greenroom.agents._state import AgentState
from greenroom.agents.events._agent_events import AgentSummarized
from greenroom.core.texts import error_text, reminder
from greenroom.models import Message

SUMMARY: Final = "progress summary"
SUMMARY_EVERY_S: Final = 30.0
LEAST_WORDS: Final = 3
MAX_WORDS: Final = 8
_QUOTES: Final = "\"'`“”‘’*-. "
_ABOUT: Final = (
    "Say in 3 to 8 words what you are doing right now, for somebody who watches: the present tense, the file or thing by its "
    "name, such as: Fixing the null check in validate.py. One line, nothing else. Calls of tools are not run here."
)


def summary_directive(before: str) -> str:
    """Return what the model is told, given the summary before."""
    return reminder(f"{_ABOUT}\nThe last time you said: {before}" if before else _ABOUT)


def read_summary(text: str) -> str:
    """Return the summary in what the model said, cut to eight words; empty where it holds none."""
    words = next((line.strip(_QUOTES) for line in text.splitlines() if line.strip(_QUOTES)), "").split()
    if len(words) < LEAST_WORDS:
        return ""
    return " ".join(words) if len(words) <= MAX_WORDS else " ".join(words[:MAX_WORDS]) + "…"


def latest(messages: Sequence[Message]) -> Message | None:
    """Return what tells whether something happened: the last message, once the agent has done anything."""
    has_begun = any(message.role == "assistant" for message in messages)
    return messages[-1] if has_begun else None


async def summarize(place: SideRun) -> str:
    """Return what an agent is doing; empty where the model did not say it in a few words.

    Raises:
        ProviderError: The model could not be asked.
        ForkFailed: It called tools and said nothing.
    """
    progress = place.home.run.progress
    directive = summary_directive("" if progress is None else progress.summary)
    return read_summary((await run_forked(place, directive, purpose=SUMMARY, max_rounds=1)).text)


async def summaries(home: AgentState, *, agent: str, emit: Emit, every_s: float = SUMMARY_EVERY_S) -> None:
    """Keep `home.run.progress.summary` up to date; started with the agent's run, and cancelled when that ends.

    It never returns and fails nothing. Cancelled, it leaves the summary as it is.

    Args:
        home: The agent's.
        agent: The agent's id.
        emit: Records an event.
        every_s: Seconds from one look to the next.
    """
    seen: Message | None = None
    has_failed = False
    while True:
        await trio.sleep(every_s)
        progress = home.run.progress
        now = None if home.conversation is None else latest(home.conversation.messages)
        if progress is None or now is None or now is seen:
            continue
        seen = now
        try:
            said = await summarize(open_side_run(home, agent, emit))
            if said and said != progress.summary:
                progress.summary = said
                emit(AgentSummarized, agent, 0, 0, said)
            has_failed = False
        except Exception as error:  # noqa: BLE001 - the boundary of a service: it ends nothing, and is recorded
            if not has_failed:
                notice(agent, emit, SUMMARY, error_text(error))
            has_failed = True
