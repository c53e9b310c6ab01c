"""The steps before the first turn of an agent: its system prompt, its notes, its skills, the tools of its servers.

An agent gets them once and keeps them, so that its prompt stays cached: an edit of a file applies to agents that begin later, and to one
whose conversation is compacted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import final

import attrs

from greenroom.actors import Context
from greenroom.agents import AgentDefinition, AgentState, ForkSkill, SkillTool, compose_system_prompt, preload_skills
from greenroom.agents.memory import (
    Instructions,
    MemoryFolder,
    Notes,
    agent_memory,
    is_memory_on,
    load_instructions,
    main_memory,
    read_notes,
    reads_added,
    render_instructions,
    render_memory,
    tools_with_memory,
)
from greenroom.containment import GitCalls
from greenroom.core.sources import Places
from greenroom.core.texts import escape_text
from greenroom.mcp import ServerStatus
from greenroom.session.assembly._session_services import Services
from greenroom.session.assembly._source_places import describes_place
from greenroom.session.equipment._agent_ports import Prepared
from greenroom.session.equipment._agent_servers import ServerTool, reach_servers
from greenroom.session.equipment._coordinator_mode import open_folders, workers_in_words
from greenroom.session.equipment._environment_text import environment_text, git_status
from greenroom.session.equipment._followed_files import follow_files
from greenroom.session.equipment._session_rules import Rules
from greenroom.session.equipment._skill_ports import skill_ports, taking_up_by
from greenroom.session.equipment._tool_lists import check_tool_list
from greenroom.session.equipment._toolbox import Toolbox
from greenroom.skills import Skills, SkillSource
from greenroom.tools import Tool


@final
class Preparation:
    """Prepares the agents of one session.

    Args:
        services: Those of the session.
        rules: The rules and hooks in force.
        toolbox: The tools of the session.
        skills: The skills of the session.
        fork_skill: Runs the skills of models that are agents of their own.
        problems: Takes a line about what cannot be used.
    """

    def __init__(
        self,
        services: Services,
        *,
        rules: Rules,
        toolbox: Toolbox,
        skills: SkillSource,
        fork_skill: ForkSkill,
        problems: list[str],
    ) -> None:
        self._plan = services.plan
        self._ports = services.ports
        self._services = services
        self._rules = rules
        self._toolbox = toolbox
        self._skills = skills
        self._fork_skill = fork_skill
        self._problems = problems

    @property
    def trusted(self) -> tuple[Path, ...]:
        """The folders whose definitions may run code of their own."""
        places = self._plan.places
        if places is None or not self._plan.settings.is_trusted:
            return ()
        return (places.root, places.main_root, *places.project)

    async def compose(self, prepared: Prepared, home: AgentState) -> str:
        """Return the system prompt of an agent, with files as they are now."""
        definition, places = prepared.definition, self._plan.places
        leading = "" if home.profile.is_child else self._about_workers(home)
        if places is None:
            return "\n\n".join(part for part in (definition.system_prompt.strip(), leading) if part)
        memory = self._memory_of(home, definition, places)
        notes = Notes() if memory is None else await self._ports.blocking.run(read_notes, memory)
        reads = definition.reads_instructions
        instructions = await self._load_instructions(places) if reads else Instructions()
        if reads:
            run, found = self._ports.blocking, self._problems
            home.replace(instructions=instructions.files)
            prepared.note_follow(follow_files(home, places, instructions, self._skills, run, found))
        git = self._plan.git
        if home.worktree is not None:  # it works in another checkout
            calls = GitCalls(environ=self._plan.environ, is_trusted=self._plan.settings.is_trusted)
            git = await self._ports.blocking.run(git_status, home.worktree.worktree.path, calls)
        return compose_system_prompt(
            definition,
            environment="\n\n".join(part for part in (self._environment(home, git), leading) if part),
            instructions=escape_text(render_instructions(instructions.files)),
            memory=render_memory(memory, notes),
            skills=prepared.preloaded,
        )

    async def prepare(self, prepared: Prepared, home: AgentState, ctx: Context) -> None:
        """Read what an agent starts with, and give it the tools of its servers."""
        definition, places, servers = prepared.definition, self._plan.places, self._services.servers
        more = [tool for name, tool in home.profile.tools.items() if name not in self._toolbox.tools]
        reached, problems = await reach_servers(
            home, ctx, servers, environ=self._plan.environ, trusted=self.trusted, give=self._give
        )
        more += reached
        self._problems += problems
        if places is not None:
            memory = self._memory_of(home, definition, places)
            if memory is not None:
                self._open_memory(home, memory)
            skills = await self._skills.refresh()
            self._problems += [str(diagnostic) for diagnostic in skills.diagnostics if diagnostic.is_problem]
            prepared.note_skills(await self._take_up_skills(home, skills, definition))
        known = [*self._toolbox.tools, *(tool.name for tool in more)]
        check_tool_list(home.profile.definition, known, are_all_there=not servers.may_grow)
        home.replace(tools=self._toolbox.choose(home, more))
        self._problems += self._toolbox.missing(home, more, may_grow=servers.may_grow)
        home.replace(definition=attrs.evolve(home.profile.definition, system_prompt=await self.compose(prepared, home)))

    def _give(self, home: AgentState, tools: Sequence[Tool]) -> None:
        """Give an agent other tools of its MCP servers in the place of those that it has."""
        kept = [tool for tool in self._toolbox.own(home) if not isinstance(tool, ServerTool)]
        home.replace(tools=self._toolbox.choose(home, [*kept, *tools]))

    def _memory_of(self, home: AgentState, definition: AgentDefinition, places: Places) -> MemoryFolder | None:
        is_on = is_memory_on(self._plan.environ, setting=self._plan.settings.scalars.autoMemoryEnabled)
        return (
            agent_memory(definition, places, is_on=is_on) if home.profile.is_child else main_memory(places, is_on=is_on)
        )

    def _open_memory(self, home: AgentState, memory: MemoryFolder) -> None:
        """Open the folder of its notes to an agent."""
        home.replace(memory=memory)
        open_folders(home, memory.writable)
        if home.profile.is_child:  # the main agent has the tools that it was given; its notes are read in any case
            tools = tools_with_memory(home.profile.definition.tools, memory)
            home.replace(definition=attrs.evolve(home.profile.definition, tools=tools))

    async def _take_up_skills(self, home: AgentState, skills: Skills, definition: AgentDefinition) -> str:
        """Give the agent its tool Skill, where there are skills, and return the text of those that it starts with."""
        assert self._plan.places is not None
        ports = skill_ports(home, self._plan.places, is_trusted=self._plan.settings.is_trusted)
        if any(skill.for_models for skill in skills.values()):
            skill_tool = SkillTool(
                skills=lambda: self._skills.current, ports=ports, on_invoked=taking_up_by(home), fork=self._fork_skill
            )
            home.replace(skill_tool=skill_tool)
        if not definition.skills:
            return ""
        rendering = ports(home.tool_context())
        preloaded = await preload_skills(definition.skills, skills, rendering, plugin=definition.plugin)
        self._problems += preloaded.skipped
        return preloaded.text

    async def _load_instructions(self, places: Places) -> Instructions:
        run, with_added = self._ports.blocking.run, reads_added(self._plan.environ)
        instructions = await run(load_instructions, places, with_added=with_added)
        self._problems += [str(diagnostic) for diagnostic in instructions.diagnostics if diagnostic.is_problem]
        return instructions

    def _about_workers(self, home: AgentState) -> str:
        if not self._plan.settings.scalars.delegation.coordinator:
            return ""
        names = [*self._toolbox.tools, *([home.profile.skill_tool.name] if home.profile.skill_tool is not None else [])]
        servers = [server.name for server in self._services.servers.states() if server.status is ServerStatus.CONNECTED]
        return workers_in_words(
            names, servers, self._plan.settings.scalars.delegation, self._rules.policy, self._services.scratchpad
        )

    def _environment(self, home: AgentState, git: str) -> str:
        if not describes_place(self._plan.places):
            return ""
        told = git if home.profile.definition.reads_instructions else ""
        return environment_text(home.profile.place or self._plan.cwd, self._ports.clock.wall().date(), told)
