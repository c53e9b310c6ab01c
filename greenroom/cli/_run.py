"""The command `greenroom run`: one prompt, one agent, no questions; for scripts, pipes and other programs.

Rule 1: what the user got wrong is said before anything starts or is written. Rule 2 (agents 13.2): standard output is the
answer, in the format that was asked for; all else goes to standard error. Rule 3 (agents 13.3): exit codes are 0 for a
success, 1 for an error, 2 for misuse, 130 and 143 for a signal.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
import trio

from greenroom.agents import AgentDefinition
from greenroom.agents.crew import AGENT_TOOLS, WORKTREE_TOOLS
from greenroom.agents.definitions import Definitions
from greenroom.cli._output import LogNotes, complain, note, noting_log, program, typed
from greenroom.cli._run_approver import STDIO, ToolApprover, tool_of
from greenroom.cli._run_control import Host
from greenroom.cli._run_flags import AS_BY_DEFAULT, RunFlags, check_flags, flag, setup_of, sources_of
from greenroom.cli._run_input import (
    read_object,
    read_prompt,
    read_rules,
    read_schema,
    with_delegation,
    with_mcp,
    with_permissions,
    with_servers,
    without_hosted,
)
from greenroom.cli._run_model import PLAYBOOK, key_source, managed_model, model_for
from greenroom.cli._run_output import Writer, make_printer
from greenroom.cli._run_quiet import CEILING_S, read_ceiling
from greenroom.cli._run_rewind import rewind_command
from greenroom.cli._run_session import Run, unknown_tools
from greenroom.cli._signals import Ladder, climbing
from greenroom.cli._swarm import prepared_runs
from greenroom.core import JournalError, Ports, UsageError, calm_collector, read_switch
from greenroom.models import MODEL_FILE, ModelRequest, RecordedModel, ReplayMismatch, read_recording, with_events
from greenroom.permissions import Effect, Mode
from greenroom.session import (
    MAIN,
    Fork,
    MainFor,
    Session,
    SessionSettings,
    Watch,
    find_session,
    main_of_settings,
    open_session,
    read_beginning,
)
from greenroom.tools import Tool, ToolContext
from greenroom.tools.builtin import STANDARD_TOOLS, HttpFetcher, ask_user_question_tool, make_web_fetch_tool
from greenroom.trace import find_run

NOT_DONE: Final = 1
MISUSE: Final = 2
_CHANGES: Final = re.compile(r"^Today: [\d-]+$|^# Git\n\nWhen the session began(?:.+\n?)+", re.MULTILINE)
_NOT_KEPT: Final = frozenset((Mode.DEFAULT, Mode.PLAN, Mode.BYPASS, Mode.BUBBLE))
FORWARD_VARIABLE: Final = "GREENROOM_FORWARD_SUBAGENT_TEXT"
GOES_ON_VARIABLE: Final = "GREENROOM_RESUME_INTERRUPTED_TURN"
SKIP_VARIABLE: Final = "GREENROOM_SKIP_PROMPT_HISTORY"


async def _permit(address: str, ctx: ToolContext) -> None:
    """Let WebFetch go on: the call was decided about, and a redirect to another host is not followed."""


TOOLS: Final = (
    *(one for one in STANDARD_TOOLS if one is not ask_user_question_tool),
    *AGENT_TOOLS,
    *WORKTREE_TOOLS,
    make_web_fetch_tool(HttpFetcher(), permit=_permit),
)
"""Those that need nobody to answer."""


def chosen_tools(names: str | None) -> tuple[Tool, ...]:
    """Return the tools of a run.

    Args:
        names: Those that there are to be, with commas or spaces between them; None for all.

    Raises:
        UsageError: There is no such tool.
    """
    if names is None:
        return TOOLS
    by_name = {one.name: one for one in TOOLS}
    wanted = names.replace(",", " ").split()
    missing = [one for one in wanted if one not in by_name]
    if missing:
        raise UsageError(f"--tools: there is no tool {missing[0]!r}; there are {', '.join(sorted(by_name))}")
    return tuple(one for one in TOOLS if one.name in wanted)


@attrs.frozen(kw_only=True)
class RunOptions:
    """What the command line said, read and checked."""

    prompt: str
    flags: RunFlags
    open_with: dict[str, Any]
    """Arguments of `open_session`."""
    named: tuple[str, ...]
    """Rules that were named, for a look at what they are about."""
    hosted: tuple[str, ...] = ()
    """MCP servers that live in the program which talks to the run."""
    with_text: bool = False
    """Whether a stream shows what sub-agents say and think."""
    ceiling_s: float = CEILING_S
    """So long agents in the background are waited for after the answer."""


def run_command(
    prompt: Annotated[str | None, flag("What to do; standard input is added to it.")] = None,
    /,
    *,
    flags: RunFlags = AS_BY_DEFAULT,
) -> int:
    """Let one agent do what the prompt says, print its answer, and return the exit code."""
    if flags.rewind_files is not None:
        return rewind_command(flags, prompt)
    flags, earlier = as_before(with_last(flags))
    allow = read_rules("--allowed-tools", flags.allowed_tools or (), Effect.ALLOW)
    deny = read_rules("--disallowed-tools", flags.disallowed_tools or (), Effect.DENY)
    is_skipped = read_switch(os.environ, SKIP_VARIABLE)
    if is_skipped:
        flags = attrs.evolve(flags, no_session_persistence=True)
    check_flags(flags, keeping_nothing=f"{SKIP_VARIABLE} is on, which" if is_skipped else "--no-session-persistence")
    tools = chosen_tools(flags.tools)
    given, hosted = settings_of(flags, allow, [*deny, *tool_of(flags.permission_prompt_tool)])
    max_usd = None if flags.max_budget_usd is None else Decimal(str(flags.max_budget_usd))
    open_with: dict[str, Any] = {
        "model": model_for(_model_name(flags), max_usd=max_usd, managed=managed_model(flags.cwd.absolute()))
        if flags.recorded is None
        else with_events(read_recorded(flags)),
        "main": main_for(flags, earlier=earlier),
        "agents": read_object("--agents", flags.agents),
        "added": flags.add_dir or (),
        "plugins": flags.plugin_dir or (),
        "settings": given,
        "sources": sources_of(flags),
        "is_trusted": flags.trust,
        "permission_mode": flags.permission_mode,
        "tools": tools,
        "cwd": flags.cwd,
        "worktree": flags.worktree,
        "setup": setup_of(flags),
        "session_id": flags.session_id,
        "resume": Fork(flags.resume) if flags.fork_session and flags.resume is not None else flags.resume,
    }
    if flags.init_only:
        if (prompt or "").strip():
            raise UsageError("--init-only does nothing else: leave out the prompt, or say --init")
        prompt = ""
    elif flags.input_format == "stream-json":
        prompt = (prompt or "").strip()
    else:
        prompt = read_prompt(prompt, may_be_missing=flags.resume is not None)
    options = RunOptions(
        prompt=prompt,
        flags=flags,
        open_with=open_with,
        named=(*allow, *deny),
        hosted=tuple(hosted),
        with_text=flags.forward_subagent_text or bool(read_switch(os.environ, FORWARD_VARIABLE)),
        ceiling_s=read_ceiling(),
    )
    with calm_collector(), noting_log() as notes, _runs_of(flags) as runs:
        return trio.run(_run, options, runs, notes)


def _model_name(flags: RunFlags) -> str | None:
    """Return the model that the command line asks for; where nothing is asked of any, none needs a key."""
    return PLAYBOOK if flags.init_only and flags.model is None and key_source() == "none" else flags.model


def servers_for(settings: dict[str, Any], flags: RunFlags) -> tuple[dict[str, Any], list[str]]:
    """Return settings with the MCP servers that flags give, and the names of those that live in the program which talks to the run.

    Raises:
        UsageError: What was given names none, or what the settings say of MCP is no object.
    """
    is_talking = flags.input_format == "stream-json"
    hosted: list[str] = []
    for config in flags.mcp_config or ():
        servers = read_object("--mcp-config", config)
        if is_talking:
            servers, names = without_hosted(servers)
            hosted += names
        settings = with_servers(settings, servers)
    if flags.strict_mcp_config:
        settings = with_mcp(settings, only_given=True)
    return (with_mcp(settings, may_grow=True) if is_talking else settings), hosted


def settings_of(flags: RunFlags, allow: Sequence[str], deny: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings that come before those of any file: what the flags give, and what some of them mean.

    Returns:
        The settings, and the names of the MCP servers that live in the program which talks to the run.

    Raises:
        UsageError: Something in them cannot be used.
    """
    given = with_permissions(
        read_object("--settings", flags.settings), allow=allow, deny=deny, folders=flags.add_dir or ()
    )
    given, hosted = servers_for(given, flags)
    if flags.append_subagent_system_prompt:
        given = with_delegation(given, append_system_prompt=flags.append_subagent_system_prompt)
    if flags.disable_slash_commands:
        given = given | {"slash_commands": False}
    if flags.coordinator:
        given = with_delegation(given, coordinator=True)
    if flags.record:
        given = {**given, "record_model": True}
    if flags.sandbox:
        said = given.get("sandbox")
        given = {**given, "sandbox": {**(said if isinstance(said, dict) else {}), "enabled": True}}
    if flags.child_permission is not None:
        given = {**given, "child_permission": flags.child_permission}
    return given, hosted


