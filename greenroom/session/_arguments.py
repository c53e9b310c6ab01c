"""The kinds of what `open_session` is given, looked at before anything is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from greenroom.agents import AgentDefinition
from greenroom.core import Ports, UsageError, fits, in_words
from greenroom.session._resume import Fork

_KINDS: Final[Mapping[str, Any]] = {
    "cwd": Path | str,
    "runs": Path | str | None,
    "tools": Iterable[Any],
    "ports": Ports | None,
    "resume": Path | str | Fork | None,
    "session_id": str | None,
    "sources": Iterable[str],
    "settings": Mapping[str, Any] | None,
    "is_trusted": bool,
    "permission_mode": str | None,
    "agents": Mapping[str, Any] | None,
    "added": Iterable[Path | str],
    "plugins": Iterable[Path | str],
    "worktree": str | None,
    "setup": str | None,
}


def check_arguments(given: Mapping[str, Any]) -> None:
    """Return if each argument is of its kind.

    Args:
        given: The arguments of `open_session` by their names.

    Raises:
        UsageError: One is not; the text names it, with its value.
    """
    for name, kind in _KINDS.items():
        if not fits(given[name], kind):
            raise _misuse(name, in_words(kind), given[name])
    for tool in given["tools"] if isinstance(given["tools"], list | tuple) else ():
        if isinstance(tool, type) or not hasattr(tool, "call"):
            raise _misuse("each of tools", "a tool, such as a function under @tool", tool)
    if not _is_model(given["model"]):
        raise _misuse("model", "an object such as AnthropicModel(...), or a function that makes one", given["model"])
    main = given["main"]
    if not isinstance(main, AgentDefinition | str) and (isinstance(main, type) or not callable(main)):
        raise _misuse("main", "an AgentDefinition, the name of one, or a function that picks it", main)


def _misuse(what: str, constraint: str, value: object) -> UsageError:
    return UsageError(f"open_session: {what} must be {constraint}, got {value!r}")


def _is_model(value: Any) -> bool:
    is_one = all(hasattr(value, name) for name in ("open", "stream", "name"))
    return not isinstance(value, type) and (is_one or callable(value))
