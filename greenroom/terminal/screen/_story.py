"""Events of a swarm folded into the picture that its screen shows: the same fold for a live run and a recorded one.

Rule 1: a picture depends on the events so far and on the time that is asked for, and on nothing else. Rule 2: events come
in order; one that does not fit (a damaged journal, an older version) changes nothing and raises nothing. Rule 3: memory is
bounded by the number of agents and items. Events are known by their kind and fields, as the journal has them, so that this
folder needs none of those that declare them. This module must not depend on the clock, the disk, Trio or the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.terminal._narrator import LEAD, short_name
from greenroom.terminal.screen._agent_activity import ERROR_WORDS, AgentActivity
from greenroom.terminal.screen._board_cards import BoardCards
from greenroom.terminal.screen._picture import (
    FLASH_S,
    MAX_NOTES,
    AgentRow,
    LaneUse,
    NoteKind,
    OpenQuestion,
    RunTotals,
    SwarmNote,
    SwarmPicture,
)
from greenroom.terminal.screen._talk import finding_lines

MAX_FINDINGS: Final = 3
"""Findings of an item that are shown; the rest is counted."""
MAIL_LEAD: Final = "team-lead"
"""Name of the lead in mail."""
_FAULTS: Final[Mapping[str, str]] = {"timeout": "hangs", "cut": "cuts"}
"""Counters of errors of model requests; all others are refusals."""


UsdOf: TypeAlias = Callable[[str, Any], float | None]


@final
class SwarmStory:
    """The fold: `take` each event, and ask for a `picture` at any time not before the last event.

    Args:
        title: Title of the pictures.
        is_priced: False if no language model is asked.
        usd_of: Returns the US dollars of a request by its model and its end; None if that is not known, as by default.
    """

    def __init__(self, title: str = "", *, is_priced: bool = True, usd_of: UsdOf | None = None) -> None:
        self.title = title
        self.page = ""
        """Address of the page of the run; empty if there is none."""
        self.began_t: float | None = None
        """Time of the first event, on the clock of the events; it may be set where later events have another clock."""
        self.last_s = 0.0
        """Seconds from the first event to the last one."""
        self.last_event = 0
        """Number of the last event."""
        self.state = "running"
        self._usd_of = usd_of
        self.notes_made = 0
        """Notes so far, those that were replaced or dropped included."""
        self._names: dict[str, str] = {}
        self._transcripts: dict[str, str] = {}
        self._agents: dict[str, AgentActivity] = {}
        self._own: set[str] = set()  # agents that no copy shares; the others are copied before they change
        self._board = BoardCards()
        self._notes: list[SwarmNote] = []
        self._unread: dict[str, int] = {}
        self._questions: dict[tuple[str, str], OpenQuestion] = {}
        self._totals = RunTotals(is_priced=is_priced)
        self._cached = self._input = 0

    def copy(self) -> SwarmStory:
        """Return a fold in the same state that goes on by itself."""
        other = SwarmStory()
        other.__dict__.update(self.__dict__)
        other._names, other._notes, other._unread = dict(self._names), list(self._notes), dict(self._unread)
        other._transcripts = dict(self._transcripts)
        other._agents, other._board, other._questions = dict(self._agents), self._board.copy(), dict(self._questions)
        self._own, other._own = set(), set()
        return other

    def copied_bytes(self) -> int:
        """Return about how many bytes a copy takes that would not be shared with the copy before it."""
        shared = len(self._agents) + len(self._board) + len(self._names)
        return 4_000 + 120 * shared + 1_000 * len(self._own)

    def take(self, seq: int, t: float, event: Any) -> None:
        """Take the next event.

        Args:
            seq: Its number.
            t: Its time on the clock of the events, in seconds.
            event: The event; any object with its fields.
        """
        self.began_t = t if self.began_t is None else self.began_t
        self.last_event, self.last_s = seq, max(self.last_s, t - self.began_t)
        fold = _FOLDS.get(event.kind)
        if fold is not None:
            fold(self, event)
            agent = self._agent(event.actor)
            if agent is not None and agent.use is not agent.lane.use:
                agent.lane.change(self.last_s, agent.use)

    def note(self, text: str, *, kind: NoteKind = NoteKind.NOTICE, who: str = "") -> None:
        """Add a line, such as one of the program itself."""
        self._notes.append(SwarmNote(t_s=self.last_s, kind=kind, text=text, who=who))
        del self._notes[:-MAX_NOTES]
        self.notes_made += 1

    def picture(self, t_s: float | None = None) -> SwarmPicture:
        """Return the picture at a time.

        Args:
            t_s: Seconds since the first event; that of the last event for None or any time before it.
        """
        now_s = self.last_s if t_s is None else max(t_s, self.last_s)
        return SwarmPicture(
            title=self.title,
            page=self.page,
            elapsed_s=now_s,
            state=self.state,
            agents=tuple(self._rows(now_s)),
            cards=self._board.at(now_s),
            notes=tuple(
                attrs.evolve(note, flashes=True) if note.kind in _SUDDEN and now_s - note.t_s < FLASH_S else note
                for note in self._notes
            ),
            questions=tuple(self._questions.values()),
            lost=self._lost(now_s),
            totals=attrs.evolve(self._totals, cached_share=self._cached / self._input if self._input else 0.0),
        )

    def transcript(self, agent: str) -> str:
        """Return the name of the transcript of an agent, given by its actor id; empty if none is kept."""
        return self._transcripts.get(agent, "")

    def notes_since(self, made: int) -> list[SwarmNote]:
        """Return the notes that were added since `notes_made` had this value, as far as they are kept."""
        return self._notes[-(self.notes_made - made) :] if self.notes_made > made else []

    def _rows(self, now_s: float) -> list[AgentRow]:
        below: dict[str, list[AgentActivity]] = {}
        for agent in self._agents.values():
            owner = agent.owner if agent.owner in self._agents else ""
            below.setdefault(owner, []).append(agent)
        items = self._board.held()
        rows: list[AgentRow] = []
        waiting = [(agent, 0) for agent in reversed(below.get("", []))]
        while waiting:
            agent, depth = waiting.pop()
            unread = self._unread.get(agent.name, 0)
            rows.append(agent.row(now_s, depth=depth, item=items.get(agent.name, ""), unread=unread))
            waiting += [(child, depth + 1) for child in reversed(below.get(agent.id, []))]
        return rows

    # --- agents ------------------------------------------------------------------------------------------------------

    def _actor_new(self, event: Any) -> None:
        self._names[event.actor] = short_name(event.path)
        agent = self._agent(event.actor)
        if agent is not None:  # another incarnation
            agent.state, agent.gone_s = "starting", float("inf")
            agent.rest()

    def _agent_defined(self, event: Any) -> None:
        name = self._names.get(event.actor, event.definition)
        self._transcripts[event.actor] = event.transcript
        agent = self._agent(event.actor)
        if agent is None:
            self._add_agent(event.actor, name).owner = event.owner
            self._set_state(event.actor, "idle")
        elif agent.state == "starting":
            agent.state = "idle"
        self._agents[event.actor].model = event.model

    def _add_agent(self, actor: str, name: str) -> AgentActivity:
        agent = self._agents[actor] = AgentActivity(id=actor, name=name)
        agent.lane.change(self.last_s, LaneUse.DOWN)
        self._own.add(actor)
        return agent

    def _agent(self, actor: str) -> AgentActivity | None:
        """Return an agent that may be changed; None if it is not known."""
        agent = self._agents.get(actor)
        if agent is not None and actor not in self._own:
            agent = self._agents[actor] = agent.copy()
            self._own.add(actor)
        return agent

    def _joined(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is None:
            agent = self._add_agent(event.actor, event.name)
        agent.name, agent.color, agent.is_teammate = event.name, event.color, True
        agent.model = event.model or agent.model  # older journals tell the model of the session before

    def _set_state(self, actor: str, state: str) -> None:
        agent = self._agent(actor)
        if agent is not None:
            agent.state = state
            if state != "working":
                agent.rest()

    def _turn_begin(self, event: Any) -> None:
        self._set_state(event.actor, "working")

    def _rests(self, event: Any) -> None:
        self._set_state(event.actor, "idle")

    def _kill_requested(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is not None:
            agent.kill_why = event.cause.why if event.cause is not None else ""

    def _actor_end(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is None:
            return
        self._set_state(event.actor, "ended" if event.state == "completed" else event.state)
        if event.state == "failed":
            agent.changed_s = self.last_s
            self._count(crashes=1)
            self._say(NoteKind.CRASH, f"{agent.name} crashed: {event.error}", agent.name)
        elif event.state == "killed":
            agent.changed_s = self.last_s
            self._count(kills=1)
            self._say(NoteKind.KILL, f"{agent.name} was killed" + (f": {agent.kill_why}" if agent.kill_why else ""))

    def _actor_gone(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is not None:
            agent.gone_s = self.last_s
            if not agent.is_teammate and agent.owner:  # sub-agents come and go
                del self._agents[event.actor]

    def _restarted(self, event: Any) -> None:
        if event.is_requested:
            return
        for actor in event.together:
            agent = self._agent(actor)
            if agent is not None:
                agent.restarts += 1
                agent.state, agent.changed_s = "starting", self.last_s
                self._count(restarts=1)
                when = f" in {event.delay_s:.1f} s" if event.delay_s >= 0.05 else ""
                item = self._board.held().get(agent.name)
                more = f" and goes on with item {item}; {self._fate()}" if item else ""
                self._say(NoteKind.RESTART, f"{agent.name} is restarted{when}{more}", agent.name)

    def _fate(self) -> str:
        """Return what can be said of the items now: that none is lost, or which ones are."""
        lost = self._lost(self.last_s)
        return f"lost: item {', '.join(lost)}" if lost else "nothing lost"

    def _lost(self, now_s: float) -> tuple[str, ...]:
        mates = [agent for agent in self._agents.values() if agent.is_teammate]
        gone = {agent.name for agent in mates if agent.has_left(now_s)}
        return self._board.lost(gone - {agent.name for agent in mates if agent.gone_s > now_s}) if gone else ()

    # --- model and tools ---------------------------------------------------------------------------------------------

    def _model_begin(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is not None and event.turn:  # what runs beside turns is not what an agent does
            agent.model_since_s, agent.retry = self.last_s, ""

    def _model_retried(self, event: Any) -> None:
        self._count(**{_FAULTS.get(event.error, "refusals"): 1})
        agent = self._agent(event.actor)
        if agent is not None and event.turn:
            error = ERROR_WORDS.get(event.error, event.error.replace("_", " "))
            agent.model_since_s, agent.retry = self.last_s + event.delay_s, error
            status = f" ({event.status})" if event.status is not None else ""
            text = f"{agent.name}: {error}{status}, attempt {event.attempt} of {event.attempts or 'any'}"
            if event.error == "timeout":
                agent.changed_s = self.last_s
                self._say(NoteKind.HANG, text.replace(error, "the model hung", 1), agent.name)
            else:
                self._say_last(NoteKind.RETRY, text, agent.name)

    def _model_end(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is not None and event.turn:
            agent.model_since_s, agent.retry = None, ""
        cached = event.cache_read_input_tokens
        read = event.input_tokens + event.cache_creation_input_tokens + cached
        self._input, self._cached = self._input + read, self._cached + cached
        totals, usd = self._totals, None
        if self._usd_of is not None and (totals.usd is not None or not totals.requests):
            more = self._usd_of(agent.model if agent is not None else "", event)
            usd = None if more is None else (totals.usd or 0.0) + more
        tokens = totals.tokens + read + event.output_tokens
        self._totals = attrs.evolve(totals, requests=totals.requests + 1, tokens=tokens, usd=usd)

    def _tool_begin(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is not None and event.turn:
            agent.tools[event.call] = f"{event.tool} {event.summary}".rstrip()

    def _tool_end(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is not None:
            agent.tools.pop(event.call, None)

    def _asked(self, event: Any) -> None:
        agent = self._agent(event.actor)
        name = self._names.get(event.actor, "")
        call = event.tool if agent is None else agent.tools.get(event.call, event.tool)
        text = f"wants to use {call}" + (f": {event.reason}" if event.reason else "")
        self._questions[event.actor, event.call] = OpenQuestion(id=event.call, who=name, text=text)
        if agent is not None:
            agent.asking.add(event.call)
        self._say(NoteKind.QUESTION, f"{name} {text}", name)

    def _answered(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is not None:
            agent.asking.discard(event.call)
        if self._questions.pop((event.actor, event.call), None) is not None:
            by = f" by {event.by}" if event.by else ""
            name = self._names.get(event.actor, "")
            self._say(NoteKind.QUESTION, f"{name}: {event.tool} {event.answer}{by}", name)

    def _spoke(self, event: Any) -> None:
        agent = self._agent(event.actor)
        if agent is not None and agent.name == LEAD and event.text:
            self._say_last(NoteKind.SPOKE, f"{LEAD}: {event.text}", LEAD)

    # --- board and mail ----------------------------------------------------------------------------------------------

    def _item_created(self, event: Any) -> None:
        self._board.create(event, self.last_s)

    def _item_edited(self, event: Any) -> None:
        self._board.change(event, subject=event.subject)

    def _item_assigned(self, event: Any) -> None:
        self._board.change(event, owner=event.owner)

    def _item_claimed(self, event: Any) -> None:
        former = self._board.claim(event, self.last_s)
        if former:
            again = "again " if former == event.owner else ""
            about = f"item {event.item} back "
            self._notes = [
                note for note in self._notes if note.kind is not NoteKind.BACK or not note.text.startswith(about)
            ]
            self._say(
                NoteKind.TAKEN, f"{about}from {former}, taken {again}by {event.owner}; {self._fate()}", event.owner
            )

    def _item_completed(self, event: Any) -> None:
        if self._board.complete(event, self.last_s):
            found = finding_lines(event.findings)
            for finding in found[:MAX_FINDINGS]:
                self._say(NoteKind.FINDING, f"{event.by}: {finding}", event.by)
            done = f"item {event.item}" + (f" ({len(found)} findings)" if len(found) > MAX_FINDINGS else "")
            self._say(NoteKind.DONE, f"{event.by} completed {done}: {self._board.subject(event.item)}", event.by)

    def _item_released(self, event: Any) -> None:
        if self._board.release(event, self.last_s):
            self._count(returned_items=1)
            self._say(NoteKind.BACK, f"item {event.item} back from {event.owner}: {event.why}", event.owner)

    def _item_deleted(self, event: Any) -> None:
        self._board.delete(event)

    def _mail_sent(self, event: Any) -> None:
        to = LEAD if event.to == MAIL_LEAD else event.to
        sender = LEAD if event.sender == MAIL_LEAD else event.sender
        self._unread[to] = self._unread.get(to, 0) + 1
        self._say(NoteKind.MAIL, f"{sender} to {to}: {event.summary}", sender)

    def _mail_gone(self, event: Any) -> None:
        to = LEAD if event.to == MAIL_LEAD else event.to
        self._unread[to] = max(0, self._unread.get(to, 0) - 1)

    def _session_begin(self, _: Any) -> None:
        """Begin, or go on in another process: its agents are other actors, the items are as they were."""
        if self._agents:
            self._agents, self._own = {}, set()
            self._questions, self._unread = {}, {}
            self.state = "running"
            self._say(NoteKind.RESTART, "resumed in a new process: items and findings are as they were")

    def _session_end(self, event: Any) -> None:
        self.state = "done" if event.state == "completed" else event.state

    # --- notes -------------------------------------------------------------------------------------------------------

    def _say(self, kind: NoteKind, text: str, who: str = "") -> None:
        self.note(text, kind=kind, who=who)

    def _say_last(self, kind: NoteKind, text: str, who: str) -> None:
        """Add a line that replaces the one of the same kind and agent: only its latest matters."""
        self._notes = [note for note in self._notes if note.kind is not kind or note.who != who]
        self._say(kind, text, who)

    def _count(self, **more: int) -> None:
        survived = self._totals.survived
        changes = {name: getattr(survived, name) + count for name, count in more.items()}
        self._totals = attrs.evolve(self._totals, survived=attrs.evolve(survived, **changes))


_SUDDEN: Final = frozenset(
    {NoteKind.BACK, NoteKind.TAKEN, NoteKind.HANG, NoteKind.CRASH, NoteKind.KILL, NoteKind.RESTART}
)
"""Kinds of notes that are highlighted for a while."""
_Fold: TypeAlias = Callable[[SwarmStory, Any], None]
_FOLDS: Final[Mapping[str, _Fold]] = {
    "actor.new": SwarmStory._actor_new,
    "agent.defined": SwarmStory._agent_defined,
    "mate.joined": SwarmStory._joined,
    "actor.begin": SwarmStory._rests,
    "turn.begin": SwarmStory._turn_begin,
    "turn.end": SwarmStory._rests,
    "actor.kill_requested": SwarmStory._kill_requested,
    "actor.end": SwarmStory._actor_end,
    "actor.gone": SwarmStory._actor_gone,
    "child.restarted": SwarmStory._restarted,
    "model.begin": SwarmStory._model_begin,
    "model.retried": SwarmStory._model_retried,
    "model.end": SwarmStory._model_end,
    "tool.begin": SwarmStory._tool_begin,
    "tool.end": SwarmStory._tool_end,
    "permission.asked": SwarmStory._asked,
    "permission.answered": SwarmStory._answered,
    "agent.spoke": SwarmStory._spoke,
    "item.created": SwarmStory._item_created,
    "item.edited": SwarmStory._item_edited,
    "item.assigned": SwarmStory._item_assigned,
    "item.claimed": SwarmStory._item_claimed,
    "item.completed": SwarmStory._item_completed,
    "item.released": SwarmStory._item_released,
    "item.deleted": SwarmStory._item_deleted,
    "mail.sent": SwarmStory._mail_sent,
    "mail.read": SwarmStory._mail_gone,
    "mail.returned": SwarmStory._mail_gone,
    "session.begin": SwarmStory._session_begin,
    "session.end": SwarmStory._session_end,
}
