"""Ports of skills: commands that an agent's rules allow without asking, files where it works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import attrs

from greenroom.agents import AgentState
from greenroom.core import make_private_folder
from greenroom.core.sources import Places, Unusable, read_start
from greenroom.effects import drawing_apart
from greenroom.permissions import Effect, Request, Scope, Source, check, parse_rule
from greenroom.skills import Rendered, RenderPorts, ShellCommand, ShellOutcome
from greenroom.tools import ToolContext, ToolError


def skill_ports(home: AgentState, places: Places, *, is_trusted: bool) -> Callable[[ToolContext], RenderPorts]:
    """Return what makes the ports of one rendering, given the context of the call that asks for it."""

    def made(context: ToolContext) -> RenderPorts:
        effort = home.profile.definition.effort

        async def make_folder(path: Path) -> None:
            await home.services.blocking.run(make_private_folder, path)

        return RenderPorts(
            cwd=home.cwd,
            project=places.root,
            is_trusted=is_trusted,
            session=home.services.session_id,
            effort="" if effort is None else str(effort),
            may_run=_MayRun(home),
            shell=_Shell(context, home),
            files=_Files(context),
            plugin_data=places.plugin_data,
            make_folder=make_folder,
        )

    return made


@final
@attrs.frozen
class _MayRun:
    home: AgentState

    async def __call__(self, command: str, allowed: Sequence[str]) -> bool:
        """Say whether the agent's rules, and those of the skill, allow a command without asking."""
        policy = self.home.profile.policy
        if policy is None:
            return True
        source = Source(scope=Scope.SESSION, name="the skill")
        rules = [parse_rule(text, Effect.ALLOW, source)[0] for text in allowed]
        wider = attrs.evolve(policy, rules=(*policy.rules, *(rule for rule in rules if rule is not None)))
        request = Request(tool="Bash", input={"command": command}, cwd=str(self.home.cwd), policy=wider)
        verdict = await check(request, self.home.services.blocking)
        return verdict.effect is Effect.ALLOW


@final
@attrs.frozen
class _Shell:
    context: ToolContext
    home: AgentState

    async def run(self, command: ShellCommand) -> ShellOutcome:
        """Run a command of a skill in a process group of its own; in a re-run, return its recorded end."""
        effects, agent = self.home.services.effects, self.home.profile.id
        if effects is None:
            return await self._run(command)
        asked = {"text": command.text, "arguments": list(command.arguments)}
        got = await effects.served("command", agent, command.text, asked)
        if got is not None:
            return ShellOutcome(**got)
        ended: Mapping[str, Any] = {"cut": True}
        try:
            with drawing_apart(f"command {command.text}"):
                outcome = await self._run(command)
            ended = {**attrs.asdict(outcome), "output": self.home.services.secrets.mask(outcome.output)}
        finally:
            effects.note("command", agent, command.text, asked, ended)
        return outcome

    async def _run(self, command: ShellCommand) -> ShellOutcome:
        ended = await self.context.run_process(
            [command.shell, "-c", command.text, *command.arguments],
            timeout_s=command.timeout_s,
            cwd=command.cwd,
            env=command.environ,
        )
        code = -1 if ended.exit_code is None else ended.exit_code
        return ShellOutcome(exit_code=code, output=ended.output.text, timed_out=ended.has_timed_out)


@final
@attrs.frozen
class _Files:
    context: ToolContext

    async def read(self, path: str, most: int) -> str | None:
        """Return the beginning of a file within the folders of the agent."""
        try:
            return await self.context.blocking(_read, self.context.resolve(path), most)
        except (ToolError, Unusable):
            return None


def _read(path: Path, most: int) -> str:
    return read_start(path, most)


def taking_up_by(home: AgentState) -> Callable[[Rendered], Awaitable[None]]:
    """Return what puts in force for an agent what a skill grants that its model has called."""

    async def on_invoked(rendered: Rendered) -> None:
        home.ports.take_up(home, rendered)

    return on_invoked
