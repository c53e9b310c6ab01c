"""The control protocol of a headless run, line by line: parsing what a program sends, and making the answers.

Everything here is a pure function of a line, or of values. A line that cannot be read is one error with what is wrong; a
request that can at least be named is answered with it. What is not known is left alone, so that newer programs work with
older runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents import PermissionQuestion
from greenroom.core import UsageError
from greenroom.headless._stream_json import Line
from greenroom.mcp import Elicitation, ElicitationAction, ElicitationAnswer
from greenroom.permissions import Allow, Deny, read_update
from greenroom.tools.checkpoints import FileRewind

CAPABILITIES: Final = ("interrupt_receipt_v1", "interrupt_cancel_queued_v1")
"""The features that a program may rely on."""
_IGNORED: Final = frozenset(("keep_alive", "control_cancel_request", "assistant", "system", "result"))


@final
@attrs.frozen
class UserSaid:
    """A message of a user, or of the program in its name, to the main agent."""

    text: str
    uuid: str = ""
    """The id that the program gave it; empty if none."""
    priority: str | None = None


@final
@attrs.frozen
class Asked:
    """The program wants something."""

    id: str
    subtype: str
    values: Mapping[str, Any]


@final
@attrs.frozen
class Answered:
    """The program answers a question."""

    id: str
    values: Mapping[str, Any]
    error: str = ""
    """Why it does not; empty where it does."""


Said: TypeAlias = UserSaid | Asked | Answered


def read_line(line: bytes) -> Said | None:
    """Return what a line says; None for one that means nothing here.

    Raises:
        UsageError: It cannot be read.
    """
    if not line.strip():
        return None
    import orjson

    try:
        values = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"the line is not valid JSON ({error.msg})") from None
    if not isinstance(values, dict):
        raise UsageError(f"the line must be a JSON object, got {type(values).__name__}")
    match values.get("type"):
        case "user":
            return _read_user(values)
        case "control_request":
            request = values.get("request")
            if not isinstance(values.get("request_id"), str) or not isinstance(request, dict):
                raise UsageError("a control_request needs a request_id and a request")
            return Asked(values["request_id"], str(request.get("subtype", "")), request)
        case "control_response":
            return _read_response(values)
        case str() as kind if kind in _IGNORED:
            return None
        case kind:
            raise UsageError(f"unknown message type {kind!r}; expected one of: user, control_request, control_response")


def _read_user(values: Mapping[str, Any]) -> UserSaid:
    message = values.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        texts = [content]
    elif isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") == "text" for block in content
    ):
        texts = [str(block.get("text", "")) for block in content]
    else:
        raise UsageError('the message of a user needs "content": a text, or a list of blocks of type "text"')
    text = "\n".join(text for text in texts if text.strip())
    if not text:
        raise UsageError("the message of a user is blank")
    priority = values.get("priority")
    return UserSaid(text, str(values.get("uuid") or ""), None if priority is None else str(priority))


def _read_response(values: Mapping[str, Any]) -> Answered:
    response = values.get("response")
    if not isinstance(response, dict) or not isinstance(response.get("request_id"), str):
        raise UsageError("a control_response needs a response with a request_id")
    if response.get("subtype") == "error":
        return Answered(response["request_id"], {}, str(response.get("error") or "no reason was given"))
    given = response.get("response")
    return Answered(response["request_id"], given if isinstance(given, dict) else {})


def replay_line(said: UserSaid) -> Line:
    """Return what repeats a message of the user, without `session_id`; it keeps its own `uuid`."""
    return {
        "type": "user",
        "message": {"role": "user", "content": said.text},
        "parent_tool_use_id": None,
        "isReplay": True,
        "uuid": said.uuid,
    }


def success(request: str, values: Mapping[str, Any]) -> Line:
    """Return the answer to a request."""
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request, "response": dict(values)},
    }


def refusal(request: str, why: str) -> Line:
    """Return the answer to a request that cannot be done."""
    return {"type": "control_response", "response": {"subtype": "error", "request_id": request, "error": why}}


def question_line(request: str, question: PermissionQuestion, *, is_main: bool) -> Line:
    """Return what the program is asked about a call.

    Args:
        request: Id of the question.
        question: What is asked.
        is_main: Whether the main agent asks; of another one its id is said.
    """
    verdict = question.verdict
    about: Line = {
        "subtype": "can_use_tool",
        "tool_name": question.tool,
        "input": dict(question.input),
        "permission_suggestions": [suggestion.to_json() for suggestion in verdict.suggestions],
        "blocked_path": verdict.blocked_path,
        "tool_use_id": question.call_id,
        "decision_reason": verdict.reason,
    }
    if not is_main:
        about |= {"agent_id": question.agent, "title": f"{question.label} asks to use {question.tool}"}
    return {"type": "control_request", "request_id": request, "request": about}


def callback_line(request: str, callback: str, told: Mapping[str, Any]) -> Line:
    """Return what asks the program at one of its hooks."""
    about = {"subtype": "hook_callback", "callback_id": callback, "input": told, "tool_use_id": told.get("tool_use_id")}
    return {"type": "control_request", "request_id": request, "request": about}


def server_message_line(request: str, server: str, message: Mapping[str, Any]) -> Line:
    """Return what hands a message to an MCP server of the program."""
    about = {"subtype": "mcp_message", "server_name": server, "message": dict(message)}
    return {"type": "control_request", "request_id": request, "request": about}


def elicitation_line(request: str, asked: Elicitation) -> Line:
    """Return what puts a question of an MCP server before the program's user."""
    about: Line = {
        "subtype": "elicitation",
        "mcp_server_name": asked.server,
        "message": asked.message,
        "mode": asked.mode,
    }
    if asked.mode == "url":
        about["url"] = asked.url
    elif asked.schema is not None:
        about["requested_schema"] = dict(asked.schema)
    if asked.id:
        about["elicitation_id"] = asked.id
    return {"type": "control_request", "request_id": request, "request": about}


