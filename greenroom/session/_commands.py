"""What a person's words mean that begin with a slash: a skill, a command, a prompt of an MCP server."""

from __future__ import annotations

from typing import final

import attrs

from greenroom.agents import AgentState
from greenroom.agents.definitions import DefinitionSource
from greenroom.core import UsageError
from greenroom.core.sources import Places
from greenroom.mcp import McpServers, prompt_call
from greenroom.session._agent_servers import read_server_prompt
from greenroom.session._skill_ports import skill_ports
from greenroom.skills import Rendered, SkillFailed, SkillSource, read_command_line, render_skill


@final
@attrs.frozen(kw_only=True)
class Commands:
    """Finds out what they mean.

    Attributes:
        is_on: Whether there are skills and slash commands at all.
    """

    is_on: bool
    _skills: SkillSource
    _definitions: DefinitionSource
    _servers: McpServers
    _places: Places | None
    _is_trusted: bool

    def is_command(self, text: str) -> bool:
        """Whether a user's words call a skill by `/name`, or a prompt of an MCP server.

        Raises:
            UsageError: They call one that only models may call.
        """
        is_slash = self._places is not None and text.lstrip().startswith("/")
        return self.is_on and (
            prompt_call(text) is not None or (is_slash and read_command_line(text, self._skills.current) is not None)
        )

    async def read(self, home: AgentState, text: str) -> tuple[str, tuple[Rendered, ...]]:
        """Return what a user's words mean: a skill that they call by `/name` stands for its text (agents 4.23, 4.41).

        One that runs as an agent of its own is the only one. `/mcp__server__prompt` stands for what the server's prompt says.

        Raises:
            UsageError: They call a skill that only models may call, that fails, or whose agent there is not; or a prompt that
                there is not, or that its server did not give.
        """
        if not self.is_on:
            return text, ()
        said = await read_server_prompt(self._servers, text)
        if said is not None:
            return said, ()
        line = read_command_line(text, self._skills.current) if text.lstrip().startswith("/") else None
        if line is None or self._places is None:
            return text, ()
        ports = skill_ports(home, self._places, is_trusted=self._is_trusted)(home.tool_context())
        rendered: list[Rendered] = []
        for call in line.invocations:
            try:
                if call.skill.is_fork:
                    (await self._definitions.refresh()).find(call.skill.agent)
                rendered.append(await render_skill(call.skill, call.arguments, ports))
            except (UsageError, SkillFailed) as error:
                raise UsageError(f"/{call.skill.name}: {error}") from error
        return "\n\n".join(one.text for one in rendered), tuple(rendered)
