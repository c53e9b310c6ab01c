"""The inputs of a headless run: the prompt, from the command line and standard input, and JSON arguments, literal or in a file.

What cannot be used is one line that says what, where and what to do. Standard input that nobody writes to and nobody closes
holds no run up that has a prompt already.
"""

from __future__ import annotations

import io
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from greenroom.agents import checked_schema
from greenroom.core import UsageError
from greenroom.core.sources import FieldEntry, words
from greenroom.permissions import Effect, Scope, Source, parse_rule

InputFormat: TypeAlias = Literal["text", "stream-json"]

MAX_BYTES: Final = 10_000_000
"""Of standard input."""
FIRST_BYTE_S: Final = 3.0
"""Seconds that a run with a prompt waits for the first byte of an open standard input."""


def read_prompt(argument: str | None, *, may_be_missing: bool = False) -> str:
    """Return what the agent is asked: the argument, standard input behind it, or either of them.

    A terminal is not read from.

    Args:
        argument: What the command line said; None for nothing.
        may_be_missing: True if a run needs none, because it resumes another one.

    Raises:
        UsageError: There is neither, or standard input is not text or too long.
    """
    said = (argument or "").strip()
    piped = _piped(has_prompt=bool(said), may_be_missing=may_be_missing)
    prompt = "\n".join(part for part in (said, piped.strip()) if part)
    if not prompt and not may_be_missing:
        raise UsageError('a prompt is missing: give one in quotes (greenroom run "..."), or on standard input')
    return prompt


def _piped(*, has_prompt: bool, may_be_missing: bool) -> str:
    stdin = sys.stdin
    if stdin is None or stdin.closed or stdin.isatty():
        return ""
    if (has_prompt or may_be_missing) and not _is_ready(stdin):
        print(f"greenroom: no data on standard input within {FIRST_BYTE_S:g} s; continuing without it", file=sys.stderr)
        return ""
    content = stdin.buffer.read(MAX_BYTES + 1) if isinstance(stdin, io.TextIOWrapper) else stdin.read().encode()
    if len(content) > MAX_BYTES:
        raise UsageError(f"standard input is longer than {MAX_BYTES:,} bytes; put it into a file and name that")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 text (byte {error.start})") from None


def _is_ready(stdin: Any) -> bool:
    """Say whether there is something to read, or the end of it, before long."""
    try:
        return bool(select.select([stdin], [], [], FIRST_BYTE_S)[0])
    except (OSError, ValueError):  # what has no descriptor cannot keep anybody waiting
        return True


def read_object(flag: str, given: str | None) -> dict[str, Any] | None:
    """Return the object that an argument stands for: JSON as it is, or the file that holds it.

    Raises:
        UsageError: It is neither, or holds something else.
    """
    if given is None:
        return None
    text, where = given.strip(), flag
    if not text.startswith("{"):
        where = f"{flag}: {given!r}"
        try:
            text = Path(given).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"{where} is not UTF-8 text") from None
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise UsageError(f"{where} is neither a JSON object nor a file that can be read: {why.lower()}") from None
    import orjson

    try:
        values = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(
            f"{where} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        ) from None
    if not isinstance(values, dict):
        raise UsageError(f"{where} must be a JSON object, got {type(values).__name__}")
    return values


def read_schema(given: str | None) -> dict[str, Any] | None:
    """Return the form that the answer is to have; None for words.

    Raises:
        UsageError: It is not the schema of an object.
    """
    schema = read_object("--json-schema", given)
    if schema is not None:
        try:
            checked_schema(schema)
        except UsageError as error:
            raise UsageError(f"--json-schema: {error}") from None
    return schema


def read_rules(flag: str, given: Sequence[str], effect: Effect) -> list[str]:
    """Return the rules of an argument: with commas or spaces between them, and as often as it was given.

    Raises:
        UsageError: One of them is none.
    """
    split = words(on_spaces=True)
    rules = [rule for value in given for rule in split(FieldEntry(value, value))]
    for rule in rules:
        _, problem = parse_rule(rule, effect, Source(scope=Scope.CLI, name=flag))
        if problem is not None:
            raise UsageError(f"{flag}: {problem.what.partition(';')[0]}")
    return rules


def with_permissions(
    settings: dict[str, Any] | None, *, allow: Sequence[str], deny: Sequence[str], folders: Sequence[Path]
) -> dict[str, Any]:
    """Return settings with the rules and folders of the command line added to their own.

    Raises:
        UsageError: A folder is none; or the settings hold something else where rules stand.
    """
    made = dict(settings or {})
    permissions = made.get("permissions", {})
    more = {"allow": list(allow), "deny": list(deny), "additionalDirectories": [_folder(folder) for folder in folders]}
    if not isinstance(permissions, dict):
        raise UsageError("--settings: permissions must be an object")
    permissions = dict(permissions)
    for key, values in more.items():
        if values:
            before = permissions.get(key, [])
            if not isinstance(before, list):
                raise UsageError(f"--settings: permissions.{key} must be a list")
            permissions[key] = [*before, *values]
    if permissions:
        made["permissions"] = permissions
    return made


def with_servers(settings: dict[str, Any], servers: dict[str, Any] | None) -> dict[str, Any]:
    """Return settings with the MCP servers of the command line before their own.

    Raises:
        UsageError: What was given names none.
    """
    if servers is None:
        return settings
    named = servers.get("mcpServers", servers)
    if not isinstance(named, dict) or not all(isinstance(name, dict) for name in named.values()):
        raise UsageError('--mcp-config: give {"mcpServers": {"name": {"command": ...}}}')
    before = settings.get("mcpServers", {})
    if not isinstance(before, dict):
        raise UsageError("--settings: mcpServers must be an object")
    return {**settings, "mcpServers": {**before, **named}}


def without_hosted(servers: dict[str, Any] | None) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the MCP servers of the command line without those that live in the program which talks to the run, and their names."""
    named = {} if servers is None else servers.get("mcpServers", servers)
    if not isinstance(named, dict):
        return servers, []
    hosted = [name for name, one in named.items() if isinstance(one, dict) and one.get("type") == "sdk"]
    return ({name: one for name, one in named.items() if name not in hosted}, hosted) if hosted else (servers, [])


def with_mcp(settings: dict[str, Any], **more: bool) -> dict[str, Any]:
    """Return settings that say more of MCP servers.

    Raises:
        UsageError: Their key `mcp` is not an object.
    """
    before = settings.get("mcp", {})
    if not isinstance(before, dict):
        raise UsageError("--settings: mcp must be an object")
    return {**settings, "mcp": {**before, **more}}


def with_delegation(settings: dict[str, Any], **more: str | bool) -> dict[str, Any]:
    """Return settings that say more of how agents start others.

    Raises:
        UsageError: The settings hold something else where it goes.
    """
    before = settings.get("delegation", {})
    if not isinstance(before, dict):
        raise UsageError("--settings: delegation must be an object")
    return {**settings, "delegation": {**before, **more}}


def _folder(path: Path) -> str:
    if not path.is_dir():
        raise UsageError(f"--add-dir: {str(path)!r} is not a directory")
    return str(path.absolute())
