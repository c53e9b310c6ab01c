"""Runner of hooks: all handlers of an event at once, each with its time limit, folded into one outcome.

Rule 1: a handler that fails, times out, is missing or gives a malformed answer is recorded and becomes a problem of the
outcome; it decides nothing and breaks nothing. Rule 2: configuration order decides, never order of arrival. Rule 3:
when `run` is left in any way, everything that it started has ended; asynchronous handlers end with the owner of their
tasks.

Must not know: agents, permissions, models; it reaches them through the ports of `_handler_ports`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final, final

import attrs
import trio

from greenroom.actors import decide_outcome, describe
from greenroom.containment import ChildKind, Secrets, child_environment
from greenroom.core import GreenroomError
from greenroom.core.texts import error_text, message_of
from greenroom.hooks._answer_parser import read_agent_verdict, read_command, read_http, read_object, read_verdict
from greenroom.hooks._command import Finished, Running, run_command, shell_line
from greenroom.hooks._configuration import Hook, HookSet, SourceKind
from greenroom.hooks._event_table import HookEvent
from greenroom.hooks._events import COMPLETED, FAILED, KILLED, TIMED_OUT, HookRan
from greenroom.hooks._handler_ports import AGENT_INSTRUCTIONS, INSTRUCTIONS, HandlerFailed, fill_paths, fill_prompt
from greenroom.hooks._handler_updates import WatchedRun
from greenroom.hooks._handlers import (
    AgentHandler,
    CallbackHandler,
    CommandHandler,
    Handler,
    HttpHandler,
    McpToolHandler,
    PromptHandler,
)
from greenroom.hooks._hook_services import HookServices, LateAnswer
from greenroom.hooks._http_post import post
from greenroom.hooks._json_objects import async_limit_s, says_async
from greenroom.hooks._outcomes import HookAnswer, HookOutcome, Permission, fold_answers
from greenroom.hooks._overflow import cap_answer
from greenroom.hooks.inputs import HookContext, HookInput, as_json

SESSION_END_MAX_S: Final = 60.0


@final
class HookRunner:
    """Runner of the hooks of one agent or session.

    Attributes:
        hooks: The hooks in force. Assign another set after an edit of the settings; running handlers are not affected.
    """

    def __init__(self, hooks: HookSet, services: HookServices) -> None:
        self.hooks = hooks
        self._services = services
        self._spent: set[Hashable] = set()
        self._overflows = 0
        self._lines: dict[tuple[str, str], tuple[str, ...]] = {}

    def has(self, event: HookEvent) -> bool:
        """True if any hook is configured for this event; call it before building an input on a hot path."""
        return self.hooks.has(event)

    async def run(self, hook_input: HookInput, context: HookContext) -> HookOutcome:
        """Run every matching hook, and return the combined outcome.

        It takes as long as the slowest, at most the longest limit. On cancellation, every process is ended first.
        """
        chosen, notes = self._choose(hook_input)
        if not chosen:
            return fold_answers(hook_input.event, notes)
        encoded = hook_input.encode(context)
        answers: list[HookAnswer | None] = [None] * len(chosen)

        async def collect(at: int, hook: Hook, limit_s: float) -> None:
            answers[at] = await self._run_one(hook, hook_input, context, encoded, limit_s)

        max_s = _shared_limit_s(hook_input.event, chosen, self._services.session_end_limit_s)
        async with trio.open_nursery() as nursery:
            for at, hook in enumerate(chosen):
                if isinstance(hook.handler, CommandHandler) and hook.handler.is_async:
                    answers[at] = self._run_later(hook, hook_input, context, encoded)
                else:
                    nursery.start_soon(collect, at, hook, min(hook.handler.limit_s(hook_input.event), max_s))
        return fold_answers(hook_input.event, [*notes, *(answer for answer in answers if answer is not None)])

    def tell(self, hook_input: HookInput, context: HookContext) -> None:
        """Run every matching hook without waiting; their answers are only recorded.

        They end with the owner of asynchronous handlers; without one, nothing runs.
        """
        if self.has(hook_input.event) and self._services.start_soon is not None:
            self._services.start_soon(partial(self.run, hook_input, context))

    # --- which ----------------------------------------------------------------------------------------------------

    def _choose(self, hook_input: HookInput) -> tuple[list[Hook], list[HookAnswer]]:
        chosen: dict[Hashable, Hook] = {}
        notes: list[HookAnswer] = []
        for hook in self.hooks.find(hook_input.event, hook_input.subject):
            handler = hook.handler
            if hook.work in chosen or (_is_once(hook) and (hook.source.name, handler.work) in self._spent):
                continue
            try:
                applies = self._applies(handler, hook_input)
            except Exception as error:  # noqa: BLE001 - a rule that cannot be judged must not switch a guard off
                notes.append(
                    HookAnswer(hook=handler.label, problems=(f"cannot evaluate its `if`: {error!r}; it ran anyway",))
                )
                applies = True
            if applies:
                chosen[hook.work] = hook
        for hook in chosen.values():
            if _is_once(hook):
                self._spent.add((hook.source.name, hook.handler.work))
        return list(chosen.values()), notes

    def _applies(self, handler: Handler, hook_input: HookInput) -> bool:
        if handler.condition is None:
            return True
        name, values = getattr(hook_input, "tool_name", ""), getattr(hook_input, "tool_input", {})
        return self._services.rules.matches(handler.condition, name, values)

    # --- a single run ----------------------------------------------------------------------------------------------

    async def _run_one(
        self,
        hook: Hook,
        hook_input: HookInput,
        context: HookContext,
        encoded: Mapping[str, Any],
        limit_s: float,
        running: Running | None = None,
    ) -> HookAnswer:
        handler = hook.handler
        now = self._services.ports.clock.bind()
        began = now()
        state, error = KILLED, ""
        answer = HookAnswer()
        watched = self._watched(hook_input)
        try:
            with trio.move_on_after(limit_s) as scope:
                if running is None:
                    answer = await self._ask(hook, hook_input, context, encoded, limit_s, watched)
                else:
                    answer = await _ended(running, hook_input.event, watched, self._services.secrets)
                state = COMPLETED
            # Outside the time limit: an existing verdict must not get lost because its text takes long to write.
            answer = await cap_answer(answer, lambda text: self._keep(text, context))
            if scope.cancelled_caught:
                state, error = TIMED_OUT, f"timed out after {limit_s:g} s"
                answer = _timed_out(handler, hook_input.event, error)
            elif answer.problems:
                state, error = FAILED, "; ".join(answer.problems)
        except Exception as problem:  # noqa: BLE001 - a hook is foreign code, and so is what the engine hands in
            error = message_of(problem) if isinstance(problem, HandlerFailed | GreenroomError) else error_text(problem)
            state, answer = FAILED, HookAnswer(problems=(error,))
        except BaseExceptionGroup as group:  # cancelled; other failures are recorded, and do not fail the turn
            outcome = decide_outcome(group, requested=None, was_caught=False)
            state, error = outcome.state.value, describe(outcome.error)
            raise outcome.reraise or group from None
        finally:
            place = (context.actor, context.incarnation, context.parent, hook_input.event.value, hook_input.subject)
            ran = (handler.label, hook.source.name, state, _decision(answer), round(now() - began, 6), error[:500])
            self._services.emit(HookRan, *place, *ran)
            if watched is not None:
                watched.ended(state, error)
        return attrs.evolve(answer, hook=handler.label)

    def _watched(self, hook_input: HookInput) -> WatchedRun | None:
        services = self._services
        return services.on_hook and WatchedRun(
            services.on_hook, hook_input.event, hook_input.subject, services.ports.ids
        )

    async def _ask(
        self,
        hook: Hook,
        hook_input: HookInput,
        context: HookContext,
        encoded: Mapping[str, Any],
        limit_s: float,
        watched: WatchedRun | None,
    ) -> HookAnswer:
        handler = hook.handler
        if isinstance(handler, CommandHandler):
            exported = {**self._exported(context), **dict(hook.source.variables)}
            done = await self._run_command(handler, context, encoded, exported, watched)
            if isinstance(done, Running):  # take it over before anything is awaited
                self._run_later(hook, hook_input, context, encoded, done)
                return HookAnswer()
            return _read_finished(hook_input.event, done, self._services.secrets)
        text, answer = await self._ask_other(handler, hook_input, context, encoded, limit_s)
        if watched is not None:
            watched.replied(text)
        return answer

    async def _ask_other(
        self,
        handler: HttpHandler | McpToolHandler | PromptHandler | AgentHandler | CallbackHandler,
        hook_input: HookInput,
        context: HookContext,
        encoded: Mapping[str, Any],
        limit_s: float,
    ) -> tuple[str, HookAnswer]:
        """Return the reply of a handler that is not a command, and the parsed answer."""
        services = self._services
        match handler:
            case HttpHandler():
                reply = await post(handler, as_json(encoded), services.environment, limit_s=limit_s)
                return reply.body, read_http(hook_input.event, reply.status, reply.body)
            case McpToolHandler():
                if services.mcp is None:
                    raise HandlerFailed("no MCP servers are available")
                text = await services.mcp.call(handler.server, handler.tool, fill_paths(handler.input, encoded))
                return text, read_command(hook_input.event, 0, text, "")
            case PromptHandler():
                if services.model is None:
                    raise HandlerFailed("no model is available")
                prompt = fill_prompt(handler.prompt, encoded)
                text = await services.model.ask(INSTRUCTIONS, prompt, model=handler.model)
                on_idle = bool(getattr(hook_input, "on_idle", False))
                return text, read_verdict(
                    hook_input.event, text, continue_on_block=handler.continue_on_block, on_idle=on_idle
                )
            case CallbackHandler():
                values = await handler.ask(handler.id, encoded)
                return as_json(values), read_object(hook_input.event, values)
            case AgentHandler():
                if services.agent is None:
                    raise HandlerFailed("no agents are available")
                prompt = fill_prompt(handler.prompt, encoded)
                text = await services.agent.ask(AGENT_INSTRUCTIONS, prompt, model=handler.model, context=context)
                return text, read_agent_verdict(
                    hook_input.event, text, on_idle=bool(getattr(hook_input, "on_idle", False))
                )

    async def _run_command(
        self,
        handler: CommandHandler,
        context: HookContext,
        encoded: Mapping[str, Any],
        exported: Mapping[str, str],
        watched: WatchedRun | None,
    ) -> Finished | Running:
        services = self._services
        may_leave = not handler.is_async and services.start_soon is not None
        environment = child_environment(
            ChildKind.COMMAND,
            services.environment,
            named={**services.named, **exported},
            passed=services.pass_env,
        )
        try:
            done = await run_command(
                await self._line(handler, exported, environment),
                stdin=as_json(encoded),
                cwd=context.cwd,
                environment=environment,
                kill_grace_s=services.kill_grace_s,
                on_output=None if watched is None else watched.printed,
                leaves=says_async if may_leave else None,
            )
        except (OSError, ValueError) as error:
            raise HandlerFailed(f"cannot start: {error}") from error
        if watched is not None and isinstance(done, Finished):
            watched.exited(done.exit_code)
        return done

    async def _line(
        self, handler: CommandHandler, exported: Mapping[str, str], environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        if handler.args is not None:  # no shell will expand these
            return tuple(_filled(part, exported) for part in (handler.command, *handler.args))
        # In a bash command these are shell variables; in PowerShell such a name refers to a PowerShell variable.
        command = handler.command if handler.shell == "bash" else _filled(handler.command, exported)
        key = (handler.shell, command)
        if key not in self._lines:
            run = self._services.ports.blocking.run
            self._lines[key] = await run(shell_line, command, handler.shell, environment)
        return self._lines[key]

    def _exported(self, context: HookContext) -> dict[str, str]:
        """Return the variables that every hook gets, under the names that existing scripts use."""
        given = {
            "CLAUDECODE": "1",
            "CLAUDE_CODE_CHILD_SESSION": "1",
            "CLAUDE_CODE_SESSION_ID": context.session_id,
            "CLAUDE_PROJECT_DIR": str(self._services.project),
            "GREENROOM_PROJECT_DIR": str(self._services.project),
            "GREENROOM_SESSION_ID": context.session_id,
        }
        return given if context.effort is None else {**given, "CLAUDE_EFFORT": context.effort}

    async def _keep(self, text: str, context: HookContext) -> str:
        services = self._services
        if services.overflow_folder is None:
            return ""
        self._overflows += 1
        path = services.overflow_folder / f"hook-{context.actor or 'session'}-{context.parent}-{self._overflows}.txt"
        try:
            await services.ports.blocking.run(services.ports.disk.make_folder, services.overflow_folder)
            await services.ports.blocking.run(services.ports.disk.write, path, text.encode(errors="replace"))
        except OSError:
            return ""  # the preview says so
        return str(path)

    # --- asynchronous ---------------------------------------------------------------------------------------------

    def _run_later(
        self,
        hook: Hook,
        hook_input: HookInput,
        context: HookContext,
        encoded: Mapping[str, Any],
        running: Running | None = None,
    ) -> HookAnswer:
        """Run a handler without waiting for it, or take over a process that has detached itself."""
        services = self._services
        label = hook.handler.label
        limit_s = hook.handler.limit_s(hook_input.event)
        if running is not None:
            limit_s = async_limit_s(running.printed, limit_s)
        if services.start_soon is None:
            return HookAnswer(hook=label, problems=("cannot run asynchronously: no owner for its task",))

        async def later() -> None:
            answer = await self._run_one(hook, hook_input, context, encoded, limit_s, running)
            refused = answer.blocks or _decision(answer) == "deny"
            reason = answer.block_reason or answer.permission_reason
            wakes = isinstance(hook.handler, CommandHandler) and hook.handler.wakes and refused
            contexts = tuple(filter(None, (reason if refused else "", answer.context)))
            messages = (
                *filter(None, (answer.system_message,)),
                *(f"{label}: {problem}" for problem in answer.problems),
            )
            if contexts or messages:
                services.deliver(
                    LateAnswer(event=hook_input.event, contexts=contexts, system_messages=messages, wakes=wakes)
                )

        services.start_soon(later)
        return HookAnswer(hook=label)


async def _ended(running: Running, event: HookEvent, watched: WatchedRun | None, secrets: Secrets) -> HookAnswer:
    """Wait for a detached process, and parse its output."""
    done = await running.to_end(on_output=None if watched is None else watched.printed)
    if watched is not None:
        watched.exited(done.exit_code)
    return _read_finished(event, done, secrets)


def _read_finished(event: HookEvent, done: Finished, secrets: Secrets) -> HookAnswer:
    """Parse the output of a command, known secrets masked."""
    done = attrs.evolve(done, stdout=secrets.mask(done.stdout), stderr=secrets.mask(done.stderr)) if secrets else done
    answer = read_command(event, done.exit_code, done.stdout, done.stderr)
    note = ("it printed more than 1 MiB; the rest was discarded",) if done.was_cut else ()
    return attrs.evolve(answer, problems=(*answer.problems, *note)) if note else answer


def _timed_out(handler: Handler, event: HookEvent, why: str) -> HookAnswer:
    """Return the answer of a handler that timed out: no decision, but a program that was to check a call refuses it."""
    is_refusal = isinstance(handler, CallbackHandler) and event is HookEvent.PRE_TOOL_USE
    permission = Permission.DENY if is_refusal else None
    return HookAnswer(permission=permission, permission_reason=why if is_refusal else "", problems=(why,))


def _is_once(hook: Hook) -> bool:
    return hook.handler.once and hook.source.kind is SourceKind.SKILL


def _filled(part: str, exported: Mapping[str, str]) -> str:
    for name, value in exported.items():
        part = part.replace(f"${{{name}}}", value)
    return part


def _shared_limit_s(event: HookEvent, chosen: Sequence[Hook], least_s: float) -> float:
    """Return the shared time limit of the hooks of one event, in seconds."""
    if event is not HookEvent.SESSION_END:
        return math.inf
    configured = [hook.handler.timeout_s for hook in chosen if hook.handler.timeout_s is not None]
    return min(SESSION_END_MAX_S, max([least_s, *configured]))


def _decision(answer: HookAnswer) -> str:
    """Return the decision of an answer as a word for the event."""
    if answer.stops:
        return "stop"
    if answer.blocks:
        return "block"
    if answer.extras.reply is not None:
        return answer.extras.reply.action.value
    if answer.decision is not None:
        return "allow" if answer.decision.is_allowed else "deny"
    return "" if answer.permission is None else answer.permission.value
