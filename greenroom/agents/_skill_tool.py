"""The tool Skill, and the skills that a definition starts with.

A model calls only what models may call. What a call grants (tools, a model, hooks) is applied to
the turn, before the model reads the text. A skill that forks is never rendered into the conversation that called it.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, final

import attrs

from greenroom.skills import InvokedSkills, Rendered, RenderPorts, Skill, SkillFailed, Skills, listing, render_skill
from greenroom.tools import InvalidInput, ToolContext, ToolError, validate

NAME: Final = "Skill"
_ABOUT: Final = (
    "Take up a skill: instructions, written by people, for a kind of work. Call it before you begin such work, with what "
    "the skill needs to know as arguments; its text is the answer, and you follow it. Call only skills that are listed, and "
    "none whose text you have already."
)
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "skill": {"type": "string", "description": "The name of the skill, as it is listed."},
        "args": {"type": "string", "description": "What stands for its arguments, as a user would type it."},
    },
    "required": ["skill"],
    "additionalProperties": False,
}
_PRELOADED: Final = "# Skills that you start with"


class ForkSkill(Protocol):
    """Runs a skill as an agent of its own."""

    async def __call__(self, rendered: Rendered, ctx: ToolContext) -> str:
        """Run it and return what the model that called it reads: the result, or that it runs in the background.

        Raises:
            ToolError: It cannot be run, or runs already further up (a skill may not call itself endlessly).
        """
        ...


@final
@attrs.frozen(kw_only=True, eq=False)
class SkillTool:
    """The tool Skill of one agent.

    Args:
        skills: Returns the current skills.
        ports: Returns what rendering may reach, for one call.
        invoked: The skills that the agent's conversation has taken up.
        on_invoked: Called with each skill that is taken up, before its text is returned.
        fork: Runs a skill with `context: fork`; None refuses it.
        description: What the model reads about the tool, with the skills that it may call; it stays the same while the
            agent lives, so that prompts stay cached.
    """

    skills: Callable[[], Skills]
    ports: Callable[[ToolContext], RenderPorts]
    invoked: InvokedSkills = attrs.field(factory=InvokedSkills)
    on_invoked: Callable[[Rendered], Awaitable[None]] | None = None
    fork: ForkSkill | None = None
    description: str = attrs.field()
    name: str = NAME
    input_schema: Mapping[str, Any] = _SCHEMA
    is_read_only: bool = False

    @description.default
    def _describe(self) -> str:
        listed = listing(self.skills().values())
        return f"{_ABOUT}\n\nSkills:\n{listed}" if listed else f"{_ABOUT}\n\nThere are no skills now."

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Render a skill and return its text for the model.

        Raises:
            ToolError: There is no such skill, it is not for models, or it cannot be rendered.
        """
        problems = validate(_SCHEMA, input)
        if problems:
            raise InvalidInput(NAME, tuple(problems))
        skill = self._found(input["skill"])
        ctx.progress(f"Taking up {skill.name}")
        try:
            rendered = await render_skill(skill, input.get("args", ""), self.ports(ctx))
        except SkillFailed as error:
            raise ToolError(str(error)) from error
        if skill.is_fork:
            if self.fork is None:
                raise ToolError(
                    f"the skill {skill.name!r} runs as an agent of its own, and no agent can be started here"
                )
            return await self.fork(rendered, ctx)
        if self.on_invoked is not None:
            await self.on_invoked(rendered)
        return self.invoked.say(rendered)

    def _found(self, name: str) -> Skill:
        skills = self.skills()
        skill = skills.find(name)
        for_models = [each.name for each in skills.values() if each.for_models]
        if skill is None:
            near = difflib.get_close_matches(name.removeprefix("/"), for_models, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else f"there are: {', '.join(for_models[:50]) or 'none'}"
            raise ToolError(f"there is no skill {name!r}; {hint}")
        if not skill.for_models:
            raise ToolError(
                f"the skill {skill.name!r} is for users only (disable-model-invocation); ask the user to call it"
            )
        return skill


@final
@attrs.frozen
class Preloaded:
    """The skills that an agent starts with."""

    text: str = ""
    """For the system prompt; empty where there are none."""
    rendered: tuple[Rendered, ...] = ()
    skipped: tuple[str, ...] = ()
    """One sentence for each that is left out."""


async def preload_skills(names: Sequence[str], skills: Skills, ports: RenderPorts, *, plugin: str = "") -> Preloaded:
    """Return the full text of the skills that a definition names, each with the place of its files.

    One that is missing, not for models, or cannot be rendered is left out; the agent starts without it.

    Args:
        names: The definition's `skills`.
        skills: The current skills.
        ports: What rendering may reach.
        plugin: The plugin that the definition comes from, whose skills are meant before those of others; empty for none.
    """
    rendered: dict[str, Rendered] = {}
    skipped: list[str] = []
    for name in names:
        skill = skills.find(name, plugin=plugin)
        if skill is None:
            skipped.append(f"skill {name!r}: there is none of that name, or several could be meant")
        elif not skill.for_models:
            skipped.append(
                f"skill {name!r}: it is for users only (disable-model-invocation), so no agent starts with it"
            )
        elif skill.name not in rendered:
            try:
                rendered[skill.name] = await render_skill(skill, "", ports)
            except SkillFailed as error:
                skipped.append(f"skill {name!r}: {error}")
    parts = [f"## {name}\n\n{one.text}" for name, one in rendered.items()]
    text = "\n\n".join([_PRELOADED, *parts]) if parts else ""
    return Preloaded(text, tuple(rendered.values()), tuple(skipped))
