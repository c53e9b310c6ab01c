"""Settings of a session: the keys of settings files, and the combination of all sources.

Rule 1: an administrator's settings take precedence over those of a program, and these over files; local files over
shared ones, the project's over the user's, ours over `.claude`. For each key the first source that sets it wins; rules
and hooks are combined. Rule 2: our own files must be valid down to the last key, except single hooks: a malformed one
disables only itself. In the files of other programs, and in untrusted folders, invalid parts are ignored and reported.
Rule 3: reading accesses the disk, so it goes through `Blocking`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, cast, final

import attrs

from greenroom import permissions
from greenroom.agents import ENDED_AFTER, NOTED_AFTER, RepetitionLimits
from greenroom.agents.compaction import CompactionSettings
from greenroom.agents.review import AutoModeSettings
from greenroom.agents.subagents import DelegationSettings
from greenroom.containment import SandboxSettings, read_their_sandbox
from greenroom.core import SettingsError, UsageError
from greenroom.core.sources import Diagnostic, Kind, Places
from greenroom.core.validation import checked, read_settings
from greenroom.hooks import HookSource, ParsedHooks, SourceKind, parse_hooks
from greenroom.mcp import ChannelSettings, McpSettings, ServerRules, read_server_rules
from greenroom.models import ModelSettings
from greenroom.models.choice import read_effort
from greenroom.permissions import PermissionSettings, Source, read_permissions
from greenroom.session.peers._peer_sessions import PeerSettings, RemoteSettings
from greenroom.session.schedules._schedule_settings import ScheduleSettings
from greenroom.session.settings._recovery_settings import RecoverySettings
from greenroom.session.settings._settings_files import (
    OF_PROJECT,
    SettingsFile,
    SettingSource,
    read_settings_file,
    settings_files,
)
from greenroom.teams import TeamSettings
from greenroom.tools import MAX_OUTPUT_BYTES
from greenroom.worktrees import BaseRef, WorktreeSettings

Part = TypeVar("Part", bound=attrs.AttrsInstance)


@final
@attrs.frozen(kw_only=True)
class LimitSettings:
    """The key `limits` of a settings file."""

    command_output_bytes: int = attrs.field(default=MAX_OUTPUT_BYTES, validator=attrs.validators.ge(1))
    """Maximum number of bytes that a command may print, in the foreground or the background; beyond it the command is
    killed, the model is notified, and the output file is truncated."""
    repeated_calls_noted: int = attrs.field(default=NOTED_AFTER, validator=attrs.validators.ge(1))
    """Number of failures of a call, with the same input and error and no successful call in between, after which the
    model is reminded not to repeat it."""
    repeated_calls_end: int = attrs.field(default=ENDED_AFTER, validator=attrs.validators.ge(0))
    """Number of such failures after which the turn is ended; 0 for no limit."""

    @property
    def repetition(self) -> RepetitionLimits:
        """The limits of repeated calls, as agents take them."""
        return RepetitionLimits(noted_after=self.repeated_calls_noted, ended_after=self.repeated_calls_end or None)


@final
@attrs.frozen(kw_only=True)
class SwarmSettings:
    """The key `swarm` of a settings file."""

    ask_above_usd: float = attrs.field(default=5.0, validator=attrs.validators.ge(0))
    """US dollars: where nobody can be asked, a swarm that may cost more needs `--yes`."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class WorktreeKeys:
    """Settings of new worktrees, in the names that people's files have."""

    baseRef: Literal["fresh", "head"] = "fresh"  # noqa: N815
    """The commit that a worktree starts from. `fresh`: the remote's default branch, fetched if the last fetch was a day
    ago; if there is no remote, the current commit. `head`: the current commit of the checkout that the agent would work
    in otherwise."""
    sparsePaths: tuple[str, ...] = ()  # noqa: N815
    """Folders to check out, besides the files at the root; everything by default."""

    def __attrs_post_init__(self) -> None:
        self.made(None)

    def made(self, days: int | None) -> WorktreeSettings:
        """Return the settings that `Worktrees` takes; `days` is the age at which abandoned worktrees may be swept, None
        for the default.
        """
        age = {} if days is None else {"cleanup_period_days": days}
        return WorktreeSettings(base_ref=BaseRef(self.baseRef), sparse_paths=self.sparsePaths, **age)


