"""The turns of a session as its events tell them: what each took up, said and spent, and how it ended.

Rule 1: what a turn is to its watcher is read from the session's events alone, live or from its journal. Rule 2: each turn that began has
one end, and each item is in one turn, or gone without one.
Must not know: clock, disk, Trio, runs, chats.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

import attrs

from greenroom.actors import State, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined, ModelBegan, ModelEnded
from greenroom.core import Event
from greenroom.gateway.announce._announcement import SpentRequest
from greenroom.inbox import InboxExpired, InboxPoisoned, InboxTaken, InboxWithdrawn
from greenroom.models import TextBlock, Usage
from greenroom.session import MessageAppended

EXPIRED: Final = "it was too late to be read"
POISONED: Final = "too many turns began with it, and ended with their process"


@final
@attrs.frozen
class ItemsTaken:
    """A turn has taken up an item."""

    item: str


@final
@attrs.frozen
class TurnAsks:
    """A turn sends a request."""

    number: int
    """Its number within the turn, from 1."""


@final
@attrs.frozen
class ItemGone:
    """An item has ended and was read by no turn of this process."""

    item: str
    why: str
    """Empty if an earlier process had read it."""


@final
@attrs.frozen(kw_only=True)
class TurnOutcome:
    """A turn has ended."""

    state: State
    taken: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """Items that it ended without having taken them up."""
    line: str = ""
    said: str = ""
    """Its last text."""
    who: str = ""
    """The requester of its end; empty for none."""
    error: str = ""
    requests: tuple[SpentRequest, ...] = ()
    is_cut: bool = False
    """True if it did not end by itself or by a request: its session ended."""
    has_read: bool = False
    """True if it had the conversation in a request, or was about to."""


TurnFact: TypeAlias = ItemsTaken | TurnAsks | ItemGone | TurnOutcome


@final
@attrs.define
class TurnFold:
    """The fold of a session's events into facts about the turns of its main agent."""

    main: str
    """Id of the main agent."""
    is_open: bool = False
    """True from the beginning of a turn to its end."""
    _models: dict[str, str] = attrs.field(factory=dict)
    _taken: list[str] = attrs.field(factory=list)
    _dropped: list[str] = attrs.field(factory=list)
    _requests: list[SpentRequest] = attrs.field(factory=list)
    _line: str = ""
    _said: str = ""
    _asked: int = 0

    def take(self, event: Event) -> TurnFact | None:
        """Take an event into account, and return the fact that it makes, if any."""
        match event:
            case TurnBegan(actor=self.main):
                self._begin()
            case InboxTaken():
                return self._take(event.item)
            case InboxWithdrawn() | InboxExpired():
                return self._drop(event.item, event.why if isinstance(event, InboxWithdrawn) else EXPIRED)
            case InboxPoisoned():
                return ItemGone(event.item, POISONED)
            case AgentDefined():
                self._models[event.actor] = event.model
            case ModelBegan(actor=self.main) if self.is_open:
                self._asked += 1
                return TurnAsks(self._asked)
            case ModelEnded():
                self._requests.append(spent_request(event, self._models.get(event.actor, "")))
            case MessageAppended() if event.appended.agent == self.main and event.appended.response is not None:
                text = "\n".join(block.text for block in event.appended.message.content if isinstance(block, TextBlock))
                self._line, self._said = event.appended.uuid, text or self._said
                self._note_answer(event.appended.response.model)
            case TurnEnded(actor=self.main):
                return self._end(event)
        return None

    def _note_answer(self, model: str) -> None:
        """Note which model answered the last request, if it was a fallback."""
        own = self._models.get(self.main, "")
        if self._requests and own and model and model != own and not model.startswith(f"{own}-"):
            self._requests[-1] = attrs.evolve(self._requests[-1], model=model, is_fallback=True)

    def _begin(self) -> None:
        self.is_open, self._asked = True, 0
        self._taken, self._dropped = [], []
        self._line = self._said = ""

    def _take(self, item: str) -> TurnFact:
        if not self.is_open:
            return ItemGone(item, "")
        self._taken.append(item)
        return ItemsTaken(item)

    def _drop(self, item: str, why: str) -> TurnFact | None:
        if not self.is_open or why == EXPIRED:
            return ItemGone(item, why)
        self._dropped.append(item)
        return None

    def _end(self, event: TurnEnded) -> TurnOutcome:
        over = TurnOutcome(
            state=State(event.state),
            taken=tuple(self._taken),
            dropped=tuple(self._dropped),
            line=self._line,
            said=self._said,
            who="" if event.cause is None else event.cause.who,
            error=event.error or ("" if event.cause is None else event.cause.why),
            requests=tuple(self._requests),
            is_cut=event.state != State.COMPLETED and (event.by == "ancestor" or event.during_kill),
            has_read=bool(self._taken or self._asked),
        )
        self.is_open, self._requests = False, []
        return over


def spent_request(event: ModelEnded, model: str) -> SpentRequest:
    """Return a request that has ended as statistics count it."""
    usage = Usage(
        input_tokens=event.input_tokens,
        output_tokens=event.output_tokens,
        cache_creation_input_tokens=event.cache_creation_input_tokens,
        cache_read_input_tokens=event.cache_read_input_tokens,
    )
    return SpentRequest(model=model, usage=usage if usage.total or event.state == "completed" else None)
