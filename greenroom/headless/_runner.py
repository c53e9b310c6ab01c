"""A headless run from its options to its exit code: one session, whose answer and events are printed."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from greenroom.agents import PermissionQuestion
from greenroom.agents.subagents import AGENT_TOOLS, PEER_TOOLS, WORKTREE_TOOLS
from greenroom.core import Event, InternalError, JournalError, UsageError
from greenroom.core.ports import Ports
from greenroom.core.texts import single_error
from greenroom.headless._background_wait import CEILING_S
from greenroom.headless._control import Host
from greenroom.headless._event_printer import EventPrinter
from greenroom.headless._printers import OutputFormat, Writer, make_printer
from greenroom.headless._run import HeadlessRun
from greenroom.headless._tool_approver import STDIO, ToolApprover
from greenroom.models.recordings import ReplayMismatch
from greenroom.permissions import Allow, Deny
from greenroom.session import (
    SCHEDULE_TOOLS,
    AnswerPiece,
    ElicitationCompleted,
    HookReported,
    MessageAppended,
    MessageShown,
    PromptTaken,
    Session,
    find_unfinished,
    open_session,
)
from greenroom.terminal import Ladder, LogNotes, OpenRunPage, climbing, complain, note, program, typed, without_page
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
    open_page: OpenRunPage = without_page
    """Serves the page of the run, if there is to be one."""


async def run_headless(options: HeadlessOptions, runs: Path, notes: LogNotes) -> int:
    """Take the turns of a headless run, print what happens in the format asked for, and return the exit code.

    Args:
        options: What the run is to do.
        runs: The folder that its run folder goes into.
        notes: Printer of what the runtime logs.
    """
    ports = Ports()
    await _check_work(options, runs, ports)
    writer = Writer(ports)
    began_s = trio.current_time()
    host = Host(writer, ports) if options.talks else None
    approver = _approver_of(host, options)
    ladder = Ladder(_say)
    run: _BegunRun | None = None
    try:
        async with climbing(ladder), trio.open_nursery() as writers, options.open_page(runs) as show_run:
            writers.start_soon(writer.run, name="greenroom output")
            with ladder.stop_scope:
                async with open_session(
                    runs=runs,
                    ports=ports,
                    live=_live_events(options),
                    can_use_tool=None if approver is None else approver.can_use_tool,
                    elicit=None if host is None else host.elicit,
                    **_leaving_cut_turns(options.open_with),
                ) as session:
                    if isinstance(approver, ToolApprover):
                        approver.open(session.servers, session.permissions.approvals.deadline_s)
                    run = _make_work(session, options, host, lambda: ladder.exit_code, writer, ports, began_s)
                    notes.name_of = run.events.name_of
                    ladder.stop, ladder.kill = run.work.stop, session.kill
                    if show_run is not None:
                        note(f"page: {show_run(session.run_folder)}")
                    told = _tell_of_problems(session, options)
                    try:
                        if _has_work(run, session, options):
                            await run.work.work(options.prompt, options.hosted)
                        if ladder.exit_code is not None:
                            _say(f"resume with: {program()} run --resume {_run_name(session.run_folder, options)}")
                    finally:
                        for problem in session.problems:
                            if problem not in told and not problem.startswith(tuple(run.events.noticed)):
                                note(problem)  # of agents that were started since
            writer.close()
    except BaseExceptionGroup as group:
        error = single_error(group, or_first=True)  # the groups are those of the nurseries around the session
        if isinstance(error, JournalError) and run is not None:  # nobody's mistake: what was done is not recorded
            return complain(str(error), code=NOT_DONE)
        if isinstance(error, ReplayMismatch) and options.output_format == "text" and _was_printed(error, run):
            return MISUSE
        raise error from None
    return _exit_code(run, options) if ladder.exit_code is None else ladder.exit_code


@attrs.frozen
class _BegunRun:
    """A run whose session is open."""

    events: EventPrinter
    work: HeadlessRun


def _make_work(
    session: Session,
    options: HeadlessOptions,
    host: Host | None,
    exit_code: Callable[[], int | None],
    writer: Writer,
    ports: Ports,
    began_s: float,
) -> _BegunRun:
    """Return the work on an open session, and the printer of its events."""
    has_prompt = bool(options.prompt) or host is not None
    events = EventPrinter(
        session,
        make_printer(options.output_format, writer, ports, with_text=options.with_text, has_prompt=has_prompt),
        began_s=began_s,
        wall=ports.clock.wall,
        has_more=host is not None,
        has_prompt=has_prompt,
        said_of=host.said_of if host is not None and options.repeats_messages else None,
    )
    work = HeadlessRun(
        session,
        events,
        host=host,
        exit_code=exit_code,
        ceiling_s=options.ceiling_s,
        resumes_cut_turn=options.resumes_cut_turn,
    )
    return _BegunRun(events, work)


def _exit_code(run: _BegunRun | None, options: HeadlessOptions) -> int:
    """Return the exit code of a run that no signal ended."""
    ending = None if run is None else run.events.ending
    if run is None or ending is None:  # a program that sends no prompt wants nothing
        return 0 if options.talks or options.is_only_set_up else NOT_DONE
    return NOT_DONE if run.work.abandoned else ending.exit_code


def _was_printed(error: BaseException, run: _BegunRun | None) -> bool:
    """Return True if the result of a turn has told of an error."""
    return run is not None and run.events.ending is not None and run.events.ending.error == str(error)


def _live_events(options: HeadlessOptions) -> list[type[Event]]:
    """Return the events to read besides those of the journal."""
    wanted: list[type[Event]] = [MessageAppended, MessageShown, ElicitationCompleted]
    if options.with_pieces or options.output_format != "stream-json":  # where people would wonder about silence
        wanted.append(AnswerPiece)
    if options.with_hooks:
        wanted.append(HookReported)
    if options.repeats_messages:
        wanted.append(PromptTaken)
    return wanted


def _approver_of(host: Host | None, options: HeadlessOptions) -> Host | ToolApprover | None:
    """Return who decides about calls, if anybody does."""
    name = options.approver
    return host if name == STDIO else ToolApprover(name) if name is not None else None


def _leaving_cut_turns(open_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a session whose cut turn the run resumes itself, once it prints; or not, if a prompt takes its place."""
    settings = open_with.get("settings") or {}
    said = settings.get("recovery")
    recovery = {**(said if isinstance(said, Mapping) else {}), "cut_turns": "leave"}
    return {**open_with, "settings": {**settings, "recovery": recovery}}


