"""Parser of handler answers: exit codes, text, JSON, HTTP bodies, a model's verdict. Never raises.

Exit code 2 blocks, whatever was printed; any other exit code by itself blocks nothing, only JSON decides. An answer
that cannot be understood is recorded as a problem and decides nothing, unless it states a refusal. An allow whose
rewritten input is unusable is not an allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from greenroom.hooks._event_table import CATALOG, EventRow, Exit, HookEvent, Refusal
from greenroom.hooks._json_objects import Objects, objects_in
from greenroom.hooks._outcomes import ElicitationReply, Extras, HookAnswer, Permission, PermissionDecision, ReplyAction

NON_BLOCKING: Final = "Failed with non-blocking status code:"
_LEGACY: Final = {"approve": Permission.ALLOW, "block": Permission.DENY}
_BLOCKING_EXIT: Final = 2


def read_command(event: HookEvent, exit_code: int, stdout: str, stderr: str) -> HookAnswer:
    """Parse the exit code and the output of a command."""
    row = CATALOG[event]
    printed = objects_in(stdout)
    values = printed.values
    if exit_code == _BLOCKING_EXIT or (exit_code and row.exits is Exit.MUST_SUCCEED):
        return _read_blocking_exit(event, row, values, stderr.strip())
    if values is not None or printed.problem:
        answer = _read_objects(event, printed)
    else:
        answer = _read_text(event, row, stdout) if not exit_code else HookAnswer()
    if exit_code and values is None:
        notice = f"{NON_BLOCKING} {exit_code} {stderr.strip()}".rstrip()
        return attrs.evolve(answer, problems=(*answer.problems, notice))
    return answer


def read_http(event: HookEvent, status: int, body: str) -> HookAnswer:
    """Parse an HTTP reply; only a JSON object in a 2xx reply decides anything."""
    if not 200 <= status < 300:
        return HookAnswer(problems=(f"{NON_BLOCKING} {status}",))
    if not body.strip():
        return HookAnswer()
    found = objects_in(body)
    if found.values is None and not found.problem:
        return HookAnswer(problems=("the reply is plain text; only a JSON object is evaluated",))
    return _read_objects(event, found)


def read_verdict(event: HookEvent, text: str, *, continue_on_block: bool, on_idle: bool = False) -> HookAnswer:
    """Parse a model's `{ok, reason, impossible?}`, which may stand in a code fence."""
    begin, end = text.find("{"), text.rfind("}")
    found = objects_in(text[begin : end + 1]) if 0 <= begin < end else Objects()
    values = found.values
    if values is None or not isinstance(values.get("ok"), bool):
        return HookAnswer(problems=(found.problem or "the model did not answer {'ok': true or false, 'reason': ...}",))
    if values["ok"]:
        return HookAnswer()
    reason = _Fields(values).text("reason") or "the model refused without a reason"
    if values.get("impossible") is True and event in {HookEvent.STOP, HookEvent.SUBAGENT_STOP}:
        return HookAnswer(system_message=reason)
    halts = HookAnswer(stops=True, stop_reason=reason)
    blocks = HookAnswer(blocks=True, block_reason=reason)
    refusal = CATALOG[event].refusal
    if event is HookEvent.TASK_COMPLETED and on_idle:
        refusal = Refusal.HALTS
    if refusal is Refusal.HALTS:
        return blocks if continue_on_block else halts
    if refusal is Refusal.DENIES:
        denial = HookAnswer if continue_on_block else _halting
        return denial(permission=Permission.DENY, permission_reason=reason)
    return HookAnswer() if refusal is Refusal.IGNORED else blocks


def read_agent_verdict(event: HookEvent, text: str, *, on_idle: bool = False) -> HookAnswer:
    """Parse an agent's `{ok, reason}`. Its refusal never ends the turn of the agent it is about."""
    answer = read_verdict(event, text, continue_on_block=True, on_idle=on_idle)
    if answer.system_message:  # `impossible`, which is meant for prompts, not for agents
        return HookAnswer(blocks=True, block_reason=answer.system_message)
    return answer


