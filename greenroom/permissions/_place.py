"""Where a path lies, as far as rules and folders go.

Rule 1: a path counts with both its names, the one that is written and the one it leads to. To be allowed, both must be; to be
asked or denied, one is enough.
Must not know: the disk. Where links lead is handed in.
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

    `asked` collects every absolute path that it was asked about, `..` not resolved, `patterns` every absolute pattern, and
    `repositories` every folder in which git would work.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.policy = request.policy
        self.asked: dict[str, None] = {}
        self.patterns: dict[str, None] = {}
        self.repositories: dict[str, None] = {}

    @cached_property
    def folders(self) -> list[str]:
        """The working directories; asked about only where a path is held against them."""
        return [name for folder in (self.request.cwd, *self.policy.directories) for name in self.names(folder)]

    def absolute(self, path: str, dirs: Sequence[str] = ()) -> list[str] | None:
        """Return the absolute paths that a path may mean in the given folders; None where only the shell could tell."""
        found = [absolute_path(path, cwd=cwd, home=self.policy.home) for cwd in dirs or (self.request.cwd,)]
        return None if None in found else [one for one in dict.fromkeys(found) if one is not None]

    def names(self, path: str) -> tuple[str, ...]:
        """Return the normal path as written, and the one it leads to where that is another."""
        self.asked[path] = None
        target = self.request.links.get(path)
        names = (normal(path),) if target is None else (normal(path), normal(target))
        return tuple(dict.fromkeys(names))

    def matches_of(self, pattern: str) -> tuple[str, ...] | None:
        """Return what an absolute pattern of the shell matches, as far as it matters; None where that is too much to tell.

        Nothing where nobody has looked.
        """
        self.patterns[pattern] = None
        return self.request.matches.get(pattern, ())

    def programs_of(self, folder: str) -> tuple[str, ...]:
        """Return what the repository of a folder names that git may run; nothing in a trusted workspace, or unless looked up."""
        if self.policy.is_trusted:
            return ()
        self.repositories[folder] = None
        return self.request.programs.get(folder, ())

    def is_at_home(self, path: str) -> bool:
        """Whether a path lies in a working directory, by both its names."""
        return all(any(is_within(name, folder) for folder in self.folders) for name in self.names(path))

    def is_own(self, path: str) -> bool:
        """Whether a path lies in a folder that is there for the agent to write in, by both its names."""
        own = [name for folder in self.policy.own_folders for name in self.names(folder)]
        return bool(own) and all(any(is_within(name, folder) for folder in own) for name in self.names(path))

    def protected(self, path: str) -> str | None:
        """Return the protected part of a path, or None; a folder of the agent's own, such as its notes, is not protected."""
        if self.is_own(path):
            return None
        return next((part for name in self.names(path) if (part := protected_part(name))), None)

    def speaks(self, effect: Effect, path: str, tools: Iterable[str], *, searches: bool = False) -> Rule | None:
        """Return the first rule with a path that says `effect` about this path, used by one of these tools."""
        rules = [one for one in self.policy.of(effect) if one.content is not None and one.tool in tools]
        spoken = [
            next((rule for rule in rules if self.matches(rule, name, searches=searches)), None)
            for name in self.names(path)
        ]
        if effect is Effect.ALLOW and None in spoken:
            return None
        return next((rule for rule in spoken if rule is not None), None)

    def matches(self, rule: Rule, name: str, *, searches: bool = False) -> bool:
        """Whether a rule speaks about a normal path; for a folder that is searched, whether it does about all that lies in it."""
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
        """Whether any path is denied or asked, so that a glob has to be looked at by a person."""
        kinds = READ_TOOLS | EDIT_TOOLS
        return any(
            rule.content is not None and rule.tool in kinds
            for rule in self.policy.rules
            if rule.effect in (effects or (Effect.DENY, Effect.ASK))
        )


def files_hidden_from(tool: str, policy: Policy, cwd: str) -> Callable[[str], bool] | None:
    """Return what says of a file whether a search must leave it out, because a rule denies or asks about reading it (agents 1.129).

    Args:
        tool: The tool that searches.
        policy: What holds for the agent.
        cwd: Its current folder, absolute.

    Returns:
        A function from an absolute path; it may be called from any thread. None where no rule is about files.
    """
    place = Place(Request(tool=tool, input={}, cwd=cwd, policy=policy))
    names = rule_tools(tool, ToolKind.READ, Effect.DENY)
    spoken = [one for effect in (Effect.DENY, Effect.ASK) for one in policy.of(effect)]
    rules = [one for one in spoken if one.content is not None and one.tool in names]
    if not rules:
        return None
    return lambda path: any(place.matches(rule, normal(path)) for rule in rules)


def rule_tools(tool: str, kind: ToolKind, effect: Effect) -> frozenset[str]:
    """Return the names under which path rules speak about a tool (agents 1.129)."""
    names = {tool}
    if kind is ToolKind.EDIT or tool in EDIT_TOOLS:
        names.add("Edit")
        if effect is Effect.DENY:
            names.add("Read")  # what may not be read may not be changed
    elif tool in READ_TOOLS:
        names.add("Read")
    return frozenset(names)
