"""What an agent of a session is put together from: its policy, its hooks, its tools, what it is told before it begins.

Rule 1: an agent gets its parts once, before its first turn, and keeps them: prompts stay cached, and an edit of a file is
for agents that begin later, and for one whose conversation is compacted. Rule 2: what a definition from an untrusted folder
would run, it does not. Rule 3: a lasting answer is in force for the whole session in the step in which it is given, and kept
where it says afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.actors import Context
from greenroom.agents import (
    INHERIT,
    AgentDefinition,
    AgentHome,
    AgentServices,
    ForkSkill,
    SkillTool,
    compose_system_prompt,
    preload_skills,
)
from greenroom.agents.crew import ChildWish, DelegationSettings, furnish
from greenroom.agents.definitions import DefinitionSource
from greenroom.agents.delegation import coordinator_tools
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
from greenroom.core import Ports
from greenroom.core.sources import FoundPlugins, Places
from greenroom.hooks import HookServices, ParsedHooks
from greenroom.mcp import McpServers, MissingServers, ServerStatus
from greenroom.models import Budget, ModelNames, choose_model, read_effort
from greenroom.permissions import Mode, Policy, hidden_tools
from greenroom.session._agent_hooks import AgentHooks
from greenroom.session._agent_ports import Prepared, SessionAgentPorts
from greenroom.session._agent_servers import ServerTool, reach_servers
from greenroom.session._commands import Commands
from greenroom.session._elicitation import Elicitations
from greenroom.session._environment import resume_prompt
from greenroom.session._environment_text import environment_text, git_status
from greenroom.session._file_watch import FileWatch
from greenroom.session._finding import describes_place
from greenroom.session._following import follow_files
from greenroom.session._in_force import InForce
from greenroom.session._leading import as_coordinator, give_scratchpad, open_folders, workers_in_words
from greenroom.session._policy import child_setting, freer_mode, freer_note, policy_of
from greenroom.session._settings import Settings
from greenroom.session._settings_files import SettingSource
from greenroom.session._skill_ports import skill_ports, taking_up_by
from greenroom.session._title import Title
from greenroom.session._tool_lists import check_tool_list, names
from greenroom.skills import Rendered, Skills, SkillSource
from greenroom.teams import TeamSettings
from greenroom.tools import Tool, ToolError, ToolSet
from greenroom.tools.checkpoints import FileCheckpoints

MAX_SHARED: Final = 64
"""Definitions of which is kept what their agents share."""
SUBAGENT_MODEL: Final = "GREENROOM_SUBAGENT_MODEL"


@final
class Composition(InForce):
    """Makes the agents of one session.

    Attributes:
        policy: The session's own; agents have copies.
        definitions: The kinds of agents that there are.
        skills: Those that count now.
        plugins: Those that there are, and those that could not be loaded.
        scratchpad: The folder that a coordinator's workers share.
        checkpoints: How files were when messages of the user's arrived; None where nothing is kept.
        services: What all agents share; set once it is made, before the first agent is.
        hooks: Those of each agent.
        files: Those that hooks watch.
        commands: What a person's words mean that begin with a slash.
        elicitations: Answers what MCP servers ask; set once it is made.
        title: What people call the session; set once it is made.
        fork_skill: Runs the skills of models that are agents of their own; set before the first agent is made.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        policy: Policy,
        tools: ToolSet,
        places: Places | None,
        definitions: DefinitionSource,
        skills: SkillSource,
        hook_services: HookServices,
        ports: Ports,
        cwd: Path,
        has_mode: bool,
        kept: frozenset[SettingSource],
        environ: Mapping[str, str],
        servers: McpServers,
        budget: Budget,
        git: str,
    ) -> None:
        self._git = git
        self.servers = servers
        self.budget = budget
        self.policy = policy
        self.definitions = definitions
        self.skills = skills
        self.services: AgentServices
        self.checkpoints: FileCheckpoints | None = None
        self.scratchpad: Path | None = None
        self.plugins = FoundPlugins()
        self.elicitations: Elicitations
        self.title: Title
        self.problems: list[str] = []
        self.hooks = AgentHooks(settings.hooks, hook_services, self.problems)
        self.files = FileWatch(cwd)
        self.commands = Commands(
            is_on=settings.scalars.slash_commands,
            skills=skills,
            definitions=definitions,
            servers=servers,
            places=places,
            is_trusted=settings.is_trusted,
        )
        self.fork_skill: ForkSkill | None = None
        self._settings = settings
        self._tools = tools
        self._places = places
        self._ports = ports
        self._cwd = cwd
        self._has_mode = has_mode
        self._kept = kept
        self._environ = environ
        self.written = set()
        self._homes: dict[AgentHome, None] = {}
        self._policies: dict[tuple[int, bool], tuple[AgentDefinition, Policy, Policy]] = {}
        """By definition and whether it is a child's: the definition, the session's policy then, and what was made of both."""
        self._tool_sets: dict[tuple[object, ...], tuple[Policy | None, ToolSet]] = {}

    @property
    def delegation(self) -> DelegationSettings:
        """How the session's agents start others."""
        return self._settings.scalars.delegation

    @property
    def teams(self) -> TeamSettings:
        """How teams work in the session."""
        return self._settings.scalars.teams

    @property
    def resume_prompt(self) -> str:
        """What an agent is told whose turn an earlier process did not bring to its end."""
        return resume_prompt(self._environ)

    def take_plugins(self, found: FoundPlugins, hooks: Sequence[ParsedHooks]) -> None:
        """Let plugins count, before the first agent is made.

        Args:
            found: The plugins.
            hooks: Their hooks.
        """
        self.plugins = found
        for one in hooks:
            self.hooks.extend(one)
            self.problems += map(str, one.problems)

    # --- one agent -------------------------------------------------------------------------------------------------

    def make_home(
        self,
        definition: AgentDefinition,
        more: Sequence[Tool] = (),
        *,
        is_child: bool = True,
        wish: ChildWish | None = None,
        ports: SessionAgentPorts = SessionAgentPorts(),  # noqa: B008 - frozen; a copy is made of it
    ) -> AgentHome:
        """Return what belongs to a new agent.

        Args:
            definition: What kind of agent it is.
            more: Tools beside the session's.
            is_child: Whether it is not the session's main agent.
            wish: What it was started for, if another agent or the host started it.
            ports: What it asks of the session besides what all agents do, such as the commands of the user's.

        Raises:
            UsageError: Its definition names a mode that there is not, or only tools that there are not.
        """
        is_leading = not is_child and self.delegation.coordinator
        if is_leading:
            definition = as_coordinator(definition, self.delegation)
        has_servers = bool(definition.mcp_servers or definition.required_mcp_servers or self.servers.states())
        has_servers = has_servers or self.servers.may_grow
        there_are = [one.name for one in (*self._tools.values(), *more)]
        check_tool_list(definition, there_are, are_all_there=not has_servers)
        reads = self._places is not None or has_servers or is_leading
        ports = attrs.evolve(
            ports,
            admit=self._admit if wish is not None and has_servers else None,
            prepare=self._prepare if reads else None,
            renew=self._compose if reads else None,
            take_up=None if self._places is None else self._take_up,
            keep_updates=self.keep_updates,
        )
        home = AgentHome(definition=definition, services=self.services, ports=ports, tools=ToolSet(), is_child=is_child)
        scalars = self._settings.scalars
        effort = definition.effort if definition.effort is not None else scalars.effort
        if effort is None and scalars.models is not None:
            effort = scalars.models.effort
        home.effort = None if effort is None else read_effort(effort)
        home.model = self._model_of(definition, wish) if is_child else ""
        home.policy = self._policy_for(definition, is_child=is_child, wish=wish)
        if wish is not None:
            furnish(home, wish, self.delegation)
            if wish.is_worker and self.scratchpad is not None:
                give_scratchpad(home, self.scratchpad)
        elif is_leading:
            home.narrow = coordinator_tools
        home.tools = self.tools_for(home, more)
        home.hooks = self.hooks.of(home, self._trusted)
        if not reads:
            self.problems += self._missing_tools(home, more)
        ports.prepared.begin(home.definition)
        self._homes[home] = None
        return home

    def take_in(self, home: AgentHome) -> None:
        """Let lasting answers change an agent that was not made here, such as a fork."""
        self._homes[home] = None

    def let_go(self, home: AgentHome) -> None:
        """Forget an agent that has ended: lasting answers do not change it any more."""
        self._homes.pop(home, None)

    def bind(self, bound: Mapping[str, Tool]) -> None:
        """Put tools in the place of those that stood for them, before the first agent is made."""
        self._tools = ToolSet(bound.get(one.name, one) for one in self._tools.values())
        self._tool_sets.clear()

    def exchange(self, name: str, new: Tool) -> None:
        """Put a tool in the place of the one of its name; all agents that have that have this one from their next request on."""
        old = self._tools.get(name)
        self.bind({name: new})
        for home in self._homes:
            if old is not None and home.tools.get(name) is old:
                home.tools = ToolSet(new if one is old else one for one in home.tools.values())

    async def _admit(self, home: AgentHome) -> None:
        """Wait for the servers that it needs, and refuse one that would have no tools."""
        definition = home.definition
        try:
            if definition.required_mcp_servers:
                await self.servers.wait_required(definition.required_mcp_servers)
        except MissingServers as error:
            raise ToolError(str(error)) from error
        if not any(one.config is not None for one in definition.mcp_servers):
            await self.servers.wait_settled()
            there_are = [*self._tools, *(one.name for one in self.servers.tools)]
            check_tool_list(definition, there_are, are_all_there=True)

    def tools_for(self, home: AgentHome, more: Sequence[Tool] = ()) -> ToolSet:
        """Return the session's tools and some more, as far as an agent may have them; agents of one kind share a set."""
        if more or home.skill_tool is not None or home.answer_tool is not None:
            return self._choose_tools(home, more)
        listed = home.definition.tools
        denied = tuple(home.definition.disallowed_tools)
        key = (id(home.policy), home.narrow, None if listed is None else tuple(listed), denied)
        if key not in self._tool_sets:
            if len(self._tool_sets) >= MAX_SHARED:
                self._tool_sets.clear()
            self._tool_sets[key] = (home.policy, self._choose_tools(home, ()))
        return self._tool_sets[key][1]

    def _choose_tools(self, home: AgentHome, more: Sequence[Tool]) -> ToolSet:
        definition, policy = home.definition, home.policy
        taken = {one for one in definition.disallowed_tools if "(" not in one}
        replaced = {one.name for one in more}
        there_are = [*(one for one in self._tools.values() if one.name not in replaced), *more]
        if home.skill_tool is not None:
            there_are.append(home.skill_tool)
        if home.narrow is not None:
            left = set(home.narrow([one.name for one in there_are]))
            there_are = [one for one in there_are if one.name in left]
        tools = [one for one in there_are if not names(taken, one.name)]
        if definition.tools is not None and "*" not in definition.tools:
            wanted = set(definition.tools) | ({home.skill_tool.name} if home.skill_tool is not None else set())
            tools = [one for one in tools if names(wanted, one.name)]
        hidden = hidden_tools(policy, [one.name for one in tools]) if policy is not None else frozenset()
        kept = (*(one for one in tools if one.name not in hidden), *home.answer_tools)
        return ToolSet({one.name: one for one in kept}.values())

    def own_tools(self, home: AgentHome) -> list[Tool]:
        """Return what an agent has besides the session's tools and Skill, such as the tools of its MCP servers."""
        return [one for name, one in home.tools.items() if name not in self._tools and one is not home.skill_tool]

    def _missing_tools(self, home: AgentHome, more: Sequence[Tool]) -> list[str]:
        """Return what its definition says about tools that are not there, in one line; nothing where all are."""
        if not home.definition.tools:
            return []
        there = [*self._tools, *(one.name for one in more), *([home.skill_tool.name] if home.skill_tool else [])]
        named = [one.partition("(")[0] for one in home.definition.tools if one != "*"]
        if self.servers.may_grow:  # what is about servers may mean one that is still to come
            named = [one for one in named if not one.startswith("mcp__")]
        missing = [repr(one) for one in named if not any(names({one}, name) for name in there)]
        if not missing:
            return []
        definition = home.definition
        has_any = "goes without" if len(home.tools) else "has no tools at all"
        where = f"{definition.origin.source}: " if definition.origin.source else ""
        return [f"{where}agent {definition.name!r} {has_any}: there is no tool {', '.join(missing)} here"]

    def _model_of(self, definition: AgentDefinition, wish: ChildWish | None) -> str:
        """Return the exact name of a child's model; empty for the session's own."""
        own = self.services.model.name
        call = parent = None
        if wish is not None:
            if wish.exact_model is not None:
                return wish.exact_model
            call, parent = wish.model, wish.parent.model if wish.parent is not None else None
        environment = self._environ.get(SUBAGENT_MODEL)
        models = self._settings.scalars.models
        chosen = choose_model(
            parent=parent or own,
            environment=environment,
            call=call,
            definition=definition.model,
            names=None if models is None else models.names,
        )
        if chosen.note:
            self.problems.append(f"agent {definition.name}: {chosen.note}")
        return "" if chosen.name == own else chosen.name

    def _policy_for(self, definition: AgentDefinition, *, is_child: bool, wish: ChildWish | None) -> Policy:
        """Return what decides about the calls of an agent; those of one definition share it, and what it has found out."""
        if wish is not None and wish.is_teammate:  # as its lead is treated now
            return self._make_policy(definition, is_child=is_child, wish=wish)
        key = (id(definition), is_child)
        known = self._policies.get(key)
        if known is None or known[1] is not self.policy:
            if len(self._policies) >= MAX_SHARED:
                self._policies.clear()
            known = self._policies[key] = (definition, self.policy, self._make_policy(definition, is_child=is_child))
        return known[2]

    def _make_policy(self, definition: AgentDefinition, *, is_child: bool, wish: ChildWish | None = None) -> Policy:
        mode, chosen, setting = self.policy.mode, self._settings.scalars.child_permission, None
        if is_child:
            setting = child_setting(mode, chosen)
            note = "" if definition.permission_mode else freer_note(mode, chosen)
            self.problems += [note] if note and note not in self.problems else []
        policy, problems = policy_of(self.policy, definition, setting=setting, has_mode=self._has_mode, wish=wish)
        self.problems += problems
        return policy

    @property
    def freer_children(self) -> Mode | None:
        """The mode of children whose definition says none, where it may do more than the session's; else None."""
        return freer_mode(self.policy.mode, self._settings.scalars.child_permission)

    @property
    def _trusted(self) -> tuple[Path, ...]:
        if self._places is None or not self._settings.is_trusted:
            return ()
        return (self._places.root, self._places.main_root, *self._places.project)

    # --- before its first turn -------------------------------------------------------------------------------------

    async def _compose(self, prepared: Prepared, home: AgentHome) -> str:
        """Return the system prompt, with files as they are now."""
        definition = prepared.definition
        leading = "" if home.is_child else self._about_workers(home)
        if self._places is None:
            return "\n\n".join(part for part in (definition.system_prompt.strip(), leading) if part)
        memory = self._memory_of(home, definition, self._places)
        notes = Notes() if memory is None else await self._ports.blocking.run(read_notes, memory)
        reads = definition.reads_instructions
        instructions = await self._load_instructions(self._places) if reads else Instructions()
        if reads:
            run, found = self._ports.blocking, self.problems
            home.instructions = instructions.files
            prepared.note_follow(follow_files(home, self._places, instructions, self.skills, run, found))
        git = self._git
        if home.stay is not None:  # it is another checkout that it stands in
            calls = GitCalls(environ=self._environ, is_trusted=self._settings.is_trusted)
            git = await self._ports.blocking.run(git_status, home.stay.worktree.path, calls)
        return compose_system_prompt(
            definition,
            environment="\n\n".join(part for part in (self._environment(home, git), leading) if part),
            instructions=render_instructions(instructions.files),
            memory=render_memory(memory, notes),
            skills=prepared.preloaded,
        )

    async def _prepare(self, prepared: Prepared, home: AgentHome, ctx: Context) -> None:
        """Read what an agent starts with, and give it the tools of its servers."""
        definition = prepared.definition
        more = [one for name, one in home.tools.items() if name not in self._tools]
        reached, problems = await reach_servers(
            home, ctx, self.servers, environ=self._environ, trusted=self._trusted, give=self._give
        )
        more += reached
        self.problems += problems
        if self._places is not None:
            memory = self._memory_of(home, definition, self._places)
            if memory is not None:
                self._open_memory(home, memory)
            skills = await self.skills.refresh()
            self.problems += [str(one) for one in skills.diagnostics if one.is_problem]
            prepared.note_skills(await self._take_up_skills(home, skills, definition))
        there_are = [*self._tools, *(one.name for one in more)]
        check_tool_list(home.definition, there_are, are_all_there=not self.servers.may_grow)
        home.tools = self.tools_for(home, more)
        self.problems += self._missing_tools(home, more)
        home.definition = attrs.evolve(home.definition, system_prompt=await self._compose(prepared, home))

    def _give(self, home: AgentHome, tools: Sequence[Tool]) -> None:
        """Give an agent other tools of its MCP servers in the place of those that it has."""
        kept = [one for one in self.own_tools(home) if not isinstance(one, ServerTool)]
        home.tools = self.tools_for(home, [*kept, *tools])

    def _memory_of(self, home: AgentHome, definition: AgentDefinition, places: Places) -> MemoryFolder | None:
        is_on = is_memory_on(self._environ, setting=self._settings.scalars.autoMemoryEnabled)
        return agent_memory(definition, places, is_on=is_on) if home.is_child else main_memory(places, is_on=is_on)

    def _open_memory(self, home: AgentHome, memory: MemoryFolder) -> None:
        """Let an agent work in the folder of its notes."""
        home.memory = memory
        open_folders(home, memory.writable)
        if home.is_child:  # the main agent has the tools that it was given; its notes are read in any case
            tools = tools_with_memory(home.definition.tools, memory)
            home.definition = attrs.evolve(home.definition, tools=tools)

    async def _take_up_skills(self, home: AgentHome, skills: Skills, definition: AgentDefinition) -> str:
        """Give the agent its tool Skill, where there are skills, and return the text of those that it starts with."""
        assert self._places is not None
        ports = skill_ports(home, self._places, is_trusted=self._settings.is_trusted)
        if any(one.for_models for one in skills.values()):
            home.skill_tool = SkillTool(
                skills=lambda: self.skills.current, ports=ports, on_invoked=taking_up_by(home), fork=self.fork_skill
            )
        if not definition.skills:
            return ""
        rendering = ports(home.tool_context())
        preloaded = await preload_skills(definition.skills, skills, rendering, plugin=definition.plugin)
        self.problems += preloaded.skipped
        return preloaded.text

    def _take_up(self, prepared: Prepared, home: AgentHome, rendered: Rendered) -> None:
        """Put in force what a skill grants an agent."""
        skill = rendered.skill
        model = "" if skill.model in {None, INHERIT} else ModelNames().exact(skill.model or "")
        home.grants = home.grants.after(rendered, model=model)
        if prepared.register(skill.name):
            self.hooks.add(home, rendered)

    async def _load_instructions(self, places: Places) -> Instructions:
        run, with_added = self._ports.blocking.run, reads_added(self._environ)
        instructions = await run(load_instructions, places, with_added=with_added)
        self.problems += [str(one) for one in instructions.diagnostics if one.is_problem]
        return instructions

    def _about_workers(self, home: AgentHome) -> str:
        if not self.delegation.coordinator:
            return ""
        names = [*self._tools, *([home.skill_tool.name] if home.skill_tool is not None else [])]
        servers = [one.name for one in self.servers.states() if one.status is ServerStatus.CONNECTED]
        return workers_in_words(names, servers, self.delegation, self.policy, self.scratchpad)

    def _environment(self, home: AgentHome, git: str) -> str:
        if not describes_place(self._places):
            return ""
        told = git if home.definition.reads_instructions else ""
        return environment_text(home.place or self._cwd, self._ports.clock.wall().date(), told)
