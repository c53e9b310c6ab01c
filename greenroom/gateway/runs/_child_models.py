"""The model and the thinking of a sub-agent: the first of the call, the target agent, the defaults and the caller.

Rule 1: a value that cannot be used is skipped, and named. Rule 2: the result is written into the child's own settings, so a later change
of the caller or of the configuration does not reach a child that was accepted.
Must not know: registry, sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, final, get_args

import attrs

from greenroom.gateway.config._agents import AgentConfig
from greenroom.gateway.config._checks import agents_of
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._values import ModelSetting, Thinking
from greenroom.models.choice import FAMILIES, family_of

THINKING: Final[tuple[str, ...]] = get_args(Thinking)
"""Levels of thinking, from none to the most."""
DEFAULT_MODEL: Final = "sonnet"
"""The model where nothing names one: the newest of its family."""
OWN_PROVIDER: Final = "anthropic"
"""The provider that is always there; its models need no prefix."""


@final
@attrs.frozen(kw_only=True)
class ChildModel:
    """The model of a child, and where it came from."""

    name: str
    """The reference: a bare name, or `provider/name`."""
    fallbacks: tuple[str, ...] = ()
    is_set: bool
    """True if the call or the configuration of sub-agents named it; False if it is inherited."""
    skipped: tuple[str, ...] = ()
    """Values that came first and could not be used."""


def agent_settings(config: GatewayConfig, agent: str) -> AgentConfig:
    """Return the settings of an agent; an id that is not configured has the defaults only."""
    return agents_of(config).get(agent) or AgentConfig(id=agent)


def find_model(config: GatewayConfig, reference: str) -> str | None:
    """Return the model that a reference stands for; None if no configured provider has it.

    `anthropic/claude-haiku-4-5` and `claude-haiku-4-5` are the same; an alias of the configuration is replaced by what it stands for.
    """
    name = reference.strip()
    name = config.models.aliases.get(name, name).strip()
    provider, slash, rest = name.partition("/")
    if slash:
        if provider == OWN_PROVIDER:
            return rest or None
        return name if rest and provider in config.models.providers else None
    if name in FAMILIES or (name.startswith("claude-") and family_of(name) is not None):
        return name
    for id_, known in config.models.providers.items():
        if any(model.id == name for model in known.models):
            return name if id_ == OWN_PROVIDER else f"{id_}/{name}"
    return None


def choose_child_model(
    config: GatewayConfig, *, asked: str | None, target: str, caller: str, caller_settings: Mapping[str, Any]
) -> ChildModel:
    """Return the model of a child.

    Args:
        config: The configuration.
        asked: The model that the call names; None or empty for none.
        target: Id of the agent that runs.
        caller: Id of the calling agent.
        caller_settings: Settings of the calling session.
    """
    skipped: list[str] = []
    for setting in _model_settings(config, asked, target):
        found = find_model(config, setting.primary)
        if found is not None:
            known = (find_model(config, each) for each in setting.fallbacks)
            fallbacks = tuple(each for each in known if each is not None)
            return ChildModel(name=found, fallbacks=fallbacks, is_set=True, skipped=tuple(skipped))
        skipped.append(setting.primary)
    inherits_target = config.agents.defaults.subagents.inherit_from == "target"
    chosen = own_model(config, target) if inherits_target else own_model(config, caller, caller_settings)
    found = find_model(config, chosen.primary)
    return ChildModel(name=found or chosen.primary, fallbacks=chosen.fallbacks, is_set=False, skipped=tuple(skipped))


def own_model(config: GatewayConfig, agent: str, settings: Mapping[str, Any] | None = None) -> ModelSetting:
    """Return the model of a session: its own setting, else its agent's, else the defaults'."""
    named = (settings or {}).get("model")
    if isinstance(named, str) and named:
        fallbacks = (settings or {}).get("fallbacks") or ()
        return ModelSetting(primary=named, fallbacks=tuple(map(str, fallbacks)))
    return agent_settings(config, agent).model or config.agents.defaults.model or ModelSetting(primary=DEFAULT_MODEL)


def choose_child_thinking(
    config: GatewayConfig, *, asked: str | None, target: str, caller: str, caller_settings: Mapping[str, Any]
) -> str:
    """Return the level of thinking of a child; empty for that of its model. `asked` is a legal level, or none."""
    defaults = config.agents.defaults
    chosen = asked or agent_settings(config, target).subagents.thinking or defaults.subagents.thinking
    if chosen:
        return chosen
    if defaults.subagents.inherit_from == "target":
        return own_thinking(config, target)
    return own_thinking(config, caller, caller_settings)


def own_thinking(config: GatewayConfig, agent: str, settings: Mapping[str, Any] | None = None) -> str:
    """Return the level of thinking of a session; empty for that of its model."""
    own = str((settings or {}).get("thinking") or "")
    return own or agent_settings(config, agent).thinking or config.agents.defaults.thinking or ""


def _model_settings(config: GatewayConfig, asked: str | None, target: str) -> Iterator[ModelSetting]:
    """Yield what names a model of a child, in order of precedence."""
    if asked and asked.strip():
        yield ModelSetting(primary=asked.strip())
    for setting in (agent_settings(config, target).subagents.model, config.agents.defaults.subagents.model):
        if setting is not None:
            yield setting
