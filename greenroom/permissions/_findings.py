"""Findings about a call, gathered before the decision: matching rules, needs, obstacles.

Everything is gathered, whatever else was found before; the order of precedence is the decision's (`_decide`).

Must not know: modes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any, Final, final
from urllib.parse import urlsplit

import attrs

from greenroom.core.network import canonical_host, is_loopback_host, is_private_host
from greenroom.permissions._guards import is_worktree
from greenroom.permissions._modes import Mode
from greenroom.permissions._path_patterns import normal
from greenroom.permissions._place import Place, rule_tools
from greenroom.permissions._request import Request
from greenroom.permissions._rules import PARAMETER, Effect, Rule, Scope, names_tool
from greenroom.permissions._text_patterns import TextPattern
from greenroom.permissions._traits import FILE_TOOLS, ToolKind, canonical_name
from greenroom.permissions._updates import Update

_PLAIN_FOLDER: Final = re.compile(r"(?:/(?!\s)[^*?\[\]!#\\\n\x00/]*(?<!\s))+")
_PLAIN_URL: Final = re.compile(r"https?://[^\s\\]+", re.IGNORECASE)


@final
@attrs.frozen(kw_only=True)
class Need:
    """One effect of a call that has to be approved; the call runs when all its needs are.

    Attributes:
        text: The effect, for people.
        is_read: True if it only reads, in places where that is free.
        is_edit: True if it changes files in the working directories.
        is_own: True if it changes files in a folder for the agent's own writing.
        changes: True if it may change something.
        rule: The allow rule that covers it.
        blocked_path: A path outside the working directories.
        updates: Changes of settings that would allow it permanently.
        why: The reason for the approval; empty if it is plain.
    """

    text: str
    is_read: bool = False
    is_edit: bool = False
    is_own: bool = False
    changes: bool = True
    rule: Rule | None = None
    blocked_path: str | None = None
    updates: tuple[Update, ...] = ()
    why: str = ""


@final
@attrs.define
class Findings:
    """The findings about one call."""

    denied: list[tuple[str, Rule]] = attrs.field(factory=list)
    asked: list[tuple[str, Rule]] = attrs.field(factory=list)
    doubts: list[str] = attrs.field(factory=list)
    """Reasons why a person has to decide in every mode."""
    protected: list[str] = attrs.field(factory=list)
    """Protected paths that it would write."""
    needs: list[Need] = attrs.field(factory=list)
    paths: list[str] = attrs.field(factory=list)
    """The paths that a file tool would open: absolute, `..` not resolved."""

    def note(self, effect: Effect, text: str, rule: Rule | None) -> None:
        """Record a matching deny or ask rule; None is ignored."""
        if rule is not None:
            (self.denied if effect is Effect.DENY else self.asked).append((text, rule))


def whole_tool_rule(request: Request, effect: Effect) -> Rule | None:
    """Return the first rule with that effect about every use of the tool."""
    tool = canonical_name(request.tool)
    return next((rule for rule in request.policy.of(effect) if rule.content is None and names_tool(rule, tool)), None)


def tool_findings(request: Request, place: Place) -> Findings:
    """Return the findings about a call of any tool but a shell."""
    found = Findings()
    for effect in (Effect.DENY, Effect.ASK):
        found.note(effect, request.tool, whole_tool_rule(request, effect))
        found.note(effect, request.tool, _content_rule(request, effect))
    if canonical_name(request.tool) == "WebFetch":
        _host_findings(request, found)
    paths = list(_paths(request))
    if paths:
        for path in paths:
            _path_findings(path, request, place, found)
    elif request.traits.kind is ToolKind.EDIT or (request.traits.subject and request.traits.kind is ToolKind.READ):
        found.doubts.append(f"the call does not say which file: {request.traits.subject!r} is missing or no text")
    else:
        need = _place_need(request, place) if request.traits.kind is ToolKind.PLACE else None
        found.needs.append(need or _plain_need(request))
    return found


def _host_findings(request: Request, found: Findings) -> None:
    """Record a host that is unknown, or a local one that no allow rule names."""
    host = host_of(request.input.get("url"))
    if host is None:
        found.doubts.append("the host of the URL cannot be told")
    elif is_private_host(host):
        rule = _content_rule(request, Effect.ALLOW)
        if rule is None or "*" in (rule.content or ""):
            where = "this machine" if is_loopback_host(host) else "a private network"
            found.doubts.append(f"{host} is an address of {where} that no rule WebFetch(domain:{host}) allows")


def _place_need(request: Request, place: Place) -> Need | None:
    """Return the need for entering a checkout named by its path; None if it is new or in the folder of worktrees.

    A checkout elsewhere is asked about whatever allows the tool, except a rule that names the path.
    """
    path = request.input.get(request.traits.subject) if request.traits.subject else None
    if not isinstance(path, str) or not path:
        return None
    at = (place.absolute(path) or [""])[0]
    if at and all(is_worktree(name) for name in place.names(at)):
        return None
    return Need(text=path, rule=_content_rule(request, Effect.ALLOW), blocked_path=normal(at) if at else path)


def _plain_need(request: Request) -> Need:
    kind, tool = request.traits.kind, canonical_name(request.tool)
    rule = whole_tool_rule(request, Effect.ALLOW) or _content_rule(request, Effect.ALLOW)
    text = tool
    if tool == "WebFetch":
        host = host_of(request.input.get("url"))
        text = f"WebFetch(domain:{host})"
    updates = (Update(kind="addRules", destination=Scope.LOCAL, rules=(text,)),)
    return Need(
        text=text,
        is_read=kind is ToolKind.READ,
        changes=kind not in (ToolKind.READ, ToolKind.NETWORK, ToolKind.SESSION),
        rule=rule,
        updates=updates if re.fullmatch(r"[A-Za-z][\w.-]*(?:\(domain:[^()]+\))?", text) else (),
    )


# --- paths ------------------------------------------------------------------------------------------------------------


def _paths(request: Request) -> Iterator[str]:
    traits = request.traits
    if traits.kind not in (ToolKind.READ, ToolKind.EDIT) or not traits.subject:
        return
    path = request.input.get(traits.subject)
    if path is None and traits.searches:
        path = request.cwd
    if not isinstance(path, str) or not path or "\x00" in path:
        return
    yield path
    pattern = request.input.get("pattern")
    if request.tool == "Glob" and isinstance(pattern, str):
        fixed = re.split(r"[*?\[{]", pattern, maxsplit=1)[0].rpartition("/")[0]
        if pattern.startswith(("/", "~")):
            yield fixed or "/"
        elif ".." in pattern:
            # After a wildcard, the target of `..` is unknown.
            yield f"{path.rstrip('/')}/{fixed}" if ".." not in pattern[len(fixed) :] else "/"


def _path_findings(path: str, request: Request, place: Place, found: Findings) -> None:
    kind, searches = request.traits.kind, request.traits.searches
    absolute = place.absolute(path)
    if absolute is None:
        found.doubts.append(f"{path!r} is in the home folder of another user")
        return
    at = absolute[0]
    found.paths.append(at)
    for effect in (Effect.DENY, Effect.ASK):
        names = rule_tools(request.tool, kind, effect)
        found.note(effect, path, place.speaks(effect, at, names, searches=searches))
    allowed = whole_tool_rule(request, Effect.ALLOW)
    allowed = allowed or place.speaks(Effect.ALLOW, at, rule_tools(request.tool, kind, Effect.ALLOW), searches=searches)
    found.needs.append(
        path_need(path, at, place, is_edit=kind is ToolKind.EDIT, rule=allowed, found=found, searches=searches)
    )


def path_need(
    text: str, at: str, place: Place, *, is_edit: bool, rule: Rule | None, found: Findings, searches: bool = False
) -> Need:
    """Return the need for reading or editing one path; a protected path that would be written is recorded."""
    is_home = place.is_at_home(at)
    if is_edit and (part := place.protected(at)) is not None:
        found.protected.append(f"{text} ({part} is protected)")
    return Need(
        text=text,
        is_read=not is_edit and is_home,
        is_edit=is_edit and is_home,
        is_own=is_edit and is_home and place.is_own(at),
        changes=is_edit,
        rule=rule,
        blocked_path=None if is_home else normal(at),
        updates=_edit_updates(at, place, is_home=is_home) if is_edit else _read_updates(at, place, searches=searches),
    )


def _edit_updates(at: str, place: Place, *, is_home: bool) -> tuple[Update, ...]:
    accept = Update(kind="setMode", destination=Scope.SESSION, mode=Mode.ACCEPT_EDITS)
    if is_home:
        return (accept,)
    folders = tuple(posixpath.dirname(name) for name in place.names(at) if not place.is_at_home(name))
    if "/" in folders:
        return ()
    return (Update(kind="addDirectories", destination=Scope.SESSION, directories=folders), accept)


def _read_updates(at: str, place: Place, *, searches: bool) -> tuple[Update, ...]:
    folders = [name if searches else posixpath.dirname(name) for name in place.names(at)]
    if any(folder == "/" or not _PLAIN_FOLDER.fullmatch(folder) for folder in folders):
        return ()
    rules = tuple(f"Read(/{folder}/**)" for folder in folders)
    return (Update(kind="addRules", destination=Scope.SESSION, rules=rules),)


# --- specifiers -------------------------------------------------------------------------------------------------------


def _content_rule(request: Request, effect: Effect) -> Rule | None:
    tool = canonical_name(request.tool)
    for rule in request.policy.of(effect):
        if rule.content is not None and names_tool(rule, tool) and _content_matches(rule, tool, request):
            return rule
    return None


def _content_matches(rule: Rule, tool: str, request: Request) -> bool:
    content = rule.content or ""
    if rule.effect is not Effect.ALLOW and parameter_matches(content, request):
        return True
    if tool in FILE_TOOLS:
        return False  # by path, elsewhere
    if tool == "WebFetch":
        return _host_matches(content, request.input.get("url"))
    subject = request.traits.subject
    value = request.input.get(subject) if subject else None
    if value is None and subject:
        value = request.traits.default_subject or None
    if tool == "Agent":
        return isinstance(value, str) and TextPattern(_agent_name(content)).matches(_agent_name(value))
    if tool == "Skill":
        return isinstance(value, str) and _skill_matches(rule, value, request.input.get("args"))
    pattern = _tailed(content)
    if subject:
        return isinstance(value, str) and pattern.matches(value)
    # The subject of such a call is unknown: to deny, any of its inputs may match; to allow, none does.
    return rule.effect is not Effect.ALLOW and any(pattern.matches(_scalar(value)) for value in request.input.values())


def _tailed(content: str) -> TextPattern:
    for tail in (":*", " *"):
        if content.endswith(tail) and content != tail:
            return TextPattern(content[:-2], has_tail=True)
    return TextPattern(content)


def parameter_matches(content: str, request: Request) -> bool:
    """True if `name:value` matches an input of the call, other than its subject."""
    found = PARAMETER.fullmatch(content)
    if found is None or found[1] not in request.input or found[1] == request.traits.subject:
        return False
    value = request.input[found[1]]
    if value is None or isinstance(value, dict | list):
        return False
    return TextPattern(found[2].strip()).matches(_scalar(value))


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def _agent_name(text: str) -> str:
    return re.sub(r"[\s_]+", "-", text.strip().lower())


def _skill_matches(rule: Rule, name: str, arguments: Any) -> bool:
    name = name.strip().removeprefix("/")
    whole = f"{name} {arguments}".strip() if arguments else name
    pattern = _tailed((rule.content or "").removeprefix("/"))
    return pattern.matches(whole) or (rule.effect is not Effect.ALLOW and pattern.matches(whole.split(" ")[0]))


def host_of(url: Any) -> str | None:
    """Return the canonical host of a URL; None if programs could disagree about it."""
    if not isinstance(url, str):
        return None
    if "://" not in url:
        url = "https://" + url
    if not _PLAIN_URL.fullmatch(url):
        return None
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return None
    return canonical_host(host or "")


def _host_matches(content: str, url: Any) -> bool:
    """True if a rule is about the host of a URL, in any spelling; all names of this machine are the same host."""
    host = host_of(url)
    if host is None:
        return False
    domain = content.removeprefix("domain:").strip().lower().rstrip(".")
    if domain.startswith("*."):
        return host.endswith(domain[1:])
    named = canonical_host(domain)
    return domain == "*" or named == host or (named is not None and is_loopback_host(named) and is_loopback_host(host))