def _halting(*, permission: Permission, permission_reason: str) -> HookAnswer:
    return HookAnswer(
        stops=True, stop_reason=permission_reason, permission=permission, permission_reason=permission_reason
    )


def _read_text(event: HookEvent, row: EventRow, stdout: str) -> HookAnswer:
    lines = stdout.split("\n")
    if event is HookEvent.WORKTREE_CREATE:
        path = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return HookAnswer(extras=Extras(worktree_path=path)) if path else HookAnswer()
    return HookAnswer(context=stdout.strip()) if row.takes_text else HookAnswer()


def _read_blocking_exit(event: HookEvent, row: EventRow, values: Mapping[str, Any] | None, stderr: str) -> HookAnswer:
    """Parse exit code 2: it overrides what the JSON decided, except for its reason and for `continue: false`."""
    said = HookAnswer() if values is None else read_object(event, values)
    reason = said.permission_reason if said.permission is Permission.DENY else said.block_reason
    reason = reason or stderr
    kept = HookAnswer(stops=said.stops, stop_reason=said.stop_reason, system_message=said.system_message)
    if row.exits is Exit.IS_NOTED:
        return attrs.evolve(kept, problems=(f"{NON_BLOCKING} 2 {reason}".rstrip(),))
    if event is HookEvent.PRE_TOOL_USE:
        return attrs.evolve(kept, permission=Permission.DENY, permission_reason=reason)
    return attrs.evolve(kept, blocks=True, block_reason=reason)


# --- JSON ------------------------------------------------------------------------------------------------------------


def _read_objects(event: HookEvent, found: Objects) -> HookAnswer:
    """Parse the JSON in a text; malformed JSON that states a refusal counts as one."""
    if found.values is not None:
        answer = read_object(event, found.values)
    elif not found.refuses:
        answer = HookAnswer()
    elif event is HookEvent.PRE_TOOL_USE:
        answer = HookAnswer(permission=Permission.DENY, permission_reason=found.problem)
    elif event is HookEvent.PERMISSION_REQUEST:
        answer = HookAnswer(decision=PermissionDecision(is_allowed=False, message=found.problem))
    else:
        blocks = CATALOG[event].decides
        answer = HookAnswer(blocks=blocks, block_reason=found.problem if blocks else "")
    return attrs.evolve(answer, problems=(*answer.problems, found.problem)) if found.problem else answer


def read_object(event: HookEvent, values: Mapping[str, Any]) -> HookAnswer:
    """Parse the JSON object of an answer."""
    row = CATALOG[event]
    top = _Fields(values)
    specific = _specific(event, top)
    stops = row.can_stop and top.flag("continue") is False
    blocks, permission = False, None
    if (word := top.text("decision")) is not None:
        if row.decides and word == "block":
            blocks = True
        elif event is HookEvent.PRE_TOOL_USE and word in _LEGACY:
            permission = _LEGACY[word]
        elif word != "approve":
            top.problems.append(f"`decision` {word[:40]!r} has no effect on {event}")
    reason = top.text("reason") or ""
    answer = HookAnswer(
        stops=stops,
        stop_reason=(top.text("stopReason") or "") if stops else "",
        blocks=blocks,
        block_reason=reason if blocks else "",
        permission=permission,
        permission_reason=reason if permission else "",
        context=specific.text("additionalContext") or "",
        system_message=top.text("systemMessage") or "",
        terminal_sequence=top.text("terminalSequence") or "",
        suppress_output=top.flag("suppressOutput") or False,
        decision=_permission_decision(specific),
        extras=_extras(specific),
    )
    answer = _with_permission(answer, specific)
    return attrs.evolve(answer, problems=(*top.problems, *specific.problems))


def _specific(event: HookEvent, top: _Fields) -> _Fields:
    """Return the part for this event, with only the fields that have an effect there."""
    values = top.object("hookSpecificOutput")
    if values is None:
        return _Fields({})
    name = values.get("hookEventName")
    if name != event.value:
        said = "is missing" if name is None else f"is {str(name)[:40]!r}"
        top.problems.append(
            f"`hookSpecificOutput.hookEventName` {said}, not {event.value!r}: the whole object is ignored"
        )
        return _Fields({})
    known = CATALOG[event].specific | {"hookEventName"}
    unknown = sorted(str(key)[:40] for key in values if key not in known)
    specific = _Fields({key: value for key, value in values.items() if key in known})
    if unknown:
        specific.problems.append(f"`hookSpecificOutput` of {event} does not support {', '.join(unknown)}")
    return specific


