"""Rules: `Tool` and `Tool(specifier)`, parsed from text.

Rule 1: an invalid rule gives one diagnostic with the problem and its place. Rule 2: an invalid allow rule is dropped.
An invalid deny or ask rule becomes an ask rule for the whole tool that it names, or for every tool if no name can be
read: a typing error never permits more.

Must not know: clock, disk, Trio, and which tools exist beyond the names in the tables.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final, final

import attrs

from greenroom.core.validation import checked
from greenroom.permissions._path_patterns import path_problem
from greenroom.permissions._text_patterns import TextPattern
from greenroom.permissions._traits import EDIT_TOOLS, FILE_TOOLS, PARAMETERS, READ_TOOLS, SHELL_TOOLS, canonical_name


class Effect(StrEnum):
    """The effects of rules and verdicts."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Scope(StrEnum):
    """The sources of rules, by the names that updates use for destinations."""

    MANAGED = "managedSettings"
    CLI = "cliArg"
    SESSION = "session"
    LOCAL = "localSettings"
    PROJECT = "projectSettings"
    USER = "userSettings"
    AGENT = "agent"
    """The definition of one agent; its deny rules hold for that agent and those below it."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Source:
    """One place that rules come from.

    Attributes:
        scope: Which kind of place.
        name: What messages call it, such as the path of the file.
        root: The absolute folder that `/path` is relative to; empty for the current folder of the call.
        is_strict: Whether unknown keys are refused (ours), instead of ignored (`.claude/`).
        is_trusted: Whether the person trusts the workspace; without, its allow rules, mode and directories do not count.
    """

    scope: Scope
    name: str = ""
    root: str = ""
    is_strict: bool = False
    is_trusted: bool = True

    @property
    def label(self) -> str:
        return self.name or self.scope.value


@final
@attrs.frozen
class RuleDiagnostic:
    """Something in the settings that cannot be used as it is written.

    Attributes:
        where: Source and place in it, such as `.claude/settings.json: permissions.deny[2]`.
        what: What is wrong, and what is done instead.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@final
@attrs.frozen(field_transformer=checked)
class Rule:
    """One rule.

    Attributes:
        effect: What it says about calls that it matches.
        tool: The name of a tool, `mcp__server`, or a pattern of names.
        content: What is in the parentheses; None for every use.
        source: Where it comes from.
    """

    effect: Effect
    tool: str
    content: str | None
    source: Source

    def __str__(self) -> str:
        return self.tool if self.content is None else f"{self.tool}({self.content})"


_FORM: Final = re.compile(r"([^\s()]+)(?:\((.*)\))?", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9_.*-]+")
_LEADING_NAME: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9_-]*)")
_MCP_ALLOW_PATTERN: Final = re.compile(r"mcp__(?:(?!__)[A-Za-z0-9_.-])+__[A-Za-z0-9_.*-]*")
_DOMAIN: Final = re.compile(r"domain:(?:\*\.)?[A-Za-z0-9_.-]+|domain:(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Fa-f:.]+)|domain:\*")
_SHELL: Final = "Bash"
_FAMILIES: Final = {"Edit": EDIT_TOOLS, "Read": READ_TOOLS, _SHELL: SHELL_TOOLS}
PARAMETER: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):(.+)", re.DOTALL)


def parse_rule(
    text: Any, effect: Effect, source: Source, *, where: str = "rule"
) -> tuple[Rule | None, RuleDiagnostic | None]:
    """Return the rule that a text stands for, and what is wrong with it.

    Args:
        text: As it stands in a settings file; anything, as files hold anything.
        effect: The list that it stands in.
        source: Where it comes from.
        where: Its place in the source, for the diagnostic.

    Returns:
        A rule and None; or a diagnostic with None (a bad allow rule) or with the ask rule that stands in for a bad one.
    """
    problem, rule = _read(text, effect, source)
    if problem is None:
        return rule, None
    place = f"{source.label}: {where}"
    if effect is Effect.ALLOW:
        return None, RuleDiagnostic(place, f"{text!r} {problem}; it is ignored")
    named = _LEADING_NAME.match(text) if isinstance(text, str) else None
    tool = "*"
    if named is not None and "*" not in text.partition("(")[0]:
        tool = canonical_name(named[1])
    instead = "every tool" if tool == "*" else f"every use of {tool}"
    stand_in = Rule(Effect.ASK, tool, None, source)
    return stand_in, RuleDiagnostic(place, f"{text!r} {problem}; until it is corrected, {instead} is asked")


def _read(text: Any, effect: Effect, source: Source) -> tuple[str | None, Rule | None]:
    if not isinstance(text, str):
        return "is not a text", None
    form = _FORM.fullmatch(text.strip())
    if form is None:
        return "is neither Tool nor Tool(specifier)", None
    name, content = form[1], form[2]
    problem = _name_problem(name, effect)
    if problem is not None:
        return problem, None
    tool = canonical_name(name)
    if content is not None:
        content = content.strip()
        if content in ("", "*"):
            # `Tool()` says nothing about which uses, so it is not taken for all of them.
            if not content:
                return "has nothing in its parentheses", None
            content = None
    if content is not None:
        problem = _content_problem(tool, content, effect)
        if problem is not None:
            return problem, None
    return None, Rule(effect, tool, content, source)


def _name_problem(name: str, effect: Effect) -> str | None:
    if "*" not in name:
        return None if _NAME.fullmatch(name) else "does not begin with the name of a tool"
    if not _NAME_PATTERN.fullmatch(name):
        return "does not begin with a pattern of names"
    if effect is Effect.ALLOW and not _MCP_ALLOW_PATTERN.fullmatch(name):
        return "allows by a pattern of names, which only works after mcp__<server>__"
    return None


def _content_problem(tool: str, content: str, effect: Effect) -> str | None:
    if "\n" in content or "\x00" in content:
        return "has a line break in its parentheses"
    if effect is Effect.ALLOW and is_parameter(tool, content):
        return "names a parameter, which only deny and ask rules can"
    if tool == "WebFetch" and not is_parameter(tool, content) and not _DOMAIN.fullmatch(content):
        return "is not of the form WebFetch(domain:example.com)"
    if tool in FILE_TOOLS and not is_parameter(tool, content):
        return path_problem(content)
    return None


def is_parameter(tool: str, content: str) -> bool:
    """True if the specifier names a known parameter of the tool."""
    found = PARAMETER.fullmatch(content)
    return found is not None and found[1] in PARAMETERS.get(tool, ())


def names_tool(rule: Rule, tool: str) -> bool:
    """True if a rule applies to a tool: by its name, its server, a pattern, or its family (`Edit` covers `Write`, `Bash` covers
    `Monitor`).
    """
    name = rule.tool
    if name == tool or tool in _FAMILIES.get(name, ()):
        return True
    if "*" in name:
        pattern = TextPattern(name)
        return pattern.matches(tool) or (tool in SHELL_TOOLS and pattern.matches(_SHELL))
    return name.startswith("mcp__") and name.count("__") == 1 and tool.startswith(name + "__")
