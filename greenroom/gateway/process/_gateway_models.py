"""Models of a gateway: one object for each provider, key and name, shared by its sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, final

from greenroom.core import UsageError
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._credentials import PROFILES, find_credential
from greenroom.gateway.process._secret_reader import SecretReader
from greenroom.gateway.runs._child_models import OWN_PROVIDER, find_model
from greenroom.models import AnthropicModel, Model
from greenroom.models.choice import DEFAULT_CLAUDE_MODEL, choose_main_model

MAX_MODELS: Final = 64
"""Models that are kept for further sessions."""


@final
class GatewayModels:
    """The models that the configuration names, with the credentials of each agent.

    Args:
        config: Returns the configuration in force.
        secrets: Reads keys.
        state_folder: The state folder, which has the folders of agents.
        base: The folder on which relative paths of the configuration stand.
        environ: Variables; that of a provider comes behind all profiles and the configuration.
    """

    def __init__(
        self,
        config: Callable[[], GatewayConfig],
        secrets: SecretReader,
        *,
        state_folder: Path,
        base: Path,
        environ: Mapping[str, str],
    ) -> None:
        self._config = config
        self._secrets = secrets
        self._state_folder = state_folder
        self._base = base
        self._environ = environ
        self._models: dict[tuple[str, str, str], Model] = {}

    def open_model(self, agent: str, reference: str) -> Model:
        """Return the model for an agent id and a reference. It blocks: files are read, and programs may print keys.

        Raises:
            UsageError: There is no such model, no key for it, or a file of credentials that cannot be used.
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
        key = self._key(config, agent, provider)
        url = settings.base_url if settings is not None and settings.base_url else None
        exact = (
            choose_main_model(argument=name, default=DEFAULT_CLAUDE_MODEL).name if provider == OWN_PROVIDER else name
        )
        place = (exact, url or "", key or "")
        if place not in self._models:
            while len(self._models) >= MAX_MODELS:
                del self._models[next(iter(self._models))]
            self._models[place] = AnthropicModel(exact, api_key=key, base_url=url)
        return self._models[place]

    def _key(self, config: GatewayConfig, agent: str, provider: str) -> str | None:
        """Return the key of a provider for an agent; None if the provider's own library finds it."""
        secret = find_credential(config, agent, provider, state_folder=self._state_folder, base=self._base)
        variable = key_variable(provider)
        key = self._environ.get(variable) if secret is None else self._secrets.read_now(secret)
        if key:
            self._secrets.know(key)
            return key
        if provider == OWN_PROVIDER:
            return None
        # Without one, the key of another provider would be sent there.
        raise UsageError(
            f"no key for provider {provider!r} of agent {agent!r}: set models.providers.{provider}.apiKey or {variable},"
            f" or add a profile to its {PROFILES}"
        )


def key_variable(provider: str) -> str:
    """Return the name of the variable with a provider's key: `ANTHROPIC_API_KEY`."""
    return f"{provider.upper().replace('-', '_').replace('.', '_')}_API_KEY"