_AT_LEAST_1: Final = attrs.validators.optional(attrs.validators.ge(1))


def _check_effort(_: object, __: object, value: str | int | None) -> None:
    if value is not None:
        try:
            read_effort(value)
        except UsageError as error:
            raise ValueError(str(error)) from None


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class SessionSettings:
    """The keys of our settings files; `docs/reference/settings.md` lists them."""

    # Former names of keys, which an error about them mentions; not annotated, because it is not a key itself.
    RENAMED = MappingProxyType({"neighbours": "peers"})

    model: str | None = None
    """The main agent's model: an alias or an id."""
    agent: str | None = None
    """The definition of the main agent, if neither the program nor the command line names one."""
    effort: str | int | None = attrs.field(default=None, validator=_check_effort)
    """Thinking effort of the models, unless a definition sets its own."""
    env: dict[str, str] = attrs.field(factory=dict)
    """Environment variables for the commands, hooks and MCP servers of the session; they may hold secrets."""
    pass_env: tuple[str, ...] = ()
    """Names of environment variables to pass on from the process, which are withheld otherwise: from commands, hooks
    and MCP servers if the name suggests a secret, and from servers all but a few. `*` stands for any characters; `!` in
    front of a name withholds that variable from all of them, and masks its value in what is recorded."""
    sandbox: SandboxSettings = attrs.field(factory=SandboxSettings)
    """Sandbox for commands, in addition to permission rules: `enabled`, `network`, `writable`, `unreadable`."""
    permissions: dict[str, Any] = attrs.field(factory=dict)
    """`allow`, `ask`, `deny`, `defaultMode`, `additionalDirectories`, `disableBypassPermissionsMode`."""
    hooks: dict[str, Any] = attrs.field(factory=dict)
    """The hooks to run, by the name of their event."""
    disableAllHooks: bool | None = None  # noqa: N815 - the name that people's files have
    """True: no hooks run except managed ones."""
    allowManagedHooksOnly: bool | None = None  # noqa: N815
    """True in managed settings: only managed hooks run."""
    allowManagedPermissionRulesOnly: bool | None = None  # noqa: N815
    """True in managed settings: only managed permission rules apply; rules of skills and saved answers are ignored
    too."""
    autoMemoryEnabled: bool | None = None  # noqa: N815
    """False keeps agents from reading and writing memory."""
    slash_commands: bool = True
    """False disables skills and slash commands: `/name` is then ordinary text."""
    extract_memory: bool = False
    """True: after each turn of the main agent, its model writes down what is worth remembering, outside the
    conversation."""
    agent_progress_summaries: bool = False
    """True: sub-agents summarize their work every 30 s in 3 to 8 words, if anything has happened since; each summary
    costs a model request."""
    models: ModelSettings | None = None
    """Deadlines, retries, budget, prices and more; if given, they are applied to the session's model."""
    record: Literal["off", "model", "effects"] = "off"
    """The record kept in the run folder beside the journal, so that the run can be done again: `model` keeps all requests to
    models and their answers, `effects` also the results of tools and hooks and the answers of people. It holds everything that was read and said."""
    record_model: bool = False
    """The former form of `record`: True stands for `model`."""
    mcp: McpSettings = attrs.field(factory=McpSettings)
    """Time limits of MCP servers and their calls."""
    mcpServers: dict[str, Any] = attrs.field(factory=dict)  # noqa: N815
    """MCP servers by their names, as in `.mcp.json`."""
    enableAllProjectMcpServers: bool | None = None  # noqa: N815
    """True: all servers that a project defines are approved."""
    enabledMcpjsonServers: tuple[str, ...] = ()  # noqa: N815
    """Names of project servers that are approved."""
    disabledMcpjsonServers: tuple[str, ...] = ()  # noqa: N815
    """Names of project servers that must not run; this takes precedence over approvals."""
    allowedMcpServers: tuple[dict[str, Any], ...] | None = None  # noqa: N815
    """Servers that may be connected, each given by `serverName`, `serverCommand` or `serverUrl`; all by default."""
    deniedMcpServers: tuple[dict[str, Any], ...] = ()  # noqa: N815
    """Servers that may not be connected, in the same form; this takes precedence over `allowedMcpServers`."""
    allowManagedMcpServersOnly: bool | None = None  # noqa: N815
    """True in managed settings: only the managed `allowedMcpServers` applies."""
    plugins: tuple[str, ...] = ()
    """Plugin folders. A relative path is resolved against the project; in the user's settings file, against the folder
    of that file."""
    autoMode: AutoModeSettings = attrs.field(factory=AutoModeSettings)  # noqa: N815
    """Review of calls in the mode `auto`: `model`, `timeout_s`, `environment`, `allow`, `soft_deny`, `hard_deny`."""
    compaction: CompactionSettings = attrs.field(factory=CompactionSettings)
    """When conversations are compacted: `enabled`, `auto`, `window_tokens`, `summary_tokens`, `at_percent`."""
    delegation: DelegationSettings = attrs.field(factory=DelegationSettings)
    """Delegation to sub-agents: `fork`, `skill_fork`, `background`, `background_by_default`, `auto_background_ms`,
    `max_depth`, `max_running`, `max_total`, `listing_chars`, `interactive`, `assistant`, `coordinator`,
    `coordinator_prompt`, `simple_workers`, `scratchpad`, `append_system_prompt`, `initial_prompt_scope`, `release_s`,
    `shell_max_s`, `stall_s`, `report_chars`."""
    teams: TeamSettings = attrs.field(factory=TeamSettings)
    """Teams: `enabled`, `implicit`, `delegate_mode`, `agent_busy`, `teardown_s`, `shutdown_s`, `messages_in_a_row`."""
    swarm: SwarmSettings = attrs.field(factory=SwarmSettings)
    """Runs of `greenroom swarm`, in your own settings: `ask_above_usd`."""
    limits: LimitSettings = attrs.field(factory=LimitSettings)
    """Limits of agents: `command_output_bytes`, `repeated_calls_noted`, `repeated_calls_end`."""
    peers: PeerSettings = attrs.field(factory=PeerSettings)
    """Other sessions: `listen` lets their main agents write to the main agent of this session; off by default."""
    channels: dict[str, ChannelSettings] = attrs.field(factory=dict)
    """MCP servers that may push messages to the main agent, by their names; `{}` for the defaults. A project's files cannot
    list any, even if it is trusted."""
    remote: RemoteSettings = attrs.field(factory=RemoteSettings)
    """Agents on other processes: `hosts` by name, each with `address`, `token_file` and maybe `ca_file` and `workspace`; `unreachable_s`. A
    project's files cannot list any, even if it is trusted."""
    schedules: ScheduleSettings = attrs.field(factory=ScheduleSettings)
    """Scheduled prompts: `enabled`, `durable`, `tz`."""
    recovery: RecoverySettings = attrs.field(factory=RecoverySettings)
    """What a resumed session continues by itself: `cut_turns`, `lost_agents`."""
    durability: Literal["process", "power"] = "process"
    """What the record of a run survives. `process`: the end of the process, `kill -9` included. `power`: also a power cut,
    at the price of a wait for the disk at each commit point."""
    child_permission: Literal["definition", "inherit", "clamped"] | None = None
    """Source of a child's permission mode. `definition`: the mode in its definition, else acceptEdits. `inherit`: the
    mode in its definition, else the parent's. `clamped`: like `inherit`, but acceptEdits, auto and bypassPermissions of
    the parent take precedence over the definition. The default is `definition`, and `clamped` in a session in mode
    auto."""
    approval_deadline_s: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.gt(0))
    )
    """Seconds that a permission request waits for a person before it is refused; 600 by default."""
    fileCheckpointingEnabled: bool | None = None  # noqa: N815
    """True: earlier versions of files that Edit and Write change are kept in the run folder, so that `rewind_files` can
    restore them. False: they are not kept. By default, a resumed run does what it did when it began."""
    cleanupPeriodDays: int | None = attrs.field(default=None, validator=_AT_LEAST_1)  # noqa: N815
    """Days without a change after which `greenroom sweep` removes a run; 30 by default."""
    worktree: WorktreeKeys = attrs.field(factory=WorktreeKeys)
    """Creation of git worktrees, for agents and for sessions: `baseRef`, `sparsePaths`."""
    max_runs_bytes: int | None = attrs.field(default=None, validator=_AT_LEAST_1)
    """Maximum size of all runs of a project in bytes; beyond it a sweep removes the oldest."""


