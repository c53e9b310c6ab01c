"""A headless run from its options to its exit code: one session, whose answer and events are printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from greenroom.agents.crew import AGENT_TOOLS, WORKTREE_TOOLS
from greenroom.core import JournalError, Ports
from greenroom.headless._background_wait import CEILING_S
from greenroom.headless._control import Host
from greenroom.headless._printers import OutputFormat, Writer, make_printer
from greenroom.headless._run import Run, unknown_tools
from greenroom.headless._tool_approver import STDIO, ToolApprover
from greenroom.models.recordings import ReplayMismatch
from greenroom.session import Session, Watch, open_session
from greenroom.terminal import Ladder, LogNotes, climbing, complain, note, program, typed
from greenroom.tools.builtin import STANDARD_TOOLS

NOT_DONE: Final = 1
MISUSE: Final = 2


@attrs.frozen(kw_only=True)
class HeadlessOptions:
    """The options of a headless run, read and checked."""

    prompt: str
    open_with: dict[str, Any]
    """Arguments of `open_session`."""
    output_format: OutputFormat = "text"
    talks: bool = False
    """True if a program sends prompts, requests and answers on standard input while the run lasts."""
    approver: str | None = None
    """The MCP tool that decides about calls, or `stdio` for the program; None if nobody does."""
    named_rules: tuple[str, ...] = ()
    """Permission rules of the command line; a note names those of unknown tools."""
    hosted: tuple[str, ...] = ()
    """MCP servers that live in the program."""
    repeats_messages: bool = False
    """True if a stream repeats messages of the user when they are taken up."""
    with_pieces: bool = False
    """True if a stream shows each piece of an answer."""
    with_hooks: bool = False
    """True if a stream shows each run of a hook."""
    with_text: bool = False
    """True if a stream shows what sub-agents say and think."""
    resumes_cut_turn: bool = False
    """True if a turn that an earlier process left unfinished is resumed also where prompts may come."""
    is_only_set_up: bool = False
    """True if the run ends once the session is set up."""
    is_elsewhere: bool = False
    """True if run folders lie in a place that had to be named, so that resuming needs the folder in place of the id."""
    ceiling_s: float = CEILING_S
    """Seconds for which agents in the background are awaited after the answer."""


async def run_headless(options: HeadlessOptions, runs: Path, notes: LogNotes) -> int:
    """Take the turns of a headless run, print what happens in the format asked for, and return the exit code.

    Args:
        options: What the run is to do.
        runs: The folder that its run folder goes into.
        notes: Printer of what the runtime logs.
    """
    ports = Ports()
    writer = Writer(ports)
    printer = make_printer(options.output_format, writer, ports, with_text=options.with_text)
    run = Run(printer, trio.current_time(), wall=ports.clock.wall, ceiling_s=options.ceiling_s)
    notes.name_of = run.name_of
    run.repeats = options.repeats_messages
    run.goes_on = options.resumes_cut_turn
    host = _host_of(run, writer, ports, options)
    approver = _approver_of(host, options)
    watch = Watch(
        on_stream=_on_stream(run, options),
        on_hook=run.hooked if options.with_hooks else None,
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
                        approver.open(session.servers, session.approvals.deadline_s)
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
        if isinstance(error, ReplayMismatch) and options.output_format == "text" and run.was_said(str(error)):
            return MISUSE
        raise error from None
    return _exit_code(run, options) if ladder.exit_code is None else ladder.exit_code


def _exit_code(run: Run, options: HeadlessOptions) -> int:
    """Return the exit code of a run that no signal ended."""
    if run.ending is None:  # a program that sends no prompt wants nothing
        return 0 if options.talks or options.is_only_set_up else NOT_DONE
    return NOT_DONE if run.abandoned else run.ending.exit_code


def _on_stream(run: Run, options: HeadlessOptions) -> Callable[[str, Mapping[str, Any]], object] | None:
    """Return what gets the pieces of answers: the stream that shows them, or the watch over silent requests."""
    if options.with_pieces:
        return run.streamed
    return None if options.output_format == "stream-json" else run.moved


def _host_of(run: Run, writer: Writer, ports: Ports, options: HeadlessOptions) -> Host | None:
    """Return the program that talks to the run while it lasts, if one does."""
    if not options.talks:
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


def _approver_of(host: Host | None, options: HeadlessOptions) -> Host | ToolApprover | None:
    """Return who decides about calls, if anybody does."""
    name = options.approver
    return host if name == STDIO else ToolApprover(name) if name is not None else None


async def _work(run: Run, session: Session, host: Host | None, options: HeadlessOptions, ladder: Ladder) -> None:
    is_only_set_up = options.is_only_set_up
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


def _tell_of_problems(session: Session, options: HeadlessOptions) -> frozenset[str]:
    """Say what was passed over so far, and return it."""
    problems = frozenset(session.problems)
    for problem in session.problems:
        note(problem)
    if session.worktree is not None:
        note(f"the agent works in the worktree {typed(session.worktree)}; it stays there when the run has ended")
    every = [one.name for one in (*STANDARD_TOOLS, *AGENT_TOOLS, *WORKTREE_TOOLS)]
    for name in unknown_tools(options.named_rules, [*every, *session.tools]):
        note(f"there is no tool {name!r} here; the rule about it has no effect")
    return problems


def _say(text: str) -> None:
    complain(text, code=0)


def _run_name(folder: Path, options: HeadlessOptions) -> str:
    """Return how `--resume` is told which run: by its id where it would look for it anyway, else by its folder."""
    return folder.name if not options.is_elsewhere else shlex.quote(typed(folder))


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended the run: the groups are those of the nurseries around the session."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
