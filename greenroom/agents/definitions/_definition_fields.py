"""The fields of a definition, and the two forms in which they are written: Markdown and JSON.

Whatever is read ends as an `AgentDefinition` or as diagnostics, never as an exception. Both forms take every
field. What has no name is documentation that lies among the definitions, and no mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import attrs

from greenroom.agents._definition import AgentDefinition, AgentMcpServer, DefinitionOrigin, MemoryScope
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
    entries_of,
    flag,
    mapping,
    one_of,
    positive,
    read_fields,
    read_header,
    text,
    thawed,
    words,
)

PERMISSION_MODES: Final = ("default", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan", "manual")
COLORS: Final = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan")
NAME_CHARACTERS: Final = 64
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_FREE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_NOT_FOR_PLUGINS: Final = ("permissionMode", "hooks", "mcpServers")

Reading: TypeAlias = tuple[AgentDefinition | None, list[Diagnostic]]


def _tools(entry: FieldEntry) -> tuple[str, ...] | None:
    found: tuple[str, ...] = words()(entry)
    return None if "*" in found else found


def _permission_mode(entry: FieldEntry) -> str:
    mode: str = one_of(*PERMISSION_MODES)(entry)
    return "default" if mode == "manual" else mode


def _servers(entry: FieldEntry) -> tuple[AgentMcpServer, ...]:
    value = entry.value
    if isinstance(value, str):
        value = list(words()(entry))
    listed = [value] if isinstance(value, Mapping) else value
    if not isinstance(listed, list | tuple):
        raise Misfit("a list of names, or of `name: how to start it`")
    found: list[AgentMcpServer] = []
    for each in listed:
        if isinstance(each, str) and each.strip():
            found.append(AgentMcpServer(each.strip()))
        elif isinstance(each, Mapping) and each and all(isinstance(each, Mapping) for each in each.values()):
            found += [AgentMcpServer(str(name), config) for name, config in each.items()]
        else:
            raise Misfit("a list of names, or of `name: how to start it`")
    return tuple(found)


def _memory(entry: FieldEntry) -> MemoryScope:
    return MemoryScope(one_of(*MemoryScope)(entry))


_TABLE: Final = (
    Field(
        key="name",
        attribute="name",
        read=text,
        takes="lower-case letters, digits, `-`",
        default="needed",
        note="what it is called by",
    ),
    Field(
        key="description",
        attribute="description",
        read=text,
        takes="text",
        default="needed",
        note="what is read to choose an agent",
        is_prose=True,
    ),
    Field(
        key="whenToUse",
        attribute="when_to_use",
        read=text,
        takes="text",
        default="the description",
        note="an explicit hint on when to choose it",
        is_prose=True,
    ),
    Field(
        key="prompt",
        attribute="system_prompt",
        read=text,
        takes="text",
        default="the body of the file",
        note="the system prompt; in Markdown it is the body",
        is_prose=True,
    ),
    Field(
        key="tools",
        attribute="tools",
        read=_tools,
        takes="list, or words with commas",
        default="all",
        note="the only tools it may use; `*` for all, `[]` for none",
        restricts=True,
    ),
    Field(
        key="disallowedTools",
        attribute="disallowed_tools",
        read=words(),
        takes="list, or words with commas",
        default="none",
        note="taken away first; `Bash(git push)` denies the calls that fit",
        restricts=True,
    ),
    Field(
        key="model",
        attribute="model",
        read=text,
        takes="alias, id, `inherit`",
        default="`inherit`",
        note="what it runs on; `inherit` is its parent's model",
    ),
    Field(
        key="permissionMode",
        attribute="permission_mode",
        read=_permission_mode,
        takes=", ".join(f"`{each}`" for each in PERMISSION_MODES),
        default="the session's setting",
        note="`manual` is `default`; without effect in plugins",
        restricts=True,
    ),
    Field(
        key="maxTurns",
        attribute="max_turns",
        read=positive,
        takes="whole number from 1",
        default="200",
        note="model requests in one turn",
        restricts=True,
    ),
    Field(
        key="skills",
        attribute="skills",
        read=words(),
        takes="list, or words with commas",
        default="none",
        note="skills whose text it starts with",
    ),
    Field(
        key="mcpServers",
        attribute="mcp_servers",
        read=_servers,
        takes="list of names or `name: config`",
        default="none",
        note="with a config, a server of its own; without effect in plugins",
    ),
    Field(
        key="requiredMcpServers",
        attribute="required_mcp_servers",
        read=words(),
        takes="list, or words with commas",
        default="none",
        note="servers without whose tools it does not start",
        restricts=True,
    ),
    Field(
        key="hooks",
        attribute="hooks",
        read=mapping,
        takes="hooks as in settings",
        default="none",
        note="only while it runs; `Stop` means `SubagentStop`; without effect in plugins",
        restricts=True,
    ),
    Field(
        key="memory",
        attribute="memory",
        read=_memory,
        takes="`user`, `project`, `local`",
        default="none",
        note="a folder of its own to keep notes in",
    ),
    Field(
        key="background",
        attribute="is_background",
        read=flag,
        takes="true or false",
        default="false",
        note="always in the background",
    ),
    Field(
        key="effort",
        attribute="effort",
        read=effort,
        takes=EFFORT_VALUES,
        default="the session's",
        note="how hard the model thinks",
    ),
    Field(
        key="isolation",
        attribute="isolation",
        read=one_of("worktree", "remote"),
        takes="`worktree`, `remote`",
        default="none",
        note="`worktree`: it works in a checkout of its own",
        restricts=True,
    ),
    Field(
        key="color",
        attribute="color",
        read=one_of(*COLORS),
        takes=", ".join(f"`{each}`" for each in COLORS),
        default="given by the view",
        note="of its name where people see it",
    ),
    Field(
        key="initialPrompt",
        attribute="initial_prompt",
        read=text,
        takes="text",
        default="none",
        note="put before its first prompt",
    ),
    Field(
        key="criticalSystemReminder_EXPERIMENTAL",
        attribute="critical_reminder",
        read=text,
        takes="text",
        default="none",
        note="repeated to the model in every turn",
    ),
)
FIELDS: Final[Mapping[str, Field]] = {each.key: each for each in _TABLE}
"""Every field of a definition by its key."""
_ALIASES: Final = {"agentType": "name"}


def read_markdown(content: str, *, origin: DefinitionOrigin, fallback_name: str = "") -> Reading:
    """Return the definition that a Markdown file holds, or None; and what was found.

    Args:
        content: The text of the file.
        origin: Where it lies.
        fallback_name: The name of one that says none (plugins use the file's); empty makes such a file documentation.
    """
    source = origin.source
    try:
        document, notes = read_header(content, FIELDS, source=source, known=_ALIASES)
    except BadFrontmatter as error:
        return None, [Diagnostic(kind=Kind.BROKEN, source=source, line=error.line, text=error.what)]
    fields = dict(document.fields)
    if document.body:
        fields["prompt"] = FieldEntry(document.body, document.body, document.body_line)
    definition, found = read_definition(fields, origin=origin, fallback_name=fallback_name)
    return definition, [*notes, *found]


def read_json(values: object, *, origin: DefinitionOrigin) -> list[Reading]:
    """Return what a JSON object of definitions by name holds; one definition with its own name is taken as well."""
    source = origin.source
    if not isinstance(values, Mapping):
        text_ = "expected a JSON object of definitions by name"
        return [(None, [Diagnostic(kind=Kind.BROKEN, source=source, text=text_)])]
    if isinstance(values.get("name") or values.get("agentType"), str):
        return [read_definition(entries_of(values), origin=origin)]
    found: list[Reading] = []
    for name, fields in values.items():
        if isinstance(fields, Mapping):
            entries = {**entries_of(fields), "name": FieldEntry(name, str(name))}
            entries.pop("agentType", None)
            definition, notes = read_definition(entries, origin=origin)
            found.append((definition, [_about(str(name), note) for note in notes]))
        else:
            text_ = f"{name!r} is not an object with the fields of a definition"
            found.append((None, [Diagnostic(kind=Kind.BROKEN, source=source, text=text_)]))
    return found


def _about(name: str, one: Diagnostic) -> Diagnostic:
    """Return a diagnostic that says which of several definitions it is about: there are no lines to tell them apart."""
    return one if repr(name) in one.text else attrs.evolve(one, text=f"{name!r}: {one.text}")


def read_definition(fields: Mapping[str, FieldEntry], *, origin: DefinitionOrigin, fallback_name: str = "") -> Reading:
    """Return the definition that these fields make, or None; and what was found. It never raises.

    Args:
        fields: What was written, by key.
        origin: Where; a plugin's loses what plugins may not say.
        fallback_name: The name of one that says none.
    """
    source, is_plugin = origin.source, origin.scope is Scope.PLUGIN
    fields = {_ALIASES.get(key, key) if _ALIASES.get(key) not in fields else key: one for key, one in fields.items()}
    name_entry = fields.get("name")
    name = (name_entry.text or "").strip() if name_entry is not None else ""
    line = name_entry.line if name_entry is not None else 0
    if name_entry is not None and not _is_word(name_entry):
        what = f"the name must be text, got {name_entry.value!r}; write it in quotes"
        return None, [Diagnostic(kind=Kind.BROKEN, source=source, line=line, text=what)]
    if not name and not fallback_name:
        what = "it has no name, so it is taken for documentation"
        return None, [Diagnostic(kind=Kind.NOTE, source=source, text=what)]
    is_lenient = origin.scope in {Scope.PLUGIN, Scope.BUILTIN}
    name = name or fallback_name
    if not (_FREE_NAME if is_lenient else _NAME).fullmatch(name):
        what = f"the name {name!r} is not made of lower-case letters, digits and '-', beginning with no '-'"
        return None, [Diagnostic(kind=Kind.BROKEN, source=source, line=line, text=what)]
    if len(name) > NAME_CHARACTERS:
        what = f"the name must have at most {NAME_CHARACTERS} characters, got {len(name)}"
        return None, [Diagnostic(kind=Kind.BROKEN, source=source, line=line, text=what)]
    values, found = read_fields(FIELDS, fields, source=source, known=frozenset(_ALIASES))
    if values is None:
        return None, found
    if not values.get("description") and not is_plugin:
        what = f"{name!r} has no description, so nobody could choose it; add one"
        return None, [*found, Diagnostic(kind=Kind.BROKEN, source=source, line=line, text=what)]
    if is_plugin:
        for key in _NOT_FOR_PLUGINS:
            if values.pop(FIELDS[key].attribute, None) is not None:
                what = f"{key} has no effect in a plugin"
                found.append(Diagnostic(kind=Kind.IGNORED, source=source, line=fields[key].line, text=what))
    return AgentDefinition(**{**values, "name": name, "origin": origin}), found


def _is_word(entry: FieldEntry) -> bool:
    """True if a value can be a name: text or a number, or nothing at all."""
    if entry.value is None:
        return not (entry.text or "").strip()
    return isinstance(entry.value, str | int | float) and not isinstance(entry.value, bool)


def facts_of(definition: AgentDefinition) -> dict[str, Any]:
    """Return a definition as the JSON form has it, which reads back to the same one; what is at its default is left out."""
    facts: dict[str, Any] = {}
    defaults = AgentDefinition(name=definition.name)
    for field in FIELDS.values():
        value = getattr(definition, field.attribute)
        if value == getattr(defaults, field.attribute) and field.attribute not in {"name", "description"}:
            continue
        if field.attribute == "mcp_servers":
            value = [each.name if each.config is None else {each.name: thawed(each.config)} for each in value]
        facts[field.key] = thawed(value)
    return facts


def with_prefix(definition: AgentDefinition, prefix: str) -> AgentDefinition:
    """Return a plugin's definition under its full name, `plugin:folder:name`."""
    return attrs.evolve(definition, name=f"{prefix}:{definition.name}")
