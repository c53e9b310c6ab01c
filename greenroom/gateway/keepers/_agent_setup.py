"""The configuration of an agent id as the arguments of a session: definition, tools, model, settings, folders.

Rule 1: the kind of a session plays no part in which agent it is: its key names the agent. Rule 2: a setting of the session comes before
one of the agent, and that before `agents.defaults`.
Must not know: turns, lanes, chats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.agents import AgentDefinition
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._agents import AgentConfig, DefaultAgent, ToolRules
from greenroom.gateway.config._checks import placed_secrets
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._values import ModelSetting
from greenroom.gateway.keepers._session_models import effort_for, model_settings
from greenroom.gateway.policy._tool_policy import AGENT_TOOLS, tools_of
from greenroom.gateway.record._rows import SessionRow, spawn_depth
from greenroom.gateway.routing._session_key import CronSession, RoomSession, SessionKey, SubagentSession, key_name
from greenroom.gateway.runs._child_models import find_model, own_model
from greenroom.gateway.trust._senders import origin_class_of
from greenroom.models import Model
from greenroom.models.choice import ModelNames
from greenroom.tools import Tool

MAIN_LANE: Final = "main"
CHILD_LANE: Final = "subagent"
CRON_LANE: Final = "cron"
OpenModel = Callable[[str, str], Model]
"""Returns the model for an agent id and a reference."""
ToolsFor = Callable[[SessionKey], Iterable[Tool]]
"""Returns the tools that there are for a session."""


def sessions_folder(state_folder: Path, key: SessionKey) -> Path:
    """Return the folder of the run folders of a session's agent."""
    return state_folder / "agents" / key.agent / "sessions"


def lane_of(key: SessionKey) -> str:
    """Return the lane of a session's turns."""
    match key.rest:
        case SubagentSession():
            return CHILD_LANE
        case CronSession():
            return CRON_LANE
    return MAIN_LANE


def agent_of(config: GatewayConfig, agent_id: str) -> AgentConfig:
    """Return the configuration of an agent; one that only allowlists name has the defaults."""
    found = (agent for agent in config.agents.list if normal_agent_id(agent.id) == agent_id)
    return next(found, AgentConfig(id=agent_id))


def workspace_of(config: GatewayConfig, agent: AgentConfig, agent_id: str, base: Path) -> Path:
    """Return the folder that an agent works in; relative ones stand on `base`."""
    if agent.workspace:
        return base / Path(agent.workspace).expanduser()
    folder = base / Path(config.agents.defaults.workspace or "workspace").expanduser()
    return folder / agent_id if len(config.agents.list) > 1 else folder


def make_workspace(folder: Path) -> None:
    """Make a workspace that no agent names, with the folders above it, if it is missing. It blocks.

    If it cannot be made, opening the session says that it is not a directory.
    """
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def other_workspaces(config: GatewayConfig, agent_id: str, base: Path) -> tuple[Path, ...]:
    """Return the folders of the other agents that are not this one's too."""
    ids = {normal_agent_id(agent.id): agent for agent in config.agents.list}
    folders = {id_: workspace_of(config, agent, id_, base) for id_, agent in ids.items()}
    own = workspace_of(config, agent_of(config, agent_id), agent_id, base)
    return tuple(dict.fromkeys(folder for folder in folders.values() if folder != own))


def room_of(config: GatewayConfig, key: SessionKey) -> ToolRules | None:
    """Return the rules of a group's tools; None if the session is not a group's, or the configuration does not name it."""
    if not isinstance(key.rest, RoomSession):
        return None
    for (channel, _), account in config.channels.accounts().items():
        for name, group in account.groups.items():
            if channel == key.rest.channel and key_name(name) == key.rest.peer:
                return group.tools
    return None


