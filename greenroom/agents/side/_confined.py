"""The calls of a service that keeps an agent's notes: Read, Write and Edit, inside the folder of the notes.

Every other call is refused and not run: other tools, tools of other people by the same names, paths outside the folder
and links that lead there. Nobody is asked: what the settings deny, or want somebody asked about, is refused as well.
A call is recorded, beside all turns; the agent's own files, folder and activity are left alone. Hooks are not run:
the calls are not the agent's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.agents._call_batches import summarize
from greenroom.agents._effect_calls import call_tool
from greenroom.agents._side_run import SideRun
from greenroom.agents.events._agent_events import COMPLETED, FAILED, KILLED, ToolBegan, ToolEnded
from greenroom.core import JournalError
from greenroom.core.texts import error_text
from greenroom.models import ToolResultBlock, ToolUseBlock
from greenroom.permissions import Effect, Mode, Request, check
from greenroom.tools import Tool, ToolContext, ToolError
from greenroom.tools.builtin import edit_tool, read_tool, write_tool

_OURS: Final[Mapping[str, Tool]] = {each.name: each for each in (read_tool, write_tool, edit_tool)}
"""Tools that are known to open nothing but what their context has resolved."""


@final
@attrs.define(kw_only=True, eq=False)
class Confined:
    """Runs the calls of one run over the notes of an agent."""

    place: SideRun
    folder: Path
    """Of the notes, absolute."""
    written: dict[Path, None] = attrs.field(factory=dict)
    """The files that calls have written, in order."""
    _context: ToolContext = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        home = self.place.home
        self._context = ToolContext(
            cwd=self.folder,
            roots=(self.folder,),
            actor=self.place.agent,
            tool_use_id="",
            blocking=home.services.blocking,
        )

    async def run_call(self, call: ToolUseBlock) -> ToolResultBlock:
        """Run a call, or refuse it; its result is for the run alone.

        Cancelled, a write that has begun is done.
        """
        place = self.place
        at = (place.turn, place.round, call.id, call.name)
        began = place.emit(ToolBegan, place.agent, 0, place.began, *at, summarize(call.input))
        state, error, text = KILLED, "", ""
        try:
            text = await self._run(call)
            state = COMPLETED
        except ToolError as problem:
            state, error, text = FAILED, type(problem).__name__, str(problem)
        except Exception as bug:
            state, error = FAILED, error_text(bug)
            raise
        finally:
            place.emit(ToolEnded, place.agent, 0, began, *at, state, len(text), error)
        return ToolResultBlock(call.id, text or "(no output)", is_error=state is FAILED)

    async def _run(self, call: ToolUseBlock) -> str:
        tool = self.place.home.profile.tools.get(call.name)
        if tool is None or tool is not _OURS.get(call.name):
            raise ToolError(f"{call.name} is not run here: {', '.join(_OURS)}, inside {self.folder}, are all there is")
        context = self._context.for_call(call.id)
        named = call.input.get("file_path")
        if not isinstance(named, str):
            raise ToolError(f"{call.name} needs the file_path of a file inside {self.folder}")
        path = context.resolve(named)
        values = {**call.input, "file_path": str(path)}
        await self._check(call.name, values)
        if not tool.is_read_only:
            await self._wait_durable(call.name)
        text = await call_tool(call, tool, values, context, self.place.home)
        if not tool.is_read_only:
            self.written[path] = None
        return text

    async def _check(self, name: str, values: Mapping[str, Any]) -> None:
        """Apply the rules that take something away from the agent.

        Raises:
            ToolError: They do.
        """
        home = self.place.home
        if home.profile.policy is None:
            return
        # Keeping notes allows edits of them; what is asked about in particular still is not allowed.
        policy = attrs.evolve(home.profile.policy, mode=Mode.ACCEPT_EDITS)
        verdict = await check(
            Request(tool=name, input=values, cwd=str(home.cwd), policy=policy), home.services.blocking
        )
        if verdict.effect is not Effect.ALLOW:
            raise ToolError(f"{name} was not run: {verdict.reason}")

    async def _wait_durable(self, name: str) -> None:
        wait_durable = self.place.home.services.wait_durable
        if wait_durable is None:
            return
        try:
            await wait_durable()
        except JournalError as error:
            raise ToolError(f"{name} was not run, because it cannot be recorded: {error}") from error


def can_write(tools: Mapping[str, Tool]) -> bool:
    """Return whether an agent's model knows the tools that its notes are written with."""
    return all(tools.get(name) is tool for name, tool in _OURS.items())
