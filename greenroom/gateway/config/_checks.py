"""What the parts of a configuration must be to each other, and what they must be to the machine.

Each check is a function of the whole; it looks at files, and changes nothing.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import attrs

from greenroom.core import UsageError
from greenroom.core.network import is_loopback_host
from greenroom.core.sources import shown
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._agents import MAIN_AGENT, AgentConfig
from greenroom.gateway.config._channels import AccountConfig, IrcAccount, MatrixAccount, TelegramAccount
from greenroom.gateway.config._clock_and_limits import CronJob
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._files import Place
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._problems import Severity
from greenroom.gateway.config._values import Secret
from greenroom.inbox import read_cron, read_time, read_zone

Finding: TypeAlias = tuple[Place, str, Severity]
_PROBLEM: Final = Severity.PROBLEM
_WARNING: Final = Severity.WARNING
_LIST: Final[Place] = ("agents", "list")


def check_config(
    config: GatewayConfig,
    *,
    folder: Path,
    environ: Mapping[str, str],
    is_whole: Callable[[Place], bool] = lambda _: True,
) -> Iterator[Finding]:
    """Yield what is wrong with a configuration whose values are each in order.

    Args:
        config: The configuration.
        folder: The folder of its file, from which relative paths count.
        environ: Variables, for secrets.
        is_whole: False for a path at which something was left out because it is wrong by itself.
    """
    agents_are_known = is_whole(("agents",)) and is_whole(_LIST)
    yield from _agent_ids(config)
    yield from _defaults(config, is_whole)
    if agents_are_known:
        yield from _agent_names(config)
    yield from _workspaces(config, folder)
    if is_whole(("channels",)) and is_whole(("channels", "plugins")):
        yield from _binding_channels(config)
    yield from _door(config, folder, is_whole)
    yield from _people(config)
    yield from _accounts(config, is_whole)
    yield from _jobs(config, is_whole)
    yield from _zones(config)
    yield from _secrets(config, folder, environ)


# --- agents -----------------------------------------------------------------------------------------------------------


def _agent_ids(config: GatewayConfig) -> Iterator[Finding]:
    agents = config.agents.list
    ids = [normal_agent_id(agent.id) for agent in agents]
    for at, (agent, agent_id) in enumerate(zip(agents, ids, strict=True)):
        if agent_id in ids[:at]:
            first = agents[ids.index(agent_id)].id
            same = "" if first == agent.id else f", which is the same as {first!r}"
            yield ("agents", "list", at, "id"), f"two agents have the id {agent_id!r}{same}", _PROBLEM


def _defaults(config: GatewayConfig, is_whole: Callable[[Place], bool]) -> Iterator[Finding]:
    agents = config.agents.list
    defaults = [at for at, agent in enumerate(agents) if agent.default]
    for at in defaults[1:]:
        yield ("agents", "list", at, "default"), f"{agents[defaults[0]].id!r} is the default agent already", _PROBLEM
    is_said = is_whole(_LIST) and all(is_whole((*_LIST, at, "default")) for at in range(len(agents)))
    if len(agents) > 1 and not defaults and is_said:
        yield ("agents", "list"), "one of the agents must have default: true", _PROBLEM


def _workspaces(config: GatewayConfig, folder: Path) -> Iterator[Finding]:
    named: list[tuple[Place, str]] = [(("agents", "defaults", "workspace"), config.agents.defaults.workspace)]
    for at, agent in enumerate(config.agents.list):
        named += [
            (("agents", "list", at, "workspace"), agent.workspace),
            (("agents", "list", at, "agentDir"), agent.agent_dir),
        ]
    named.append((("gateway", "state"), config.gateway.state))
    for place, path in named:
        if path and (what := _not_folder(path, folder)):
            yield place, what, _PROBLEM
        elif path and place[-1] == "workspace" and place[1] == "list" and not whole(path, folder).exists():
            yield (
                place,
                f"there is no folder {shown(str(whole(path, folder)))}; its sessions open when there is",
                _WARNING,
            )


def _not_folder(written: str, folder: Path) -> str:
    """Return why a path cannot be a folder; empty if it can."""
    if "\0" in written:
        return "must be a path, and holds a NUL character"
    path = whole(written, folder)
    try:
        while not os.path.lexists(path) and path != path.parent:
            path = path.parent
        return "" if path.is_dir() else f"must be a folder; {shown(str(path))} is not a directory"
    except OSError as error:
        return f"cannot be used: {(error.strerror or str(error)).lower()}"


def whole(written: str, folder: Path) -> Path:
    """Return a path as the configuration means it: `~` is the home folder, relative paths begin at the file's folder."""
    try:
        return folder / Path(written).expanduser()
    except RuntimeError:  # no home folder
        return folder / written


