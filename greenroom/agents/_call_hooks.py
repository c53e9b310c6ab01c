"""The hooks of tool calls: what each is given, and what they say about a result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.agents._state import AgentState
from greenroom.agents._turn_hooks import Hooking, told_input
from greenroom.hooks import HookEvent, HookOutcome
from greenroom.hooks.inputs import CwdChangedInput, PermissionDeniedInput, PostToolUseFailureInput, PostToolUseInput
from greenroom.models import ToolUseBlock
from greenroom.permissions import Mode

REMARK_CHARS: Final = 2_000
"""Maximum number of characters of a hook's remark on a call that a reviewer is shown."""


@final
@attrs.define(eq=False)
class CallHooks:
    """The hooks of the calls of one turn."""

    home: AgentState
    hooking: Hooking
    _stood: dict[str, Path] = attrs.field(factory=dict)
    """The folder in which the agent worked when each call was made, by its id."""

    def stand(self, call: ToolUseBlock) -> None:
        """Note the folder in which the agent works as a call is made."""
        self._stood[call.id] = self.home.cwd

    def told(self, call: ToolUseBlock, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an input of a call as hooks are told of it, from where the agent stood when it was made."""
        return told_input(call.name, values, self._stood.get(call.id, self.home.cwd))

    async def tell_denied(self, call: ToolUseBlock, values: Mapping[str, Any], reason: str) -> bool:
        """Tell hooks of a refusal in the mode auto; says whether one of them lets the model try again."""
        policy = self.home.profile.policy
        if policy is None or policy.mode is not Mode.AUTO or not self.hooking.has(HookEvent.PERMISSION_DENIED):
            return False
        told = PermissionDeniedInput(
            tool_name=call.name, tool_input=self.told(call, values), tool_use_id=call.id, reason=reason
        )
        return bool((await self.hooking.run(told)).extras.retry)

    async def tell_result(self, call: ToolUseBlock, values: Mapping[str, Any], text: str, took_s: float) -> str:
        """Tell hooks of a result, and return what the model is to read.

        Raises:
            StoppedByHook: A hook wants an end of everything.
        """
        if not self.is_heard:
            return text
        outcome = await self.hooking.run(
            PostToolUseInput(
                tool_name=call.name,
                tool_input=self.told(call, values),
                tool_use_id=call.id,
                tool_response=self._response(call, text),
                duration_ms=round(took_s * 1000),
            )
        )
        self._remind(call, outcome)
        extras = outcome.extras
        if extras.classifier_context:
            remark = f"{call.name}: {extras.classifier_context[:REMARK_CHARS]}"
            self.home.review.add_remark(remark)
        is_mcp = call.name.startswith("mcp__") and extras.updated_mcp_tool_output is not None
        updated = extras.updated_mcp_tool_output if is_mcp else extras.updated_tool_output
        return text if updated is None else str(updated)

    @property
    def is_heard(self) -> bool:
        """True if hooks are told of results."""
        return self.hooking.has(HookEvent.POST_TOOL_USE)

    def _response(self, call: ToolUseBlock, text: str) -> Mapping[str, Any] | str:
        """Return a result as programs read it, as far as its tool says more than the text."""
        workspace = self.home.workspace
        response = workspace.attachments.get(call.id) or workspace.responses.get(call.id)
        return text if response is None else response

    async def tell_cwd(self, before: Path) -> None:
        """Tell hooks if the agent's next commands run in another folder than before a call."""
        if self.home.cwd != before and self.hooking.has(HookEvent.CWD_CHANGED):
            await self.hooking.run(CwdChangedInput(old_cwd=before, new_cwd=self.home.cwd))

    async def tell_failure(self, call: ToolUseBlock, values: Mapping[str, Any], error: str, took_s: float) -> None:
        """Tell hooks that a call failed; a refusal and a cancel are no failures."""
        if self.hooking.has(HookEvent.POST_TOOL_USE_FAILURE):
            outcome = await self.hooking.run(
                PostToolUseFailureInput(
                    tool_name=call.name,
                    tool_input=self.told(call, values),
                    tool_use_id=call.id,
                    error=error,
                    duration_ms=round(took_s * 1000),
                )
            )
            self._remind(call, outcome)

    def _remind(self, call: ToolUseBlock, outcome: HookOutcome) -> None:
        """Remind the model of what hooks say about a result: the call is done, so nothing is blocked by it."""
        for reason in outcome.block_reasons:
            self.hooking.turn.remind([f"A hook objects to {call.name}: {reason}"])
