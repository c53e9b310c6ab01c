"""The command `greenroom swarm`: a lead and its teammates work on a folder and leave a report.

What the user got wrong is said before anything starts or is written. Nothing is written into the folder that is surveyed.
Whatever ends it, the run folder can be replayed.
"""

from __future__ import annotations

import logging
import os
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from greenroom.core import (
    ActorEnded,
    GreenroomError,
    ProviderError,
    StartFailed,
    Stopping,
    TurnFailed,
    TurnKilled,
    Undelivered,
    calm_collector,
)
from greenroom.core.sources import find_places
from greenroom.core.texts import single_error
from greenroom.models import Model, PlannedCrash
from greenroom.session import Session, open_session
from greenroom.swarm._consent import agree_to
from greenroom.swarm._cost import SwarmCost
from greenroom.swarm._estimate import Estimate, estimate_items, estimate_run
from greenroom.swarm._resumption import SwarmBeginning, hand_out_again, lead_on, read_beginning
from greenroom.swarm._swarm_budget import (
    PARTIAL_REPORT,
    model_settings,
    remove_partial_report,
    stopping_at_budget,
    write_partial_report,
)
from greenroom.swarm._swarm_hosts import on_hosts, plan_for, recipe_for, session_arguments
from greenroom.swarm._swarm_plan import (
    PLAYBOOK,
    SwarmOptions,
    SwarmPlan,
    checked_folder,
    chosen_model,
    is_playbook,
    make_swarm_plan,
    troubled,
)
from greenroom.swarm._swarm_summary import Summary, SwarmOpening, top_findings
from greenroom.swarm._view import JsonView, LinesView, View
from greenroom.swarm.recipes import BUILTINS, find_recipe
from greenroom.teams import Item, Team
from greenroom.terminal import Ladder, can_draw, climbing, explained, program, typed, without_class
from greenroom.trace import prepare_runs_folder, runs_folder

if TYPE_CHECKING:
    from greenroom.remote.ray import RayHosts

RUNS: Final = "GREENROOM_RUNS"
REPORT: Final = "report.md"
TEAM: Final = "swarm"

SCREEN_LATENCY_S: Final = 0.3
"""Seconds that the rules wait before each answer where somebody watches."""
SMALL_LATENCY_S: Final = 0.8
"""The same in a folder of few files: it takes five seconds at least, so that there is something to see."""
FEW_FILES: Final = 100

# The playbook knows what its conversation shows and nothing else; it has no window that a conversation has to fit.
PLAYBOOK_SETTINGS: Final = {"compaction": {"auto": False}}


@attrs.define
class SwarmRun:
    """The facts about a run after its session has closed."""

    folder: Path | None = None
    """None: it never began."""
    board: tuple[Item, ...] = ()
    cost: SwarmCost = SwarmCost()  # noqa: RUF009  frozen
    is_over_budget: bool = False
    error: str = ""
    began_s: float = 0.0
    """When the session was open, on Trio's clock: loading modules and connecting is none of the swarm's work."""
    ended_s: float | None = None
    """When it had closed; a page that is open still shows its end then. None: an error ended it."""

    @property
    def duration_s(self) -> float:
        return (trio.current_time() if self.ended_s is None else self.ended_s) - self.began_s

    @property
    def has_report(self) -> bool:
        return self.folder is not None and (self.folder / REPORT).is_file()

    @property
    def completed(self) -> int:
        return sum(item.status == "completed" for item in self.board)

    @property
    def held_back(self) -> str:
        """Why an item was handed to nobody any more; empty where that is so of none."""
        held = (f"item #{item.id} ({item.subject}): {item.held_back}" for item in self.board if item.held_back)
        return next(held, "")