_MERGED: Final = frozenset(
    ("permissions", "hooks", "env", "mcpServers", "plugins", "allowedMcpServers", "deniedMcpServers")
)
_NOT_OF_PROJECTS: Final = frozenset(("channels", "remote"))
"""Keys that a project's files cannot set, even if it is trusted."""
_SWITCHES: Final = frozenset(("disableAllHooks", "allowManagedHooksOnly", "allowManagedPermissionRulesOnly"))
AT_ONCE: Final = frozenset(("permissions", "hooks", "env")) | _SWITCHES
"""The keys that apply within seconds after a file was edited; the rest applies from the next session on."""


@final
@attrs.frozen(kw_only=True)
class Settings:
    """The settings of a session, from all of its sources."""

    scalars: SessionSettings
    files: tuple[SettingsFile, ...] = ()
    """In order of precedence."""
    permissions: tuple[PermissionSettings, ...] = ()
    hooks: tuple[ParsedHooks, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """Lines about what was skipped."""
    is_trusted: bool = False
    """True if the project is trusted, so that what its files allow applies."""

    @property
    def env(self) -> dict[str, str]:
        """The variables of all sources; for each name the first source wins."""
        made: dict[str, str] = {}
        for file in reversed(self.files):
            counts = self.is_trusted or file.source not in OF_PROJECT
            env = file.values.get("env") if counts else None
            made.update({str(key): str(value) for key, value in env.items()} if isinstance(env, Mapping) else {})
        return made

    @property
    def allows_managed_rules_only(self) -> bool:
        """True if only an administrator's permission rules apply; only an administrator can set this."""
        return any(file.values.get("allowManagedPermissionRulesOnly") is True for file in self._managed)

    @property
    def has_managed_mode(self) -> bool:
        """True if an administrator sets the mode that the session starts in."""
        return any(
            permission.mode and permission.source.scope is permissions.Scope.MANAGED for permission in self.permissions
        )

    @property
    def _managed(self) -> tuple[SettingsFile, ...]:
        return tuple(file for file in self.files if file.source is SettingSource.MANAGED)

    def as_managed(self, name: str, part: Part) -> Part:
        """Return a part of the settings that environment variables have changed, with an administrator's values
        restored.

        Args:
            name: Name of the key, such as `delegation`.
            part: The part, with the changes of environment variables.
        """
        said = [file.values[name] for file in self._managed if isinstance(file.values.get(name), Mapping)]
        known = {field.name for field in attrs.fields(type(part))}
        held = {key: getattr(getattr(self.scalars, name), key) for values in said for key in values if key in known}
        made: Part = attrs.evolve(cast(Any, part), **held) if held else part
        return made

    def server_rules(self) -> tuple[ServerRules, tuple[Diagnostic, ...]]:
        """Return the rules about which MCP servers may be connected, and diagnostics of invalid ones."""
        only_managed = any(file.values.get("allowManagedMcpServersOnly") is True for file in self._managed)
        those = self._managed if only_managed else self.files
        trusted = (file for file in those if self.is_trusted or file.source not in OF_PROJECT)
        return read_server_rules(
            [(file.values, file.name) for file in self.files], may_allow=frozenset(file.name for file in trusted)
        )

    def plugin_folders(self, places: Places) -> list[tuple[SettingSource | None, Path]]:
        """Return the plugin folders that our own files and the program name, each with the source of the setting, in
        order.
        """
        found = []
        for file in self.files:
            named = file.values.get("plugins") if file.is_own else None
            if isinstance(named, list | tuple) and (self.is_trusted or file.source not in OF_PROJECT):
                start = places.cwd if file.source is None else file.root or Path(file.name).parent
                found += [(file.source, _folder(name, start, places.user)) for name in named]
        return found


_FIRST: Final[Mapping[SettingSource | None, int]] = {SettingSource.MANAGED: 0, None: 1}
_SAID_ELSEWHERE: Final = frozenset(
    ("permissions", "mcpServers", "enableAllProjectMcpServers", "enabledMcpjsonServers", "disabledMcpjsonServers")
) | {"cleanupPeriodDays", "max_runs_bytes", "deniedMcpServers"}
"""Keys that an untrusted file may set, or whose readers report them: rules and servers, and the retention of runs,
which a sweep reads itself."""
_SCOPES: Final = {
    None: permissions.Scope.CLI,
    SettingSource.MANAGED: permissions.Scope.MANAGED,
    SettingSource.USER: permissions.Scope.USER,
    SettingSource.PROJECT: permissions.Scope.PROJECT,
    SettingSource.LOCAL: permissions.Scope.LOCAL,
}
_KINDS: Final = {
    None: SourceKind.HOST,
    SettingSource.MANAGED: SourceKind.MANAGED,
    SettingSource.USER: SourceKind.USER,
    SettingSource.PROJECT: SourceKind.PROJECT,
    SettingSource.LOCAL: SourceKind.LOCAL,
}


def _folder(named: str, start: Path, user: Path) -> Path:
    """Return the folder that a text names: `~` is the user's, what is relative begins at `start`."""
    inner = named.removeprefix("~").lstrip("/")
    path = user / inner if named == "~" or named.startswith("~/") else start / named
    return Path(os.path.normpath(path))


def load_settings(
    places: Places | None,
    sources: Iterable[SettingSource] = (),
    *,
    given: Mapping[str, Any] | None = None,
    is_trusted: bool = False,
    is_lenient: bool = False,
) -> Settings:
    """Read the settings of a session. It looks at the disk: call it through `Blocking`.

    Args:
        places: Locations of the files; None reads none.
        sources: The sources whose files are read.
        given: Settings of the program; they take precedence over all but an administrator's, and are validated as
            strictly as our own files.
        is_trusted: True if the project is trusted; otherwise what its files allow, run or set is ignored.
        is_lenient: True if invalid keys in the project's own files are reported and ignored, as in an untrusted
            project.

    Raises:
        SettingsError: One of our files cannot be read or is invalid; the message lists every problem.
    """
    files: list[SettingsFile] = []
    diagnostics: list[Diagnostic] = []
    for path, source, is_own in settings_files(places, sources):
        file = read_settings_file(
            path, source, is_own=is_own, diagnostics=diagnostics, is_trusted=is_trusted and not is_lenient
        )
        files += [] if file is None else [file]
    if given:
        files.append(SettingsFile(name="settings", source=None, values=given, is_own=True))
    return combined_settings(files, diagnostics, is_trusted=is_trusted, is_lenient=is_lenient)


def combined_settings(
    files: Sequence[SettingsFile], diagnostics: list[Diagnostic], *, is_trusted: bool, is_lenient: bool = False
) -> Settings:
    """Return the combined settings of several files.

    Args:
        files: In order of precedence; an administrator's files are moved to the front, followed by the program's
            settings.
        diagnostics: Diagnostics of reading the files; those of combining them are appended.
        is_trusted: Whether the project is trusted.
        is_lenient: As for `load_settings`.

    Raises:
        SettingsError: One of our files is invalid.
    """
    rules: list[PermissionSettings] = []
    hooks: list[ParsedHooks] = []
    scalars: dict[str, Any] = {}
    files = [_with_sandbox(file, diagnostics) for file in files]
    files = sorted(files, key=lambda one: _FIRST.get(one.source, len(_FIRST)))
    for file in files:
        counts = is_trusted or file.source not in OF_PROJECT
        is_strict = file.is_own and counts and not (is_lenient and file.source in OF_PROJECT)
        sound = _sound_keys(file, diagnostics, is_strict=is_strict)
        if file.source in OF_PROJECT:
            diagnostics += _without_effect(file, sound, is_trusted=is_trusted)
            sound -= _NOT_OF_PROJECTS
        for field in attrs.fields(SessionSettings):
            value = file.values.get(field.name) if counts and field.name in sound - _MERGED else None
            before = scalars.get(field.name)
            if isinstance(value, Mapping) and isinstance(before, Mapping):
                scalars[field.name] = {**value, **before}
            elif value is not None:
                scalars.setdefault(field.name, value)
        source = Source(
            scope=_SCOPES[file.source],
            name=file.name,
            root="" if file.root is None else str(file.root),
            is_strict=is_strict,
            is_trusted=counts,
        )
        said = file.values.get("permissions")
        read = read_permissions(said if isinstance(said, Mapping) else {}, source)
        rules.append(read)
        kind = HookSource(file.name, _KINDS[file.source], is_trusted=counts, is_strict=is_strict)
        parsed = parse_hooks(file.values, kind)
        hooks.append(parsed)
        diagnostics += (
            Diagnostic(kind=Kind.IGNORED, source=problem.source, text=f"{problem.path}: {problem.what}")
            for problem in parsed.problems
        )
    return Settings(
        scalars=read_settings(SessionSettings, scalars, source="settings"),
        files=tuple(files),
        permissions=tuple(rules),
        hooks=tuple(hooks),
        diagnostics=tuple(diagnostics),
        is_trusted=is_trusted,
    )


def _with_sandbox(file: SettingsFile, diagnostics: list[Diagnostic]) -> SettingsFile:
    """Return another program's settings file with its sandbox translated to our keys; unsupported keys are reported."""
    theirs = None if file.is_own else file.values.get("sandbox")
    if not isinstance(theirs, Mapping):
        return file
    made, said = read_their_sandbox(theirs)
    diagnostics += (Diagnostic(kind=Kind.IGNORED, source=file.name, text=text) for text in said if made["enabled"])
    return attrs.evolve(file, values={**file.values, "sandbox": made})


def _without_effect(file: SettingsFile, sound: frozenset[str], *, is_trusted: bool) -> Iterator[Diagnostic]:
    """Say what a project's file would set if it could."""
    for name in sorted(sound & _NOT_OF_PROJECTS):
        text = f"{name}: this has no effect in a project's files; set it in ~/.greenroom/settings.json"
        yield Diagnostic(kind=Kind.IGNORED, source=file.name, text=text)
    keys = sorted(sound - _SAID_ELSEWHERE - _NOT_OF_PROJECTS)
    if keys and not is_trusted:
        text = f"{', '.join(keys)}: this has no effect until the project is trusted (--trust, is_trusted=True)"
        yield Diagnostic(kind=Kind.IGNORED, source=file.name, text=text)


def _sound_keys(file: SettingsFile, diagnostics: list[Diagnostic], *, is_strict: bool) -> frozenset[str]:
    """Return the known keys of a file whose values are valid.

    Raises:
        SettingsError: The file is read strictly, and a value is invalid.
    """
    known = {field.name for field in attrs.fields(SessionSettings)}
    if is_strict:
        read_settings(SessionSettings, file.values, source=file.name)
        return frozenset(file.values)
    sound: set[str] = set()
    problems: list[str] = []
    # In files of others, keys that we do not know are theirs.
    for name in sorted(file.values if file.is_own else known & set(file.values)):
        try:
            read_settings(SessionSettings, {name: file.values[name]}, source=file.name)
            sound.add(name)
        except SettingsError as error:
            problems += error.problems
    if problems:
        text = "; ".join(problems)
        text = f"{text}: left out" if file.is_own else text
        diagnostics.append(Diagnostic(kind=Kind.IGNORED, source=file.name, text=text))
    return frozenset(sound)
