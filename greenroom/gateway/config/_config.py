"""The whole configuration of a gateway."""

from __future__ import annotations

from functools import cached_property
from typing import final

import attrs

from greenroom.gateway.config._agents import AgentsConfig
from greenroom.gateway.config._channels import ChannelsConfig
from greenroom.gateway.config._clock_and_limits import CommandsConfig, CronConfig, LimitsConfig, SecretsConfig
from greenroom.gateway.config._placed_secrets import placed_secrets
from greenroom.gateway.config._sections import (
    Binding,
    DoorConfig,
    MessagesConfig,
    ModelsConfig,
    RestartConfig,
    SessionConfig,
    ToolsConfig,
)


@final
@attrs.frozen(kw_only=True)
class GatewayConfig:
    """The configuration of a gateway. In the file, the words of a key are joined as in `maxConcurrent`."""

    gateway: DoorConfig = DoorConfig()  # noqa: RUF009  frozen
    """The port, and the stop."""
    agents: AgentsConfig = AgentsConfig()  # noqa: RUF009  frozen
    """The agents."""
    bindings: tuple[Binding, ...] = ()
    """Which messages go to which agent; others go to the default one."""
    session: SessionConfig = SessionConfig()  # noqa: RUF009  frozen
    """Which messages share a conversation."""
    channels: ChannelsConfig = ChannelsConfig()  # noqa: RUF009  frozen
    """Channels."""
    messages: MessagesConfig = MessagesConfig()  # noqa: RUF009  frozen
    """Messages of chats."""
    tools: ToolsConfig = ToolsConfig()  # noqa: RUF009  frozen
    """Which tools are offered."""
    models: ModelsConfig = ModelsConfig()  # noqa: RUF009  frozen
    """Models, and where they are."""
    commands: CommandsConfig = CommandsConfig()  # noqa: RUF009  frozen
    """Commands in chats."""
    cron: CronConfig = CronConfig()  # noqa: RUF009  frozen
    """Work that the clock begins."""
    secrets: SecretsConfig = SecretsConfig()  # noqa: RUF009  frozen
    """Secrets."""
    restart: RestartConfig = RestartConfig()  # noqa: RUF009  frozen
    """Turns that the end of the process cut."""
    limits: LimitsConfig = LimitsConfig()  # noqa: RUF009  frozen
    """Upper limits."""

    @cached_property
    def secret_variables(self) -> tuple[str, ...]:
        """The variables that hold secrets, each once; looked for once, as the values do not change."""
        secrets = (secret for _, secret in placed_secrets(self) if secret.kind == "env")
        return tuple(dict.fromkeys(secret.reference[0] for secret in secrets))
