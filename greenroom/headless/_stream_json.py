"""The output of a headless run for other programs: one JSON object per message, in the shapes that existing tools read.

Everything here is a pure function of messages, counts and answers. `System/init` comes first, `result` last; all of them
carry `uuid` and `session_id`. `Usage` is the main agent's, `modelUsage` and the cost are everybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents import Appended, Denial, encode_message
from greenroom.agents.events import CompactBegan, CompactEnded, ModelRetried, PermissionDenied
from greenroom.headless._ending import FAILED, Ending
from greenroom.hooks import HookStage, HookUpdate
from greenroom.inbox import Origin
from greenroom.models import ModelResponse, Usage

Line: TypeAlias = dict[str, Any]
Told: TypeAlias = PermissionDenied | CompactBegan | CompactEnded | ModelRetried
"""Events that have a line of their own."""

STREAM_SYNTHETIC: Final = "<synthetic>"
"""The model of a message that no model wrote, such as an error of the provider."""
_CALL_BLOCKS: Final = frozenset(("tool_use", "tool_result"))


@final
@attrs.frozen(kw_only=True)
class Opening:
    """The facts known before the first turn."""

    session: str
    cwd: str
    model: str
    permission_mode: str
    is_sandboxed: bool = attrs.field(default=False, kw_only=True)
    freer_children: str = attrs.field(default="", kw_only=True)
    """The mode of its agents, where it may do more."""
    described_chars: tuple[int, int] | None = attrs.field(default=None, kw_only=True)
    """Number of characters of the descriptions of agents, and of those that the model reads; None if it reads all."""
    version: str
    api_key_source: str
    """The variable that the key came from; `none` where there is none."""
    tools: Sequence[str] = ()
    commands: Sequence[str] = ()
    """Skills and prompts of MCP servers that a person may call."""
    agents: Sequence[str] = ()
    skills: Sequence[str] = ()
    servers: Sequence[tuple[str, str]] = ()
    """MCP servers, each with its status."""
    capabilities: Sequence[str] = ()
    """The features that a program at standard input may rely on."""
    plugins: Sequence[tuple[str, str]] = ()
    """Those that were loaded, each with its folder."""
    plugin_errors: Sequence[tuple[str, str, str]] = ()
    """Those that were not: the name, the kind of mistake, and what to do."""
    server_errors: Sequence[tuple[str, str, str]] = ()
    """Entries that stand for no server: the name, the kind that was wanted, and why."""


@final
@attrs.frozen(kw_only=True)
class Abandoned:
    """A task that still ran when the run was left."""

    task_id: str
    task_type: str
    description: str


@final
@attrs.frozen(kw_only=True)
class Counts:
    """The usage of a run so far."""

    duration_ms: int = 0
    api_ms: int = 0
    """Time that all agents spent waiting for models; parallel waits are added up."""
    rounds: int = 0
    """Model requests of the main agent in this turn."""
    usage: Usage = Usage()  # noqa: RUF009  frozen
    """The main agent's, since the run began."""
    by_model: Mapping[str, Usage] = attrs.field(factory=dict)
    """Everybody's."""
    cost_usd: Mapping[str, Decimal] = attrs.field(factory=dict)
    """By model, of those that have a price."""
    denials: Sequence[Denial] = ()

    @property
    def total_usd(self) -> float | None:
        """The cost of all models; None where one of them has no price."""
        if any(model not in self.cost_usd for model in self.by_model):
            return None
        return float(sum(self.cost_usd.values(), Decimal(0)))


def init_line(opening: Opening, *, uuid: str) -> Line:
    """Return the first line."""
    errors = [{"name": name, "type": kind, "message": why} for name, kind, why in opening.server_errors]
    broken = [{"plugin": name, "type": kind, "message": why} for name, kind, why in opening.plugin_errors]
    return {
        "type": "system",
        "subtype": "init",
        "cwd": opening.cwd,
        "session_id": opening.session,
        "tools": list(opening.tools),
        "mcp_servers": [{"name": name, "status": status} for name, status in opening.servers],
        "model": opening.model,
        "permissionMode": opening.permission_mode,
        **({"childPermissionMode": opening.freer_children} if opening.freer_children else {}),
        **(
            {"agentDescriptions": dict(zip(("characters", "shown"), opening.described_chars, strict=True))}
            if opening.described_chars
            else {}
        ),
        "slash_commands": list(opening.commands),
        "agents": list(opening.agents),
        "skills": list(opening.skills),
        "plugins": [{"name": name, "path": path} for name, path in opening.plugins],
        "output_style": "default",
        "apiKeySource": opening.api_key_source,
        # Under the name that readers of this format look for.
        "claude_code_version": opening.version,
        "capabilities": list(opening.capabilities),
        **({"sandbox": {"enabled": True}} if opening.is_sandboxed else {}),
        **({"mcp_server_errors": errors} if errors else {}),
        **({"plugin_errors": broken} if broken else {}),
        "uuid": uuid,
    }


