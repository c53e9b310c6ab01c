"""Reading the plan of a session: settings, definitions, plugins, servers, the run that it continues."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Sequence

import attrs

from greenroom.agents.compaction import compaction_from_environment
from greenroom.agents.definitions import DefinitionSource
from greenroom.agents.subagents import delegation_from_environment, moves_calls
from greenroom.core.ports import Ports
from greenroom.core.sources import Diagnostic, Kind
from greenroom.session.assembly._main_definition import chosen_main
from greenroom.session.assembly._run_place import find_place
from greenroom.session.assembly._session_plan import Plan
from greenroom.session.assembly._session_spec import SessionSpec
from greenroom.session.assembly._source_places import look_around, read_given_settings
from greenroom.session.equipment._coordinator_mode import in_mode, with_its_tools, with_worker
from greenroom.session.record._worktree_record import check_worktree
from greenroom.session.settings._session_environment import limits_from_environment
from greenroom.session.settings._session_plugins import take_in_plugins
from greenroom.session.settings._session_policy import make_policy
from greenroom.session.settings._settings_files import read_sources
from greenroom.teams import teams_from_environment


async def make_plan(spec: SessionSpec, ports: Ports) -> Plan:
    """Read and check what a session is to be.

    Raises:
        UsageError: Something in it cannot be used.
    """
    place = await find_place(spec, ports)
    spec = spec.with_settings({} if place.branch is None else place.branch.settings)
    cwd, wanted, run = spec.cwd, read_sources(spec.sources), ports.blocking.run
    bare, stamps, settings = await run(read_given_settings, spec, wanted)
    places, plugins = await take_in_plugins(bare, settings, spec.plugins, ports)
    variables = settings.env
    environ = ChainMap(variables, dict(os.environ))
    as_managed = settings.as_managed
    earlier = "" if place.earlier is None else place.earlier.name
    settings, of_mode = in_mode(settings, environ, stored=place.beginning.mode, run=earlier)
    teams = as_managed("teams", teams_from_environment(environ, settings.scalars.teams))
    delegation = as_managed("delegation", delegation_from_environment(environ, settings.scalars.delegation))
    if (teams, delegation) != (settings.scalars.teams, settings.scalars.delegation):
        settings = attrs.evolve(settings, scalars=attrs.evolve(settings.scalars, teams=teams, delegation=delegation))
    limits = limits_from_environment(environ)
    git = None if spec.host.replay is None else spec.host.replay.git  # else git is asked
    around = await run(look_around, cwd, places, wanted, settings, environ, git)
    builtins = with_worker(around.builtins, delegation)
    definitions = DefinitionSource(places, blocking=ports.blocking, more=spec.agents, builtins=builtins)
    found = await definitions.refresh()
    tools = limits.put_into(with_its_tools(settings.scalars.schedules.offered(spec.tools), delegation))
    policy, problems = make_policy(
        settings, tuple(tools.values()), cwd=cwd, home=around.home, mode=spec.permission_mode
    )
    servers, mcp, more = around.servers
    mcp = mcp if moves_calls(environ, delegation) else attrs.evolve(mcp, background_after_s=0.0)
    unread = {problem.source for problem in settings.diagnostics if problem.kind is Kind.BROKEN}
    more = [problem for problem in more if problem.source not in unread]  # a file that cannot be read is reported once
    diagnostics: Sequence[Diagnostic] = (*settings.diagnostics, *plugins.diagnostics, *found.problems, *more)
    main = chosen_main(spec.main, found, settings.scalars)
    plan = Plan(
        spec=spec,
        run=place,
        model=spec.model(settings.scalars, main) if callable(spec.model) else spec.model,
        places=places,
        sources=wanted,
        stamps=stamps,
        settings=settings,
        definitions=definitions,
        main=main,
        tools=tools,
        policy=place.limit(attrs.evolve(policy, directories=(*policy.directories, *map(str, spec.added)))),
        variables=variables,
        environ=environ,
        compaction=as_managed("compaction", compaction_from_environment(environ, settings.scalars.compaction)),
        limits=limits,
        git=around.git,
        plugins=plugins,
        servers=servers,
        mcp=mcp,
        problems=(*filter(None, (of_mode, place.problem)), *map(str, diagnostics), *problems),
    )
    await check_worktree(plan, ports)
    return plan
