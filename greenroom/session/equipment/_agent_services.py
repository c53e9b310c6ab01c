"""The ports that the agents and hooks of a session are given."""

from __future__ import annotations

from greenroom._version import __version__
from greenroom.agents import AgentServices, Listeners, TurnSettings
from greenroom.agents.review import AutoMode
from greenroom.containment import Sandbox
from greenroom.hooks import HookServices
from greenroom.models import ModelSettings
from greenroom.permissions import DEADLINE_S, ApprovalQueue
from greenroom.session.assembly._session_plan import Plan
from greenroom.session.assembly._session_services import Services
from greenroom.session.equipment._agent_models import Judge, reviewing_model
from greenroom.session.equipment._environment_text import branch_in
from greenroom.session.equipment._file_watch import FileWatch
from greenroom.session.equipment._hook_rules import HookRules
from greenroom.session.record._file_rewind import looking_first
from greenroom.session.record._resume import transcript_opener
from greenroom.session.record._transcript_names import TRANSCRIPTS, transcript_name
from greenroom.tools import Background


def hook_services(services: Services) -> HookServices:
    """Return the ports of hooks."""
    plan, journal = services.plan, services.journal
    return HookServices(
        project=plan.project,
        environment=plan.environ,
        named=plan.variables,
        pass_env=plan.settings.scalars.pass_env,
        secrets=plan.secrets,
        ports=services.ports,
        emit=journal.recorder.emit_fields,
        rules=HookRules(cwd=str(plan.cwd), home=plan.policy.home),
        mcp=services.servers,
        model=Judge(services.model, plan.names, journal.commit),
        overflow_folder=journal.folder / "hooks",
        start_soon=services.nursery.start_soon,
        on_hook=services.host.watch.on_hook,
        session_end_limit_s=plan.limits.session_end_s,
    )


def _background(services: Services) -> Background:
    """Return the table of background tasks, which records them or serves them if the run does so."""
    effects = services.effects.port
    if effects is None:
        return services.tasks
    from greenroom.agents import TaskEffects  # only runs on record need it

    return TaskEffects(services.tasks, effects, services.plan.secrets.mask)


def _turn_settings(plan: Plan) -> TurnSettings:
    scalars = plan.settings.scalars
    models = scalars.models or ModelSettings()
    return TurnSettings(
        thinking=models.thinking,
        continuation=models.continuation,
        compaction=plan.compaction,
        side_by_side=plan.limits.side_by_side,
        repetition=scalars.limits.repetition,
        stop_blocks=plan.limits.stop_blocks,
        progress_summaries=scalars.agent_progress_summaries,
    )


def agent_services(services: Services, files: FileWatch, problems: list[str]) -> AgentServices:
    """Return the ports that all agents of a session share.

    Args:
        services: The session's.
        files: Takes the files that hooks watch.
        problems: Takes a line about a reviewer's model that may not be used.
    """
    plan, host, ports, journal = services.plan, services.host, services.ports, services.journal
    run_folder, model = services.run_folder, services.model
    deadline_s = plan.settings.scalars.approval_deadline_s
    reviewing = plan.settings.scalars.autoMode
    reviewer, note = reviewing_model(model, plan.names, reviewing.model)
    problems += [note] if note else []
    approvals = ApprovalQueue(ports.ids, has_approver=host.has_approver, deadline_s=deadline_s or DEADLINE_S)

    return AgentServices(
        model=model,
        cwd=plan.cwd,
        roots=(plan.cwd,),
        blocking=ports.blocking,
        open_transcript=transcript_opener(
            run_folder,
            run_folder.name,
            plan.cwd,
            ports=ports,
            version=__version__,
            write=journal.write_before,
            branch=branch_in(plan.git),
        ),
        wait_durable=looking_first(services.checkpoints, journal.commit, ports),
        wait_recorded=journal.commit,
        changes=services.checkpoints,
        effects=services.effects.port,
        sandbox=Sandbox(plan.settings.scalars.sandbox) if plan.settings.scalars.sandbox.enabled else None,
        secrets=plan.secrets,
        session_id=run_folder.name,
        main_transcript=run_folder / TRANSCRIPTS / transcript_name("", is_main=True),
        can_use_tool=host.can_use_tool,
        approvals=approvals,
        auto=AutoMode(reviewing, model=reviewer),
        settings=_turn_settings(plan),
        processes=None if services.effects.is_rerun else services.processes,
        background=_background(services),
        ask_user=host.ask_user,
        listeners=Listeners(
            on_message=host.on_message,
            on_shown=host.watch.on_shown,
            on_stream=host.watch.on_stream,
            on_taken=host.watch.on_taken,
        ),
        watch_files=files.ask_for,
        set_title=services.title.change,
    )
