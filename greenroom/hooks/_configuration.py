"""The `hooks` of settings files, definitions and skills: parsed leniently, merged, and looked up by event.

An unusable entry is skipped with one problem that names its place and the remedy; the rest of its file stays. Hooks of
several sources add up in the order of the sources. An untrusted source contributes nothing, not even a switch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.core import frozen
from greenroom.hooks._event_table import CATALOG, HandlerType, HookEvent
from greenroom.hooks._handlers import AskBack, Handler, Malformed, parse_callback, parse_handler
from greenroom.hooks._matcher import Matcher, compile_matcher

_GROUP_KEYS: Final = frozenset({"matcher", "hooks"})


class SourceKind(StrEnum):
    """The kinds of configuration sources."""

    MANAGED = "managed"
    USER = "user"
    PROJECT = "project"
    LOCAL = "local"
    PLUGIN = "plugin"
    SKILL = "skill"
    AGENT = "agent"
    HOST = "host"


@final
@frozen
class HookSource:
    """The source of a configuration."""

    name: str
    """For messages: the path of the file, or the name of the program."""
    kind: SourceKind = SourceKind.USER
    is_trusted: bool = attrs.field(default=True, kw_only=True)
    """False for a project folder that the user has not trusted: its hooks do not run."""
    is_strict: bool = attrs.field(default=False, kw_only=True)
    """True if unknown keys are refused: for our own files, not for those of other programs."""
    is_managed: bool = attrs.field(kw_only=True)
    """True if written by an administrator, so that no one else can disable it: settings, or an agent or a skill of
    theirs.
    """

    variables: tuple[tuple[str, str], ...] = attrs.field(default=(), kw_only=True)
    """Extra environment variables for its commands, by name, such as the folder of a plugin."""

    @is_managed.default
    def _of_settings(self) -> bool:
        return self.kind is SourceKind.MANAGED


@final
@frozen
class HookProblem:
    """An entry of a configuration that has no effect, and the remedy."""

    source: str
    path: str
    """The key, from the top of the file: `hooks.PreToolUse[0].hooks[1].timeout`."""
    what: str

    def __str__(self) -> str:
        return f"{self.source}: {self.path}: {self.what}"


@final
@frozen(kw_only=True)
class Hook:
    """One handler, with its event, its matcher and its place in the configuration."""

    event: HookEvent
    matcher: Matcher
    handler: Handler
    source: HookSource
    path: str

    @property
    def work(self) -> Hashable:
        """The identity of its work: a command that uses the folder of its plugin differs between plugins."""
        return self.handler.work, self.source.variables


@final
@frozen(kw_only=True)
class ParsedHooks:
    """The hooks of one source."""

    source: HookSource
    hooks: tuple[Hook, ...] = ()
    problems: tuple[HookProblem, ...] = ()
    disables_all: bool | None = None
    """`disableAllHooks`; None if absent."""
    allows_managed_only: bool = False


def parse_hooks(settings: Mapping[str, Any], source: HookSource) -> ParsedHooks:
    """Parse `hooks`, `disableAllHooks` and `allowManagedHooksOnly` of a settings mapping; other keys are ignored.

    Frontmatter is given as `{"hooks": ...}`; in that of an agent `Stop` means `SubagentStop`.
    """
    reader = _HookReader(source)
    configured = settings.get("hooks")
    if isinstance(configured, Mapping):
        for name, groups in configured.items():
            reader.read_event(str(name), groups)
    elif configured is not None:
        reader.refuse("hooks", "must be an object, such as {'PreToolUse': [{'matcher': 'Bash', 'hooks': [...]}]}")
    return ParsedHooks(
        source=source,
        hooks=tuple(reader.hooks),
        disables_all=reader.read_switch(settings, "disableAllHooks"),
        allows_managed_only=bool(reader.read_switch(settings, "allowManagedHooksOnly"))
        and source.kind is SourceKind.MANAGED,
        problems=tuple(reader.problems),
    )


def parse_callbacks(groups: Mapping[str, Any], source: HookSource, ask: AskBack) -> ParsedHooks:
    """Parse the hooks that the embedding program registered: `{event: [{matcher?, hookCallbackIds: [...], timeout?}]}`.

    Args:
        groups: By event name.
        source: The program.
        ask: Calls the program.
    """
    reader = _HookReader(source, ask)
    for name, those in groups.items():
        named = those if isinstance(those, list | tuple) else []
        plain = [_as_group(entry) if isinstance(entry, Mapping) else entry for entry in named]
        reader.read_event(str(name), plain if isinstance(those, list | tuple) else those)
    return ParsedHooks(source=source, hooks=tuple(reader.hooks), problems=tuple(reader.problems))


def _as_group(group: Mapping[str, Any]) -> Mapping[str, Any]:
    ids = group.get("hookCallbackIds")
    if not isinstance(ids, list | tuple):
        return {"matcher": group.get("matcher"), "hooks": None}
    hooks = [{"id": callback, "timeout": group.get("timeout")} for callback in ids]
    return {"matcher": group.get("matcher"), "hooks": hooks}


@final
class _HookReader:
    def __init__(self, source: HookSource, ask: AskBack | None = None) -> None:
        self._source = source
        self._ask = ask
        self.hooks: list[Hook] = []
        self.problems: list[HookProblem] = []

    def refuse(self, path: str, what: str) -> None:
        self.problems.append(HookProblem(self._source.name, path, what))

    def read_switch(self, settings: Mapping[str, Any], key: str) -> bool | None:
        value = settings.get(key)
        if value is not None and not isinstance(value, bool):
            self.refuse(key, "must be true or false; it is ignored")
            return None
        return value

    def read_event(self, name: str, groups: object) -> None:
        path = f"hooks.{name}"
        try:
            event = HookEvent(name)
        except ValueError:
            self.refuse(path, f"unknown event; expected one of: {', '.join(HookEvent)}")
            return
        if event is HookEvent.STOP and self._source.kind is SourceKind.AGENT:
            event = HookEvent.SUBAGENT_STOP
        if not isinstance(groups, list | tuple):
            self.refuse(path, "must be a list, such as [{'matcher': ..., 'hooks': [...]}]")
            return
        for at, group in enumerate(groups):
            self._read_group(event, group, f"{path}[{at}]")

    def _read_group(self, event: HookEvent, group: object, path: str) -> None:
        if not isinstance(group, Mapping):
            self.refuse(path, "must be an object, such as {'matcher': ..., 'hooks': [...]}")
            return
        unknown = sorted(str(key) for key in group if key not in _GROUP_KEYS)
        if unknown and self._source.is_strict:
            self.refuse(f"{path}.{unknown[0]}", "is not a key of a group; expected matcher or hooks")
            return
        text = group.get("matcher")
        if text is not None and not isinstance(text, str):
            self.refuse(f"{path}.matcher", "must be a string: a name, names separated by |, or a pattern")
            return
        try:
            matcher = compile_matcher(text if text and CATALOG[event].matches else "", event)
        except ValueError as problem:
            self.refuse(
                f"{path}.matcher", f"{text!r} is not a valid matcher: {problem}; escape it or separate names with |"
            )
            return
        entries = group.get("hooks")
        if not isinstance(entries, list | tuple):
            what = "[{'type': 'command', 'command': ...}]" if self._ask is None else "hookCallbackIds: [...]"
            self.refuse(f"{path}.hooks", f"must be a list, such as {what}")
            return
        for at, entry in enumerate(entries):
            self._read_handler(event, matcher, entry, f"{path}.hooks[{at}]")

    def _read_handler(self, event: HookEvent, matcher: Matcher, entry: object, path: str) -> None:
        try:
            handler: Handler
            if self._ask is not None and isinstance(entry, Mapping):
                handler = parse_callback(entry, self._ask)
            else:
                handler = parse_handler(entry, event, is_strict=self._source.is_strict)
        except Malformed as problem:
            self.refuse(f"{path}.{problem.key}".rstrip("."), problem.what)
            return
        self.hooks.append(Hook(event=event, matcher=matcher, handler=handler, source=self._source, path=path))


@final
@frozen
class HookSet:
    """The hooks in force, by event. Frozen: after an edit of the settings, make a new set and assign it to the runner."""

    parsed: tuple[ParsedHooks, ...] = ()
    problems: tuple[HookProblem, ...] = ()
    _by_event: Mapping[HookEvent, tuple[Hook, ...]] = attrs.field(factory=dict, repr=False)

    def __len__(self) -> int:
        return sum(map(len, self._by_event.values()))

    def __iter__(self) -> Iterator[Hook]:
        for hooks in self._by_event.values():
            yield from hooks

    def has(self, event: HookEvent) -> bool:
        """True if any hook is configured for this event. Cheap: call it before building an input."""
        return event in self._by_event

    def find(self, event: HookEvent, subject: str) -> tuple[Hook, ...]:
        """Return the hooks that match, in configuration order; of several with the same work, the first."""
        found: dict[Hashable, Hook] = {}
        for hook in self._by_event.get(event, ()):
            if hook.matcher.matches(subject):
                # If their conditions differ, the second may apply where the first does not.
                found.setdefault((hook.work, hook.handler.condition), hook)
        return tuple(found.values())

    def with_more(self, *parsed: ParsedHooks) -> HookSet:
        """Return this set extended by the hooks of further sources, for as long as an agent or a skill is active."""
        return merge_hooks((*self.parsed, *parsed))

    def without(self, handlers: HandlerType) -> HookSet:
        """Return this set without the handlers of one type."""
        kept = [tuple(hook for hook in settings.hooks if hook.handler.type is not handlers) for settings in self.parsed]
        return merge_hooks(
            [attrs.evolve(settings, hooks=hooks) for settings, hooks in zip(self.parsed, kept, strict=True)]
        )


def merge_hooks(parsed: Sequence[ParsedHooks]) -> HookSet:
    """Merge the hooks of several sources.

    Args:
        parsed: In order of precedence, highest first: the first that sets `disableAllHooks` decides it. Hooks
            themselves add up.
    """
    trusted = [settings for settings in parsed if settings.source.is_trusted]
    is_disabled = next((settings.disables_all for settings in trusted if settings.disables_all is not None), False)
    managed_only = is_disabled or any(settings.allows_managed_only for settings in trusted)
    by_event: dict[HookEvent, tuple[Hook, ...]] = {}
    for settings in trusted:
        if managed_only and not settings.source.is_managed:
            continue
        for hook in settings.hooks:
            by_event[hook.event] = (*by_event.get(hook.event, ()), hook)
    return HookSet(tuple(parsed), tuple(_problems(parsed)), by_event)


def _problems(parsed: Iterable[ParsedHooks]) -> Iterator[HookProblem]:
    for settings in parsed:
        yield from settings.problems
        if settings.hooks and not settings.source.is_trusted:
            count = f"{len(settings.hooks)} hook" + "s" * (len(settings.hooks) != 1)
            yield HookProblem(settings.source.name, "hooks", f"{count} will not run: trust this folder first")
