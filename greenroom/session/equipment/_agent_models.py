"""The models of sub-agents, of hooks with a prompt, and of the reviewer of auto mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, final

import attrs

from greenroom.agents import AgentDefinition
from greenroom.agents.subagents import SubagentSpec
from greenroom.models import Effort, Message, Model, ModelRequest
from greenroom.models.choice import ModelNames, choose_model, read_effort
from greenroom.session.assembly._session_plan import Plan
from greenroom.session.settings._session_settings import SessionSettings

FAST: Final = "haiku"
"""The alias of the model that hooks ask by themselves."""
REVIEWER: Final = "sonnet"
"""The alias of the model that reviews calls in the mode auto, unless the settings name one."""
SUBAGENT_MODEL: Final = "GREENROOM_SUBAGENT_MODEL"
"""The environment variable that chooses the model of all sub-agents."""
HOOK_TOKENS: Final = 1_024
"""The most that a model writes when a hook asks it."""


@final
@attrs.frozen
class Judge:
    """Asks a model what a hook wants to know; without tools, and beside every conversation.

    It is the one that the hook names, else a fast one where the session runs on one of Claude's, else the session's own.
    """

    model: Model
    names: ModelNames
    wait_recorded: Callable[[], Awaitable[None]]
    """Returns when what it may be asked about is recorded."""

    async def ask(self, system: str, prompt: str, *, model: str | None) -> str:
        """Return the model's text.

        Raises:
            ProviderError: It could not be asked, or had nothing to say.
            JournalError: What it would be asked about cannot be recorded.
        """
        await self.wait_recorded()
        request = ModelRequest(
            messages=(Message.user(prompt),),
            system=system,
            max_tokens=HOOK_TOKENS,
            definition="hook",
            model=self._chosen(model),
        )
        async with self.model.stream(request) as stream:
            response = await stream.wait_response()
        return response.text

    def _chosen(self, model: str | None) -> str:
        return chosen_model(self.model, self.names, model, usual=FAST)


def reviewing_model(own: Model, names: ModelNames, wanted: str) -> tuple[str, str]:
    """Return the exact name of the model that reviews calls in the mode auto, as `chosen_model` does, and what to tell people.

    One that may not be used is not; the session's own reviews then.
    """
    if wanted and not names.allows(names.exact(wanted)):
        return "", f"autoMode.model: {wanted!r} is not among models.available; the session's own model reviews"
    return chosen_model(own, names, wanted, usual=REVIEWER), ""


def chosen_model(own: Model, names: ModelNames, wanted: str | None, *, usual: str) -> str:
    """Return the exact name of a model that the runtime asks by itself; empty for the session's own.

    Args:
        own: The session's.
        names: What aliases stand for, and which models may be used.
        wanted: What settings say: an alias or an id.
        usual: The alias that is taken otherwise, where the session runs on one of Claude's and may use it.
    """
    if wanted:
        return names.exact(wanted)
    exact = names.exact(usual)
    return exact if own.name.startswith("claude-") and names.allows(exact) else ""


def child_model(definition: AgentDefinition, wish: SubagentSpec | None, plan: Plan, *, own: str) -> tuple[str, str]:
    """Return the exact name of a child's model, and a line for people about what could not be used.

    Args:
        definition: The child's.
        wish: The reason it was started for, if another agent or the host started it.
        plan: The session's; its settings and its environment may choose the model.
        own: The name of the session's own model; a child on it gets the empty name.
    """
    call = parent = None
    if wish is not None:
        if wish.exact_model is not None:
            return wish.exact_model, ""
        call, parent = wish.model, wish.parent.profile.model if wish.parent is not None else None
    models = plan.settings.scalars.models
    chosen = choose_model(
        parent=parent or own,
        environment=plan.environ.get(SUBAGENT_MODEL),
        call=call,
        definition=definition.model,
        names=None if models is None else models.names,
    )
    problem = f"agent {definition.name}: {chosen.note}" if chosen.note else ""
    return "" if chosen.name == own else chosen.name, problem


def effort_of(definition: AgentDefinition, settings: SessionSettings) -> Effort | None:
    """Return how hard an agent thinks: as its definition says, else the settings; None for the model's own default."""
    usual = None if settings.models is None else settings.models.effort
    effort = next((value for value in (definition.effort, settings.effort, usual) if value is not None), None)
    return None if effort is None else read_effort(effort)
