"""Models of a gateway: one object for each provider, key and name, shared by its sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from greenroom.core import UsageError
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.process._secret_reader import SecretReader
from greenroom.gateway.runs._child_models import OWN_PROVIDER, find_model
from greenroom.models import AnthropicModel, Model, ModelSettings, with_settings
from greenroom.models.choice import DEFAULT_CLAUDE_MODEL, choose_main_model

MAX_MODELS: Final = 64
"""Models that are kept for further sessions."""


@final
class GatewayModels:
    """The models that the configuration names.

    Args:
        config: Returns the configuration in force.
        secrets: Reads keys.
    """

    def __init__(self, config: Callable[[], GatewayConfig], secrets: SecretReader) -> None:
        self._config = config
        self._secrets = secrets
        self._models: dict[tuple[str, str, str], Model] = {}

    def open_model(self, agent: str, reference: str) -> Model:
        """Return the model for an agent id and a reference.

        Raises:
            UsageError: There is no such model, or no key for it.
        """
        config = self._config()
        found = find_model(config, reference)
        if found is None:
            raise UsageError(
                f"unknown model {reference!r} of agent {agent!r}; expected a Claude model or one of models.providers"
            )
        provider, slash, name = found.partition("/")
        if not slash:
            provider, name = OWN_PROVIDER, found
        settings = config.models.providers.get(provider)
        key = None
        if settings is not None and settings.api_key is not None:
            key = self._secrets.read_now(settings.api_key)
            self._secrets.know(key)
        url = settings.base_url if settings is not None and settings.base_url else None
        exact = (
            choose_main_model(argument=name, default=DEFAULT_CLAUDE_MODEL).name if provider == OWN_PROVIDER else name
        )
        place = (exact, url or "", key or "")
        if place not in self._models:
            while len(self._models) >= MAX_MODELS:
                del self._models[next(iter(self._models))]
            self._models[place] = with_settings(AnthropicModel(exact, api_key=key, base_url=url), ModelSettings())
        return self._models[place]
