"""The decision about a tool call.

The order, first match decides:
  1. a hook's deny   2. deny rules   3. ask rules, a hook's ask   4. calls that require a person in every mode: doubts
  about the
  command, critical deletions, tools that ask the user   5. bypassPermissions   6. protected paths   7. a hook's allow
  8. in auto, delegated work   9. the mode   10. allow rules   11. ask; in dontAsk, deny.

Rule 1: pure: no disk, no clock, no Trio; equal requests give equal verdicts. Rule 2: it never raises on input of a
model. Rule 3: doubtful calls are asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import attrs

from greenroom.containment import repository_programs
from greenroom.core.ports import Blocking
from greenroom.permissions._findings import Findings, Need, tool_findings
from greenroom.permissions._look import matches_of, own_program, real_paths
from greenroom.permissions._modes import Mode
from greenroom.permissions._path_patterns import normal
from greenroom.permissions._place import Place
from greenroom.permissions._policy import Policy
from greenroom.permissions._request import Request, Reviewer, Verdict
from greenroom.permissions._rules import Effect, Rule, Scope, names_tool
from greenroom.permissions._shell_findings import MAX_SUGGESTED, shell_findings
from greenroom.permissions._traits import HANDS_ON, OUTSIDE, ToolKind, canonical_name, may_change
from greenroom.permissions._updates import Update

_MAX_LOOKS: Final = 3
"""Maximum number of lookups: first the matches of patterns, then the targets of their links."""
_ACCEPTS_EDITS: Final = frozenset((Mode.ACCEPT_EDITS, Mode.AUTO))


def decide(request: Request) -> Verdict:
    """Return what is to happen to a call: run, ask, or refuse.

    Pure: links are followed as far as `request.links` tells, patterns stand for what `request.matches` tells, and git runs what
    `request.programs` tells. `check` looks them up; without, a link is what it says, so is a pattern, and git runs nothing.
    """
    found = _find(request, Place(request))
    is_refused = request.policy.refuses_changes and may_change(canonical_name(request.tool), request.traits)
    refusal = Verdict(effect=Effect.DENY, reason=request.policy.refuses_changes) if is_refused else None
    verdict = refusal or _decide(request, found)
    if not found.paths:
        return verdict
    return attrs.evolve(verdict, paths=tuple(request.links.get(path, normal(path)) for path in found.paths))


def paths_of(request: Request) -> tuple[str, ...]:
    """Return the absolute paths that a decision depends on, `..` not resolved: what `real_paths` is to look up."""
    place = Place(request)
    _find(request, place)
    return tuple(place.asked)


def _looked_up(request: Request) -> Request:
    """Return the request with what the disk says about its paths and patterns. Blocks."""
    for _ in range(_MAX_LOOKS):
        place = Place(request)
        _find(request, place)
        patterns = [pattern for pattern in place.patterns if pattern not in request.matches]
        paths = [path for path in place.asked if path not in request.links]
        folders = [folder for folder in place.repositories if folder not in request.programs]
        run = [key for key in place.run if key not in request.own_programs]
        if not patterns and not paths and not folders and not run:
            break
        wants_all = place.has_path_rules()
        matches = {pattern: matches_of(pattern, wants_all=wants_all) for pattern in patterns}
        links = dict.fromkeys(paths, "") | real_paths(paths)
        request = attrs.evolve(
            request,
            matches={**request.matches, **matches},
            links={**request.links, **{k: v or k for k, v in links.items()}},
            own_programs={**request.own_programs, **_own_programs(request, run)},
            programs={**request.programs, **{folder: repository_programs(Path(folder)) for folder in folders}},
        )
    return request


def _own_programs(request: Request, run: Iterable[tuple[str, bool]]) -> dict[tuple[str, bool], str]:
    folders = (request.cwd, *request.policy.directories)
    return {key: own_program(key[0], folders, request.cwd, changes_dir=key[1]) for key in run}


async def check(request: Request, blocking: Blocking) -> Verdict:
    """Look up links, pattern matches and the programs that repositories name for git, and decide. Engines call this before each tool call.

    A cancelled caller still waits for the look-up, which only reads. If the decision depends on no path, nothing is awaited.
    """
    place = Place(request)
    _find(request, place)
    if place.asked or place.patterns or place.repositories or place.run:
        request = await blocking.run(_looked_up, request)
    return decide(request)


def hidden_tools(policy: Policy, tools: Iterable[str]) -> frozenset[str]:
    """Return the tools that deny rules remove entirely, so that the model does not see them."""
    denied = [rule for rule in policy.of(Effect.DENY) if rule.content is None]
    return frozenset(tool for tool in tools if any(names_tool(rule, canonical_name(tool)) for rule in denied))


def _find(request: Request, place: Place) -> Findings:
    if request.traits.kind is ToolKind.SHELL:
        return shell_findings(request, place)
    return tool_findings(request, place)


def _decide(request: Request, found: Findings) -> Verdict:
    mode = request.policy.mode
    if request.hook is Effect.DENY:
        return Verdict(effect=Effect.DENY, reason="a hook denies it")
    if found.denied:
        text, rule = found.denied[0]
        return Verdict(effect=Effect.DENY, reason=_said(text, rule, "denies"), rule=rule)
    if found.asked:
        text, rule = found.asked[0]
        return _ask(mode, _said(text, rule, "asks about"), rule=rule)
    if request.hook is Effect.ASK:
        return _ask(mode, "a hook asks about it")
    if found.doubts:
        return _ask(mode, found.doubts[0])
    if request.traits.kind is ToolKind.INTERACTIVE:
        return _ask(mode, f"{request.tool} asks the user")
    if mode is Mode.BYPASS:
        return Verdict(effect=Effect.ALLOW, reason="the mode bypassPermissions runs everything")
    if found.protected:
        return _ask(mode, f"it would write {found.protected[0]}", by_classifier=True)
    if request.hook is Effect.ALLOW:
        return Verdict(effect=Effect.ALLOW, reason="a hook allows it")
    handed = _handed_on(request) if mode is Mode.AUTO else ""
    if handed:
        return _ask(mode, handed, by_classifier=True)
    missing = [need for need in found.needs if not _is_met(need, request)]
    if not missing:
        return _allowed(request, found.needs)
    blocked = next((need.blocked_path for need in missing if need.blocked_path), None)
    return _ask(
        mode,
        _missing(missing[0], mode),
        by_classifier=True,
        suggestions=() if mode is Mode.PLAN else _suggestions(missing),
        blocked_path=blocked,
    )


def _handed_on(request: Request) -> str:
    """Return the work that a call delegates; empty if it does not."""
    tool = canonical_name(request.tool)
    if tool not in HANDS_ON:
        return ""
    if tool == "SendMessage":
        is_far = str(request.input.get("to", "")).strip().startswith(OUTSIDE)
        return "it writes to another session" if is_far else ""
    return "it hands work to another agent"


def _is_met(need: Need, request: Request) -> bool:
    if need.is_read or request.traits.kind is ToolKind.SESSION:
        return True
    if request.policy.mode is Mode.PLAN:
        return need.rule is not None and not need.changes
    return need.rule is not None or need.is_own or (need.is_edit and request.policy.mode in _ACCEPTS_EDITS)


def _allowed(request: Request, needs: Iterable[Need]) -> Verdict:
    rule = next((need.rule for need in needs if need.rule is not None and not need.is_read), None)
    if rule is not None and request.traits.kind is not ToolKind.SESSION:
        return Verdict(effect=Effect.ALLOW, reason=f"{rule} ({rule.source.label}) allows it", rule=rule)
    if any(not (need.is_read or need.is_own) for need in needs) and request.traits.kind is not ToolKind.SESSION:
        return Verdict(
            effect=Effect.ALLOW, reason=f"the mode {request.policy.mode} accepts edits in the working directories"
        )
    if any(need.is_own for need in needs):
        return Verdict(effect=Effect.ALLOW, reason="the folder is there for this agent to write in")
    return Verdict(effect=Effect.ALLOW, reason="it changes nothing outside the session")


def _ask(
    mode: Mode,
    why: str,
    *,
    rule: Rule | None = None,
    by_classifier: bool = False,
    suggestions: tuple[Update, ...] = (),
    blocked_path: str | None = None,
) -> Verdict:
    if mode is Mode.DONT_ASK:
        reason = f"{why}; the mode dontAsk denies what would be asked"
        return Verdict(effect=Effect.DENY, reason=reason, rule=rule, blocked_path=blocked_path)
    reviewer: Reviewer = "classifier" if by_classifier and mode is Mode.AUTO else "person"
    return Verdict(
        effect=Effect.ASK,
        reason=why,
        rule=rule,
        reviewer=reviewer,
        suggestions=suggestions,
        blocked_path=blocked_path,
    )


def _said(text: str, rule: Rule, does: str) -> str:
    return f"{rule} ({rule.source.label}) {does} {text}"


def _missing(need: Need, mode: Mode) -> str:
    if need.why:
        return need.why
    if mode is Mode.PLAN and need.changes:
        return f"{need.text} may change something, which the mode plan does not approve"
    if need.blocked_path is not None:
        return f"{need.blocked_path} is outside the working directories"
    return f"no rule allows {need.text}"


def _suggestions(missing: Iterable[Need]) -> tuple[Update, ...]:
    """Return changes after which all missing needs would be allowed; empty if some need has none."""
    rules: dict[Scope, dict[str, None]] = {}
    folders: dict[str, None] = {}
    modes: dict[Mode, None] = {}
    for need in missing:
        if not need.updates:
            return ()
        for update in need.updates:
            rules.setdefault(update.destination, {}).update(dict.fromkeys(update.rules))
            folders.update(dict.fromkeys(update.directories))
            modes.update({update.mode: None} if update.mode is not None else {})
    added = [(scope, tuple(texts)) for scope, texts in rules.items() if texts]
    if sum(len(texts) for _, texts in added) > MAX_SUGGESTED:
        return ()
    return (
        *(Update(kind="addRules", destination=scope, rules=texts) for scope, texts in added),
        *([Update(kind="addDirectories", destination=Scope.SESSION, directories=tuple(folders))] if folders else []),
        *(Update(kind="setMode", destination=Scope.SESSION, mode=mode) for mode in modes),
    )
