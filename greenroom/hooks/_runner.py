"""Running the hooks of an event: all at once, each with its limit, folded into one outcome.

Rule 1: a handler that fails, hangs, is missing or answers nonsense is a problem of the outcome and on record; it decides
nothing and breaks nothing. Rule 2: the order of the configuration decides, never that of arrival. Rule 3: when `run` is
left in any way, everything that it started has ended; asynchronous handlers end with whoever owns their tasks.
Must not know: agents, permissions, models: what it needs of them are the ports of `_asking`.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, final

import attrs
import trio

from greenroom.actors import decide_outcome, describe
from greenroom.containment import ChildKind, Secrets, child_environment
from greenroom.core import GreenroomError, Ports, error_text, message_of
from greenroom.hooks._answers import read_agent_verdict, read_command, read_http, read_object, read_verdict
from greenroom.hooks._asking import (
    AGENT_INSTRUCTIONS,
    INSTRUCTIONS,
    AgentAsker,
    HandlerFailed,
    McpCaller,
    PromptAsker,
    RuleMatcher,
    ToolNames,
    fill_paths,
    fill_prompt,
)
from greenroom.hooks._catalog import HookEvent
from greenroom.hooks._command import KILL_GRACE_S, Finished, Running, run_command, shell_line
from greenroom.hooks._configuration import Hook, HookSet, SourceKind
from greenroom.hooks._events import COMPLETED, FAILED, KILLED, TIMED_OUT, HookRan
from greenroom.hooks._handlers import (
    AgentHandler,
    CallbackHandler,
    CommandHandler,
    Handler,
    HttpHandler,
    McpToolHandler,
    PromptHandler,
)
from greenroom.hooks._http import post
from greenroom.hooks._inputs import HookContext, HookInput, as_json
from greenroom.hooks._objects import async_limit_s, says_async
from greenroom.hooks._outcomes import HookAnswer, HookOutcome, Permission, fold_answers
from greenroom.hooks._overflow import cap_answer
from greenroom.hooks._watching import OnHook, WatchedRun

SESSION_END_LIMIT_S: Final = 1.5
SESSION_END_MAX_S: Final = 60.0


class StartSoon(Protocol):
    """Starts a task that belongs to somebody who outlives the turn, such as `ctx.start_soon` of an actor."""

    def __call__(self, function: Callable[[], Awaitable[object]], /) -> None:
        """Start it; its failure is its owner's."""
        ...


@final
@attrs.frozen(kw_only=True)
class LateAnswer:
    """What an asynchronous handler said: for the next turn."""

    event: HookEvent
    contexts: tuple[str, ...]
    system_messages: tuple[str, ...]
    wakes: bool
    """Whether an idle agent is to take a turn for it (`asyncRewake` and exit code 2)."""


@final
@attrs.frozen(kw_only=True)
class HookServices:
    """What handlers are run with. Composed by the session, the same for all of its agents."""

    project: Path
    """The folder that the session was opened in; it stays the same in worktrees."""
    environment: Mapping[str, str] = attrs.field(repr=False)
    """The variables of the machine and of the settings; commands get those that hold no secret, and those that are named."""
    named: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """The variables of the settings, as they are now: commands get all of them."""
    pass_env: Collection[str] = ()
    """Names of variables that commands get although they hold secrets; `*` stands for any characters."""
    secrets: Secrets = attrs.field(factory=Secrets)
    """What is masked in what commands print."""
    ports: Ports = attrs.field(factory=Ports)
    emit: Callable[..., int] = lambda *_: 0
    """`recorder.emit_fields`."""
    rules: RuleMatcher = attrs.field(factory=ToolNames)
    mcp: McpCaller | None = None
    model: PromptAsker | None = None
    agent: AgentAsker | None = None
    overflow_folder: Path | None = None
    """Where texts that are too long for a conversation are kept; None keeps their beginning only."""
    start_soon: StartSoon | None = None
    """Owner of asynchronous handlers; without one they do not run."""
    deliver: Callable[[LateAnswer], object] = lambda _: None
    """Called with what an asynchronous handler said, in its task."""
    on_hook: OnHook | None = None
    """Hears of each run of a handler from its beginning to its end."""
    session_end_limit_s: float = SESSION_END_LIMIT_S
    """What all hooks of `SessionEnd` share, in seconds, unless one of them is configured for longer."""
    kill_grace_s: float = KILL_GRACE_S
    """How long a process may take to end after TERM, and after KILL, in seconds."""


