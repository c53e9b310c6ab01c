"""One turn of an agent while it runs: its place in the record, its counters, and what stands before its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import attrs

from greenroom.actors import Context
from greenroom.agents._conversation import Appended, Conversation
from greenroom.agents._guard import Guard
from greenroom.agents._model_request import Keep, ask_model
from greenroom.agents._profile import AgentProfile
from greenroom.agents._repetition import RepeatedCall, Repetition
from greenroom.agents._state import NO_USAGE, AgentState
from greenroom.agents._turn_hooks import Hooking, StoppedByHook
from greenroom.agents._turn_state import TurnState
from greenroom.agents.review import AutoModeEnded
from greenroom.hooks import StopGuard
from greenroom.models import ModelRequest, ModelResponse, ToolResultBlock, ToolUseBlock, Usage
from greenroom.tools import ToolContext


@final
@attrs.define(kw_only=True, eq=False)
class AgentTurn:
    """One turn while it runs. Its parts change it by the methods here alone."""

    home: AgentState
    ctx: Context
    conversation: Conversation
    round: int = 0
    """Number of the model request; 0 before the first."""
    usage: Usage = NO_USAGE
    """The tokens that the requests of this turn have used."""
    agent: str = attrs.field(init=False)
    """Id of the agent's actor."""
    incarnation: int = attrs.field(init=False)
    turn: int = attrs.field(init=False)
    seq: int = attrs.field(init=False)
    """Number of the event with which this turn began."""
    emit: Callable[..., int] = attrs.field(init=False)
    state: TurnState = attrs.field(init=False)
    """The part of the turn that others may read."""
    hooking: Hooking = attrs.field(init=False)
    guard: Guard | None = attrs.field(init=False, default=None)
    """Decides about the calls; None where all of them run."""
    stopped: StoppedByHook | AutoModeEnded | None = attrs.field(init=False, default=None)
    """Why nothing is to follow the calls that run; None if something may."""
    stop_guard: StopGuard = attrs.field(init=False)
    repetition: Repetition | None = attrs.field(init=False, default=None)
    """The failures of its calls; None before the first."""
    unseen: Appended | None = attrs.field(init=False, default=None)
    """The message that hooks have to look at before it is shown."""
    has_put_off: bool = attrs.field(init=False, default=False)
    """True if it ends with a call that is put off, and stays open."""
    is_awaited: bool = attrs.field(init=False, default=False)
    """True if somebody waits for its answer, and the model was not asked for one yet."""
    waits_cut: int = attrs.field(init=False, default=0)
    """Number of waits of the current request that were shortened by mail."""
    _tool_context: ToolContext = attrs.field(init=False)
    _profile: AgentProfile = attrs.field(init=False)
    """The profile that the tool context is for."""

    def __attrs_post_init__(self) -> None:
        self.agent, self.incarnation, self.turn = token = self.ctx.turn.token
        self.seq = self.ctx.seq
        self.emit = self.ctx.recorder.emit_fields
        home = self.home
        self._tool_context = home.tool_context()
        self._profile = home.profile
        self.stop_guard = StopGuard(home.services.settings.stop_blocks)
        self.state = TurnState(token=token, seq=self.seq, recorder=self.ctx.recorder)
        home.begin_turn(self.state)
        self.hooking = Hooking(home=home, turn=self.state)
        if home.profile.policy is not None or home.profile.hooks is not None:
            ref = self.ctx.ref  # a function that held the turn would be a cycle in every turn
            self.guard = Guard(home=home, hooking=self.hooking, interrupt=lambda why: ref.abort_turn(why=why))

    async def ask(self, request: ModelRequest, keep: Keep, parent: int) -> ModelResponse:
        """Ask the model once, and record the request and its usage; `keep` gets the answer, as far as it arrived."""
        return await ask_model(self, request, keep, parent)

    def count(self, usage: Usage) -> None:
        """Count what a request has used."""
        self.usage += usage

    @property
    def tool_context(self) -> ToolContext:
        """The tool context that all calls of the turn share, for the folders in which the agent works now."""
        former, profile = self._profile, self.home.profile
        if profile is not former:
            if (profile.place, profile.own_roots) != (former.place, former.own_roots):
                self._tool_context = self.home.tool_context()
            self._profile = profile
        return self._tool_context

    def begin_round(self, most: int) -> bool:
        """Begin another request and return True; False if the turn has made `most` requests already."""
        if self.round >= most:
            return False
        self.round += 1
        self.waits_cut = 0
        return True

    def note_wait_cut(self) -> None:
        """Count a wait of the current request that was shortened by mail."""
        self.waits_cut += 1

    def note_failures(self, calls: Sequence[ToolUseBlock], results: Sequence[ToolResultBlock]) -> RepeatedCall | None:
        """Count the failures of a batch and remind the model of repeated ones; return why the turn has to end, or None."""
        if self.repetition is None:
            self.repetition = Repetition()
        text, too_often = self.repetition.note(calls, results, self.home.services.settings.repetition)
        if text:
            self.state.remind([text])
        return too_often

    def set_awaited(self, *, is_awaited: bool) -> None:
        """Note whether somebody waits for the answer and the model was not asked for one yet."""
        self.is_awaited = is_awaited

    def stop(self, why: StoppedByHook | AutoModeEnded) -> None:
        """Prevent anything from following the calls that run."""
        self.stopped = why

    def put_off(self, call: ToolUseBlock) -> None:
        """End the turn with a call that stays open."""
        self.has_put_off = True
        self.home.put_off(call)

    def hide(self, appended: Appended | None) -> None:
        """Keep a message from being shown until hooks have looked at it."""
        self.unseen = appended

    def take_unseen(self) -> Appended | None:
        """Return the message that hooks have to look at before it is shown, and forget it."""
        unseen, self.unseen = self.unseen, None
        return unseen
