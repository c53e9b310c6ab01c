"""What a session does with a turn that did not come to its end: in an earlier process, or because a hook put off a call.

Must not know: how turns run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from greenroom.agents import AgentState, Answer, Prompt
from greenroom.session._composition import Composition


class OfCutTurns:
    """What a program does about turns that were cut or put off; a part of `Session`."""

    _composition: Composition
    _main_home: AgentState | None
    _run: Callable[[Prompt], Awaitable[Answer]]

    @property
    def was_cut(self) -> bool:
        """Whether this session was resumed and the main agent's last turn had not come to its end."""
        home = self._main_home
        return home is not None and home.start.loaded is not None and home.start.loaded.was_cut

    def let_hooks_defer(self) -> None:
        """Let hooks put off calls of the main agent (`permissionDecision: "defer"`), where a message makes only one.

        Its turn ends then: `stop_reason` of the answer is `tool_deferred`, `deferred` is the call, and the call stays open. `go_on` runs
        it, in this process or in a later one that resumes the session: hooks are asked about it once more. A prompt in the place of
        that gives it up. Without this, what a hook wants to put off is asked of whoever can be asked (agents 3.36).
        """
        assert self._main_home is not None
        self._main_home.replace(may_defer=True)

    async def go_on(self) -> Answer:
        """Let the main agent go on with the turn in which an earlier process ended, or with a call that was put off.

        The note to the model about an earlier process is hidden. Where the tool of the call is not there, the answer's `stop_reason` is
        `tool_deferred_unavailable`, and the call stays as it is.

        Raises as `run` does.
        """
        put_off = None if self._main_home is None else self._main_home.deferred
        text = self._composition.resume_prompt
        return await self._run(Prompt(text, is_hidden=True, settles="" if put_off is None else put_off.id))
