"""Skills and slash commands as frozen values, and the fields of their frontmatter.

A malformed one affects only itself. Its name is that of its folder or file; the name in the frontmatter is only for
display.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core.sources import (
    EFFORT_VALUES,
    BadFrontmatter,
    Diagnostic,
    Field,
    FieldEntry,
    Kind,
    Misfit,
    Scope,
    effort,
    flag,
    frozen,
    mapping,
    one_of,
    read_fields,
    read_header,
    shown_path,
    text,
    words,
)

DEFAULT_AGENT: Final = "general-purpose"
_ARGUMENT_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_HEADING: Final = re.compile(r"#+\s+")


@final
@attrs.frozen(kw_only=True, hash=False)
class Skill:
    """Instructions that a model takes up on request."""

    name: str
    """The name to call it by: `fix`, `frontend:fix`, `plugin:fix`."""
    is_command: bool = False
    """True if it is a single file among commands; a skill has its own folder."""
    title: str = ""
    """Its name in the frontmatter, for display."""
    description: str = ""
    when_to_use: str = ""
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    """Names of its arguments, in order."""
    for_models: bool = True
    """True if a model may call it, and a definition may start with it."""
    for_users: bool = True
    """True if a user may call it."""
    allowed_tools: tuple[str, ...] = ()
    """Rules that are allowed during the turn that called it; they restrict nothing."""
    disallowed_tools: tuple[str, ...] = ()
    """Tools that are removed until the user's next message."""
    model: str | None = None
    effort: str | int | None = None
    is_fork: bool = False
    """True if it runs as an agent of its own (`context: fork`)."""
    agent: str = DEFAULT_AGENT
    """The definition of that agent."""
    is_background: bool | None = None
    """True if nobody waits for that agent; None for the session's setting."""
    hooks: Mapping[str, Any] = attrs.field(factory=dict, converter=frozen)
    paths: tuple[str, ...] = ()
    """Patterns of files that it applies to; empty for all."""
    shell: str = "bash"
    body: str = ""
    """Its text, before substitution."""
    body_line: int = 1
    scope: Scope = Scope.PROJECT
    path: Path = Path()
    """Its file."""
    stamp: tuple[int, ...] = ()
    """State of its file when it was read."""
    plugin_root: Path | None = None
    """The folder of its plugin; None if it has none, or unknown."""

    @property
    def folder(self) -> Path:
        """The folder of its supporting files."""
        return self.path.parent

    @property
    def plugin(self) -> str:
        """The plugin that it belongs to; empty for none."""
        return self.name.partition(":")[0] if self.scope is Scope.PLUGIN else ""


def _names(entry: FieldEntry) -> tuple[str, ...]:
    names: tuple[str, ...] = words(on_spaces=True)(entry)
    if not all(_ARGUMENT_NAME.fullmatch(name) for name in names) or len(set(names)) < len(names):
        raise Misfit("different names of letters, digits, '_' and '-'")
    return names


def _is_fork(entry: FieldEntry) -> bool:
    return bool(one_of("fork")(entry))


def _hint(entry: FieldEntry) -> str:
    """Read text; `[issue]` without quotes is a list in YAML, and taken literally."""
    if entry.text is not None:
        return entry.text.strip()
    if isinstance(entry.value, list) and all(isinstance(item, str) for item in entry.value):
        return f"[{', '.join(entry.value)}]"
    raise Misfit("text")


def _anything(entry: FieldEntry) -> object:
    return entry.value


