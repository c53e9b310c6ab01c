"""The `hooks` of settings files, definitions and skills: parsed leniently, merged, and looked up by event.

Rule 1: what cannot be used is left out with one problem that says where and what to do; the rest of its file stays. Rule 2:
hooks of several sources add up, in the order of the sources. Rule 3: a source that is not trusted contributes nothing,
not even a switch.
Must not know: where files lie, and how a handler is run.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.hooks._catalog import CATALOG, HandlerType, HookEvent
from greenroom.hooks._handlers import AskBack, Handler, Malformed, parse_callback, parse_handler
from greenroom.hooks._matcher import Matcher, compile_matcher

_GROUP_KEYS: Final = frozenset({"matcher", "hooks"})


class SourceKind(StrEnum):
    """Who wrote a configuration."""

    MANAGED = "managed"
    USER = "user"
    PROJECT = "project"
    LOCAL = "local"
    PLUGIN = "plugin"
    SKILL = "skill"
    AGENT = "agent"
    HOST = "host"


@final
@attrs.frozen
class HookSource:
    """Where a configuration came from."""

    name: str
    """For messages: the path of the file, or who gave it."""
    kind: SourceKind = SourceKind.USER
    is_trusted: bool = attrs.field(default=True, kw_only=True)
    """False for a project folder that the user has not trusted: its hooks do not run."""
    is_strict: bool = attrs.field(default=False, kw_only=True)
    """Whether unknown keys are refused: true for our own files, false for those of others."""
    is_managed: bool = attrs.field(kw_only=True)
    """Whether an administrator wrote it, so that nobody else can switch it off: settings, or an agent or a skill of his."""

    variables: tuple[tuple[str, str], ...] = attrs.field(default=(), kw_only=True)
    """What its commands are given besides, by name, such as the folder of a plugin."""

    @is_managed.default
    def _of_settings(self) -> bool:
        return self.kind is SourceKind.MANAGED


@final
@attrs.frozen
class HookProblem:
    """Something in a configuration that has no effect, and what to do about it."""

    source: str
    path: str
    """The key, from the top of the file: `hooks.PreToolUse[0].hooks[1].timeout`."""
    what: str

    def __str__(self) -> str:
        return f"{self.source}: {self.path}: {self.what}"


@final
@attrs.frozen(kw_only=True)
class Hook:
    """One handler, with what it is for and where it was written."""

    event: HookEvent
    matcher: Matcher
    handler: Handler
    source: HookSource
    path: str

    @property
    def work(self) -> Hashable:
        """What is run, and with what: a command that names the folder of its plugin is another one in the next plugin."""
        return self.handler.work, self.source.variables


@final
@attrs.frozen(kw_only=True)
class ParsedHooks:
    """What one source holds."""

    source: HookSource
    hooks: tuple[Hook, ...] = ()
    problems: tuple[HookProblem, ...] = ()
    disables_all: bool | None = None
    """`disableAllHooks`; None where it is not said."""
    allows_managed_only: bool = False


def parse_hooks(settings: Mapping[str, Any], source: HookSource) -> ParsedHooks:
    """Read `hooks`, `disableAllHooks` and `allowManagedHooksOnly` of a settings mapping; other keys are not looked at.

    Frontmatter is given as `{"hooks": ...}`; in that of an agent `Stop` means `SubagentStop`.
    """
    reader = _Reader(source)
    configured = settings.get("hooks")
    if isinstance(configured, Mapping):
        for name, groups in configured.items():
            reader.read_event(str(name), groups)
    elif configured is not None:
        reader.refuse("hooks", "is no object; write {'PreToolUse': [{'matcher': 'Bash', 'hooks': [...]}]}")
    return ParsedHooks(
        source=source,
        hooks=tuple(reader.hooks),
        disables_all=reader.read_switch(settings, "disableAllHooks"),
        allows_managed_only=bool(reader.read_switch(settings, "allowManagedHooksOnly"))
        and source.kind is SourceKind.MANAGED,
        problems=tuple(reader.problems),
    )


def parse_callbacks(groups: Mapping[str, Any], source: HookSource, ask: AskBack) -> ParsedHooks:
    """Read the hooks that a program has itself asked at: `{event: [{matcher?, hookCallbackIds: [...], timeout?}]}`.

    Args:
        groups: By the names of events.
        source: Who gave them.
        ask: Asks the program.
    """
    reader = _Reader(source, ask)
    for name, those in groups.items():
        named = those if isinstance(those, list | tuple) else []
        plain = [_as_group(one) if isinstance(one, Mapping) else one for one in named]
        reader.read_event(str(name), plain if isinstance(those, list | tuple) else those)
    return ParsedHooks(source=source, hooks=tuple(reader.hooks), problems=tuple(reader.problems))


def _as_group(group: Mapping[str, Any]) -> Mapping[str, Any]:
    ids = group.get("hookCallbackIds")
    if not isinstance(ids, list | tuple):
        return {"matcher": group.get("matcher"), "hooks": None}
    hooks = [{"id": one, "timeout": group.get("timeout")} for one in ids]
    return {"matcher": group.get("matcher"), "hooks": hooks}


@final
class _Reader:
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
            self.refuse(key, "is neither true nor false; it is taken as not said")
            return None
        return value

    def read_event(self, name: str, groups: object) -> None:
        path = f"hooks.{name}"
        try:
            event = HookEvent(name)
        except ValueError:
            self.refuse(path, f"there is no event of this name; there are {', '.join(HookEvent)}")
            return
        if event is HookEvent.STOP and self._source.kind is SourceKind.AGENT:
            event = HookEvent.SUBAGENT_STOP
        if not isinstance(groups, list | tuple):
            self.refuse(path, "is no list; write [{'matcher': ..., 'hooks': [...]}]")
            return
        for at, group in enumerate(groups):
            self._read_group(event, group, f"{path}[{at}]")

    def _read_group(self, event: HookEvent, group: object, path: str) -> None:
        if not isinstance(group, Mapping):
            self.refuse(path, "is no object; write {'matcher': ..., 'hooks': [...]}")
            return
        unknown = sorted(str(key) for key in group if key not in _GROUP_KEYS)
        if unknown and self._source.is_strict:
            self.refuse(f"{path}.{unknown[0]}", "is no key of a group; there are matcher and hooks")
            return
        text = group.get("matcher")
        if text is not None and not isinstance(text, str):
            self.refuse(f"{path}.matcher", "is no text; write a name, names with | between them, or a pattern")
            return
        try:
            matcher = compile_matcher(text if text and CATALOG[event].matches else "", event)
        except ValueError as problem:
            self.refuse(f"{path}.matcher", f"{text!r} cannot be used: {problem}; escape it or name subjects with |")
            return
        entries = group.get("hooks")
        if not isinstance(entries, list | tuple):
            what = "[{'type': 'command', 'command': ...}]" if self._ask is None else "the ids as hookCallbackIds: [...]"
            self.refuse(f"{path}.hooks", f"is no list; write {what}")
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
@attrs.frozen
class HookSet:
    """The hooks in force, by event. Frozen: after an edit of the settings, make another and give it to the runner."""

    parsed: tuple[ParsedHooks, ...] = ()
    problems: tuple[HookProblem, ...] = ()
    _by_event: Mapping[HookEvent, tuple[Hook, ...]] = attrs.field(factory=dict, repr=False)

    def __len__(self) -> int:
        return sum(map(len, self._by_event.values()))

    def __iter__(self) -> Iterator[Hook]:
        for hooks in self._by_event.values():
            yield from hooks

    def has(self, event: HookEvent) -> bool:
        """Say whether anything could run at this event; so cheap that it can be asked before an input is made."""
        return event in self._by_event

    def find(self, event: HookEvent, subject: str) -> tuple[Hook, ...]:
        """Return the hooks that match, in the order of the configuration; of those that run the same, the first."""
        found: dict[Hashable, Hook] = {}
        for hook in self._by_event.get(event, ()):
            if hook.matcher.matches(subject):
                # With other conditions the first may be left out where the second runs.
                found.setdefault((hook.work, hook.handler.condition), hook)
        return tuple(found.values())

    def with_more(self, *parsed: ParsedHooks) -> HookSet:
        """Return these and the hooks of further sources, for as long as an agent or a skill is active."""
        return merge_hooks((*self.parsed, *parsed))

    def without(self, handlers: HandlerType) -> HookSet:
        """Return these without the handlers of one type."""
        kept = [tuple(hook for hook in one.hooks if hook.handler.type is not handlers) for one in self.parsed]
        return merge_hooks([attrs.evolve(one, hooks=hooks) for one, hooks in zip(self.parsed, kept, strict=True)])


def merge_hooks(parsed: Sequence[ParsedHooks]) -> HookSet:
    """Put the hooks of several sources into force.

    Args:
        parsed: In the order of precedence, highest first: the first that says `disableAllHooks` decides it. Hooks
            themselves add up.
    """
    trusted = [one for one in parsed if one.source.is_trusted]
    is_disabled = next((one.disables_all for one in trusted if one.disables_all is not None), False)
    managed_only = is_disabled or any(one.allows_managed_only for one in trusted)
    by_event: dict[HookEvent, tuple[Hook, ...]] = {}
    for one in trusted:
        if managed_only and not one.source.is_managed:
            continue
        for hook in one.hooks:
            by_event[hook.event] = (*by_event.get(hook.event, ()), hook)
    return HookSet(tuple(parsed), tuple(_problems(parsed)), by_event)


def _problems(parsed: Iterable[ParsedHooks]) -> Iterator[HookProblem]:
    for one in parsed:
        yield from one.problems
        if one.hooks and not one.source.is_trusted:
            count = f"{len(one.hooks)} hook" + "s" * (len(one.hooks) != 1)
            yield HookProblem(one.source.name, "hooks", f"{count} will not run: trust this folder first")
