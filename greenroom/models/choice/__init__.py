"""Choice of models: names, aliases, families, and the chain that decides which model an agent runs on."""

from greenroom.models._types import read_effort
from greenroom.models.choice._model_choice import INHERIT, ModelNames, choose_main_model, choose_model
from greenroom.models.choice._model_names import DEFAULT_CLAUDE_MODEL, FAMILIES, SMALL_CLAUDE_MODEL, family_of

__all__ = [
    "DEFAULT_CLAUDE_MODEL",
    "FAMILIES",
    "INHERIT",
    "SMALL_CLAUDE_MODEL",
    "ModelNames",
    "choose_main_model",
    "choose_model",
    "family_of",
    "read_effort",
]
