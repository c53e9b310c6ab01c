"""Policy of a session: its mode, its rules from all sources, its folders. A child's policy is a copy.

Rule 1: rules of all sources add up; for single values the first source with a value wins. Rule 2: an untrusted
workspace's settings can only restrict: its deny and ask rules count, its allow rules, mode and folders do not. Rule 3:
a denial for an agent also applies to its descendants.

Must not know: where settings lie on disk; mappings are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, final

import attrs

from greenroom.core import SettingsError, UsageError
from greenroom.core.validation import checked
from greenroom.permissions._broad import is_broad
from greenroom.permissions._modes import ChildPermission, Mode, child_mode, parse_mode
from greenroom.permissions._path_patterns import absolute_path, normal
from greenroom.permissions._rules import Effect, Rule, RuleDiagnostic, Scope, Source, names_tool, parse_rule
from greenroom.permissions._traits import HANDS_ON, ToolKind, ToolTraits, canonical_name, may_change

PROGRAM: Final = Source(scope=Scope.SESSION, name="the program")
"""The source of rules about tools of the embedding program."""
_LISTS: Final = {Effect.DENY: "deny", Effect.ASK: "ask", Effect.ALLOW: "allow"}
_KEYS: Final = frozenset(
    ("allow", "ask", "deny", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode")
)
_WORKSPACE: Final = frozenset((Scope.PROJECT, Scope.LOCAL))
_ORDER: Final = (Scope.MANAGED, Scope.CLI, Scope.SESSION, Scope.LOCAL, Scope.PROJECT, Scope.USER)


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class PermissionSettings:
    """The key `permissions` of one source, parsed.

    Attributes:
        source: Its origin.
        rules: Its rules; replacements for invalid ones included.
        mode: Its `defaultMode`.
        directories: Its `additionalDirectories`, as written.
        forbids_bypass: True if it disables bypassPermissions.
        diagnostics: The invalid parts.
    """

    source: Source
    rules: tuple[Rule, ...] = ()
    mode: Mode | None = None
    directories: tuple[str, ...] = ()
    forbids_bypass: bool = False
    diagnostics: tuple[RuleDiagnostic, ...] = ()


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Policy:
    """Everything that decides about tool calls, apart from the call.

    Attributes:
        mode: The treatment of calls that no deny or ask rule matches.
        rules: All rules.
        directories: Absolute working directories besides the current one.
        own_folders: Absolute folders for the agent's own writing, wherever they lie: no question is asked, except in
            plan mode, if a deny or ask rule matches, and if they are not working directories.
        home: The user's home folder, absolute.
        may_bypass: True if bypassPermissions can be used.
        managed_only: True if only these rules count: an administrator's, denials in definitions of agents, and the
            program's about its own tools. Others are dropped, regardless of who adds them.
        is_trusted: True if the person trusts the workspace. If not, git commands in a repository whose own settings name
            programs for git to run need approval.
        refuses_changes: The reason why calls that change files or run commands are refused, whatever rules and modes say;
            empty if they are not.
    """

    mode: Mode = Mode.DEFAULT
    rules: tuple[Rule, ...] = ()
    directories: tuple[str, ...] = ()
    own_folders: tuple[str, ...] = ()
    home: str
    may_bypass: bool = True
    managed_only: bool = False
    is_trusted: bool = True
    refuses_changes: str = ""
    _always: dict[tuple[str, ToolTraits], bool] = attrs.field(init=False, factory=dict, eq=False, repr=False)
    """Cached results of `always_allows`: a policy never changes, and is consulted before each call of each agent."""

    def __attrs_post_init__(self) -> None:
        if self.managed_only:
            kept = tuple(rule for rule in self.rules if _is_managed(rule))
            object.__setattr__(self, "rules", kept)

    def always_allows(self, tool: str, traits: ToolTraits) -> bool:
        """True if every call of a tool runs, whatever its input and folder, unless a hook objects.

        False if that depends on the call: on a path, a command, a host, or another input.
        """
        known = self._always.get((tool, traits))
        if known is None:
            known = self._always[tool, traits] = _always_allows(self, canonical_name(tool), traits)
        return known

    def of(self, effect: Effect) -> Iterable[Rule]:
        """Return the rules with that effect that count, in the order of their sources.

        In mode auto, allow rules that are too broad do not count: the calls are reviewed instead.
        """
        skips = effect is Effect.ALLOW and self.mode is Mode.AUTO
        return (rule for rule in self.rules if rule.effect is effect and not (skips and is_broad(rule)))

    def with_mode(self, mode: Mode) -> Policy:
        """Return the policy in another mode; if bypassPermissions is disabled, it becomes default."""
        return attrs.evolve(self, mode=Mode.DEFAULT if mode is Mode.BYPASS and not self.may_bypass else mode)

    def for_child(
        self,
        definition: Mode | None = None,
        *,
        setting: ChildPermission = "definition",
        deny: Sequence[str] = (),
        agent: str = "",
    ) -> tuple[Policy, tuple[RuleDiagnostic, ...]]:
        """Return the policy of a child: the same rules, its own mode, and the denials of its definition.

        Args:
            definition: The `permissionMode` of its definition.
            setting: The setting `child_permission`.
            deny: Scoped entries of `disallowedTools`; they apply to the child and its descendants.
            agent: The definition's name, for messages.
        """
        source = Source(scope=Scope.AGENT, name=f"agent {agent}" if agent else "")
        rules, problems = _read_rules(deny, Effect.DENY, source, "disallowedTools")
        if definition is Mode.BYPASS and not (self.may_bypass and self.mode is Mode.BYPASS):
            where = f"{source.label}: permissionMode"
            problems += (
                RuleDiagnostic(where, "bypassPermissions applies only in a session that skips permissions; ignored"),
            )
        bypasses = self.may_bypass and self.mode is Mode.BYPASS
        mode = child_mode(self.mode, definition, setting=setting, may_bypass=bypasses)
        return attrs.evolve(self.with_mode(mode), rules=self.rules + rules), problems


def _is_managed(rule: Rule) -> bool:
    """True if a rule applies even if an administrator allows only managed rules."""
    scope = rule.source.scope
    is_denied = scope is Scope.AGENT and rule.effect is Effect.DENY
    return scope is Scope.MANAGED or is_denied or rule.source == PROGRAM


_WITHOUT_SUBJECT: Final = frozenset((ToolKind.OTHER, ToolKind.SESSION, ToolKind.NETWORK))


def _always_allows(policy: Policy, tool: str, traits: ToolTraits) -> bool:
    is_harmless = traits.kind is ToolKind.READ and not traits.subject
    if policy.refuses_changes and may_change(tool, traits):
        return False
    if policy.mode is Mode.AUTO and tool in HANDS_ON:
        return False  # the result is reviewed
    if tool == "WebFetch" or not (is_harmless or traits.kind in _WITHOUT_SUBJECT):
        return False  # its host, path or command decides, or it asks the user, who has to answer
    speaking = [rule for rule in policy.rules if names_tool(rule, tool)]
    if any(rule.effect is not Effect.ALLOW for rule in speaking):
        return False
    if policy.mode is Mode.BYPASS or is_harmless or traits.kind is ToolKind.SESSION:
        return True
    is_named = any(rule.content is None for rule in speaking)
    return is_named and (policy.mode is not Mode.PLAN or traits.kind is ToolKind.NETWORK)


def read_permissions(values: Mapping[str, Any], source: Source) -> PermissionSettings:
    """Parse the value of the key `permissions` of one settings source.

    Args:
        values: The value in the file.
        source: Its origin, and whether it is strict about unknown keys.

    Raises:
        SettingsError: A strict source has an unknown key, or a value of the wrong type. A source that is not strict
            gives
            diagnostics instead, and an invalid deny or ask list makes every tool be asked.
    """
    problems: list[str] = []
    found: list[RuleDiagnostic] = []
    rules: tuple[Rule, ...] = ()
    for effect, key in _LISTS.items():
        listed = values.get(key, [])
        if not isinstance(listed, list | tuple):
            problems.append(f"permissions.{key}: must be a list")
            listed = [] if effect is Effect.ALLOW else [listed]
        read, diagnostics = _read_rules(listed, effect, source, f"permissions.{key}")
        rules += read
        found += diagnostics
    mode = None
    if values.get("defaultMode") is not None:
        try:
            mode = parse_mode(str(values["defaultMode"]))
        except UsageError as error:
            problems.append(f"permissions.defaultMode: {error}")
    listed = values.get("additionalDirectories", [])
    if not isinstance(listed, list | tuple) or not all(isinstance(entry, str) for entry in listed):
        problems.append("permissions.additionalDirectories: must be a list of folders")
        listed = []
    problems += [
        f"permissions: unknown key {key!r}" for key in sorted(set(values) - _KEYS, key=str) if source.is_strict
    ]
    if problems and source.is_strict:
        raise SettingsError(source.label, tuple(problems))
    found += (RuleDiagnostic(source.label, f"{problem}; it is ignored") for problem in problems)
    return PermissionSettings(
        source=source,
        rules=rules,
        mode=mode,
        directories=tuple(listed),
        # Anything but a clear "no" disables it.
        forbids_bypass=values.get("disableBypassPermissionsMode") not in (None, False, "", "enable"),
        diagnostics=tuple(found),
    )


def _read_rules(
    listed: Iterable[Any], effect: Effect, source: Source, key: str
) -> tuple[tuple[Rule, ...], tuple[RuleDiagnostic, ...]]:
    rules: list[Rule] = []
    diagnostics: list[RuleDiagnostic] = []
    for index, text in enumerate(listed):
        rule, problem = parse_rule(text, effect, source, where=f"{key}[{index}]")
        rules += [rule] if rule is not None else []
        diagnostics += [problem] if problem is not None else []
    return tuple(rules), tuple(diagnostics)


def _precedence(settings: PermissionSettings) -> int:
    return _ORDER.index(settings.source.scope) if settings.source.scope in _ORDER else 0


def merge_permissions(
    sources: Iterable[PermissionSettings],
    *,
    cwd: str,
    home: str,
    mode: Mode | None = None,
    managed_only: bool = False,
    is_trusted: bool = True,
) -> tuple[Policy, tuple[RuleDiagnostic, ...]]:
    """Return the combined policy of the sources.

    Args:
        sources: In any order; managed settings take precedence, then the command line, the session, the local, the
            project's and the user's settings.
        cwd: The folder for relative folders of sources without a root; absolute.
        home: The user's home folder; absolute.
        mode: The requested mode (`--permission-mode`); only a managed setting takes precedence.
        managed_only: True if only managed rules apply.
        is_trusted: True if the person trusts the workspace.
    """
    ordered = sorted(sources, key=_precedence)
    rules: list[Rule] = []
    directories: list[str] = []
    diagnostics: list[RuleDiagnostic] = []
    managed = [settings for settings in ordered if settings.source.scope is Scope.MANAGED]
    wanted = next((settings.mode for settings in managed if settings.mode is not None), None)
    if wanted is not None and mode not in (None, wanted):
        text = f"the mode is {wanted}, set by an administrator, instead of {mode}"
        diagnostics.append(RuleDiagnostic("permissions", text))
    mode = wanted or mode
    for settings in ordered:
        diagnostics += settings.diagnostics
        if managed_only and settings.rules and settings.source.scope is not Scope.MANAGED:
            diagnostics.append(
                RuleDiagnostic(settings.source.label, "its rules are ignored: only an administrator's rules apply here")
            )
        counts = settings.source.is_trusted or settings.source.scope not in _WORKSPACE
        rules += [rule for rule in settings.rules if counts or rule.effect is not Effect.ALLOW]
        if not counts:
            if settings.mode or settings.directories or any(rule.effect is Effect.ALLOW for rule in settings.rules):
                until = "until the project is trusted (--trust, is_trusted=True)"
                what = f"its allow rules, mode and folders are ignored {until}"
                diagnostics.append(RuleDiagnostic(settings.source.label, what))
            continue
        mode = mode or settings.mode
        for folder in settings.directories:
            path = absolute_path(folder, cwd=settings.source.root or cwd, home=home)
            directories += [normal(path)] if path is not None else []
    may_bypass = not any(settings.forbids_bypass for settings in ordered)
    if mode is Mode.BYPASS and not may_bypass:
        diagnostics.append(RuleDiagnostic("permissions", "bypassPermissions is disabled; the mode is default"))
    policy = Policy(
        rules=tuple(rules),
        directories=tuple(dict.fromkeys(directories)),
        home=home,
        may_bypass=may_bypass,
        managed_only=managed_only,
        is_trusted=is_trusted,
    )
    return policy.with_mode(mode or Mode.DEFAULT), tuple(diagnostics)