def elicited_line(server: str, asked: str) -> Line:
    """Return what says that what a person was to do at an address is done, without `uuid` and `session_id`."""
    return {"type": "system", "subtype": "elicitation_complete", "mcp_server_name": server, "elicitation_id": asked}


def withdrawal(request: str) -> Line:
    """Return what says that a question needs no answer any more."""
    return {"type": "control_cancel_request", "request_id": request}


def read_decision(answered: Answered) -> Allow | Deny:
    """Return what the program decided about a call; what cannot be read is a refusal that says so."""
    if answered.error:
        return Deny(message=f"the program could not decide about it: {answered.error}", cause="closed")
    try:
        return decision_of(answered.values)
    except UsageError as error:
        return Deny(message=f"the program's answer cannot be read: {error}", cause="closed")


def decision_of(values: Mapping[str, Any]) -> Allow | Deny:
    """Return what was decided about a call.

    Raises:
        UsageError: It cannot be read.
    """
    match values.get("behavior"):
        case "allow":
            changed, updates = values.get("updatedInput"), values.get("updatedPermissions") or []
            if changed is not None and not isinstance(changed, dict):
                raise UsageError("updatedInput must be an object")
            if not isinstance(updates, list) or not all(isinstance(update, dict) for update in updates):
                raise UsageError("updatedPermissions must be a list of objects")
            return Allow(input=changed, updates=tuple(map(read_update, updates)))
        case "deny":
            said = str(values.get("message") or "") or "it was refused"
            return Deny(message=said, interrupts=values.get("interrupt") is True)
    raise UsageError(f'"behavior" must be "allow" or "deny", got {values.get("behavior")!r}')


def read_elicitation(answered: Answered) -> ElicitationAnswer:
    """Return what the program's user answers an MCP server.

    Raises:
        UsageError: The program says that it cannot ask, or its answer cannot be read.
    """
    if answered.error:
        raise UsageError(f"the program cannot ask: {answered.error}")
    action, content = answered.values.get("action"), answered.values.get("content")
    if action not in list(ElicitationAction):
        raise UsageError(f'"action" must be one of: {", ".join(ElicitationAction)}; got {action!r}')
    if content is not None and not isinstance(content, dict):
        raise UsageError('"content" must be an object of the fields of the form')
    return ElicitationAnswer(action=ElicitationAction(action), content=content)


def receipt(still_queued: Iterable[str], cancelled: Iterable[str] | None) -> Line:
    """Return what became of what was queued at an interrupt; `cancelled` is None where nothing was to be."""
    return {"still_queued": list(still_queued), **({} if cancelled is None else {"cancelled": list(cancelled)})}


def rewound(done: FileRewind) -> Line:
    """Return what is said of files that were set back, or would be."""
    line: Line = {
        "canRewind": True,
        "filesChanged": list(map(str, done.files)),
        "insertions": done.insertions,
        "deletions": done.deletions,
    }
    if done.changed_elsewhere:
        line["changedElsewhere"] = list(map(str, done.changed_elsewhere))
    if done.error:
        line |= {"notRestored": {str(path): why for path, why in done.not_restored}, "error": done.error}
    return line