@contextmanager
def _runs_of(flags: RunFlags) -> Iterator[Path]:
    """Give the folder for the run; one that is not to be kept is removed when it has ended."""
    if not flags.no_session_persistence:
        yield prepared_runs(flags.runs)
        return
    with tempfile.TemporaryDirectory(prefix="greenroom-") as folder:
        yield Path(folder)


def with_last(flags: RunFlags) -> RunFlags:
    """Return the flags with the run named that `--continue` means.

    Raises:
        UsageError: Another one is named too.
    """
    if not flags.continue_:
        return flags
    if flags.resume is not None:
        raise UsageError(
            "--continue goes on with the last run, --resume with the one that it names: leave out one of them"
        )
    return attrs.evolve(flags, resume="last")


def as_before(flags: RunFlags) -> tuple[RunFlags, str]:
    """Return the flags of a run that goes on with another one, and the agent that this one had.

    Model and mode are as before unless they are said; the modes that let everything run, or nothing be changed, are never taken
    over (agents 10.21). A model that the agent's definition names is that of the definition, as it is now.

    Raises:
        UsageError: There is no such run.
    """
    if flags.resume is None:
        return flags, ""
    before = read_beginning(find_session(flags.resume, prepared_runs(flags.runs)))
    mode = before.permission_mode if before.permission_mode not in _NOT_KEPT else ""
    model = flags.model or (before.model if flags.recorded is None else "")
    kept = attrs.evolve(flags, model=model or None, permission_mode=flags.permission_mode or mode or None)
    return kept, before.agent


