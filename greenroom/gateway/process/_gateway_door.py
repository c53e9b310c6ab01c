"""The door of a gateway, as the configuration describes it: its place, its tokens, and the levels of incidents there."""

from __future__ import annotations

from pathlib import Path

from greenroom.core import UsageError
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.process._gateway_log import LogLevel
from greenroom.gateway.process._secret_reader import SecretReader
from greenroom.gateway.rpc._rpc_tokens import NamedToken
from greenroom.gateway.rpc._scopes import RpcScope
from greenroom.serving import Incident, Tcp, read_certificate


def listening_place(config: GatewayConfig, base: Path, port: int | None = None) -> Tcp:
    """Return where a gateway listens. It blocks: certificates are read.

    Args:
        config: The configuration.
        base: The folder on which relative paths stand.
        port: The port instead of that of the configuration.

    Raises:
        UsageError: The certificate cannot be used.
    """
    door = config.gateway
    host = "127.0.0.1" if door.bind == "loopback" else door.bind
    number = door.port if port is None else port
    if door.tls is None:
        return Tcp(host=host, port=number)
    try:
        tls = read_certificate(base / Path(door.tls.cert).expanduser(), base / Path(door.tls.key).expanduser())
    except UsageError as error:
        raise UsageError(f"gateway.tls: {error}") from None
    return Tcp(host=host, port=number, tls=tls)


async def named_tokens(config: GatewayConfig, secrets: SecretReader) -> list[NamedToken]:
    """Return the tokens of the configuration.

    Raises:
        UsageError: One cannot be read.
    """
    return [
        NamedToken(
            name=each.name,
            token=await secrets.read(each.token),
            scopes=frozenset(map(RpcScope, each.scopes)),
            sessions=None if each.session_keys is None else frozenset(each.session_keys),
        )
        for each in config.gateway.auth.tokens
    ]


def incident_level(incident: Incident) -> LogLevel:
    """Return the importance of an incident: what fails is ours, all else is a peer's."""
    return LogLevel.ERROR if incident.kind == "failed" else LogLevel.DEBUG