def _agent_names(config: GatewayConfig) -> Iterator[Finding]:
    known = {normal_agent_id(agent.id) for agent in config.agents.list} or {MAIN_AGENT}
    named: list[tuple[Place, str | None]] = [
        (("bindings", at, "agentId"), binding.agent_id) for at, binding in enumerate(config.bindings)
    ]
    named += [(("cron", "jobs", at, "agentId"), job.agent_id) for at, job in enumerate(config.cron.jobs)]
    for place, account in _placed_accounts(config):
        named += [((*place, "groups", name, "agentId"), group.agent_id) for name, group in account.groups.items()]
    for place, name in named:
        if name is not None and normal_agent_id(name) not in known:
            yield place, f"unknown agent {shown(name)}; expected one of: {', '.join(sorted(known))}", _PROBLEM


def _binding_channels(config: GatewayConfig) -> Iterator[Finding]:
    for at, binding in enumerate(config.bindings):
        channels = {"web", "terminal", *(channel for channel, _ in config.channels.accounts())}
        if binding.match.channel not in channels:
            yield (
                ("bindings", at, "match", "channel"),
                f"unknown channel {shown(binding.match.channel)}; expected one of: {', '.join(sorted(channels))}",
                _PROBLEM,
            )


# --- the door ---------------------------------------------------------------------------------------------------------


