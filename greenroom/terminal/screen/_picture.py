"""The values that the screen of a swarm shows: one frozen picture of a moment, the same for a live run and a recorded one.

Rule 1: a picture holds all that the panes show of the swarm, and they read nothing else. Rule 2: texts are as they are in
events and transcripts; the panes remove control characters and cut. Rule 3: times are seconds since the first event. This
module must not depend on the clock, the disk, Trio or the terminal.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, final

import attrs

SAMPLE_S: Final = 1.0
"""Seconds that one sample of an agent's activity covers."""
SAMPLES: Final = 60
"""Samples of an agent: its last minute."""
MAX_NOTES: Final = 200
"""Notes that a picture keeps; earlier ones are dropped."""
FLASH_S: Final = 2.0
"""Seconds for which a sudden change is highlighted."""

GONE: Final = frozenset({"ended", "failed", "killed"})
"""States of an agent that is not there."""


class LaneUse(StrEnum):
    """Main activity of an agent within one sample."""

    IDLE = "idle"
    MODEL = "model"
    TOOL = "tool"
    WAITING = "waiting"
    """For another attempt, a person, or another agent."""
    DOWN = "down"
    """The agent was not there: before its start, between a crash and its restart, after its end."""


@final
@attrs.frozen(kw_only=True)
class AgentRow:
    """One agent of the tree."""

    id: str
    """Id of its actor."""
    name: str
    state: str
    """`starting`, `working`, `idle`, `ended`, `failed` or `killed`."""
    color: str = ""
    """Name of its color, as teams assign them: `blue`, `green`, ...; empty for none."""
    depth: int = 0
    """Number of agents above it."""
    is_teammate: bool = False
    """True if it can be killed on its own."""
    use: LaneUse = LaneUse.IDLE
    doing: str = ""
    """Its current activity, such as `Read src/a.py`; empty if it has none."""
    lane: tuple[LaneUse, ...] = ()
    """Its last minute in samples of `SAMPLE_S`, oldest first; at most `SAMPLES`."""
    item: str = ""
    """Id of the item that it works on; empty for none."""
    unread: int = 0
    """Messages that wait for it."""
    restarts: int = 0
    flashes: bool = False
    """True shortly after a sudden change: a kill, a crash, a restart."""

    @property
    def is_there(self) -> bool:
        """True unless it has ended."""
        return self.state not in GONE


class BoardColumn(StrEnum):
    """Column of the board."""

    OPEN = "open"
    IN_PROGRESS = "in progress"
    DONE = "done"


@final
@attrs.frozen(kw_only=True)
class BoardCard:
    """One item of the board."""

    id: str
    subject: str
    column: BoardColumn = BoardColumn.OPEN
    owner: str = ""
    """Name of the agent that has it, or completed it; empty for none."""
    returns: int = 0
    """Number of times it came back from an owner."""
    moved_s: float = 0.0
    """When it came into its column."""
    flashes: bool = False
    """True shortly after it came back, or was taken by another agent after that."""


class NoteKind(StrEnum):
    """Kind of a note."""

    FINDING = "finding"
    """An agent's result, as it comes."""
    DONE = "done"
    BACK = "back"
    """An item came back from its owner."""
    TAKEN = "taken"
    """An item that had come back was taken by another agent."""
    MAIL = "mail"
    SPOKE = "spoke"
    """Text of the lead."""
    RETRY = "retry"
    """A model request failed, and is tried again."""
    HANG = "hang"
    """A model request timed out, and is tried again."""
    CRASH = "crash"
    KILL = "kill"
    RESTART = "restart"
    QUESTION = "question"
    """A call waits for a person, or no longer does."""
    NOTICE = "notice"
    """A line of the program itself."""


@final
@attrs.frozen(kw_only=True)
class SwarmNote:
    """One event that matters to people."""

    t_s: float
    kind: NoteKind
    text: str
    """A sentence."""
    who: str = ""
    """Name of the agent that it is about; empty for none."""
    flashes: bool = False


class TalkKind(StrEnum):
    """Kind of a part of a conversation."""

    PROMPT = "prompt"
    """Text that the agent was given: a prompt, an item, mail."""
    ANSWER = "answer"
    CALL = "call"
    RESULT = "result"
    ERROR = "error"
    """A call or a request that failed."""
    NOTICE = "notice"


@final
@attrs.frozen(kw_only=True)
class TalkPart:
    """One part of a conversation: a text, a call, a result."""

    kind: TalkKind
    text: str
    """May have several lines."""
    title: str = ""
    """The tool of a call or result; the sender of mail."""


@final
@attrs.frozen(kw_only=True)
class OpenQuestion:
    """A call that waits for a person."""

    id: str
    who: str
    """Name of the agent that asks."""
    text: str
    """Its tool, and what the call is about."""


@final
@attrs.frozen(kw_only=True)
class SurvivedFaults:
    """Counters of the faults of a run."""

    refusals: int = 0
    """Model requests that the provider refused, and that were tried again."""
    cuts: int = 0
    """Answers that were cut off, and requested again."""
    hangs: int = 0
    """Model requests that timed out and were tried again."""
    crashes: int = 0
    """Ends of agents by an error."""
    kills: int = 0
    """Ends of agents that were asked for by a person."""
    restarts: int = 0
    returned_items: int = 0
    """Items that came back from their owners."""


@final
@attrs.frozen(kw_only=True)
class RunTotals:
    """The figures of the whole run."""

    is_priced: bool = True
    """False if no language model is asked: then tokens mean nothing and are not shown."""
    requests: int = 0
    tokens: int = 0
    """Input and output, those from the cache too."""
    cached_share: float = 0.0
    """Share of the input that came from the cache, 0 to 1."""
    usd: float | None = None
    """Cost in US dollars; None if it is not known."""
    survived: SurvivedFaults = SurvivedFaults()


@final
@attrs.frozen(kw_only=True)
class TimePosition:
    """The position within a recorded run; a live view has none."""

    t_s: float
    end_s: float
    """Time of the last event."""
    event: int
    """Number of the last event that the picture includes; 0 before the first one."""
    events: int
    failures: tuple[float, ...] = ()
    """Times of failures, in order."""
    speed: float = 0.0
    """Recorded seconds per second; 0 while it stands still."""
    is_growing: bool = False
    """True if the run still goes on, and its end moves."""


@final
@attrs.frozen(kw_only=True)
class SwarmPicture:
    """All that the screen shows of a swarm at one moment."""

    title: str
    """The folder and the team in a line."""
    page: str = ""
    """Address of the page of the run; empty if there is none."""
    elapsed_s: float
    state: str = "running"
    """`running`, `stopping`, or how it ended: `done`, `incomplete`, `stopped`, `failed`."""
    agents: tuple[AgentRow, ...] = ()
    """The lead first, then the teammates and sub-agents, each below the one that started it."""
    cards: tuple[BoardCard, ...] = ()
    """By number of the item."""
    notes: tuple[SwarmNote, ...] = ()
    """Oldest first, at most `MAX_NOTES`."""
    talk: tuple[TalkPart, ...] = ()
    """The conversation of the agent that is open, oldest first; empty while none is."""
    questions: tuple[OpenQuestion, ...] = ()
    """The one that waits longest first."""
    lost: tuple[str, ...] = ()
    """Ids of items in progress whose owner has ended for good: nobody works on them, and nobody can take them."""
    totals: RunTotals = RunTotals()
    time: TimePosition | None = None

    def agent(self, actor: str) -> AgentRow | None:
        """Return the agent with this id; None if it is not there."""
        return next((agent for agent in self.agents if agent.id == actor), None)