def message_lines(
    one: Appended, *, session: str, new_id: Callable[[], str], parent: str | None = None, with_text: bool = False
) -> list[Line]:
    """Return the lines of a message; none for one that the stream leaves out.

    The prompt of an agent is left out: its caller knows it. A message is one line, unless there is something for programs
    with its results: then each block has a line of its own, because `tool_use_result` is about one result.

    Args:
        one: The message.
        session: Id of the session.
        new_id: Makes the id of a line, where the message has none of its own.
        parent: Id of the call that started the agent; None for the main one.
        with_text: Whether an agent below the main one is shown with what it says and thinks, not with its calls alone.
    """
    message = encode_message(one.message)
    if parent is not None and not (with_text and one.message.role == "assistant"):
        message["content"] = [block for block in message["content"] if block["type"] in _CALL_BLOCKS]
    if not message["content"] or not _is_shown(one, message):
        return []
    line: Line = {"type": one.message.role, "message": message}
    if one.response is not None:
        line["message"] = _answered(message, one.response)
        if one.response.stop_reason is None:
            line["aborted"] = True
    elif one.is_hidden:
        line["isSynthetic"] = True
    about = {"parent_tool_use_id": parent, "session_id": session}
    if not one.attached:
        return [{**line, **about, "uuid": one.uuid or new_id()}]
    lines = []
    for number, block in enumerate(message["content"]):
        single = {**line, "message": {**message, "content": [block]}, **about}
        single["uuid"] = (one.uuid if number == 0 else "") or new_id()
        data = one.attached.get(block.get("tool_use_id", ""))
        lines.append(single if data is None else {**single, "tool_use_result": data})
    return lines


def stream_line(event: Mapping[str, Any], *, session: str, uuid: str, parent: str | None) -> Line:
    """Return the line of an event of an answer that still comes."""
    return {
        "type": "stream_event",
        "event": event,
        "parent_tool_use_id": parent,
        "session_id": session,
        "uuid": uuid,
    }


def hook_line(news: HookUpdate) -> Line:
    """Return the line of what becomes of a hook, without `uuid` and `session_id`."""
    line: Line = {
        "type": "system",
        "subtype": f"hook_{news.stage}",
        "hook_id": news.id,
        "hook_name": f"{news.event}:{news.subject}" if news.subject else news.event.value,
        "hook_event": news.event.value,
    }
    if news.stage is not HookStage.STARTED:
        line |= {"stdout": news.stdout, "stderr": news.stderr, "output": news.output}
    if news.exit_code is not None:
        line["exit_code"] = news.exit_code
    if news.result is not None:
        line["outcome"] = news.result.value
    return line


def _is_shown(one: Appended, message: Mapping[str, Any]) -> bool:
    if one.message.role == "assistant" or one.is_hidden:
        return True
    return any(block["type"] == "tool_result" for block in message["content"])


def _answered(message: Mapping[str, Any], response: ModelResponse) -> Line:
    return {
        "id": response.id,
        "type": "message",
        "model": response.model,
        **message,
        "stop_reason": response.stop_reason,
        "stop_sequence": None,
        "usage": usage_facts(response.usage),
    }


def failure_line(text: str, category: str, *, session: str, uuid: str) -> Line:
    """Return what stands in the place of the model's answer when the provider failed."""
    response = ModelResponse((), "stop_sequence", Usage(), STREAM_SYNTHETIC, uuid)
    message = {"role": "assistant", "content": [{"type": "text", "text": f"API Error: {text}"}]}
    return {
        "type": "assistant",
        "message": _answered(message, response),
        "error": category,
        "parent_tool_use_id": None,
        "session_id": session,
        "uuid": uuid,
    }