@final
class HookRunner:
    """The hooks of one agent or session.

    Attributes:
        hooks: Those in force. Give it another set after an edit of the settings; what runs is not disturbed.
    """

    def __init__(self, hooks: HookSet, services: HookServices) -> None:
        self.hooks = hooks
        self._services = services
        self._spent: set[Hashable] = set()
        self._overflows = 0
        self._lines: dict[tuple[str, str], tuple[str, ...]] = {}

    def has(self, event: HookEvent) -> bool:
        """Say whether anything could run at this event; ask before making an input on a hot path."""
        return self.hooks.has(event)

    async def run(self, told: HookInput, context: HookContext) -> HookOutcome:
        """Run every hook that matches, and return what they come to.

        It takes as long as the slowest, at most the longest limit. Cancelled, it ends every process before it is left.
        """
        chosen, notes = self._choose(told)
        if not chosen:
            return fold_answers(told.event, notes)
        encoded = told.encode(context)
        answers: list[HookAnswer | None] = [None] * len(chosen)

        async def collect(at: int, hook: Hook, limit_s: float) -> None:
            answers[at] = await self._run_one(hook, told, context, encoded, limit_s)

        most_s = _shared_limit_s(told.event, chosen, self._services.session_end_limit_s)
        async with trio.open_nursery() as nursery:
            for at, hook in enumerate(chosen):
                if isinstance(hook.handler, CommandHandler) and hook.handler.is_async:
                    answers[at] = self._run_later(hook, told, context, encoded)
                else:
                    nursery.start_soon(collect, at, hook, min(hook.handler.limit_s(told.event), most_s))
        return fold_answers(told.event, [*notes, *(one for one in answers if one is not None)])

    def tell(self, told: HookInput, context: HookContext) -> None:
        """Run every hook that matches, without waiting for any; what they say is on record, and no more.

        They end with whoever owns the tasks of asynchronous handlers; where nobody does, nothing runs.
        """
        if self.has(told.event) and self._services.start_soon is not None:
            self._services.start_soon(partial(self.run, told, context))

    # --- which ----------------------------------------------------------------------------------------------------

    def _choose(self, told: HookInput) -> tuple[list[Hook], list[HookAnswer]]:
        chosen: dict[Hashable, Hook] = {}
        notes: list[HookAnswer] = []
        for hook in self.hooks.find(told.event, told.subject):
            handler = hook.handler
            if hook.work in chosen or (_is_once(hook) and (hook.source.name, handler.work) in self._spent):
                continue
            try:
                applies = self._applies(handler, told)
            except Exception as error:  # noqa: BLE001 - a rule that cannot be judged must not switch a guard off
                notes.append(HookAnswer(hook=handler.label, problems=(f"its `if` failed: {error!r}; it ran",)))
                applies = True
            if applies:
                chosen[hook.work] = hook
        for hook in chosen.values():
            if _is_once(hook):
                self._spent.add((hook.source.name, hook.handler.work))
        return list(chosen.values()), notes

    def _applies(self, handler: Handler, told: HookInput) -> bool:
        if handler.condition is None:
            return True
        name, values = getattr(told, "tool_name", ""), getattr(told, "tool_input", {})
        return self._services.rules.matches(handler.condition, name, values)

    # --- one of them ----------------------------------------------------------------------------------------------

    async def _run_one(
        self,
        hook: Hook,
        told: HookInput,
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
        watched = self._watched(told)
        try:
            with trio.move_on_after(limit_s) as scope:
                if running is None:
                    answer = await self._ask(hook, told, context, encoded, limit_s, watched)
                else:
                    answer = await _ended(running, told.event, watched, self._services.secrets)
                state = COMPLETED
            # Out here: a verdict that is there must not get lost because its text takes long to write.
            answer = await cap_answer(answer, lambda text: self._keep(text, context))
            if scope.cancelled_caught:
                state, error = TIMED_OUT, f"it did not end within {limit_s:g} s"
                answer = _timed_out(handler, told.event, error)
            elif answer.problems:
                state, error = FAILED, "; ".join(answer.problems)
        except Exception as problem:  # noqa: BLE001 - a hook is foreign code, and so is what the engine hands in
            error = message_of(problem) if isinstance(problem, HandlerFailed | GreenroomError) else error_text(problem)
            state, answer = FAILED, HookAnswer(problems=(error,))
        except (
            BaseExceptionGroup
        ) as group:  # cancelled; what failed beside that is on record, and does not fail the turn
            outcome = decide_outcome(group, requested=None, was_caught=False)
            state, error = outcome.state.value, describe(outcome.error)
            raise outcome.reraise or group from None
        finally:
            place = (context.actor, context.incarnation, context.parent, told.event.value, told.subject)
            ran = (handler.label, hook.source.name, state, _decision(answer), round(now() - began, 6), error[:500])
            self._services.emit(HookRan, *place, *ran)
            if watched is not None:
                watched.ended(state, error)
        return attrs.evolve(answer, hook=handler.label)

    def _watched(self, told: HookInput) -> WatchedRun | None:
        services = self._services
        return services.on_hook and WatchedRun(services.on_hook, told.event, told.subject, services.ports.ids)

    async def _ask(
        self,
        hook: Hook,
        told: HookInput,
        context: HookContext,
        encoded: Mapping[str, Any],
        limit_s: float,
        watched: WatchedRun | None,
    ) -> HookAnswer:
        handler = hook.handler
        if isinstance(handler, CommandHandler):
            exported = {**self._exported(context), **dict(hook.source.variables)}
            done = await self._run_command(handler, context, encoded, exported, watched)
            if isinstance(done, Running):  # nothing may be waited for until somebody has it
                self._run_later(hook, told, context, encoded, done)
                return HookAnswer()
            return _read_finished(told.event, done, self._services.secrets)
        text, answer = await self._ask_other(handler, told, context, encoded, limit_s)
        if watched is not None:
            watched.replied(text)
        return answer

    async def _ask_other(
        self,
        handler: HttpHandler | McpToolHandler | PromptHandler | AgentHandler | CallbackHandler,
        told: HookInput,
        context: HookContext,
        encoded: Mapping[str, Any],
        limit_s: float,
    ) -> tuple[str, HookAnswer]:
        """Return what it said, and what that means."""
        services = self._services
        match handler:
            case HttpHandler():
                reply = await post(handler, as_json(encoded), services.environment, limit_s=limit_s)
                return reply.body, read_http(told.event, reply.status, reply.body)
            case McpToolHandler():
                if services.mcp is None:
                    raise HandlerFailed("there are no MCP servers here")
                text = await services.mcp.call(handler.server, handler.tool, fill_paths(handler.input, encoded))
                return text, read_command(told.event, 0, text, "")
            case PromptHandler():
                if services.model is None:
                    raise HandlerFailed("there is no model to ask here")
                prompt = fill_prompt(handler.prompt, encoded)
                text = await services.model.ask(INSTRUCTIONS, prompt, model=handler.model)
                on_idle = bool(getattr(told, "on_idle", False))
                return text, read_verdict(
                    told.event, text, continue_on_block=handler.continue_on_block, on_idle=on_idle
                )
            case CallbackHandler():
                values = await handler.ask(handler.id, encoded)
                return as_json(values), read_object(told.event, values)
            case AgentHandler():
                if services.agent is None:
                    raise HandlerFailed("no agent can be started here")
                prompt = fill_prompt(handler.prompt, encoded)
                text = await services.agent.ask(AGENT_INSTRUCTIONS, prompt, model=handler.model, context=context)
                return text, read_agent_verdict(told.event, text, on_idle=bool(getattr(told, "on_idle", False)))

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
                told=as_json(encoded),
                cwd=context.cwd,
                environment=environment,
                kill_grace_s=services.kill_grace_s,
                on_output=None if watched is None else watched.printed,
                leaves=says_async if may_leave else None,
            )
        except (OSError, ValueError) as error:
            raise HandlerFailed(f"it could not be started: {error}") from error
        if watched is not None and isinstance(done, Finished):
            watched.exited(done.exit_code)
        return done

    async def _line(
        self, handler: CommandHandler, exported: Mapping[str, str], environment: Mapping[str, str]
    ) -> tuple[str, ...]:
        if handler.args is not None:  # there is no shell that would fill these in
            return tuple(_filled(part, exported) for part in (handler.command, *handler.args))
        # In a command of bash they are the shell's variables; in PowerShell such a name is one of its own.
        command = handler.command if handler.shell == "bash" else _filled(handler.command, exported)
        key = (handler.shell, command)
        if key not in self._lines:
            run = self._services.ports.blocking.run
            self._lines[key] = await run(shell_line, command, handler.shell, environment)
        return self._lines[key]

    def _exported(self, context: HookContext) -> dict[str, str]:
        """Return the variables that every hook is given; scripts that exist know these names."""
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
        told: HookInput,
        context: HookContext,
        encoded: Mapping[str, Any],
        running: Running | None = None,
    ) -> HookAnswer:
        """Run a handler that nobody waits for; or go on with a process that has said so itself."""
        services = self._services
        label = hook.handler.label
        limit_s = hook.handler.limit_s(told.event)
        if running is not None:
            limit_s = async_limit_s(running.printed, limit_s)
        if services.start_soon is None:
            return HookAnswer(hook=label, problems=("it is asynchronous, and nobody here can own its task",))

        async def later() -> None:
            answer = await self._run_one(hook, told, context, encoded, limit_s, running)
            refused = answer.blocks or _decision(answer) == "deny"
            reason = answer.block_reason or answer.permission_reason
            wakes = isinstance(hook.handler, CommandHandler) and hook.handler.wakes and refused
            contexts = tuple(filter(None, (reason if refused else "", answer.context)))
            messages = (*filter(None, (answer.system_message,)), *(f"{label}: {one}" for one in answer.problems))
            if contexts or messages:
                services.deliver(LateAnswer(event=told.event, contexts=contexts, system_messages=messages, wakes=wakes))

        services.start_soon(later)
        return HookAnswer(hook=label)


