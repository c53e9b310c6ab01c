"""Which model an agent runs on: the chain from the environment to the parent's model.

Rule 1: environment, then the call, then the definition, then the parent; the first that says something decides.
Rule 2: `inherit` is the parent's exact model, except in the environment, where it says nothing. Rule 3: an alias of the
parent's own family is the parent's exact model, so that a child is never moved to another version or platform.
Rule 4: a model that is not allowed is replaced, never refused, and the choice says so. Rule 5: a fork stays on the model of
its parent, whatever is said, because it shares the parent's prefix.
Must not know: the process's environment, files, who calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.core import UsageError
from greenroom.models._names import CLAUDE_MODELS, FAMILIES, family_of, newest

INHERIT: Final = "inherit"
"""Stands for the model of the agent that spawns."""

ChoiceSource: TypeAlias = Literal["environment", "call", "definition", "parent", "argument", "settings", "default"]
"""Who decided: for an agent the first four, for a session all but `call`, `definition` and `parent`."""

DEFAULT_ALIASES: Final[Mapping[str, str]] = {
    family: name for family in FAMILIES if (name := newest(CLAUDE_MODELS, family)) is not None
}
"""The model that the name of a family stands for: the newest one that this version knows."""


@final
@attrs.frozen
class ModelChoice:
    """The model that was chosen, and why."""

    name: str
    """The provider's exact name."""
    source: ChoiceSource
    asked: str
    """What was asked for, as it was written; empty where nobody asked."""
    note: str = ""
    """For people, where another model was taken than the one that was asked for."""


@attrs.frozen(kw_only=True)
class ModelNames:
    """What names mean in a session, and which of them may be used."""

    aliases: Mapping[str, str] = attrs.field(factory=dict)
    """Names of our own for exact names; they go before `DEFAULT_ALIASES`, by which families are known."""
    available: tuple[str, ...] | None = None
    """The models that may be used: exact names, and families for all of their models. None: all."""

    def exact(self, name: str) -> str:
        """Return the exact name that an alias stands for; any other name as it is."""
        return self.aliases.get(name) or DEFAULT_ALIASES.get(name.lower()) or name

    def allows(self, name: str) -> bool:
        """Whether the model with this exact name may be used."""
        if self.available is None:
            return True
        family = family_of(name)
        return any(name == self.exact(one) or one.lower() == family for one in self.available)

    def newest_allowed(self, family: str) -> str | None:
        """Return the newest model of a family that may be used, among those that are known or listed."""
        named = (*CLAUDE_MODELS, *self.aliases.values(), *(self.available or ()))
        return newest([name for name in named if self.allows(name)], family)


def choose_model(
    *,
    parent: str,
    environment: str | None = None,
    call: str | None = None,
    definition: str | None = None,
    names: ModelNames | None = None,
    is_fork: bool = False,
    is_coordinator: bool = False,
) -> ModelChoice:
    """Return the model of an agent that is to be spawned.

    Args:
        parent: Exact name of the model that the spawning agent runs on now.
        environment: The value of `GREENROOM_SUBAGENT_MODEL`.
        call: The `model` of the call that spawns.
        definition: The `model` of the agent's definition.
        names: What aliases mean and what is allowed; None for the defaults.
        is_fork: It is a fork: nothing but `parent` counts.
        is_coordinator: A coordinator spawns: `call` does not count.
    """
    names = names or ModelNames()
    if is_fork:
        return ModelChoice(parent, "parent", "")
    asked_by: tuple[tuple[ChoiceSource, str | None], ...] = (
        ("environment", "" if _means(environment, INHERIT) else environment),
        ("call", None if is_coordinator else call),
        ("definition", definition),
    )
    for source, said in asked_by:
        asked = (said or "").strip()
        if asked:
            return _chosen(asked, source, parent, names)
    return ModelChoice(parent, "parent", "")


def choose_main_model(
    *,
    argument: str | None = None,
    environment: str | None = None,
    settings: str | None = None,
    default: str,
    names: ModelNames | None = None,
) -> ModelChoice:
    """Return the model of a session's main agent: the argument or flag, `GREENROOM_MODEL`, the settings, the default.

    Raises:
        UsageError: The model is not allowed, and there is no allowed one of its family; or there is nobody to inherit from.
    """
    names = names or ModelNames()
    asked_by: tuple[tuple[ChoiceSource, str | None], ...] = (
        ("argument", argument),
        ("environment", environment),
        ("settings", settings),
        ("default", default),
    )
    source, asked = next((source, said.strip()) for source, said in asked_by if said and said.strip())
    if _means(asked, INHERIT):
        raise UsageError(f"the main agent has no parent to inherit a model from: name one instead of {asked!r}")
    exact = names.exact(asked)
    if names.allows(exact):
        return ModelChoice(exact, source, asked)
    instead = _replacement(asked, names)
    if instead is None:
        listed = ", ".join(repr(one) for one in names.available or ()) or "nothing"
        raise UsageError(f"the model {asked!r} is not allowed here; `available` lists {listed}")
    return ModelChoice(instead, source, asked, _note(asked, instead))


def _chosen(asked: str, source: ChoiceSource, parent: str, names: ModelNames) -> ModelChoice:
    if _means(asked, INHERIT):
        return ModelChoice(parent, source, asked)
    if asked.lower() in FAMILIES and asked not in names.aliases and asked.lower() == family_of(parent):
        return ModelChoice(parent, source, asked)
    exact = names.exact(asked)
    if names.allows(exact):
        return ModelChoice(exact, source, asked)
    instead = _replacement(asked, names) or parent
    return ModelChoice(instead, source, asked, _note(asked, instead))


def _replacement(asked: str, names: ModelNames) -> str | None:
    """Return what is taken for a family that is blocked; anything else that is blocked has no replacement."""
    return names.newest_allowed(asked.lower()) if asked.lower() in FAMILIES else None


def _note(asked: str, instead: str) -> str:
    return f"the model {asked!r} is not allowed here; {instead!r} is used instead"


def _means(said: str | None, word: str) -> bool:
    return said is not None and said.strip().lower() == word


def known_names(names: ModelNames) -> Sequence[str]:
    """Return the names that may be given, for help texts and completion: aliases first."""
    return [name for name in (*names.aliases, *DEFAULT_ALIASES, *CLAUDE_MODELS) if names.allows(names.exact(name))]