def run_swarm(options: SwarmOptions) -> int:
    """Run a swarm and return the exit code.

    Raises:
        UsageError: The recipe, the folder, the model or the place for runs cannot be used.
    """
    recipe = recipe_for(options, find_recipe(options.recipe))
    folder = checked_folder(options.path)
    if options.latency_s is None:
        options = attrs.evolve(options, latency_s=_latency_s(folder) if _is_watched(options) else 0.0)
    model = chosen_model(options, recipe)
    if options.seed is not None:
        model = troubled(model, options.seed, is_rule_based=is_playbook(options))
    plan = plan_for(options, make_swarm_plan(options, recipe, folder))
    places, is_rule_based = find_places(Path.cwd()), is_playbook(options)
    settings = model_settings(places, max_usd=options.max_usd, is_rule_based=is_rule_based)
    estimate = None if is_rule_based or options.resume else estimate_run(plan, model.name, settings)
    is_asked = False if options.is_json else None  # a question does not belong into what a program reads
    if not (estimate is None or options.is_agreed or agree_to(estimate, settings, places, is_asked=is_asked)):
        return 1
    runs = prepare_runs_folder(options.runs)
    opening = SwarmOpening(
        model=model.name,
        is_rule_based=is_rule_based,
        folder=str(folder),
        task=plan.task,
        mates=len(plan.mates),
        estimate="" if estimate is None else estimate.text,
        is_recorded=options.is_recorded,
    )
    settings["record"] = "effects" if opening.is_recorded else "off"
    settings["recovery"] = {"cut_turns": "leave"}  # the lead resumes its turn once its team is there
    if opening.is_rule_based:
        settings |= PLAYBOOK_SETTINGS
    with calm_collector(), _quiet_about_planned_crashes():
        work = partial(_swarm, options, opening, model, plan, runs, settings, estimate)
        return trio.run(on_hosts, options, plan, work)


@contextmanager
def _quiet_about_planned_crashes() -> Iterator[None]:
    """Keep the stacks of crashes that were asked for from the terminal; the run folder has them."""

    def is_news(record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], PlannedCrash))

    log = logging.getLogger("greenroom")
    log.addFilter(is_news)
    try:
        yield
    finally:
        log.removeFilter(is_news)


def resumed(options: SwarmOptions, run: str) -> SwarmOptions:
    """Return the options with which a run is resumed; on its own model unless another one is named.

    Raises:
        UsageError: The run does not exist, or is not a swarm's.
    """
    folder, began = read_beginning(run, runs_folder(options.runs))
    return attrs.evolve(
        options,
        path=Path(began.path),
        task=began.task,
        agents=began.agents,
        recipe=began.recipe,
        model=options.model or began.model,
        resume=folder,
    )


def list_recipes() -> None:
    """Print the recipes that come with greenroom, on lines of at most 80 columns."""
    for recipe in BUILTINS.values():
        key = "" if recipe.playbook else " Needs a model."
        text = f"{recipe.name:<10}{recipe.description}{key}"
        print(textwrap.fill(text, width=80, subsequent_indent=" " * 10, break_on_hyphens=False))


# --- what the user said -----------------------------------------------------------------------------------------------


def make_view(options: SwarmOptions) -> View:
    """Return the view that fits where the output goes."""
    if options.is_json:
        return JsonView()
    if has_screen(options):
        from greenroom.swarm._live_view import open_live_view

        view = open_live_view()
        if view is not None:
            return view
    return LinesView()


def _latency_s(folder: Path) -> float:
    """Return the seconds that the rules wait before each answer where somebody watches them in this folder."""
    is_large = next(islice(folder.rglob("*"), FEW_FILES, None), None) is not None
    return SCREEN_LATENCY_S if is_large else SMALL_LATENCY_S


def _is_watched(options: SwarmOptions) -> bool:
    return is_playbook(options) and has_screen(options)


def has_screen(options: SwarmOptions) -> bool:
    """Return True if the output goes to a terminal with a cursor that can be moved."""
    return not options.is_json and can_draw()


# --- the work ---------------------------------------------------------------------------------------------------------