async def _ended(running: Running, event: HookEvent, watched: WatchedRun | None, secrets: Secrets) -> HookAnswer:
    """Wait for a process that nobody waited for, and read what it has printed."""
    done = await running.to_end(on_output=None if watched is None else watched.printed)
    if watched is not None:
        watched.exited(done.exit_code)
    return _read_finished(event, done, secrets)


def _read_finished(event: HookEvent, done: Finished, secrets: Secrets) -> HookAnswer:
    """Return what the output of a command means, known secrets masked."""
    done = attrs.evolve(done, stdout=secrets.mask(done.stdout), stderr=secrets.mask(done.stderr)) if secrets else done
    answer = read_command(event, done.exit_code, done.stdout, done.stderr)
    note = ("it printed more than 1 MiB; the rest was dropped",) if done.was_cut else ()
    return attrs.evolve(answer, problems=(*answer.problems, *note)) if note else answer


def _timed_out(handler: Handler, event: HookEvent, why: str) -> HookAnswer:
    """Return what a handler comes to whose time is up: nothing, but a program that was to look at a call refuses it (agents 3.11)."""
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
    """Return what the hooks of one event share, however long each may take, in seconds."""
    if event is not HookEvent.SESSION_END:
        return math.inf
    configured = [hook.handler.timeout_s for hook in chosen if hook.handler.timeout_s is not None]
    return min(SESSION_END_MAX_S, max([least_s, *configured]))


def _decision(answer: HookAnswer) -> str:
    """Return what an answer decides, as a word for the record."""
    if answer.stops:
        return "stop"
    if answer.blocks:
        return "block"
    if answer.extras.reply is not None:
        return answer.extras.reply.action.value
    if answer.decision is not None:
        return "allow" if answer.decision.is_allowed else "deny"
    return "" if answer.permission is None else answer.permission.value
