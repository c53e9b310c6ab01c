"""The model that hooks with a prompt ask: a question and an answer, beside every conversation.

Must not know: what the answer means.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, final

import attrs

from greenroom.models import Message, Model, ModelRequest
from greenroom.models.choice import ModelNames

FAST: Final = "haiku"
"""The alias of the model that hooks ask by themselves."""
REVIEWER: Final = "sonnet"
"""The alias of the model that reviews calls in the mode auto, unless the settings name one."""
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
    """Returns when what it may be asked about is on record."""

    async def ask(self, system: str, prompt: str, *, model: str | None) -> str:
        """Return the model's text.

        Raises:
            ProviderError: It could not be asked, or had nothing to say.
            JournalError: What it would be asked about cannot be put on record.
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