@final
@attrs.frozen(kw_only=True)
class AgentSetup:
    """The setup of one session, from the configuration of its agent id."""

    config: GatewayConfig
    agent: AgentConfig
    row: SessionRow
    key: SessionKey
    unreadable: tuple[Path, ...] = ()
    """Folders that commands in its sandbox do not see."""
    secret_variables: tuple[str, ...] = ()
    """Variables that the credentials of its agent name."""

    @property
    def defaults(self) -> DefaultAgent:
        """The settings of agents that do not say them."""
        return self.config.agents.defaults

    @property
    def model(self) -> ModelSetting:
        """Its model, and what is asked in its place; a reference that no provider has any more is left out of the latter."""
        setting = own_model(self.config, self.key.agent, self.row.settings)
        known = (find_model(self.config, each) for each in setting.fallbacks)
        names = dict.fromkeys(ModelNames().exact(each) for each in known if each is not None)
        return ModelSetting(primary=setting.primary, fallbacks=tuple(names))

    @property
    def thinking(self) -> str | None:
        """Its level of thinking; None for the model's own."""
        return self.row.settings.get("thinking") or self.agent.thinking or self.defaults.thinking

    @property
    def permission_mode(self) -> str:
        """Its permission mode."""
        said = self.row.settings.get("permission_mode") or self.agent.permission_mode or self.defaults.permission_mode
        return said or "default"

    @property
    def sources(self) -> tuple[str, ...]:
        """The settings files that it reads."""
        return self.defaults.sources if self.agent.sources is None else self.agent.sources

    def workspace(self, base: Path) -> Path:
        """Return the folder that it works in.

        Args:
            base: The folder of the configuration file, on which relative paths stand.
        """
        return workspace_of(self.config, self.agent, self.key.agent, base)

    def definition(self, prompt: str, tools: Iterable[Tool], sessions: Mapping[str, SessionRow]) -> AgentDefinition:
        """Return the definition of its main agent.

        Args:
            prompt: The system prompt.
            tools: The tools that there are.
            sessions: The sessions that are known.
        """

        def spawned_by(key: str) -> str:
            row = sessions.get(key)
            return "" if row is None else row.spawned_by

        names = [*(tool.name for tool in tools), *AGENT_TOOLS]  # a session may bring some of these by itself
        offered = tools_of(
            self.config,
            self.agent,
            names,
            is_child=self.key.is_child,
            may_spawn=spawn_depth(sessions, str(self.key)) < self.defaults.subagents.max_spawn_depth,
            origin_class=origin_class_of(self.config, self.key, spawned_by=spawned_by),
            room=room_of(self.config, self.key),
        )
        return AgentDefinition(
            name=self.key.agent,
            system_prompt=prompt,
            disallowed_tools=tuple(offered.why),
            effort=effort_for(self.model.primary, self.thinking),
        )

    def settings(self) -> dict[str, Any]:
        """Return the settings of its sessions."""
        return {
            "env": {**self.defaults.env, **self.agent.env},
            "pass_env": [f"!{name}" for name in self.withheld],
            "models": model_settings(self.config, self.model, self.thinking),
            "recovery": {"cut_turns": "leave"},
            "schedules": {"enabled": False},
            "peers": {"inbound": "refuse", "socket": "", "sockets": []},
            "sandbox": self.sandbox(),
        }

    @property
    def withheld(self) -> tuple[str, ...]:
        """The variables that no program of its sessions gets: those that references to secrets and `secrets.withhold` name."""
        named = (secret.reference[0] for _, secret in placed_secrets(self.config) if secret.kind == "env")
        return tuple(dict.fromkeys((*named, *self.secret_variables, *self.config.secrets.withhold)))

    def sandbox(self) -> dict[str, Any]:
        """Return the sandbox of its sessions' commands, with the keys of the shell tool: no home, no state folder, no other workspace."""
        own, others = self.agent.sandbox, self.defaults.sandbox
        mode = own.mode or others.mode or "off"
        kind = own.exec or others.exec or "none"
        if kind != "bwrap" or not (mode == "all" or (mode == "children" and self.key.is_child)):
            return {"enabled": False}
        network = own.network if own.network is not None else others.network
        return {"enabled": True, "network": bool(network), "unreadable": ["~", *map(str, self.unreadable)]}


def asks_for_sandbox(config: GatewayConfig) -> bool:
    """True if commands of an agent are to run in bubblewrap."""
    others = config.agents.defaults.sandbox
    own = [agent.sandbox for agent in config.agents.list] or [others]
    return any((each.exec or others.exec) == "bwrap" and (each.mode or others.mode or "off") != "off" for each in own)
