"""Making agents: the record of each is put together from the session's rules, hooks, tools and settings.

An agent gets its parts once, before its first turn, and keeps them. What a definition from an untrusted folder would run, it does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import final

import attrs

from greenroom.agents import MAIN_NAME, AgentDefinition, AgentProfile, AgentServices, AgentState, ForkSkill
from greenroom.agents.delegation import coordinator_tools
from greenroom.agents.subagents import SubagentSpec, make_child_profile
from greenroom.hooks import AgentAsker
from greenroom.mcp import MissingServers
from greenroom.permissions import ApprovalQueue
from greenroom.session.assembly._session_services import Services
from greenroom.session.equipment._agent_hooks import AgentHooks
from greenroom.session.equipment._agent_models import child_model, effort_of
from greenroom.session.equipment._agent_ports import SessionAgentPorts, take_up
from greenroom.session.equipment._agent_services import agent_services, hook_services
from greenroom.session.equipment._coordinator_mode import as_coordinator, give_scratchpad
from greenroom.session.equipment._file_watch import FileWatch
from greenroom.session.equipment._preparation import Preparation
from greenroom.session.equipment._session_rules import Rules
from greenroom.session.equipment._slash_commands import Commands
from greenroom.session.equipment._toolbox import Toolbox
from greenroom.session.settings._session_plugins import plugin_hooks
from greenroom.skills import SkillSource
from greenroom.tools import Tool, ToolError, ToolSet


@final
class Composition:
    """Makes the agents of one session.

    Args:
        services: Those of the session.
        fork_skill: Runs the skills of models that are agents of their own.
        hook_agents: Returns what starts the agents that hooks ask; called when an agent is made.

    Attributes:
        problems: Lines about what was skipped or cannot be used, for people.
        rules: The rules and hooks in force.
        toolbox: The tools of the session.
        files: The files that hooks watch.
        definitions: The kinds of agents.
        skills: The skills that count now.
        commands: Reads prompts that begin with a slash.
        services: The ports that all agents share.
    """

    def __init__(self, services: Services, *, fork_skill: ForkSkill, hook_agents: Callable[[], AgentAsker]) -> None:
        plan = services.plan
        self._services = services
        self._scalars = plan.settings.scalars
        self.problems: list[str] = []
        hooks = AgentHooks(plan.settings.hooks, hook_services(services), self.problems, hook_agents)
        for parsed in plugin_hooks(plan.plugins):
            hooks.extend(parsed)
            self.problems += map(str, parsed.problems)
        self.rules = Rules(plan, hooks, services.ports, self.problems)
        self.toolbox = Toolbox(plan.tools)
        self.files = FileWatch(plan.cwd)
        self.definitions = plan.definitions
        self.skills = SkillSource(
            plan.places if self._scalars.slash_commands else None, blocking=services.ports.blocking
        )
        self.commands = Commands(
            is_on=self._scalars.slash_commands,
            source=self.skills,
            definitions=plan.definitions,
            servers=services.servers,
            places=plan.places,
            is_trusted=plan.settings.is_trusted,
        )
        self.services: AgentServices = agent_services(services, self.files, self.problems)
        self.problems += plan.problems
        self._preparation = Preparation(
            services,
            rules=self.rules,
            toolbox=self.toolbox,
            skills=self.skills,
            fork_skill=fork_skill,
            problems=self.problems,
        )

    @property
    def approvals(self) -> ApprovalQueue:
        """The calls that wait for somebody's answer."""
        assert self.services.approvals is not None
        return self.services.approvals

    def make_home(
        self,
        definition: AgentDefinition,
        more: Sequence[Tool] = (),
        *,
        is_child: bool = True,
        wish: SubagentSpec | None = None,
        ports: SessionAgentPorts = SessionAgentPorts(),  # noqa: B008 - frozen; a copy is made of it
    ) -> AgentState:
        """Return the record of a new agent.

        Args:
            definition: Its definition.
            more: Tools beside the session's.
            is_child: False for the session's main agent.
            wish: The reason it was started for, if another agent or the host started it.
            ports: Ports besides those that all agents have, such as the commands of the user's.

        Raises:
            UsageError: Its definition names an unknown mode, or only tools that the session lacks.
        """
        if wish is None or not wish.is_teammate:  # a teammate's is put together around the changed one
            definition = self.changed(definition, *(() if is_child else (MAIN_NAME,)))
        is_leading = not is_child and self._scalars.delegation.coordinator
        if is_leading:
            definition = as_coordinator(definition, self._scalars.delegation)
        has_servers = bool(definition.mcp_servers or definition.required_mcp_servers or self._services.servers.states())
        has_servers = has_servers or self._services.servers.may_grow
        known = [tool.name for tool in (*self.toolbox.tools.values(), *more)]
        self.toolbox.check(definition, known, are_all_there=not has_servers)
        has_places = self._services.plan.places is not None
        reads, preparation = has_places or has_servers or is_leading, self._preparation
        ports = attrs.evolve(
            ports,
            admit=self._admit if wish is not None and has_servers else None,
            prepare=preparation.prepare if reads else None,
            renew=preparation.compose if reads else None,
            take_up=partial(take_up, self.rules.hooks.add) if has_places else None,
            keep_updates=self.rules.keep_updates,
        )
        profile = AgentProfile(
            definition=definition,
            tools=ToolSet(),
            model=self._model_of(definition, wish) if is_child else "",
            effort=effort_of(definition, self._scalars),
            policy=self.rules.policy_for(definition, is_child=is_child, wish=wish),
            is_child=is_child,
            narrow=coordinator_tools if is_leading else None,
        )
        if wish is not None:
            profile = make_child_profile(profile, wish, self._scalars.delegation)
        home = AgentState(profile=profile, services=self.services, ports=ports)
        if wish is not None and wish.is_worker and self._services.scratchpad is not None:
            give_scratchpad(home, self._services.scratchpad)
        home.replace(tools=self.toolbox.choose(home, more), hooks=self.rules.hooks.of(home, preparation.trusted))
        if not reads:
            self.problems += self.toolbox.missing(home, more, may_grow=self._services.servers.may_grow)
        ports.prepared.begin(home.profile.definition)
        self.rules.take_in(home)
        return home

    def changed(self, definition: AgentDefinition, *names: str) -> AgentDefinition:
        """Return a definition as it holds in this run, which may be a branch in which it has another system prompt.

        Args:
            definition: The definition.
            names: Of the agent.
        """
        branch = self._services.plan.run.branch
        return definition if branch is None else branch.changed(definition, *names)

    async def _admit(self, home: AgentState) -> None:
        """Wait for the servers that the agent needs, and refuse an agent that would have no tools."""
        definition = home.profile.definition
        servers = self._services.servers
        try:
            if definition.required_mcp_servers:
                await servers.wait_required(definition.required_mcp_servers)
        except MissingServers as error:
            raise ToolError(str(error)) from error
        if not any(server.config is not None for server in definition.mcp_servers):
            await servers.wait_settled()
            known = [*self.toolbox.tools, *(tool.name for tool in servers.tools)]
            self.toolbox.check(definition, known, are_all_there=True)

    def _model_of(self, definition: AgentDefinition, wish: SubagentSpec | None) -> str:
        chosen, problem = child_model(definition, wish, self._services.plan, own=self.services.model.name)
        if problem:
            self.problems.append(problem)
        return chosen