def read_recorded(flags: RunFlags) -> RecordedModel:
    """Return a model that answers as in an earlier run.

    Raises:
        UsageError: There is no such run, or it was not recorded.
    """
    assert flags.recorded is not None
    if flags.model is not None:
        raise UsageError("--recorded takes the place of a model; leave out --model")
    place = find_run(flags.recorded, prepared_runs(flags.runs))
    folder = place if place.is_dir() else place.parent
    if not (folder / MODEL_FILE).is_file():
        raise UsageError(f"the run {folder.name} was not recorded; record one with --record")
    return RecordedModel(read_recording(folder), normalize=_without_day)


def _without_day(request: ModelRequest) -> ModelRequest:
    """A recorded run may be run again on another day, and with other changes in the repository."""
    return attrs.evolve(request, system=_CHANGES.sub("", request.system))


def main_for(flags: RunFlags, *, earlier: str = "") -> MainFor:
    """Return what picks the agent of a run: the one that is named, or the one that there is without any definition.

    Args:
        flags: What it is told and how many requests it may make; before what its definition says.
        earlier: Where none is named, the name of the agent that the resumed run had; it is kept while it is there. Empty in a
            new run, whose settings may name one.
    """
    schema = read_schema(flags.json_schema)

    def choose(found: Definitions, settings: SessionSettings) -> AgentDefinition:
        if flags.agent is not None:
            main = found.find(flags.agent)
        else:
            main = _kept(earlier, found) if earlier else main_of_settings(found, settings)
        own, more = flags.system_prompt or main.system_prompt, flags.append_system_prompt or ""
        prompt = "\n\n".join(part for part in (own, more.strip()) if part)
        max_turns = flags.max_turns or main.max_turns
        return attrs.evolve(main, system_prompt=prompt, max_turns=max_turns, answer_schema=schema)

    return choose


def _kept(earlier: str, found: Definitions) -> AgentDefinition:
    """Return the agent that a resumed run had, or the one that there is without any definition, and say so."""
    if earlier == MAIN.name:
        return MAIN
    try:
        return found.find(earlier)
    except UsageError as error:
        note(f"this run goes on with the default agent: {error}")
        return MAIN