def _door(config: GatewayConfig, folder: Path, is_whole: Callable[[Place], bool]) -> Iterator[Finding]:
    door = config.gateway
    if door.bind != "loopback":
        try:
            is_here = ipaddress.ip_address(door.bind).is_loopback
        except ValueError:
            yield ("gateway", "bind"), f'must be "loopback" or an IP address, got {shown(door.bind)}', _PROBLEM
        else:
            if not is_here and door.tls is None and is_whole(("gateway", "tls")):
                yield (
                    ("gateway", "bind"),
                    "requires gateway.tls; or listen on loopback behind a proxy or a tunnel",
                    _PROBLEM,
                )
    if door.tls is not None:
        for key, written in (("cert", door.tls.cert), ("key", door.tls.key)):
            if not _is_file(whole(written, folder)):
                yield ("gateway", "tls", key), f"there is no file {shown(written)}", _PROBLEM
    for at, origin in enumerate(door.allowed_origins):
        try:
            parts = urlsplit(origin)
            is_origin = parts.scheme in {"http", "https"} and bool(parts.hostname) and origin.count("/") == 2
        except ValueError:
            is_origin = False
        if not is_origin:
            yield ("gateway", "allowedOrigins", at), f"must be like https://example.org, got {shown(origin)}", _PROBLEM
    yield from _twice(
        "two tokens have this name", ("gateway", "auth", "tokens"), [token.name for token in door.auth.tokens]
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _twice(what: str, place: Place, names: list[str], key: str = "name") -> Iterator[Finding]:
    for name, times in Counter(names).items():
        if times > 1:
            last = len(names) - 1 - names[::-1].index(name)
            yield (*place, last, key), f"{what}: {shown(name)}", _PROBLEM


# --- people and channels ----------------------------------------------------------------------------------------------


def _placed_accounts(config: GatewayConfig) -> Iterator[tuple[Place, AccountConfig]]:
    channels = config.channels
    for name, channel in (("irc", channels.irc), ("matrix", channels.matrix), ("telegram", channels.telegram)):
        if channel is not None:
            for account, settings in channel.each_account.items():
                yield ("channels", name) if settings is channel else ("channels", name, "accounts", account), settings
    for name, plugin in channels.plugins.items():
        for account, options in plugin.each_account.items():
            yield ("channels", "plugins", name, "accounts", account), options


def _people(config: GatewayConfig) -> Iterator[Finding]:
    if config.session.dm_scope == "main" and _many_may_write(config):
        text = "several people may write: each can read what the agent knows of the others; owner-main keeps them apart"
        yield ("session", "dmScope"), text, _WARNING
    linked: dict[str, str] = {}
    for name, peers in config.session.identity_links.items():
        for at, each in enumerate(peers):
            if linked.setdefault(each, name) != name:
                text = f"{shown(each)} belongs to {shown(linked[each])} already"
                yield ("session", "identityLinks", name, at), text, _PROBLEM
    if "*" in config.commands.owner_allow_from:
        at = config.commands.owner_allow_from.index("*")
        yield ("commands", "ownerAllowFrom", at), "everybody would be an owner; name each owner", _PROBLEM


def _many_may_write(config: GatewayConfig) -> bool:
    people = set(config.commands.owner_allow_from)
    for place, account in _placed_accounts(config):
        if account.dm_policy in {"pairing", "open"}:
            return True
        if account.dm_policy == "allowlist":
            people |= {f"{place[1]}:{name}" for name in account.allow_from}
    return len(people) > 1


def _accounts(config: GatewayConfig, is_whole: Callable[[Place], bool]) -> Iterator[Finding]:
    for place, account in _placed_accounts(config):
        if account.dm_policy == "open" and "*" not in account.allow_from and is_whole((*place, "allowFrom")):
            yield (*place, "dmPolicy"), 'open requires "*" in allowFrom', _PROBLEM
        match account:
            case IrcAccount():
                yield from _irc(place, account)
            case MatrixAccount():
                yield from _matrix(place, account)
            case TelegramAccount() if account.bot_token is None:
                yield (*place, "botToken"), "is required", _PROBLEM


def _irc(place: Place, account: IrcAccount) -> Iterator[Finding]:
    for key, value in (("host", account.host), ("nick", account.nick)):
        if not value.strip():
            yield (*place, key), "is required", _PROBLEM
        elif any(sign.isspace() or ord(sign) < 32 for sign in value):
            yield (*place, key), f"must hold no spaces and no control characters, got {shown(value)}", _PROBLEM
    if account.password is not None and not account.tls and not is_loopback_host(account.host.lower()):
        yield (*place, "tls"), "is required where a password is sent to another machine", _PROBLEM
    if account.owners_by_mask:
        text = "whoever takes an owner's nick may be an owner; use accounts of the server where it has them"
        yield (*place, "ownersByMask"), text, _WARNING


def _matrix(place: Place, account: MatrixAccount) -> Iterator[Finding]:
    for key, value in (("homeserver", account.homeserver), ("userId", account.user_id)):
        if not value.strip():
            yield (*place, key), "is required", _PROBLEM
    if account.access_token is None and account.password is None:
        yield (*place, "accessToken"), "is required, or a password", _PROBLEM
    try:
        parts = urlsplit(account.homeserver)
        host, scheme = parts.hostname or "", parts.scheme
    except ValueError:
        host = scheme = ""
    if account.homeserver.strip() and not (
        host and (scheme == "https" or (scheme == "http" and is_loopback_host(host)))
    ):
        text = f"must be an address with https (http only on this machine), got {shown(account.homeserver)}"
        yield (*place, "homeserver"), text, _PROBLEM


# --- the clock --------------------------------------------------------------------------------------------------------


def _jobs(config: GatewayConfig, is_whole: Callable[[Place], bool]) -> Iterator[Finding]:
    yield from _twice("two jobs have this id", ("cron", "jobs"), [job.id for job in config.cron.jobs], "id")
    for at, job in enumerate(config.cron.jobs):
        place: Place = ("cron", "jobs", at, "schedule")
        kinds = [name for name in ("at", "every_ms", "cron") if getattr(job.schedule, name) is not None]
        if len(kinds) != 1:
            if is_whole(place):
                yield place, "must have exactly one of at, everyMs and cron", _PROBLEM
        else:
            yield from _times(place, job, job.schedule.tz or config.session.timezone or "UTC")


def _times(place: Place, job: CronJob, zone: str) -> Iterator[Finding]:
    schedule = job.schedule
    checks: tuple[tuple[str, str | None, Callable[[str, str], object]], ...] = (
        ("at", schedule.at, read_time),
        ("anchor", schedule.anchor, read_time),
        ("cron", schedule.cron, read_cron),
    )
    zone = "UTC" if _bad_zone(zone) else zone  # a bad one is reported at its own place
    for key, value, read in checks:
        if value is not None:
            try:
                read(value, zone)
            except UsageError as error:
                yield (*place, key), str(error).removeprefix(f"{key} "), _PROBLEM


def _zones(config: GatewayConfig) -> Iterator[Finding]:
    named: list[tuple[Place, str]] = [(("session", "timezone"), config.session.timezone)]
    named += [(("cron", "jobs", at, "schedule", "tz"), job.schedule.tz) for at, job in enumerate(config.cron.jobs)]
    beats: list[tuple[Place, Any]] = [(("agents", "defaults"), config.agents.defaults)]
    beats += [(("agents", "list", at), agent) for at, agent in enumerate(config.agents.list)]
    for place, agent in beats:
        hours = agent.heartbeat.active_hours if agent.heartbeat else None
        if hours is not None:
            named.append(((*place, "heartbeat", "activeHours", "timezone"), hours.timezone))
    for place, zone in named:
        if zone and (what := _bad_zone(zone)):
            yield place, what, _PROBLEM


def _bad_zone(name: str) -> str:
    try:
        read_zone(name)
    except UsageError as error:
        return str(error)
    return ""


# --- secrets ----------------------------------------------------------------------------------------------------------


def _secrets(config: GatewayConfig, folder: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    for place, secret in placed_secrets(config):
        what = missing_secret(secret, folder=folder, environ=environ)
        if what:
            yield place, what, _PROBLEM


def placed_secrets(value: Any, place: Place = ()) -> Iterator[tuple[Place, Secret]]:
    """Yield all secrets of a configuration, each with its path."""
    match value:
        case Secret():
            yield place, value
        case tuple():
            for at, each in enumerate(value):
                yield from placed_secrets(each, (*place, at))
        case Mapping():
            for name, each in value.items():
                yield from placed_secrets(each, (*place, name))
        case _ if attrs.has(type(value)):
            for field in attrs.fields(type(value)):
                yield from placed_secrets(getattr(value, field.name), (*place, key_of(field.name)))


def missing_secret(secret: Secret, *, folder: Path, environ: Mapping[str, str]) -> str:
    """Return why a secret cannot be had, without reading it; empty if it can."""
    name = secret.reference[0]
    match secret.kind:
        case "env":
            return "" if environ.get(name) else f"the variable {shown(name)} is not set"
        case "file":
            return _unreadable(whole(name, folder))
        case "exec":
            found = shutil.which(name, path=environ.get("PATH")) if "\0" not in name else None
            return "" if found else f"there is no program {shown(name)}"
    return ""


def _unreadable(path: Path) -> str:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return f"there is no file {shown(str(path))}"
    if not stat.S_ISREG(status.st_mode):
        return f"{shown(str(path))} is not a regular file"
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return f"others can read {shown(str(path))}; run chmod 600 on it"
    return "" if os.access(path, os.R_OK) else f"{shown(str(path))} cannot be read"


def agents_of(config: GatewayConfig) -> Mapping[str, AgentConfig]:
    """Return the agents by their ids in the form in which they are compared; none configured means one, `main`."""
    named = {normal_agent_id(agent.id): agent for agent in config.agents.list}
    return named or {MAIN_AGENT: AgentConfig(id=MAIN_AGENT, default=True)}


def default_agent(config: GatewayConfig) -> str:
    """Return the id of the agent of messages that no binding fits."""
    agents = agents_of(config)
    return next((name for name, agent in agents.items() if agent.default), next(iter(agents)))
