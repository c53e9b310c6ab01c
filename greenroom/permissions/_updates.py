"""Lasting answers: changes of settings as values, and their effects on a policy and on a settings file.

Pure; the owner of the files writes them. An invalid change changes nothing and raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, cast, final, get_args

import attrs

from greenroom.core import UsageError
from greenroom.core.validation import checked
from greenroom.permissions._modes import Mode, parse_mode
from greenroom.permissions._path_patterns import absolute_path, normal
from greenroom.permissions._policy import Policy
from greenroom.permissions._rules import Effect, Rule, Scope, Source, parse_rule

UpdateKind: TypeAlias = Literal[
    "addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"
]
_KINDS: Final = get_args(UpdateKind)
_DESTINATIONS: Final = (Scope.SESSION, Scope.LOCAL, Scope.PROJECT, Scope.USER, Scope.CLI)


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Update:
    """A change of settings; its JSON form is that of Claude Code's permission updates.

    Attributes:
        kind: What is changed.
        destination: Which settings.
        rules: Rules as text, for the kinds about rules.
        behavior: What those rules say.
        mode: For `setMode`.
        directories: For the kinds about directories.
    """

    kind: UpdateKind
    destination: Scope
    rules: tuple[str, ...] = ()
    behavior: Effect = Effect.ALLOW
    mode: Mode | None = None
    directories: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the form that hosts and hooks exchange."""
        values: dict[str, Any] = {"type": self.kind, "destination": self.destination.value}
        if self.kind.endswith("Rules"):
            values["rules"] = [_rule_json(rule) for rule in self.rules]
            values["behavior"] = self.behavior.value
        elif self.mode is not None:
            values["mode"] = self.mode.value
        else:
            values["directories"] = list(self.directories)
        return values


def read_update(values: Mapping[str, Any]) -> Update:
    """Read the JSON form of an update.

    Raises:
        UsageError: It is none; the message says what is wrong.
    """
    kind, destination = values.get("type"), values.get("destination", Scope.SESSION.value)
    if kind not in _KINDS:
        raise UsageError(f"unknown type of permission update {kind!r}; expected one of: {', '.join(_KINDS)}")
    if destination not in [known.value for known in _DESTINATIONS]:
        raise UsageError(f"permission updates cannot go to {destination!r}; use one of {', '.join(_DESTINATIONS)}")
    try:
        return Update(
            kind=cast(UpdateKind, kind),
            destination=Scope(destination),
            rules=tuple(_rule_text(rule) for rule in values.get("rules", ())),
            behavior=Effect(values.get("behavior", "allow")),
            mode=parse_mode(str(values["mode"])) if kind == "setMode" else None,
            directories=tuple(str(folder) for folder in values.get("directories", ())),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"malformed permission update {kind!r}: {error!r}") from None


def _rule_json(text: str) -> dict[str, str]:
    tool, opened, content = text.partition("(")
    return {"toolName": tool, "ruleContent": content[:-1]} if opened else {"toolName": tool}


def _rule_text(values: Mapping[str, Any]) -> str:
    content = values.get("ruleContent")
    return str(values["toolName"]) if content is None else f"{values['toolName']}({content})"


def apply_updates(policy: Policy, updates: Iterable[Update], *, cwd: str) -> Policy:
    """Return the policy with changes in force at once, wherever they are to be kept.

    Args:
        policy: The session's; a lasting answer applies to the whole session.
        updates: What was answered.
        cwd: What relative folders, and `/path` in rules, are relative to.

    Raises:
        UsageError: A rule in it is none.
    """
    for update in updates:
        policy = _apply(policy, update, cwd)
    return policy


def _apply(policy: Policy, update: Update, cwd: str) -> Policy:
    if update.mode is not None:
        return policy.with_mode(update.mode)
    if update.kind.endswith("Directories"):
        given = [absolute_path(folder, cwd=cwd, home=policy.home) for folder in update.directories]
        folders = dict.fromkeys(normal(path) for path in given if path is not None)
        if update.kind == "addDirectories":
            return attrs.evolve(policy, directories=tuple(dict.fromkeys((*policy.directories, *folders))))
        return attrs.evolve(policy, directories=tuple(folder for folder in policy.directories if folder not in folders))
    source = Source(scope=update.destination, root="" if update.destination is Scope.USER else cwd)
    rules = tuple(_parsed(text, update.behavior, source) for text in update.rules)

    def is_there(rule: Rule) -> bool:
        return rule.effect is update.behavior and rule.source.scope is update.destination

    kept = policy.rules
    if update.kind == "replaceRules":
        kept = tuple(rule for rule in kept if not is_there(rule))
    elif update.kind == "removeRules":
        gone = {str(removed) for removed in rules}
        return attrs.evolve(policy, rules=tuple(rule for rule in kept if not (is_there(rule) and str(rule) in gone)))
    return attrs.evolve(policy, rules=kept + rules)


def _parsed(text: str, effect: Effect, source: Source) -> Rule:
    rule, problem = parse_rule(text, effect, source)
    if rule is None or problem is not None:
        raise UsageError(str(problem))
    return rule


def updated_settings(values: Mapping[str, Any], updates: Iterable[Update], destination: Scope) -> dict[str, Any]:
    """Return the content of a settings file after the updates that go there; what else it holds stays as it is.

    Args:
        values: The whole content of the file.
        updates: Any updates; those for other destinations are left out.
        destination: Which settings the file holds.
    """
    settings = dict(values)
    permissions = dict(settings.get("permissions") or {})
    for update in updates:
        if update.destination is not destination:
            continue
        if update.mode is not None:
            permissions["defaultMode"] = update.mode.value
            continue
        is_rules = update.kind.endswith("Rules")
        key = update.behavior.value if is_rules else "additionalDirectories"
        given = update.rules if is_rules else update.directories
        old = [] if update.kind == "replaceRules" else list(permissions.get(key) or [])
        if update.kind.startswith("remove"):
            permissions[key] = [entry for entry in old if entry not in given]
        else:
            permissions[key] = old + [entry for entry in dict.fromkeys(given) if entry not in old]
    settings["permissions"] = permissions
    return settings
