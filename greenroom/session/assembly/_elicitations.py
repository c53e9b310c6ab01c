"""Questions of MCP servers in a session: hooks answer them, or the host's person does, or nobody, and hooks look at what a person said.

Rule 1: an answer that does not fit what was asked is none: hooks that give one are passed over, of a host it counts as declined, and
people are told in both cases. Rule 2: where nobody can be asked, a question is declined. Rule 3: what is answered is recorded
nowhere, only that it was; it may be what nobody else should see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs

from greenroom.agents import AgentState, Hooking, StoppedByHook
from greenroom.agents.subagents import MainAgent
from greenroom.core import GreenroomError, Recorder
from greenroom.hooks import ElicitationReply, HookEvent, HookOutcome
from greenroom.hooks.inputs import ElicitationInput, ElicitationResultInput, HookInput, NotificationInput
from greenroom.mcp import Elicit, Elicitation, ElicitationAction, ElicitationAnswer, misfit
from greenroom.session._events import ElicitationAnswered, ElicitationAsked
from greenroom.session.equipment._session_hooks import hooking_of

MESSAGE_CHARS: Final = 500
"""Characters of a question that are recorded."""
WITHDRAWN: Final = "withdrawn"
_PERSON: Final = "person"
_HOOK: Final = "hook"
_NOBODY: Final = "nobody"
_DECLINED: Final = ElicitationAnswer(action=ElicitationAction.DECLINE)
_CANCELLED: Final = ElicitationAnswer(action=ElicitationAction.CANCEL)


@final
@attrs.define(eq=False, kw_only=True)
class Elicitations:
    """Answers what the MCP servers of one session ask.

    Args:
        host: Puts a question before a person; None where there is none.
        recorder: The recorder of its events.
        main: The main agent, whose hooks are run and whose turn a hook can end. Before it has started, questions are declined.
        on_elicited: Called with a server's name and the id of a question when a person has completed it at its address.
    """

    host: Elicit | None
    recorder: Recorder
    main: MainAgent
    on_elicited: Callable[[str, str], object] | None = None

    async def ask(self, asked: Elicitation) -> ElicitationAnswer:
        """Return what a server is answered. Cancelled, the question is taken back."""
        message = asked.message[:MESSAGE_CHARS]
        self.recorder.emit(ElicitationAsked(server=asked.server, mode=asked.mode, message=message))
        answer, who = None, ""
        try:
            answer, who = await self._answer(asked)
        finally:
            action = WITHDRAWN if answer is None else answer.action.value
            self.recorder.emit(ElicitationAnswered(server=asked.server, mode=asked.mode, action=action, who=who))
        return answer

    def completed(self, server: str, asked: str) -> None:
        """Notify the program and hooks that a person has completed a question at its address."""
        if self.on_elicited is not None:
            self.on_elicited(server, asked)
        home = self.main.home
        if home is not None:
            self._notify(home, f"What {server} asked for is done", "elicitation_complete")

    async def _answer(self, asked: Elicitation) -> tuple[ElicitationAnswer, str]:
        home = self.main.home
        if home is None:
            return _DECLINED, _NOBODY
        try:
            answer = await self._ask_hooks(home, asked)
            if answer is not None:
                return answer, _HOOK
            if self.host is None:
                self._notice(home, f"{asked.server} asks, and nobody can answer here: {asked.message}")
                return _DECLINED, _NOBODY
            is_form = asked.mode == "form"
            self._notify(
                home,
                f"{asked.server} needs your input" if is_form else f"{asked.server} wants you to open an address",
                "elicitation_dialog" if is_form else "elicitation_url_dialog",
            )
            said = await self._ask_host(home, asked, self.host)
            if said is None:
                return _DECLINED, _NOBODY
            self._notify(home, f"{asked.server} was answered: {said.action.value}", "elicitation_response")
            return await self._tell_hooks(home, asked, said)
        except StoppedByHook as problem:
            self.main.ref.abort_turn(why=str(problem))
            return _CANCELLED, _HOOK

    # --- hooks -----------------------------------------------------------------------------------------------------

    async def _ask_hooks(self, home: AgentState, asked: Elicitation) -> ElicitationAnswer | None:
        """Return what hooks answer in the place of a person; None where they leave it to one.

        Raises:
            StoppedByHook: One of them wants an end of everything.
        """
        is_form = asked.mode == "form"
        outcome = await self._run(
            home,
            ElicitationInput(
                mcp_server_name=asked.server,
                message=asked.message,
                mode=asked.mode,
                url=None if is_form else asked.url,
                elicitation_id=asked.id or None,
                requested_schema=asked.schema if is_form else None,
            ),
        )
        return None if outcome is None else self._read(home, asked, outcome)

    async def _tell_hooks(
        self, home: AgentState, asked: Elicitation, said: ElicitationAnswer
    ) -> tuple[ElicitationAnswer, str]:
        """Return what the server is told of a person's answer, and whose word it is. Raises as `_ask_hooks` does."""
        outcome = await self._run(
            home,
            ElicitationResultInput(
                mcp_server_name=asked.server,
                action=said.action.value,
                mode=asked.mode,
                elicitation_id=asked.id or None,
                content=said.content,
            ),
        )
        answer = None if outcome is None else self._read(home, asked, outcome, said)
        return (said, _PERSON) if answer is None else (answer, _HOOK)

    def _read(
        self, home: AgentState, asked: Elicitation, outcome: HookOutcome, said: ElicitationAnswer | None = None
    ) -> ElicitationAnswer | None:
        """Return what hooks answer; None where they do not, or with what does not fit."""
        if outcome.is_blocked:
            self._notice(home, f"a hook declines what {asked.server} asks: {outcome.reason}")
            return _DECLINED
        reply = outcome.extras.reply
        if reply is None:
            return None
        answer = _answer_of(reply, said)
        why = misfit(asked, answer)
        if why:
            self._notice(home, f"what a hook answers {asked.server} does not fit: {why}")
            return None
        return answer

    async def _run(self, home: AgentState, told: HookInput) -> HookOutcome | None:
        event: HookEvent = told.event
        if home.profile.hooks is None or not home.profile.hooks.has(event):
            return None
        return await self._hooking(home).run(told)

    # --- the host --------------------------------------------------------------------------------------------------

    async def _ask_host(self, home: AgentState, asked: Elicitation, host: Elicit) -> ElicitationAnswer | None:
        """Return what the person in front of the host answers; None where there is none."""
        before, waits = home.activity, f"waits for an answer to {asked.server}"
        home.note_activity(waits)
        try:
            said = await host(asked)
        except Exception as problem:  # noqa: BLE001 - the host's own function; a server waits, and gets an answer
            self._notice(home, f"the host could not ask what {asked.server} wants to know: {_told(problem)}")
            return None
        finally:
            if home.activity == waits:  # else it does something else by now
                home.note_activity(before)
        why = "" if said is None else misfit(asked, said)
        if why:
            self._notice(home, f"the host's answer to {asked.server} does not fit: {why}")
            return _DECLINED
        return said

    def _notify(self, home: AgentState, message: str, kind: str) -> None:
        if home.profile.hooks is not None and home.profile.hooks.has(HookEvent.NOTIFICATION):
            self._hooking(home).tell(NotificationInput(message=message, notification_type=kind))

    def _notice(self, home: AgentState, text: str) -> None:
        self._hooking(home).notice(HookEvent.ELICITATION.value, text)

    def _hooking(self, home: AgentState) -> Hooking:
        return hooking_of(home, self.recorder)


def _told(problem: Exception) -> str:
    return str(problem) if isinstance(problem, GreenroomError) else repr(problem)


def _answer_of(reply: ElicitationReply, said: ElicitationAnswer | None) -> ElicitationAnswer:
    """Return a hook's reply as an answer; one that accepts and gives no content leaves that of the person."""
    action = ElicitationAction(reply.action.value)
    if action is not ElicitationAction.ACCEPT:
        return ElicitationAnswer(action=action)
    content = reply.content if reply.content is not None or said is None else said.content
    return ElicitationAnswer(action=action, content=content)
