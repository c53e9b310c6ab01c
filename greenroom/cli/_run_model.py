"""The model of a headless run: from the command line, the environment, the agent's definition, the settings, or the
default.

An unknown model is refused before a run folder is created. A missing key does not select another model: the playbook,
which answers by rules, is used only if it is named.
"""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Final

from greenroom.agents import AgentDefinition
from greenroom.core import UsageError
from greenroom.core.sources import find_places
from greenroom.headless import KEYS, key_source
from greenroom.models import AnthropicModel, Model, ModelSettings, PlaybookModel, with_events, with_settings
from greenroom.models.budgets import Budget, Limits, budgeted
from greenroom.models.choice import DEFAULT_CLAUDE_MODEL, INHERIT, choose_main_model, family_of
from greenroom.session import ModelFor, SessionSettings, SettingSource, load_settings
from greenroom.terminal import note

PLAYBOOK: Final = "playbook"
MODEL_VARIABLE: Final = "GREENROOM_MODEL"
_BASE_URL: Final = "ANTHROPIC_BASE_URL"


def managed_model(cwd: Path) -> str | None:
    """Return the model that an administrator's settings name; None if they name none.

    Raises:
        SettingsError: The settings are invalid.
    """
    return load_settings(find_places(cwd), (SettingSource.MANAGED,)).scalars.model


def model_for(asked: str | None, *, max_usd: Decimal | None = None, managed: str | None = None) -> ModelFor:
    """Return a factory for the model of a run.

    Args:
        asked: The model that the command line names; None if it names none.
        max_usd: Maximum cost of the run in US dollars.
        managed: The model that an administrator has set; it takes precedence over all others.
    """
    if managed is not None and asked not in (None, managed):
        note(f"using the model {managed!r}, which an administrator has set, instead of {asked!r}")

    def make(settings: SessionSettings, main: AgentDefinition) -> Model:
        models = settings.models
        choice = choose_main_model(
            argument=managed or asked,
            environment=os.environ.get(MODEL_VARIABLE),
            settings=main.model if main.model != INHERIT else settings.model or (models.name if models else None),
            default=DEFAULT_CLAUDE_MODEL,
            names=models.names if models is not None else None,
        )
        if choice.note:
            note(choice.note)
        if choice.name == PLAYBOOK:
            from greenroom.swarm.survey import play_search  # forty modules that no other model needs

            return with_events(PlaybookModel({main.name: play_search}, name=PLAYBOOK))
        _check(choice.name)
        budget = None if max_usd is None else Budget(Limits(usd=max_usd), name="the run")
        model = AnthropicModel(choice.name)
        if models is None:
            return with_settings(model, ModelSettings(), budget=budget)
        return model if budget is None else budgeted(model, budget)  # the session wraps it according to the settings

    return make


def _check(name: str) -> None:
    if family_of(name) is None and not os.environ.get(_BASE_URL):
        raise UsageError(
            f"unknown model {name!r}; expected a Claude model such as {DEFAULT_CLAUDE_MODEL!r}, or {PLAYBOOK!r}"
        )
    if key_source() == "none":
        raise UsageError(f"the model {name!r} needs a key: set {KEYS[0]}, or use --model {PLAYBOOK}")
