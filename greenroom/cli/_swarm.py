"""The command `greenroom swarm`: a lead and its mates work on a folder and leave a report.

Rule 1: what the user got wrong is said before anything starts or is written. Rule 2: nothing is written into the folder
that is surveyed. Rule 3: whatever ends it, the run folder can be replayed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from greenroom.agents import AgentDefinition
from greenroom.cli._output import is_terminal, program, typed
from greenroom.cli._signals import Ladder, climbing
from greenroom.cli._view import JsonView, LinesView, Opening, Summary, View
from greenroom.cli.survey import CLOSING, LEAD_SYSTEM, MATE_SYSTEM, SURVEY_TASK, lead_prompt, play_lead, play_mate
from greenroom.core import (
    ActorEnded,
    GreenroomError,
    StartFailed,
    Stopping,
    SystemDisk,
    TurnFailed,
    TurnKilled,
    Undelivered,
    UsageError,
    calm_collector,
)
from greenroom.models import DEFAULT_CLAUDE_MODEL, AnthropicModel, Model, PlaybookModel, retrying
from greenroom.session import Session, open_session
from greenroom.teams import Team
from greenroom.trace import runs_folder

PLAYBOOK: Final = "playbook"
KEY: Final = "ANTHROPIC_API_KEY"
RUNS: Final = "GREENROOM_RUNS"
REPORT: Final = "report.md"
TEAM: Final = "swarm"

_LOOKING: Final = ("Read", "Glob", "Grep")
LEAD: Final = AgentDefinition(
    name="lead",
    system_prompt=LEAD_SYSTEM,
    tools=(*_LOOKING, "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "SendMessage", "WriteReport"),
    max_tokens=16_384,
)
MATE: Final = AgentDefinition(
    name="mate",
    system_prompt=MATE_SYSTEM,
    tools=(*_LOOKING, "TaskGet", "TaskList", "TaskUpdate", "SendMessage"),
)
# The playbook knows what its conversation shows and nothing else; it has no window that a conversation has to fit.
PLAYBOOK_SETTINGS: Final = {"compaction": {"auto": False}}


@attrs.frozen(kw_only=True)
class SwarmOptions:
    """What the command line said."""

    path: Path
    task: str = ""
    agents: int = 4
    model: str = ""
    runs: Path | None = None
    is_json: bool = False
    latency_s: float = 0.0


@attrs.define
class _Run:
    """What is known of a run once its session is closed."""

    folder: Path | None = None
    """None: it never began."""
    items: int = 0
    completed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""

    @property
    def has_report(self) -> bool:
        return self.folder is not None and (self.folder / REPORT).is_file()


def run_swarm(options: SwarmOptions) -> int:
    """Run a swarm and return the exit code.

    Raises:
        UsageError: The folder, the model or the place for runs cannot be used.
    """
    folder = checked_folder(options.path)
    model = chosen_model(options)
    runs = prepared_runs(options.runs)
    opening = Opening(
        model=model.name,
        is_rule_based=is_playbook(options),
        folder=str(folder),
        task=options.task or SURVEY_TASK,
        mates=options.agents,
    )
    with calm_collector():
        return trio.run(_swarm, options, opening, model, folder, runs)


# --- what the user said -----------------------------------------------------------------------------------------------


def checked_folder(path: Path) -> Path:
    """Return the absolute folder that a path means.

    Raises:
        UsageError: It is none, or cannot be read.
    """
    try:
        folder = Path(os.path.realpath(path))
        if not folder.exists():
            raise UsageError(f"{str(path)!r} does not exist; give a folder to survey")
        if not folder.is_dir():
            raise UsageError(f"{str(path)!r} is not a folder; give the folder that it is in")
        with os.scandir(folder):
            pass
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{str(path)!r} cannot be read: {why.lower()}") from error
    return folder


def is_playbook(options: SwarmOptions) -> bool:
    """Whether the rule-based model is meant: by name, or because there is no key."""
    return options.model == PLAYBOOK or (not options.model and not os.environ.get(KEY))


def chosen_model(options: SwarmOptions) -> Model:
    """Return the model that a swarm runs on.

    Raises:
        UsageError: There is no such model, or no key for it.
    """
    if is_playbook(options):
        return PlaybookModel({LEAD.name: play_lead, MATE.name: play_mate}, name=PLAYBOOK, wait_s=options.latency_s)
    name = options.model or DEFAULT_CLAUDE_MODEL
    if not name.startswith("claude-"):
        raise UsageError(
            f"there is no model {name!r}; there are {PLAYBOOK!r} and Claude's, such as {DEFAULT_CLAUDE_MODEL!r}"
        )
    if not os.environ.get(KEY) and not os.environ.get("ANTHROPIC_AUTH_TOKEN"):
        raise UsageError(f"the model {name!r} needs a key: set {KEY}, or use --model {PLAYBOOK}")
    if options.latency_s:
        raise UsageError(f"--latency is for the model {PLAYBOOK!r}")
    return retrying(AnthropicModel(name))


def prepared_runs(given: Path | None) -> Path:
    """Return the folder for runs; one that is new is made, and tells version control and searches to pass over it.

    Raises:
        UsageError: It cannot be made.
    """
    runs = runs_folder(given)
    disk = SystemDisk()
    try:
        if not runs.exists():
            disk.make_folder(runs)
            disk.append(runs / ".gitignore", b"*\n")
        elif not runs.is_dir():
            raise UsageError(f"{str(runs)!r} is not a folder; give another one with --runs")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UsageError(f"{str(runs)!r} cannot hold runs: {why}; give another folder with --runs") from error
    finally:
        disk.close()
    return runs


def make_view(options: SwarmOptions) -> View:
    """Return the view that fits where the output goes."""
    if options.is_json:
        return JsonView()
    if is_terminal() and os.environ.get("TERM", "") not in {"", "dumb"}:
        from greenroom.cli._live import LiveView

        return LiveView(has_keys=True)
    return LinesView()


# --- the work ---------------------------------------------------------------------------------------------------------


async def _swarm(options: SwarmOptions, opening: Opening, model: Model, folder: Path, runs: Path) -> int:
    view = make_view(options)
    began = trio.current_time()
    view.begin(opening)
    run = _Run()
    ladder = Ladder(view.say)
    ladder.leave = view.leave
    try:
        async with climbing(ladder), trio.open_nursery() as watchers:
            with ladder.stop_scope:
                settings = PLAYBOOK_SETTINGS if opening.is_rule_based else None
                async with open_session(
                    model=model, cwd=folder, runs=runs, main=LEAD, settings=settings, has_approver=view.can_answer
                ) as session:
                    ladder.stop, ladder.kill = partial(_stop, session), session.kill
                    _start_view(watchers, view, session)
                    run.folder = session.run_folder
                    with _noted(run, session), _ended_by(ladder):
                        await _work(session, options, opening, view, run)
    except BaseExceptionGroup as group:
        run.error = _why(group, has_begun=run.folder is not None)
    if run.folder is None:
        return ladder.exit_code or 1
    state = _state_of(run, ladder.exit_code)
    view.end(_summary(state, run, opening, options, duration_s=trio.current_time() - began))
    return ladder.exit_code if ladder.exit_code is not None else int(state != "done")


def _stop(session: Session, why: str) -> None:
    """Begin the ordered stop; the lead takes no new turn on what the mates still send, and ends side by side with them."""
    session.stop(why)
    session.main.stop(why=why)


def _start_view(watchers: trio.Nursery, view: View, session: Session) -> None:
    # In a nursery around the session, to show how it ends; the stream of events ends with the session.
    watchers.start_soon(view.watch, session, session.events(from_start=True), name="greenroom view")


async def _work(session: Session, options: SwarmOptions, opening: Opening, view: View, run: _Run) -> None:
    names = [f"mate-{number}" for number in range(1, options.agents + 1)]
    async with session.open_team(TEAM) as team:
        view.show_team(team)
        with _counted(run, team):
            for name in names:
                await team.spawn(name, definition=MATE)
            folder = Path(opening.folder)
            await session.run(lead_prompt(opening.task, folder.name or str(folder), names))
            await session.wait_quiet()
            if not (run.has_report or session.was_stopped or session.was_killed):
                await session.run(CLOSING)
                await session.wait_quiet()


@contextmanager
def _ended_by(ladder: Ladder) -> Iterator[None]:
    """After a signal, take the end of what was waited for as the end of the work: it is what was asked for."""
    try:
        yield
    except (ActorEnded, StartFailed, Stopping, TurnKilled, Undelivered):
        if ladder.exit_code is None:
            raise


@contextmanager
def _counted(run: _Run, team: Team) -> Iterator[None]:
    """Take note of the board however the work ends."""
    try:
        yield
    finally:
        items = team.board.items()
        run.items = len(items)
        run.completed = sum(item.status == "completed" for item in items)


@contextmanager
def _noted(run: _Run, session: Session) -> Iterator[None]:
    try:
        yield
    finally:
        usage = session.usage
        run.input_tokens = usage.total - usage.output_tokens
        run.output_tokens = usage.output_tokens


def _why(group: BaseExceptionGroup[BaseException], *, has_begun: bool) -> str:
    """Return in words what ended the work, if that is an error that people can read; else raise it.

    The groups are those of the nurseries around the session; there is one error in them, as a rule.
    """
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TurnFailed | TurnKilled) and has_begun:  # the lead's: no other turn is waited for
        return f"the lead's turn did not end well: {error.why}"
    if isinstance(error, GreenroomError) and has_begun:
        return str(error)
    raise error


def _state_of(run: _Run, exit_code: int | None) -> str:
    if exit_code is not None:
        return "stopped"
    if run.error or not run.has_report:
        return "failed"
    return "done" if run.completed == run.items else "incomplete"


def _summary(state: str, run: _Run, opening: Opening, options: SwarmOptions, *, duration_s: float) -> Summary:
    folder = run.folder
    assert folder is not None
    error = run.error
    if not error and state == "failed":
        error = "the lead wrote no report"
    return Summary(
        state=state,
        report=typed(folder / REPORT) if run.has_report else "",
        run_folder=typed(folder),
        replay=f"{program()} replay {_run_name(folder, options)}",
        items=run.items,
        completed=run.completed,
        mates=options.agents,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        is_estimate=opening.is_rule_based,
        duration_s=round(duration_s, 3),
        error=error,
        # By its rules the lead puts an item on the board for whatever there is to read or to search.
        had_nothing=opening.is_rule_based and state == "done" and not run.items,
    )


def _run_name(folder: Path, options: SwarmOptions) -> str:
    """Return how `replay` is told which run: by its id where it would look for it anyway, else by its folder."""
    is_found = options.runs is None and not os.environ.get(RUNS)
    return folder.name if is_found else shlex.quote(typed(folder))
