"""Choice of the model of an agent: the chain from the environment to the parent's model.

Rule 1: environment, then the call, then the definition, then the parent; the first value decides. Rule 2: `inherit` is
the parent's exact model, except in the environment, where it has no effect. Rule 3: an alias of the parent's own family
is the parent's exact model, so that a child never moves to another version or platform. Rule 4: a model that is not
allowed is replaced, never refused, and the choice notes it. Rule 5: a fork always keeps the model of its parent,
because it shares the parent's prefix.

Must not know: the process's environment, files, the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, final

import attrs

from greenroom.core import UsageError
from greenroom.models.choice._model_names import CLAUDE_MODELS, FAMILIES, family_of, newest

INHERIT: Final = "inherit"
"""The model of the spawning agent."""

ChoiceSource: TypeAlias = Literal["environment", "call", "definition", "parent", "argument", "settings", "default"]
"""The source of the decision: for an agent the first four, for a session all but `call`, `definition` and `parent`."""

DEFAULT_ALIASES: Final[Mapping[str, str]] = {
    family: name for family in FAMILIES if (name := newest(CLAUDE_MODELS, family)) is not None
}
"""The model for the name of a family: the newest one known to this version."""


@final
@attrs.frozen
class ModelChoice:
    """A chosen model, with the reason."""

    name: str
    """The provider's exact name."""
    source: ChoiceSource
    asked: str
    """The requested model, as written; empty if none was requested."""
    note: str = ""
    """For people, if another model than the requested one was chosen."""


@attrs.frozen(kw_only=True)
class ModelNames:
    """The aliases and the allowed models of a session."""

    aliases: Mapping[str, str] = attrs.field(factory=dict)
    """Aliases for exact names; they take precedence over `DEFAULT_ALIASES`, which identify families."""
    available: tuple[str, ...] | None = None
    """The allowed models: exact names, and families for all of their models. None: all."""

    def exact(self, name: str) -> str:
        """Return the exact name of an alias; any other name unchanged."""
        return self.aliases.get(name) or DEFAULT_ALIASES.get(name.lower()) or name

    def allows(self, name: str) -> bool:
        """True if the model with this exact name is allowed."""
        if self.available is None:
            return True
        family = family_of(name)
        return any(name == self.exact(known) or known.lower() == family for known in self.available)

    def newest_allowed(self, family: str) -> str | None:
        """Return the newest allowed model of a family, among those known or listed."""
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
        parent: Exact name of the spawning agent's current model.
        environment: The value of `GREENROOM_SUBAGENT_MODEL`.
        call: The `model` of the call that spawns.
        definition: The `model` of the agent's definition.
        names: Aliases and allowed models; None for the defaults.
        is_fork: True for a fork: only `parent` counts.
        is_coordinator: True if a coordinator spawns: `call` is ignored.
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
        UsageError: The model is not allowed, and no model of its family is; or there is no parent to inherit from.
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
        raise UsageError(f"the main agent cannot inherit a model: it has no parent; name a model instead of {asked!r}")
    exact = names.exact(asked)
    if names.allows(exact):
        return ModelChoice(exact, source, asked)
    instead = _replacement(asked, names)
    if instead is None:
        listed = ", ".join(repr(known) for known in names.available or ()) or "nothing"
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
    """Return the replacement for a disallowed family; other disallowed names have none."""
    return names.newest_allowed(asked.lower()) if asked.lower() in FAMILIES else None


def _note(asked: str, instead: str) -> str:
    return f"the model {asked!r} is not allowed here; {instead!r} is used instead"


def _means(said: str | None, word: str) -> bool:
    return said is not None and said.strip().lower() == word


def known_names(names: ModelNames) -> Sequence[str]:
    """Return the names that may be given, for help texts and completion: aliases first."""
    return [name for name in (*names.aliases, *DEFAULT_ALIASES, *CLAUDE_MODELS) if names.allows(names.exact(name))]