async def _run(options: RunOptions, runs: Path, notes: LogNotes) -> int:
    ports = Ports()
    writer = Writer(ports)
    printer = make_printer(options.flags.output_format, writer, ports, with_text=options.with_text)
    run = Run(printer, trio.current_time(), wall=ports.clock.wall, ceiling_s=options.ceiling_s)
    notes.name_of = run.name_of
    run.repeats = options.flags.replay_user_messages
    run.goes_on = bool(read_switch(os.environ, GOES_ON_VARIABLE))
    host = _host_of(run, writer, ports, options)
    approver = _approver_of(host, options)
    watch = Watch(
        on_stream=_on_stream(run, options.flags),
        on_hook=run.hooked if options.flags.include_hook_events else None,
        on_taken=host.taken if host is not None and run.repeats else None,
        on_elicited=run.elicited,
        on_shown=run.shown,
    )
    ladder = Ladder(_say)
    try:
        async with climbing(ladder), trio.open_nursery() as writers:
            writers.start_soon(writer.run, name="greenroom output")
            with ladder.stop_scope:
                async with open_session(
                    runs=runs,
                    ports=ports,
                    on_message=run.heard,
                    watch=watch,
                    can_use_tool=None if approver is None else approver.can_use_tool,
                    elicit=None if host is None else host.elicit,
                    **options.open_with,
                ) as session:
                    if isinstance(approver, ToolApprover):
                        approver.open(session.servers, session.permissions.approvals.deadline_s)
                    ladder.stop = lambda why: run.stop(session, why, ladder.exit_code)
                    ladder.kill = session.kill
                    told = _tell_of_problems(session, options)
                    try:
                        await _work(run, session, host, options, ladder)
                    finally:
                        for problem in session.problems:
                            if problem not in told and not problem.startswith(tuple(run.noticed)):
                                note(problem)  # of agents that were started since
            writer.close()
    except BaseExceptionGroup as group:
        error = _only(group)
        if isinstance(error, JournalError) and run.has_begun:  # nobody's mistake: what was done is not on record
            return complain(str(error), code=NOT_DONE)
        if isinstance(error, ReplayMismatch) and options.flags.output_format == "text" and run.was_said(str(error)):
            return MISUSE
        raise error from None
    if ladder.exit_code is not None:
        return ladder.exit_code
    if run.ending is None:  # a program that says nothing wants nothing
        return NOT_DONE if host is None and not options.flags.init_only else 0
    return NOT_DONE if run.abandoned else run.ending.exit_code


def _on_stream(run: Run, flags: RunFlags) -> Callable[[str, Mapping[str, Any]], object] | None:
    """Return what gets the pieces of answers: the stream that shows them, or the watch over silent requests."""
    if flags.include_partial_messages:
        return run.streamed
    return None if flags.output_format == "stream-json" else run.moved


def _host_of(run: Run, writer: Writer, ports: Ports, options: RunOptions) -> Host | None:
    """Return the program that talks to the run while it lasts, if one does."""
    if options.flags.input_format != "stream-json":
        return None
    host = Host(
        writer,
        ports,
        live=run.live_tasks,
        show_text=run.show_text,
        is_in_turn=lambda: run.is_in_turn,
        on_taken=run.repeat,
    )
    run.hang_up = host.close
    return host


def _approver_of(host: Host | None, options: RunOptions) -> Host | ToolApprover | None:
    """Return who decides about calls, if anybody does."""
    name = options.flags.permission_prompt_tool
    return host if name == STDIO else ToolApprover(name) if name is not None else None


async def _work(run: Run, session: Session, host: Host | None, options: RunOptions, ladder: Ladder) -> None:
    is_only_set_up = options.flags.init_only
    stop_counting = run.open(session, options.prompt, more_come=host is not None or is_only_set_up)
    if is_only_set_up:
        stop_counting()
        return
    try:
        async with trio.open_nursery() as listening:
            more, ready = None, trio.lowlevel.checkpoint
            if host is not None:
                await host.open_servers(options.hosted, session)
                listening.start_soon(host.listen, session, name="greenroom input")
                more, ready = host.prompts, host.wait_servers
            listening.start_soon(run.beat, name="greenroom signs of life")
            await run.work(session, options.prompt, lambda: ladder.exit_code, more, ready)
            listening.cancel_scope.cancel("the work is done")
    finally:
        stop_counting()
    if ladder.exit_code is not None:
        _say(f"go on with: {program()} run --resume {_run_name(session.run_folder, options)}")


def _tell_of_problems(session: Session, options: RunOptions) -> frozenset[str]:
    """Say what was passed over so far, and return it."""
    problems = frozenset(session.problems)
    for problem in session.problems:
        note(problem)
    if session.files.worktree is not None:
        note(f"the agent works in the worktree {typed(session.files.worktree)}; it stays there when the run has ended")
    every = [one.name for one in (*STANDARD_TOOLS, *AGENT_TOOLS, *WORKTREE_TOOLS)]
    for name in unknown_tools(options.named, [*every, *session.tools]):
        note(f"there is no tool {name!r} here; the rule about it has no effect")
    return problems


def _say(text: str) -> None:
    complain(text, code=0)


def _run_name(folder: Path, options: RunOptions) -> str:
    """Return how `--resume` is told which run: by its id where it would look for it anyway, else by its folder."""
    return folder.name if options.flags.runs is None else shlex.quote(typed(folder))


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended the run: the groups are those of the nurseries around the session."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