def _with_permission(answer: HookAnswer, specific: _Fields) -> HookAnswer:
    word = specific.text("permissionDecision")
    updated = specific.object("updatedInput")
    permission, reason = answer.permission, answer.permission_reason
    if word is not None:
        try:
            permission, reason = Permission(word), specific.text("permissionDecisionReason") or reason
        except ValueError:
            specific.problems.append(f"`permissionDecision` {word[:40]!r} must be one of {', '.join(Permission)}")
            updated = None
    if "updatedInput" in specific.refused and permission is Permission.ALLOW:
        permission = None
    return attrs.evolve(answer, permission=permission, permission_reason=reason, updated_input=updated)


def _permission_decision(specific: _Fields) -> PermissionDecision | None:
    values = specific.object("decision")
    if values is None:
        return None
    inner = _Fields(values)
    behavior = inner.text("behavior")
    updated = inner.object("updatedInput")
    permissions = inner.list("updatedPermissions")
    decision = PermissionDecision(
        is_allowed=behavior == "allow",
        updated_input=updated if behavior == "allow" else None,
        updated_permissions=tuple(permissions or ()) if behavior == "allow" else (),
        message=inner.text("message") or "",
        interrupt=inner.flag("interrupt") or False,
    )
    specific.problems.extend(inner.problems)
    if behavior not in {"allow", "deny"}:
        specific.problems.append("`decision.behavior` must be 'allow' or 'deny'")
        return None
    return None if decision.is_allowed and "updatedInput" in inner.refused else decision


def _extras(specific: _Fields) -> Extras:
    paths = specific.list("watchPaths")
    return Extras(
        updated_tool_output=specific.values.get("updatedToolOutput"),
        updated_mcp_tool_output=specific.values.get("updatedMCPToolOutput"),
        classifier_context=specific.text("classifierContext"),
        retry=specific.flag("retry"),
        initial_user_message=specific.text("initialUserMessage"),
        session_title=specific.text("sessionTitle"),
        watch_paths=None if paths is None else tuple(path for path in paths if isinstance(path, str)),
        reload_skills=specific.flag("reloadSkills"),
        suppress_original_prompt=specific.flag("suppressOriginalPrompt"),
        worktree_path=specific.text("worktreePath"),
        display_content=specific.text("displayContent"),
        reply=_reply(specific),
    )


def _reply(specific: _Fields) -> ElicitationReply | None:
    """Return the reply to an MCP server; an acceptance with unusable content is not one."""
    word, content = specific.text("action"), specific.object("content")
    if word is None:
        if content is not None:
            specific.problems.append("`content` has no effect without an `action`")
        return None
    try:
        action = ReplyAction(word)
    except ValueError:
        specific.problems.append(f"`action` {word[:40]!r} must be one of {', '.join(ReplyAction)}")
        return None
    if action is not ReplyAction.ACCEPT:
        return ElicitationReply(action=action)
    return None if "content" in specific.refused else ElicitationReply(action=action, content=content)


class _Fields:
    """Typed access to the values of an object; a value of the wrong type becomes a problem and counts as absent."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.problems: list[str] = []
        self.refused: set[str] = set()

    def text(self, key: str) -> str | None:
        found: str | None = self._take(key, str, "a text")
        return found

    def flag(self, key: str) -> bool | None:
        found: bool | None = self._take(key, bool, "true or false")
        return found

    def object(self, key: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._take(key, dict, "an object")
        return found

    def list(self, key: str) -> list[Any] | None:
        found: list[Any] | None = self._take(key, list, "a list")
        return found

    def _take(self, key: str, wanted: type, words: str) -> Any:
        value = self.values.get(key)
        if value is None or isinstance(value, wanted):
            return value
        self.problems.append(f"`{key}` must be {words}")
        self.refused.add(key)
        return None