async def _swarm(
    options: SwarmOptions,
    opening: SwarmOpening,
    model: Model,
    plan: SwarmPlan,
    runs: Path,
    settings: Mapping[str, Any],
    estimate: Estimate | None = None,
    hosts: RayHosts | None = None,
) -> int:
    view = make_view(options)
    if options.resume is None:
        view.begin(opening)
    run = SwarmRun()
    ladder = Ladder(view.say)
    ladder.leave = view.leave
    try:
        async with climbing(ladder), trio.open_nursery() as watchers, options.open_page(runs) as show_run:
            with ladder.stop_scope:
                async with open_session(
                    model=model,
                    cwd=plan.folder,
                    runs=runs,
                    main=plan.lead,
                    tools=plan.tools,
                    sources=("managed",),
                    settings=settings,
                    durability=options.durability,
                    permission_mode=plan.recipe.permission_mode,
                    has_approver=view.can_answer,
                    masks_forms=True,
                    resume=options.resume,
                    **session_arguments(hosts),
                    files=_beginning(options, plan).files if options.resume is None else {},
                ) as session:
                    if options.resume is not None:  # not before: the run may be held, damaged or a newer version's
                        view.begin(opening)
                    ladder.stop, ladder.kill = partial(_stop, session, watchers), session.kill
                    if show_run is not None:
                        view.show_page(show_run(session.run_folder))
                    _start_view(watchers, view, session)
                    run.folder, run.began_s = session.run_folder, trio.current_time()
                    at_budget = stopping_at_budget(watchers, session, ladder.stop)
                    with _noted(run, session, opening, estimate), _ended_by(ladder, session), at_budget:
                        await work_on(session, options, plan, view, run)
            run.ended_s = trio.current_time()
    except BaseExceptionGroup as group:
        run.error = _why(group, has_begun=run.folder is not None)
    if run.folder is None:
        return ladder.exit_code or 1
    unfinished = run.folder / PARTIAL_REPORT
    if run.is_over_budget and not run.has_report:
        write_partial_report(unfinished, Path(opening.folder).name, run.board, run.error)
    elif run.has_report:
        remove_partial_report(unfinished)
    state = _state_of(run, ladder.exit_code)
    if ladder.exit_code is not None:
        view.say(f"resume with: {program()} swarm --resume {_run_name(run.folder, options)}")
    view.end(_summary(state, run, opening, options))
    return ladder.exit_code if ladder.exit_code is not None else int(state != "done")


def _beginning(options: SwarmOptions, plan: SwarmPlan) -> SwarmBeginning:
    return SwarmBeginning(
        path=str(plan.folder),
        task=options.task,
        agents=options.agents,
        recipe=options.recipe,
        model=PLAYBOOK if is_playbook(options) else options.model,
    )


def _stop(session: Session, watchers: trio.Nursery, why: str) -> None:
    """Begin the ordered stop; no agent begins a turn for what still comes.

    A lead that is in a turn, such as the one that plans, ends it first, with its board and teammates there; an idle one ends side
    by side with them.
    """
    lead = session.main
    session.agents.close()
    lead.stop(why=why)

    async def stop_rest() -> None:
        await lead.wait_ended()
        session.stop(why)

    if lead.is_busy:
        watchers.start_soon(stop_rest, name="greenroom stop")
    else:
        session.stop(why)


def _start_view(watchers: trio.Nursery, view: View, session: Session) -> None:
    # In a nursery around the session, to show how it ends; the stream of events ends with the session.
    watchers.start_soon(view.watch, session, session.events(from_start=True), name="greenroom view")


async def work_on(session: Session, options: SwarmOptions, plan: SwarmPlan, view: View, run: SwarmRun) -> None:
    def is_done() -> bool:
        return run.has_report or session.was_stopped or session.was_killed

    async with session.open_team(TEAM, strategy=plan.recipe.strategy, conversations=plan.recipe.conversations) as team:
        view.show_team(team)
        with _counted(run, team):
            for mate in plan.mates:
                teammate = team.teammates.get(mate.name)
                if teammate is None:
                    teammate = await team.spawn(mate.name, definition=mate.definition, restart=mate.restart)
                if mate.prompt and teammate.is_new:
                    teammate.tell(mate.prompt)
            if options.resume is None:
                await session.run(plan.prompt)
            elif not run.has_report:
                await hand_out_again(team)
                await lead_on(session, plan.prompt, is_done=is_done)
            await session.wait_quiet()
            if not is_done():
                await session.run(plan.recipe.closing)
                await session.wait_quiet()


