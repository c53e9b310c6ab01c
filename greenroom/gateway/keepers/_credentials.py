"""Credentials of agents: the profiles of an agent's folder, with those of the main agent behind them.

    {"version": 1, "profiles": {"anthropic:default": {"type": "api_key", "key": {"env": "WORK_KEY"}}}}

Rule 1: the agent id alone decides, not the kind of its session. Rule 2: merging only adds: a profile of the agent itself comes first.
Rule 3: a file that cannot be used makes the agent fail, and names the file; nothing else stands in for it in silence.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from greenroom.core import UsageError
from greenroom.gateway.config._agents import MAIN_AGENT
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._values import Secret, Unfit, read_secret
from greenroom.gateway.keepers._agent_setup import agent_of

PROFILES: Final = "auth-profiles.json"
VERSION: Final = 1
MAX_PROFILES_BYTES: Final = 256 * 1024


def agent_folder(config: GatewayConfig, agent_id: str, *, state_folder: Path, base: Path) -> Path:
    """Return the folder of an agent's credentials."""
    said = agent_of(config, agent_id).agent_dir
    return base / Path(said).expanduser() if said else state_folder / "agents" / agent_id / "agent"


def find_credential(
    config: GatewayConfig, agent_id: str, provider: str, *, state_folder: Path, base: Path
) -> Secret | None:
    """Return the key of a provider for an agent; None if only the environment may have one. It blocks.

    The agent's own profiles come first, then those of the main agent, then the provider's section of the configuration.

    Args:
        config: The configuration.
        agent_id: The agent.
        provider: The provider.
        state_folder: The gateway's state folder.
        base: The folder on which relative paths of the configuration stand.

    Raises:
        UsageError: A file of profiles cannot be used.
    """
    for profiles in _profiles_of(config, agent_id, state_folder=state_folder, base=base):
        found = next((key for name, key in profiles.items() if name.partition(":")[0] == provider), None)
        if found is not None:
            return found
    settings = config.models.providers.get(provider)
    return None if settings is None else settings.api_key


def credential_variables(config: GatewayConfig, agent_id: str, *, state_folder: Path, base: Path) -> tuple[str, ...]:
    """Return the variables that the profiles of an agent name, which its programs do not get. It blocks.

    Raises:
        UsageError: A file of profiles cannot be used.
    """
    files = _profiles_of(config, agent_id, state_folder=state_folder, base=base)
    return tuple(key.reference[0] for profiles in files for key in profiles.values() if key.kind == "env")


def _profiles_of(
    config: GatewayConfig, agent_id: str, *, state_folder: Path, base: Path
) -> Iterator[dict[str, Secret]]:
    """Yield the profiles of an agent, then those of the main agent."""
    for each in dict.fromkeys((agent_id, MAIN_AGENT)):
        yield read_profiles(agent_folder(config, each, state_folder=state_folder, base=base) / PROFILES)


def read_profiles(path: Path) -> dict[str, Secret]:
    """Return the keys of a file of profiles by name; none if there is no file. It blocks.

    Raises:
        UsageError: Others can read the file, or it is not what it has to be; no text of it is shown.
    """
    try:
        status = path.stat()
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise UsageError(f"cannot use {str(path)!r}: others can read it; run chmod 600 on it")
        if status.st_size > MAX_PROFILES_BYTES:
            raise UsageError(f"cannot use {str(path)!r}: it has more than {MAX_PROFILES_BYTES} bytes")
        values = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"cannot use {str(path)!r}: it is not JSON") from None
    return _profiles(values, path)


def _profiles(values: Any, path: Path) -> dict[str, Secret]:
    if not isinstance(values, Mapping) or values.get("version") != VERSION:
        raise UsageError(f"cannot use {str(path)!r}: expected an object with version {VERSION}")
    profiles = values.get("profiles", {})
    if not isinstance(profiles, Mapping):
        raise UsageError(f"cannot use {str(path)!r}: profiles must be an object")
    return {str(name): _key(str(name), profile, path) for name, profile in profiles.items()}


def _key(name: str, profile: Any, path: Path) -> Secret:
    where = f"cannot use {str(path)!r}: profile {name!r}"
    provider, colon, rest = name.partition(":")
    if not (provider and colon and rest):
        raise UsageError(f"{where} must be named <provider>:<name>")
    if not isinstance(profile, Mapping) or profile.get("type") != "api_key":
        raise UsageError(f"{where} must have the type 'api_key'")
    try:
        return read_secret(profile.get("key"))
    except Unfit as error:
        raise UsageError(f"{where}: key {error}") from None
