"""Journals of any shape, for Hypothesis: actors, turns, calls side by side, restarts, and what is left open."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from greenroom.actors import AbortRequested, ActorBegan, ActorCreated, ActorExited, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined, ModelBegan, ModelEnded, ToolBegan, ToolEnded
from greenroom.core import Cause, Event
from greenroom.mailbox import MessagePut
from greenroom.session import SessionBegan, SessionEnded
from greenroom.trace import Entry

STATES = ("completed", "failed", "killed")
ERRORS = {"completed": "", "failed": "ValueError: boom", "killed": ""}
CAUSES = (None, Cause("host", "enough"), Cause("deadline", "too long"))
MICRO = 1e-6


class Maker:
    """Puts events on record as a sound run would, one random step after another."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.entries: list[Entry] = []
        self.us = 0
        self.incarnations: dict[str, int] = {}
        self.calls: dict[str, list[tuple[Event, int]]] = {}
        """Actor to its open calls, each with the number of its begin."""
        self.turns: dict[str, int] = {}
        self.in_turn: dict[str, int] = {}
        self.messages: dict[str, int] = {}

    def emit(self, event: Event) -> int:
        self.us += self.draw(st.sampled_from([0, 0, 1, 999, 1_000_000]))
        seq = len(self.entries) + 1
        self.entries.append(Entry(seq, round(self.us * MICRO, 6), event.kind, event))
        return seq

    def cause(self) -> int:
        seq: int = self.draw(st.integers(0, len(self.entries)))
        return seq

    def about(self, actor: str) -> dict[str, Any]:
        return {"actor": actor, "inc": self.incarnations[actor]}

    def step(self) -> None:
        alive = [one for one, number in self.incarnations.items() if number and one in self.turns]
        choices = [self.spawn]
        if alive:
            actor = self.draw(st.sampled_from(alive))
            if actor in self.in_turn:
                choices = [lambda: self.call(actor), lambda: self.call(actor), lambda: self.end_turn(actor)]
                if self.calls[actor]:
                    choices.append(lambda: self.end_call(actor))
                choices.append(lambda: self.abort(actor))
            else:
                choices += [lambda: self.begin_turn(actor)] * 3 + [lambda: self.exit(actor)]
        self.draw(st.sampled_from(choices))()

    def spawn(self) -> None:
        above = self.draw(st.sampled_from(["", *self.incarnations]))
        actor = f"a{len(self.incarnations):016x}"
        self.incarnations[actor] = 1
        self.messages[actor] = 0
        self.create(actor, above)
        if self.draw(st.booleans()):
            self.emit(AgentDefined(**self.about(actor), definition="d", model="claude-x", transcript=""))

    def create(self, actor: str, above: str) -> None:
        told: dict[str, Any] = {
            "path": actor[-2:],
            "behavior": "B",
            "supervisor": above,
            "descent": "",
            "journal": "full",
        }
        seq = self.emit(ActorCreated(**self.about(actor), parent=self.cause(), **told))
        self.emit(ActorBegan(**self.about(actor), parent=seq))
        self.turns[actor], self.calls[actor] = 0, []

    def begin_turn(self, actor: str) -> None:
        parent = self.cause()
        self.messages[actor] += 1
        message: dict[str, Any] = {"msg": self.messages[actor]}
        if self.draw(st.booleans()):
            self.emit(MessagePut(**self.about(actor), parent=parent, **message, lane="next", type="Note"))
        self.turns[actor] += 1
        self.in_turn[actor] = self.emit(
            TurnBegan(**self.about(actor), parent=parent, turn=self.turns[actor], **message)
        )

    def call(self, actor: str) -> None:
        about = {**self.about(actor), "turn": self.turns[actor], "round": 1, "parent": self.in_turn[actor]}
        event: Event
        if self.draw(st.booleans()):
            event = ToolBegan(**about, call=f"c{len(self.entries)}", tool="Read", summary="x")
        else:
            event = ModelBegan(**{**about, "round": len(self.entries)}, messages=1)
        self.calls[actor].append((event, self.emit(event)))

    def end_call(self, actor: str) -> None:
        event, seq = self.calls[actor].pop(self.draw(st.integers(0, len(self.calls[actor]) - 1)))
        state = self.draw(st.sampled_from(STATES))
        about = {**self.about(actor), "turn": self.turns[actor], "parent": seq, "state": state, "error": ERRORS[state]}
        if isinstance(event, ToolBegan):
            self.emit(ToolEnded(**about, round=event.round, call=event.call, tool=event.tool, output_chars=1))
        elif isinstance(event, ModelBegan):
            tokens: dict[str, Any] = {"input_tokens": 1, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 3}
            self.emit(ModelEnded(**about, **tokens, round=event.round, stop_reason="end_turn", output_tokens=4))

    def abort(self, actor: str) -> None:
        self.emit(
            AbortRequested(**self.about(actor), parent=self.cause(), turn=self.turns[actor], cause=Cause("h", "y"))
        )

    def ended(self) -> dict[str, Any]:
        state = self.draw(st.sampled_from(STATES))
        cause = self.draw(st.sampled_from(CAUSES))
        flags = {"late_cancel": False, "during_kill": False, "cleanup_cut": False}
        return {"state": state, "by": "", "cause": cause, "error": ERRORS[state], **flags}

    def end_turn(self, actor: str) -> None:
        while self.calls[actor]:
            self.end_call(actor)
        begin = self.in_turn.pop(actor)
        number: dict[str, Any] = {"turn": self.turns[actor], "msg": self.messages[actor]}
        self.emit(TurnEnded(**self.about(actor), parent=begin, **number, **self.ended()))

    def exit(self, actor: str) -> None:
        seq = self.emit(ActorExited(**self.about(actor), parent=self.cause(), **self.ended()))
        del self.turns[actor]
        if self.draw(st.booleans()) and seq:
            self.incarnations[actor] += 1
            above = next(
                entry["supervisor"]
                for entry in self.entries
                if entry.kind == "actor.new" and entry.event.actor == actor
            )
            self.create(actor, above)


@st.composite
def journals(draw: Any) -> list[Entry]:
    """A journal; whatever is open at its end stays open, and perhaps a session is around it."""
    maker = Maker(draw)
    has_session = draw(st.booleans())
    if has_session:
        maker.emit(SessionBegan(session="s", model="m", cwd="."))
    for _ in range(draw(st.integers(0, 25))):
        maker.step()
    if has_session and draw(st.booleans()):
        maker.emit(SessionEnded(state="completed", error=""))
    return maker.entries
