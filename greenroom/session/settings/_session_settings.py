"""Settings of a session: what the keys of settings files are, and what all sources say together.

Rule 1: what an administrator wants comes before all, what a program gives before files; local files before shared ones, the project's before the
user's, ours before `.claude`. The first that says something wins; rules and hooks add up. Rule 2: what our own files say has
to be right, down to the last key, save single hooks: a
malformed one disables itself only. In files of others, and in a folder that nobody trusts, what is not understood is left out,
and told. Rule 3: reading looks at the disk: it goes through `Blocking`.
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
from greenroom.mcp import McpSettings, ServerRules, read_server_rules
from greenroom.models import ModelSettings
from greenroom.models.choice import read_effort
from greenroom.permissions import PermissionSettings, Source, read_permissions
from greenroom.session.peers._peer_sessions import PeerSettings
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
    """The number of bytes that a command may print, in the foreground or the background; then it is killed, the model is told, and its file is cut."""
    repeated_calls_noted: int = attrs.field(default=NOTED_AFTER, validator=attrs.validators.ge(1))
    """From how many failures of a call on, with the same input and the same error and no success of any call in between, the
    model is reminded not to repeat it."""
    repeated_calls_end: int = attrs.field(default=ENDED_AFTER, validator=attrs.validators.ge(0))
    """After how many such failures the turn is ended; 0 for never."""

    @property
    def repetition(self) -> RepetitionLimits:
        """The limits of repeated calls, as agents take them."""
        return RepetitionLimits(noted_after=self.repeated_calls_noted, ended_after=self.repeated_calls_end or None)


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class WorktreeKeys:
    """Settings of new worktrees, in the names that people's files have."""

    baseRef: Literal["fresh", "head"] = "fresh"  # noqa: N815
    """The commit that a worktree starts from. `fresh`: the default branch of the remote, fetched if that was a day ago; without a remote the
    current commit. `head`: the current commit of where the agent would work otherwise."""
    sparsePaths: tuple[str, ...] = ()  # noqa: N815
    """Folders to check out, and nothing else but the files at the root; everything, unless said."""

    def __attrs_post_init__(self) -> None:
        self.made(None)

    def made(self, days: int | None) -> WorktreeSettings:
        """Return them as worktrees take them; `days` is when forgotten ones may be swept away, None as by default."""
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
    """The agent that a session's main agent is, where neither the program nor the command line names one."""
    effort: str | int | None = attrs.field(default=None, validator=_check_effort)
    """Effort with which models think, unless a definition says otherwise."""
    env: dict[str, str] = attrs.field(factory=dict)
    """Variables for the commands, hooks and MCP servers of the session; also those that hold secrets."""
    pass_env: tuple[str, ...] = ()
    """Names of variables of the process that commands, hooks and MCP servers get although their names say that they hold secrets,
    or although servers get few variables; `*` stands for any characters."""
    sandbox: SandboxSettings = attrs.field(factory=SandboxSettings)
    """Sandbox of commands, besides the rules about them: `enabled`, `network`, `writable`, `unreadable`."""
    permissions: dict[str, Any] = attrs.field(factory=dict)
    """`allow`, `ask`, `deny`, `defaultMode`, `additionalDirectories`, `disableBypassPermissionsMode`."""
    hooks: dict[str, Any] = attrs.field(factory=dict)
    """By the name of an event, what runs then."""
    disableAllHooks: bool | None = None  # noqa: N815 - the name that people's files have
    """True: no hooks run, save managed ones."""
    allowManagedHooksOnly: bool | None = None  # noqa: N815
    """True in managed settings: no other hooks run."""
    allowManagedPermissionRulesOnly: bool | None = None  # noqa: N815
    """True in managed settings: no other permission rules count, those of skills and lasting answers neither."""
    autoMemoryEnabled: bool | None = None  # noqa: N815
    """False keeps agents from reading and writing memory."""
    slash_commands: bool = True
    """Whether there are skills and slash commands at all; false: `/name` is text like any other."""
    extract_memory: bool = False
    """Whether the main agent's notes are kept after each of its turns: its model notes what is worth it, beside the conversation."""
    agent_progress_summaries: bool = False
    """Whether agents that another one, or the host, started say every 30 s what they do, in 3 to 8 words, if anything happened;
    each time is one more request."""
    models: ModelSettings | None = None
    """Deadlines, retries, budget, prices and more; where it is given, it goes around the model of the session."""
    record_model: bool = False
    """Whether all that the model is asked and answers is kept in the run folder, to be run again without it."""
    mcp: McpSettings = attrs.field(factory=McpSettings)
    """Time limits of MCP servers and their calls."""
    mcpServers: dict[str, Any] = attrs.field(factory=dict)  # noqa: N815
    """MCP servers by their names, as in `.mcp.json`."""
    enableAllProjectMcpServers: bool | None = None  # noqa: N815
    """True: the servers that a project brings are approved."""
    enabledMcpjsonServers: tuple[str, ...] = ()  # noqa: N815
    """Servers of projects that are approved."""
    disabledMcpjsonServers: tuple[str, ...] = ()  # noqa: N815
    """Servers of projects that are not to run; these count more than approvals."""
    allowedMcpServers: tuple[dict[str, Any], ...] | None = None  # noqa: N815
    """The servers that may be connected, each by `serverName`, `serverCommand` or `serverUrl`; all, unless said."""
    deniedMcpServers: tuple[dict[str, Any], ...] = ()  # noqa: N815
    """The servers that may not be, in the same form; they count more than those that may."""
    allowManagedMcpServersOnly: bool | None = None  # noqa: N815
    """True in managed settings: `allowedMcpServers` of others does not count."""
    plugins: tuple[str, ...] = ()
    """Folders of plugins; a relative one begins at the project, in the user's file at the folder of that file."""
    autoMode: AutoModeSettings = attrs.field(factory=AutoModeSettings)  # noqa: N815
    """Review of calls in the mode `auto`: `model`, `timeout_s`, `environment`, `allow`, `soft_deny`, `hard_deny`."""
    compaction: CompactionSettings = attrs.field(factory=CompactionSettings)
    """When conversations are compacted: `enabled`, `auto`, `window_tokens`, `summary_tokens`, `at_percent`."""
    delegation: DelegationSettings = attrs.field(factory=DelegationSettings)
    """Start of agents by others: `fork`, `skill_fork`, `background`, `background_by_default`, `auto_background_ms`, `max_depth`,
    `max_running`, `max_total`, `listing_chars`, `interactive`, `assistant`, `coordinator`, `coordinator_prompt`, `simple_workers`, `scratchpad`,
    `append_system_prompt`, `initial_prompt_scope`, `release_s`, `shell_max_s`, `stall_s`, `report_chars`."""
    teams: TeamSettings = attrs.field(factory=TeamSettings)
    """Teams: `enabled`, `implicit`, `delegate_mode`, `agent_busy`, `teardown_s`, `shutdown_s`, `messages_in_a_row`."""
    limits: LimitSettings = attrs.field(factory=LimitSettings)
    """Bounds of what agents do: `command_output_bytes`, `repeated_calls_noted`, `repeated_calls_end`."""
    peers: PeerSettings = attrs.field(factory=PeerSettings)
    """Other sessions: `listen` lets their main agents write to this one's; no, unless said."""
    child_permission: Literal["definition", "inherit", "clamped"] | None = None
    """Where the mode of a child comes from. `definition`: what it says, else acceptEdits. `inherit`: what it says, else the
    parent's. `clamped`: as `inherit`, but acceptEdits, auto and bypassPermissions of the parent go before what it says. Unless
    said, `definition`, and `clamped` in a session in the mode auto."""
    approval_deadline_s: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.gt(0))
    )
    """Seconds that a question to a person waits before it is refused; 600 unless said."""
    fileCheckpointingEnabled: bool | None = None  # noqa: N815
    """True: what Edit and Write change is kept in the run folder as it was, so that `rewind_files` can set it back. False: it is
    not. Unless said, a run keeps it if it did so when it began."""
    cleanupPeriodDays: int | None = attrs.field(default=None, validator=_AT_LEAST_1)  # noqa: N815
    """Days since a run last changed, after which `greenroom sweep` removes it; 30 unless said."""
    worktree: WorktreeKeys = attrs.field(factory=WorktreeKeys)
    """Making of git worktrees, for agents and for sessions: `baseRef`, `sparsePaths`."""
    max_runs_bytes: int | None = attrs.field(default=None, validator=_AT_LEAST_1)
    """Bytes that all runs of a project may take up before a sweep removes the oldest."""