async def _check_work(options: HeadlessOptions, runs: Path, ports: Ports) -> None:
    """Check that a run that is resumed without a prompt has something to do, before anything of it is touched.

    Raises:
        UsageError: There is no prompt, no turn that was cut, and nothing that waits to be read.
    """
    run = options.open_with.get("resume")
    if run is None or options.prompt or options.talks or options.is_only_set_up:
        return
    unfinished = await find_unfinished(run, runs, ports)
    if not unfinished.is_any:
        raise UsageError(f"the last turn of {unfinished.run} was completed; give a prompt to continue with")


def _has_work(run: _BegunRun, session: Session, options: HeadlessOptions) -> bool:
    """Print the opening of a run; False if the run ends with it.

    Raises:
        UsageError: There is no prompt, no turn that was cut, and nothing that waits to be read.
    """
    waits = session.was_cut or session.inbox.had_waiting
    if not (options.prompt or options.talks or options.is_only_set_up or waits):
        raise UsageError(f"the last turn of {session.id} was completed; give a prompt to continue with")
    session.permissions.allow_deferral()
    run.events.open()
    if options.is_only_set_up:
        run.events.close()
    return not options.is_only_set_up


def _tell_of_problems(session: Session, options: HeadlessOptions) -> frozenset[str]:
    """Say what was passed over so far, and return it."""
    problems = frozenset(session.problems)
    for problem in session.problems:
        note(problem)
    if session.files.worktree is not None:
        note(f"the agent works in the worktree {typed(session.files.worktree)}; it stays there when the run has ended")
    every = [tool.name for tool in (*STANDARD_TOOLS, *AGENT_TOOLS, *PEER_TOOLS, *WORKTREE_TOOLS, *SCHEDULE_TOOLS)]
    for name in unknown_tools(options.named_rules, [*every, *session.tools]):
        note(f"unknown tool {name!r}; the rule about it has no effect")
    return problems


def _say(text: str) -> None:
    complain(text, code=0)


def _run_name(folder: Path, options: HeadlessOptions) -> str:
    """Return how `--resume` is told which run: by its id where it would look for it anyway, else by its folder."""
    return folder.name if not options.is_elsewhere else shlex.quote(typed(folder))


def unknown_tools(rules: Sequence[str], tools: Sequence[str]) -> list[str]:
    """Return the tools that rules name and that do not exist; tools of MCP servers may come later."""
    names = [rule.partition("(")[0].strip() for rule in rules]
    known = {name.lower() for name in tools}
    return [name for name in names if name.lower() not in known and "*" not in name and not name.startswith("mcp__")]


# --- doing a run again -------------------------------------------------------------------------------------------------


def repeated_run(options: HeadlessOptions) -> tuple[Any, dict[str, Any]]:
    """Return the program of a headless run and the arguments of its session.

    Raises:
        UsageError: The prompts of the run came from a program, or it worked in a worktree of its own.
    """
    if options.talks:
        raise UsageError(
            "the prompts of this run came on standard input (--input-format stream-json), and they are not on record: "
            "call greenroom.rerun with a program that sends them"
        )
    if options.open_with.get("worktree") is not None:
        raise UsageError("this run worked in a git worktree of its own (--worktree), and a re-run makes none")

    async def program(session: Session) -> None:
        ports = Ports()
        run = _make_work(session, options, None, lambda: None, Writer(ports), ports, trio.current_time())
        with redirect_stderr(io.StringIO()):  # the recorded run has said it already
            if _has_work(run, session, options):
                await run.work.work(options.prompt)

    asks = {} if options.approver is None else {"can_use_tool": _ask}
    return program, {**_leaving_cut_turns(options.open_with), "live": _live_events(options), **asks}


async def _ask(question: PermissionQuestion) -> Allow | Deny:
    """Fail: the answers of a re-run come from its record."""
    raise InternalError(f"a re-run asks nobody, but {question.tool} was asked about")
