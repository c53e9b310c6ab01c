"""Location of paths relative to rules and folders.

Rule 1: a path is checked under both its names, the written one and the target of its links. An allow rule must match
both; an ask or deny rule need match only one. Rule 2: the targets of links are arguments.

Must not know: the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import final

from greenroom.permissions._guards import protected_part
from greenroom.permissions._path_patterns import absolute_path, is_within, matches_path, normal
from greenroom.permissions._policy import Policy
from greenroom.permissions._request import Request
from greenroom.permissions._rules import Effect, Rule, Scope
from greenroom.permissions._traits import EDIT_TOOLS, READ_TOOLS, ToolKind


@final
class Place:
    """The paths of one request.

    `asked` collects every absolute path that was looked up, `..` not resolved, `patterns` every absolute pattern,
    `repositories` every folder in which git would work, and `run` every program.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.policy = request.policy
        self.asked: dict[str, None] = {}
        self.patterns: dict[str, None] = {}
        self.repositories: dict[str, None] = {}
        self.run: dict[tuple[str, bool], None] = {}

    @cached_property
    def folders(self) -> list[str]:
        """The working directories; resolved only if a path is compared with them."""
        return [name for folder in (self.request.cwd, *self.policy.directories) for name in self.names(folder)]

    def absolute(self, path: str, dirs: Sequence[str] = ()) -> list[str] | None:
        """Return the absolute paths that a path may mean in the given folders; None if it depends on the shell's state."""
        found = [absolute_path(path, cwd=cwd, home=self.policy.home) for cwd in dirs or (self.request.cwd,)]
        return None if None in found else [path for path in dict.fromkeys(found) if path is not None]

    def names(self, path: str) -> tuple[str, ...]:
        """Return the normal path as written, and the target of its links if it differs."""
        self.asked[path] = None
        target = self.request.links.get(path)
        names = (normal(path),) if target is None else (normal(path), normal(target))
        return tuple(dict.fromkeys(names))

    def matches_of(self, pattern: str) -> tuple[str, ...] | None:
        """Return the relevant matches of an absolute shell pattern; None if there are too many.

        Empty if the disk has not been read.
        """
        self.patterns[pattern] = None
        return self.request.matches.get(pattern, ())

    def programs_of(self, folder: str) -> tuple[str, ...]:
        """Return what the repository of a folder names that git may run; nothing in a trusted workspace, or unless looked up."""
        if self.policy.is_trusted:
            return ()
        self.repositories[folder] = None
        return self.request.programs.get(folder, ())

    def own_program(self, name: str, *, changes_dir: bool) -> str:
        """Return the file that a shell runs for a program if it lies in a working directory; empty unless looked up."""
        self.run[name, changes_dir] = None
        return self.request.own_programs.get((name, changes_dir), "")

    def is_at_home(self, path: str) -> bool:
        """True if a path lies in a working directory, by both its names."""
        return all(any(is_within(name, folder) for folder in self.folders) for name in self.names(path))

    def is_own(self, path: str) -> bool:
        """True if a path lies in a folder for the agent's own writing, by both its names."""
        own = [name for folder in self.policy.own_folders for name in self.names(folder)]
        return bool(own) and all(any(is_within(name, folder) for folder in own) for name in self.names(path))

    def protected(self, path: str) -> str | None:
        """Return the protected part of a path, or None; a folder of the agent's own, such as its notes, is not
        protected.
        """
        if self.is_own(path):
            return None
        return next((part for name in self.names(path) if (part := protected_part(name))), None)

    def speaks(self, effect: Effect, path: str, tools: Iterable[str], *, searches: bool = False) -> Rule | None:
        """Return the first path rule with `effect` that matches this path, used by one of these tools."""
        rules = [rule for rule in self.policy.of(effect) if rule.content is not None and rule.tool in tools]
        spoken = [
            next((rule for rule in rules if self.matches(rule, name, searches=searches)), None)
            for name in self.names(path)
        ]
        if effect is Effect.ALLOW and None in spoken:
            return None
        return next((rule for rule in spoken if rule is not None), None)

    def matches(self, rule: Rule, name: str, *, searches: bool = False) -> bool:
        """True if a rule matches a normal path; for a folder that is searched, if it matches everything in it."""
        policy, source = self.policy, rule.source
        return matches_path(
            rule.content or "",
            name,
            root=source.root or (policy.home if source.scope is Scope.USER else self.request.cwd),
            cwd=self.request.cwd,
            home=policy.home,
            is_wide=rule.effect is not Effect.ALLOW,
            searches=searches,
        )

    def has_path_rules(self, *effects: Effect) -> bool:
        """True if any path is denied or asked, so that a glob needs a person."""
        kinds = READ_TOOLS | EDIT_TOOLS
        return any(
            rule.content is not None and rule.tool in kinds
            for rule in self.policy.rules
            if rule.effect in (effects or (Effect.DENY, Effect.ASK))
        )


def files_hidden_from(tool: str, policy: Policy, cwd: str) -> Callable[[str], bool] | None:
    """Return the filter for files that a search must leave out, because a rule denies or asks about reading them.

    Args:
        tool: The searching tool.
        policy: The agent's policy.
        cwd: Its current folder, absolute.

    Returns:
        A function from an absolute path; it may be called from any thread. None if no rule is about files.
    """
    place = Place(Request(tool=tool, input={}, cwd=cwd, policy=policy))
    names = rule_tools(tool, ToolKind.READ, Effect.DENY)
    spoken = [rule for effect in (Effect.DENY, Effect.ASK) for rule in policy.of(effect)]
    rules = [rule for rule in spoken if rule.content is not None and rule.tool in names]
    if not rules:
        return None
    return lambda path: any(place.matches(rule, normal(path)) for rule in rules)


def rule_tools(tool: str, kind: ToolKind, effect: Effect) -> frozenset[str]:
    """Return the names under which path rules apply to a tool."""
    names = {tool}
    if kind is ToolKind.EDIT or tool in EDIT_TOOLS:
        names.add("Edit")
        if effect is Effect.DENY:
            names.add("Read")  # a file that may not be read may not be changed
    elif tool in READ_TOOLS:
        names.add("Read")
    return frozenset(names)
