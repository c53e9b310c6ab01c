"""Prompts of a person that begin with a slash: a skill, a command, a prompt of an MCP server."""

from __future__ import annotations

from typing import final

import attrs

from greenroom.agents import AgentState
from greenroom.agents.definitions import DefinitionSource
from greenroom.core import UsageError
from greenroom.core.sources import Places
from greenroom.mcp import McpServers, prompt_call
from greenroom.session.equipment._agent_servers import read_server_prompt
from greenroom.session.equipment._skill_ports import skill_ports
from greenroom.skills import Rendered, SkillFailed, Skills, SkillSource, read_command_line, render_skill


@final
@attrs.frozen(kw_only=True)
class Commands:
    """The skills and commands of one session; `session.commands`.

    Attributes:
        is_on: True if skills and prompts of MCP servers may be called by `/name` (the setting `slash_commands`).
    """

    is_on: bool
    _source: SkillSource
    _definitions: DefinitionSource
    _servers: McpServers
    _places: Places | None
    _is_trusted: bool

    @property
    def skills(self) -> Skills:
        """The skills that count now."""
        return self._source.current

    def is_command(self, text: str) -> bool:
        """Return True if a text of the user's calls a skill by `/name`, or a prompt of an MCP server.

        Raises:
            UsageError: It calls a skill that only models may call.
        """
        is_slash = self._places is not None and text.lstrip().startswith("/")
        return self.is_on and (
            prompt_call(text) is not None or (is_slash and read_command_line(text, self._source.current) is not None)
        )

    async def read(self, home: AgentState, text: str) -> tuple[str, tuple[Rendered, ...]]:
        """Return the prompt that a text of the user's stands for, and the skills that it calls by `/name`.

        A skill that runs as an agent of its own is the only one. `/mcp__server__prompt` stands for the text of the server's prompt.

        Raises:
            UsageError: The text calls a skill that only models may call, that fails, or whose agent is unknown; or a prompt that
                is unknown, or that its server did not return.
        """
        if not self.is_on:
            return text, ()
        said = await read_server_prompt(self._servers, text)
        if said is not None:
            return said, ()
        line = read_command_line(text, self._source.current) if text.lstrip().startswith("/") else None
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
        return "\n\n".join(skill.text for skill in rendered), tuple(rendered)