@contextmanager
def _ended_by(ladder: Ladder, session: Session) -> Iterator[None]:
    """Suppress the errors that an ordered stop causes: one that a signal or the budget has asked for."""
    try:
        yield
    except (ActorEnded, StartFailed, Stopping, TurnFailed, TurnKilled, Undelivered) as error:
        is_asked = ladder.exit_code is not None and not isinstance(error, TurnFailed)
        if not is_asked and session.budget.exceeded is None:
            raise


@contextmanager
def _counted(run: SwarmRun, team: Team) -> Iterator[None]:
    """Take note of the board however the work ends."""
    try:
        yield
    finally:
        run.board = team.board.items()


@contextmanager
def _noted(run: SwarmRun, session: Session, opening: SwarmOpening, estimate: Estimate | None) -> Iterator[None]:
    """Take note of the cost however the work ends."""
    try:
        yield
    finally:
        if session.budget.exceeded is not None:
            run.is_over_budget, run.error = True, str(session.budget.exceeded)
        if opening.is_rule_based:
            estimate = estimate_items([item.description for item in run.board], mates=opening.mates)
        run.cost = SwarmCost.of(session, is_rule_based=opening.is_rule_based, estimate=estimate)


def _why(group: BaseExceptionGroup[BaseException], *, has_begun: bool) -> str:
    """Return in words what ended the work, if that is an error that people can read; else raise it.

    The groups are those of the nurseries around the session; there is one error in them, as a rule.
    """
    error = single_error(group, or_first=True)
    if isinstance(error, TurnFailed | TurnKilled) and has_begun:  # the lead's: no other turn is waited for
        cause = error.__cause__
        why = explained(cause) if isinstance(cause, ProviderError) else without_class(error.why)
        return f"the lead's turn did not end well: {why}"
    if isinstance(error, GreenroomError) and has_begun:
        return str(error)
    raise error


def _state_of(run: SwarmRun, exit_code: int | None) -> str:
    if exit_code is not None:
        return "stopped"
    if run.error or not run.has_report:
        return "failed"
    return "done" if run.completed == len(run.board) else "incomplete"


def _without_report(folder: Path) -> str:
    """Return why a run has no report, as far as its folder tells."""
    if (folder / REPORT).exists():
        return f"the report could not be written: {REPORT} in the run folder is not a file"
    if not os.access(folder, os.W_OK):
        return "the report could not be written: no permission to write into the run folder"
    return "the lead wrote no report"


def _summary(state: str, run: SwarmRun, opening: SwarmOpening, options: SwarmOptions) -> Summary:
    folder, error = run.folder, run.error
    assert folder is not None
    if not error and state in {"failed", "incomplete"}:
        error = _without_report(folder) if state == "failed" else run.held_back
    report = next((folder / name for name in (REPORT, PARTIAL_REPORT) if (folder / name).is_file()), None)
    return Summary(
        state=state,
        report="" if report is None else typed(report),
        run_folder=typed(folder),
        replay=f"{program()} replay {_run_name(folder, options)}",
        items=len(run.board),
        completed=run.completed,
        mates=opening.mates,
        input_tokens=run.cost.input_tokens,
        cached_tokens=run.cost.cached_tokens,
        output_tokens=run.cost.output_tokens,
        requests=run.cost.requests,
        usd=None if run.cost.usd is None else float(run.cost.usd),
        cost=run.cost.text,
        duration_s=round(run.duration_s, 3),
        error=error,
        findings=top_findings(folder / REPORT) if run.has_report else (),
        # By its rules the lead puts an item on the board for whatever there is to read or to search.
        had_nothing=opening.is_rule_based and state == "done" and not run.board,
    )


def _run_name(folder: Path, options: SwarmOptions) -> str:
    """Return how `replay` is told which run: by its id where it would look for it anyway, else by its folder."""
    is_found = options.runs is None and not os.environ.get(RUNS)
    return folder.name if is_found else shlex.quote(typed(folder))