_RULES: Final = words(on_spaces=True)
_TABLE: Final = (
    Field(key="name", attribute="title", read=text, takes="text", default="the folder's name", note="for show"),
    Field(
        key="description",
        attribute="description",
        read=text,
        takes="text",
        default="the first paragraph",
        note="what a model reads before it calls the skill",
        is_prose=True,
    ),
    Field(
        key="when_to_use",
        attribute="when_to_use",
        read=text,
        takes="text",
        default="none",
        note="follows the description",
        is_prose=True,
    ),
    Field(
        key="argument-hint",
        attribute="argument_hint",
        read=_hint,
        takes="text",
        default="none",
        note="shows a user what to type behind the name",
        is_prose=True,
    ),
    Field(
        key="arguments",
        attribute="arguments",
        read=_names,
        takes="list, or words with spaces",
        default="none",
        note="names for the arguments, in order",
    ),
    Field(
        key="disable-model-invocation",
        attribute="for_models",
        read=lambda entry: not flag(entry),
        takes="true or false",
        default="false",
        note="only a user may call it",
        restricts=True,
    ),
    Field(
        key="user-invocable",
        attribute="for_users",
        read=flag,
        takes="true or false",
        default="true",
        note="false: only a model may call it",
        restricts=True,
    ),
    Field(
        key="allowed-tools",
        attribute="allowed_tools",
        read=_RULES,
        takes="list, or words with commas or spaces",
        default="none",
        note="allowed without asking in the turn that calls it",
    ),
    Field(
        key="disallowed-tools",
        attribute="disallowed_tools",
        read=_RULES,
        takes="list, or words with commas or spaces",
        default="none",
        note="taken away until the user's next message",
        restricts=True,
    ),
    Field(
        key="model",
        attribute="model",
        read=text,
        takes="alias or id",
        default="the session's",
        note="what the turn that calls it runs on",
    ),
    Field(
        key="effort",
        attribute="effort",
        read=effort,
        takes=EFFORT_VALUES,
        default="the session's",
        note="how hard the model thinks in that turn",
    ),
    Field(
        key="context",
        attribute="is_fork",
        read=_is_fork,
        takes="`fork`",
        default="none",
        note="runs as an agent of its own",
    ),
    Field(
        key="agent",
        attribute="agent",
        read=text,
        takes="name of a definition",
        default=f"`{DEFAULT_AGENT}`",
        note="with `context: fork`",
    ),
    Field(
        key="background",
        attribute="is_background",
        read=flag,
        takes="true or false",
        default="the session's setting",
        note="with `context: fork`",
    ),
    Field(
        key="hooks",
        attribute="hooks",
        read=mapping,
        takes="hooks as in settings",
        default="none",
        note="from the call on",
        restricts=True,
    ),
    Field(
        key="paths",
        attribute="paths",
        read=words(),
        takes="list, or words with commas",
        default="all",
        note="patterns of files that it belongs to",
    ),
    Field(
        key="shell",
        attribute="shell",
        read=one_of("bash", "powershell"),
        takes="`bash`, `powershell`",
        default="`bash`",
        note="what its commands are run by",
    ),
    Field(key="metadata", attribute="", read=_anything, takes="anything", default="none", note="not read"),
    Field(key="license", attribute="", read=_anything, takes="anything", default="none", note="not read"),
    Field(key="compatibility", attribute="", read=_anything, takes="anything", default="none", note="not read"),
)
SKILL_FIELDS: Final[Mapping[str, Field]] = {field.key: field for field in _TABLE}
"""Every field of a skill by its key."""
COMMAND_FIELDS: Final[Mapping[str, Field]] = {
    key: field for key, field in SKILL_FIELDS.items() if key not in {"name", "paths"}
}
"""Every field of a slash command by its key."""


def read_skill(
    content: str,
    *,
    name: str,
    path: Path,
    scope: Scope = Scope.PROJECT,
    is_command: bool = False,
    stamp: tuple[int, ...] = (),
) -> tuple[Skill | None, list[Diagnostic]]:
    """Return the skill in a file, or None; and diagnostics. It never raises.

    Args:
        content: The text of the file.
        name: Its name.
        path: The file.
        scope: Its scope.
        is_command: True for a slash command.
        stamp: The state of the file.
    """
    table = COMMAND_FIELDS if is_command else SKILL_FIELDS
    try:
        document, notes = read_header(content, table, source=shown_path(path))
    except BadFrontmatter as error:
        return None, [Diagnostic(kind=Kind.BROKEN, source=shown_path(path), line=error.line, text=error.what)]
    values, found = read_fields(table, document.fields, source=shown_path(path))
    found = [*notes, *found]
    if values is None:
        return None, found
    values.pop("", None)
    if not values.get("description"):
        values["description"] = _first_paragraph(document.body)
    values |= {"name": name, "path": path, "scope": scope, "is_command": is_command, "stamp": stamp}
    return Skill(**values, body=document.body, body_line=document.body_line), found


def _first_paragraph(body: str) -> str:
    for block in re.split(r"\n\s*\n", body):
        lines = [line for line in block.strip().splitlines() if not _HEADING.match(line)]
        if lines:
            return " ".join(" ".join(lines).split())
    return ""
