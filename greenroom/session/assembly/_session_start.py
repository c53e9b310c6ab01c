"""The start of a session: its main agent, and the watches that run beside it until it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial
from typing import Any, Final

import attrs

from greenroom.actors import Down, Ref
from greenroom.agents import Agent, AgentState, Loaded, Resumption, agent_spec
from greenroom.core import ActorEnded, Cause
from greenroom.hooks import HookEvent
from greenroom.models.budgets import Limits
from greenroom.patterns import watch_steps
from greenroom.session._session import Session
from greenroom.session.assembly._session_services import Services
from greenroom.session.equipment._agent_ports import SessionAgentPorts
from greenroom.session.equipment._composition import Composition
from greenroom.session.equipment._session_hooks import tell_of_end, tell_of_start
from greenroom.session.peers._peer_sessions import open_door
from greenroom.session.record._main_start import MainStart, find_start
from greenroom.session.record._recovered_tasks import RecoveredTasks
from greenroom.session.record._recovery import Left
from greenroom.session.record._recovery_plan import TurnPlan
from greenroom.session.record._worktree_record import settle
from greenroom.session.settings._settings_watch import SettingsWatch
from greenroom.supervisor import Restart

BLOCKED_S: Final = 1.0
"""Seconds after which a step of the event loop is recorded as blocking."""


@asynccontextmanager
async def started(session: Session, services: Services, loaded: Loaded | None, left: Left) -> AsyncIterator[None]:
    """Start the main agent, and what the session does by itself as long as it runs."""
    plan, ports, nursery, agents = services.plan, services.ports, services.nursery, session.agents
    if services.budget.limits != Limits():
        nursery.start_soon(session.tasks.end_at_budget, services.budget)
    recovery = plan.recovery
    is_fork = not plan.run.is_resumed
    start = await find_start(services.run_folder, loaded, recovery, ports.blocking, is_fork=is_fork)
    home = await _start_main(session, services, start)
    nursery.start_soon(services.inbox.run)
    peers = plan.settings.scalars.peers
    if services.effects.is_rerun:  # the socket may be that of a session that runs
        peers = attrs.evolve(peers, socket="")
    if plan.spec.host.store is not None or peers.inbound != "refuse":
        nursery.start_soon(session.inbox.follow_news)
    await _recover_tasks(session, services, home, left)
    nursery.start_soon(services.channels.run, session.inbox.accept, session.inbox.queued)
    await session.schedules.restore()
    nursery.start_soon(session.schedules.run)
    nursery.start_soon(_watch_settings, services, agents.composition, home)
    await _watch_files(services, agents.composition, home)
    if plan.settings.scalars.extract_memory:
        session.asides.extract_after_turns(nursery.start_soon)
    with _watched_steps(services):
        async with open_door(session.inbox, peers, ports, own=session.id):
            services.streams.note_open()
            if start.turn is not TurnPlan.HOLD:
                home.release()
            try:
                try:
                    yield
                finally:
                    agents.close()
                await session.asides.finish()
            finally:
                await agents.close_remotes()  # noqa: ASYNC102 - shielded and bounded inside
                agents.pool.close()
                await tell_of_end(home, services.recorder)  # noqa: ASYNC102 - shielded and bounded inside
                session.tasks.end_calls(Cause("session", "the session ends"))


async def _recover_tasks(session: Session, services: Services, home: AgentState, left: Left) -> None:
    """Resume agents that an earlier process lost, or tell of them, and of the ends that nobody was told of."""
    agents, plan = session.agents, services.plan
    recovered = RecoveredTasks(
        left=left,
        post=agents.post,
        definitions=agents.definitions,
        run_folder=services.run_folder,
        settings=plan.recovery,
        prompt=plan.resume_prompt,
    )
    is_any, waiting = await recovered.carry_out(away=agents.teams.away, wakes=not home.start.keeps_open)
    agents.teams.tell_later(waiting)
    is_any = is_any or any(not view.has_ended for view in left.remotes)
    if is_any and not home.start.keeps_open:
        agents.inbox.note_waiting()
    await agents.restore_remotes(left.remotes)


def _end_resumption(resumption: Resumption, down: Down) -> None:
    """Release those who wait for a turn whose agent has ended."""
    resumption.fail(ActorEnded(down.actor, down.state.value, path=down.path))


async def _start_main(session: Session, services: Services, start: MainStart) -> AgentState:
    """Start the main agent with the conversation of the run that is continued, in the session's worktree if it has one."""
    plan, blocking, agents, folder = services.plan, services.ports.blocking, session.agents, services.run_folder
    composition = agents.composition
    ports = SessionAgentPorts(
        read_prompt=session.commands.read,
        run_skill=agents.forks.run_command,
        survivors=agents.teams.survivors,
        scheduled=agents.schedules.for_hooks,
        place=plan.spec.host.turn_place or nullcontext,
        items=agents.inbox,
        on_said=None if services.checkpoints is None else services.checkpoints.begin,
    )
    home = composition.make_home(plan.main, is_child=False, ports=ports)
    start.give_to(home, plan.resume_prompt)
    loaded = start.loaded
    auto = composition.services.auto
    if loaded is not None and auto is not None:
        auto.recall(loaded.said)
    await settle(
        home,
        entered_worktrees=agents.pool.entered_worktrees,
        plan=plan,
        problems=composition.problems,
        blocking=blocking,
    )
    spec = agent_spec(Restart.TRANSIENT, (loaded.agent_id or None) if loaded is not None else None)
    ref: Ref[Any] = await services.branch.spawn(Agent, home, name="main", spec=spec)
    agents.known.adopt(ref, home)
    agents.main.begin(ref, home)
    if home.start.resumption is not None:
        ref.watch(partial(_end_resumption, home.start.resumption))
    await agents.teams.start(session.id, is_resumed=loaded is not None)
    await agents.inbox.open(services.branch, start.unanswered)
    for item in await services.inbox.read_earlier(folder):
        agents.inbox.hand_in(item)
        agents.inbox.note_waiting()
    source = "resume" if plan.run.is_resumed else "fork"
    agents.inbox.begin(
        await tell_of_start(
            home,
            services.recorder,
            source="startup" if loaded is None else source,
            title=session.title,
            setup=plan.spec.setup or "",
        )
    )
    return home


def _watched_steps(services: Services) -> AbstractContextManager[object]:
    """Return what records steps that block the event loop; under a virtual clock nothing blocks."""
    if not services.effects.has_system_clock:
        return nullcontext()
    return watch_steps(services.runtime, limit_s=BLOCKED_S, has_thread=False, is_logged=False)


async def _watch_settings(services: Services, composition: Composition, home: AgentState) -> None:
    """Apply edits of the settings files as long as the session runs; nothing if it reads none."""
    plan = services.plan
    if plan.places is not None:
        await SettingsWatch(plan, composition, home, ports=services.ports, recorder=services.recorder).run()


async def _watch_files(services: Services, composition: Composition, home: AgentState) -> None:
    """Notify hooks of changes of the files that they watch, if there are such hooks when the session begins."""
    if home.profile.hooks is not None and home.profile.hooks.has(HookEvent.FILE_CHANGED):
        blocking = services.ports.blocking
        await composition.files.look(home, blocking)
        services.nursery.start_soon(partial(composition.files.run, home, blocking=blocking, recorder=services.recorder))