_MERGED: Final = frozenset(
    ("permissions", "hooks", "env", "mcpServers", "plugins", "allowedMcpServers", "deniedMcpServers")
)
_SWITCHES: Final = frozenset(("disableAllHooks", "allowManagedHooksOnly", "allowManagedPermissionRulesOnly"))
AT_ONCE: Final = frozenset(("permissions", "hooks", "env")) | _SWITCHES
"""The keys that apply within seconds after a file was edited; the rest applies from the next session on."""


@final
@attrs.frozen(kw_only=True)
class Settings:
    """The settings of a session, from all of its sources."""

    scalars: SessionSettings
    files: tuple[SettingsFile, ...] = ()
    """In the order in which they count."""
    permissions: tuple[PermissionSettings, ...] = ()
    hooks: tuple[ParsedHooks, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """Lines about what was skipped."""
    is_trusted: bool = False
    """Whether what the project's files allow counts."""

    @property
    def env(self) -> dict[str, str]:
        """The variables of all sources; of one name the first counts."""
        made: dict[str, str] = {}
        for file in reversed(self.files):
            counts = self.is_trusted or file.source not in OF_PROJECT
            env = file.values.get("env") if counts else None
            made.update({str(key): str(value) for key, value in env.items()} if isinstance(env, Mapping) else {})
        return made

    @property
    def allows_managed_rules_only(self) -> bool:
        """Whether only an administrator's permission rules count; nobody else can say so."""
        return any(file.values.get("allowManagedPermissionRulesOnly") is True for file in self._managed)

    @property
    def has_managed_mode(self) -> bool:
        """Whether an administrator says which mode the session begins in."""
        return any(
            permission.mode and permission.source.scope is permissions.Scope.MANAGED for permission in self.permissions
        )

    @property
    def _managed(self) -> tuple[SettingsFile, ...]:
        return tuple(file for file in self.files if file.source is SettingSource.MANAGED)

    def as_managed(self, name: str, part: Part) -> Part:
        """Return a part of the settings that variables of the environment have changed, with what an administrator says of it.

        Args:
            name: Of the key, such as `delegation`.
            part: What it has become.
        """
        said = [file.values[name] for file in self._managed if isinstance(file.values.get(name), Mapping)]
        known = {field.name for field in attrs.fields(type(part))}
        held = {key: getattr(getattr(self.scalars, name), key) for values in said for key in values if key in known}
        made: Part = attrs.evolve(cast(Any, part), **held)
        return made

    def server_rules(self) -> tuple[ServerRules, tuple[Diagnostic, ...]]:
        """Return which MCP servers may be connected at all, and what of that cannot be read."""
        only_managed = any(file.values.get("allowManagedMcpServersOnly") is True for file in self._managed)
        those = self._managed if only_managed else self.files
        trusted = (file for file in those if self.is_trusted or file.source not in OF_PROJECT)
        return read_server_rules(
            [(file.values, file.name) for file in self.files], may_allow=frozenset(file.name for file in trusted)
        )

    def plugin_folders(self, places: Places) -> list[tuple[SettingSource | None, Path]]:
        """Return the folders of plugins that our own files and the program name, with whose settings say so, in their order."""
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
"""Rules and servers are judged where they are read, and how long runs are kept is for a sweep, which trusts its project."""
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
        places: Where files lie; None reads none.
        sources: Whose files are read.
        given: What the program gives; it comes behind what an administrator says, before all else, and is read as strictly as
            our own files.
        is_trusted: Whether the project is trusted: else what its files allow, run or set does not count.
        is_lenient: Whether mistakes in the project's own files are told and left out, as they are where it is not trusted.

    Raises:
        SettingsError: A file of ours cannot be read or holds what cannot be used; every problem is named.
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
    """Return what files say together.

    Args:
        files: In the order in which they count; an administrator's are put first, and behind them what a program gives.
        diagnostics: What was passed over when they were read; takes what is passed over now.
        is_trusted: Whether the project is trusted.
        is_lenient: As for `load_settings`.

    Raises:
        SettingsError: A file of ours holds what cannot be used.
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
        if not counts:
            diagnostics += _without_effect(file, sound)
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
    """Return a file of others with what it says of a sandbox in our words; what cannot be obeyed is told."""
    theirs = None if file.is_own else file.values.get("sandbox")
    if not isinstance(theirs, Mapping):
        return file
    made, said = read_their_sandbox(theirs)
    diagnostics += (Diagnostic(kind=Kind.IGNORED, source=file.name, text=text) for text in said if made["enabled"])
    return attrs.evolve(file, values={**file.values, "sandbox": made})


def _without_effect(file: SettingsFile, sound: frozenset[str]) -> Iterator[Diagnostic]:
    """Say what an untrusted project's file would set if it could."""
    keys = sorted(sound - _SAID_ELSEWHERE)
    if keys:
        text = f"{', '.join(keys)}: this has no effect until the project is trusted (--trust, is_trusted=True)"
        yield Diagnostic(kind=Kind.IGNORED, source=file.name, text=text)


def _sound_keys(file: SettingsFile, diagnostics: list[Diagnostic], *, is_strict: bool) -> frozenset[str]:
    """Return the keys of a file that we know and that hold what they should.

    Raises:
        SettingsError: It is read strictly, and holds something else.
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