def event_lines(event: Told, *, agent: str = "") -> list[Line]:
    """Return the lines of an event, without `uuid` and `session_id`.

    Args:
        event: What happened.
        agent: Id of the agent, unless it is the main one.
    """
    match event:
        case PermissionDenied():
            about: Line = {"tool_name": event.tool, "tool_use_id": event.call}
            about["message"] = about["decision_reason"] = event.reason
            return [_system("permission_denied", **about, **({"agent_id": agent} if agent else {}))]
        case ModelRetried():
            return [
                _system(
                    "api_retry",
                    attempt=event.attempt - 1,
                    max_retries=max(0, event.attempts - 1),
                    retry_delay_ms=round(event.delay_s * 1000),
                    error_status=event.status,
                    error=event.error,
                )
            ]
        case CompactBegan():
            return [_system("status", status="compacting")]
        case CompactEnded():
            boundary = _system(
                "compact_boundary", compact_metadata={"trigger": event.trigger, "pre_tokens": event.pre_tokens}
            )
            return [_system("status", status=None), *([boundary] if event.state == "completed" else [])]


def _system(subtype: str, **values: Any) -> Line:
    return {"type": "system", "subtype": subtype, **values}


def result_line(
    ending: Ending,
    counts: Counts,
    *,
    session: str,
    uuid: str,
    origin: Origin | None = None,
    abandoned: Sequence[Abandoned] = (),
) -> Line:
    """Return the last line of a turn.

    Args:
        ending: How the turn ended.
        counts: What the run has used.
        session: Id of the session.
        uuid: Of the line.
        origin: What led to the turn; None for the prompt of the run.
        abandoned: What was given up at the end of the run; then the run did not do what it was to do, whatever was answered.
    """
    line: Line = {
        "type": "result",
        "subtype": ending.subtype,
        "is_error": ending.is_error,
        "duration_ms": counts.duration_ms,
        "duration_api_ms": counts.api_ms,
        "num_turns": counts.rounds,
        "stop_reason": ending.stop_reason,
        "session_id": session,
        "total_cost_usd": counts.total_usd,
        "usage": usage_facts(counts.usage),
        "modelUsage": {model: _model_facts(model, usage, counts) for model, usage in counts.by_model.items()},
        "permission_denials": _denial_facts(counts.denials),
        "uuid": uuid,
    }
    if ending.is_error:
        line["errors"] = [ending.error]
    else:
        line["result"] = ending.text
        if ending.structured is not None:
            line["structured_output"] = dict(ending.structured)
    if ending.deferred is not None:
        call = ending.deferred
        line["deferred_tool_use"] = {"id": call.id, "name": call.name, "input": call.input}
    if ending.reason:
        line["terminal_reason"] = ending.reason
    if ending.api_status is not None:
        line["api_error_status"] = ending.api_status
    if origin is not None:
        line["origin"] = origin.to_json()
    if abandoned:
        errors = [*line.get("errors", ()), abandoned_text(abandoned)]
        line |= {"subtype": line["subtype"] if ending.is_error else FAILED, "is_error": True, "errors": errors}
        line["abandoned_tasks"] = [attrs.asdict(task) for task in abandoned]
    return line


def abandoned_text(abandoned: Sequence[Abandoned]) -> str:
    """Return what is said of tasks that were given up, in one line."""
    names = ", ".join(f'{task.task_id} "{" ".join(task.description.split())}"' for task in abandoned)
    return f"ended in the background before it was done: {names}"


def usage_facts(usage: Usage) -> Line:
    """Return a usage under the provider's names."""
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
    }


def _model_facts(model: str, usage: Usage, counts: Counts) -> Line:
    cost = counts.cost_usd.get(model)
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadInputTokens": usage.cache_read_input_tokens,
        "cacheCreationInputTokens": usage.cache_creation_input_tokens,
        "webSearchRequests": 0,
        "costUSD": None if cost is None else float(cost),
    }


def _denial_facts(denials: Iterable[Denial]) -> list[Line]:
    return [
        {"tool_name": denial.tool, "tool_use_id": denial.call, "tool_input": dict(denial.input)} for denial in denials
    ]
