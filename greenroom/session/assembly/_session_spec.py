"""The arguments of `open_session`, in one record: what the program wants its session to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents import MAIN_NAME, AgentDefinition
from greenroom.agents.definitions import Definitions
from greenroom.core import UsageError, whole_path
from greenroom.core.ports import Ports
from greenroom.core.validation import fits, in_words
from greenroom.models import Model
from greenroom.session.assembly._host_ports import Hosted
from greenroom.session.record._resume import Fork
from greenroom.session.settings._session_settings import SessionSettings
from greenroom.tools import ToolSet
from greenroom.trace import runs_folder

ModelFor: TypeAlias = Callable[[SessionSettings, AgentDefinition], Model]
"""Makes the model of a session, given its settings and the definition of its main agent."""
MainFor: TypeAlias = Callable[[Definitions, SessionSettings], AgentDefinition]
"""Picks the main agent, or makes it of one of those that there are, given the settings."""
MAIN: Final = AgentDefinition(
    name=MAIN_NAME,
    system_prompt="You are a careful engineer. Answer from what you read with your tools, and say what you could not find.",
)
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
    "durability": str | None,
    "agents": Mapping[str, Any] | None,
    "added": Iterable[Path | str],
    "plugins": Iterable[Path | str],
    "worktree": str | None,
    "setup": str | None,
}


def _existing(folder: Path | str) -> Path:
    path = whole_path(folder)
    if not path.is_dir():
        raise UsageError(f"not a directory: {str(path)!r}")
    return path


def _working(cwd: Path | str) -> Path:
    path = whole_path(cwd)
    if not path.is_dir():
        raise UsageError(f"cwd is not a directory: {str(path)!r}")
    return path


def _all(folders: Iterable[Path | str]) -> tuple[Path, ...]:
    return tuple(map(_existing, folders))


def _absolute(folders: Iterable[Path | str]) -> tuple[Path, ...]:
    """Return folders that may not exist."""
    return tuple(map(whole_path, folders))


def _runs(runs: Path | str | None) -> Path:
    return whole_path(runs) if runs is not None else runs_folder()


def _is_setup(_: object, attribute: attrs.Attribute[str | None], value: str | None) -> None:
    if value not in {None, "init", "maintenance"}:
        raise UsageError(f"{attribute.name} must be 'init' or 'maintenance', got {value!r}")


@final
@attrs.frozen(kw_only=True, eq=False)
class SessionSpec:
    """The arguments of `open_session`; see there. Nothing has been read yet."""

    model: Model | ModelFor
    main: AgentDefinition | str | MainFor
    tools: ToolSet = attrs.field(converter=ToolSet)
    sources: Iterable[str]
    settings: Mapping[str, Any] | None
    is_trusted: bool
    permission_mode: str | None
    durability: str | None
    agents: Mapping[str, Any] | None
    setup: str | None = attrs.field(validator=_is_setup)
    runs: Path = attrs.field(converter=_runs)
    added: tuple[Path, ...] = attrs.field(converter=_all)
    plugins: tuple[Path, ...] = attrs.field(converter=_absolute)
    cwd: Path = attrs.field(converter=_working)
    resume: Path | str | Fork | None
    session_id: str | None
    worktree: str | None
    host: Hosted

    @property
    def given(self) -> Mapping[str, Any]:
        """The settings of the program, with those that are arguments of their own."""
        more = {} if self.durability is None else {"durability": self.durability}
        return {**(self.settings or {}), **more}

    def with_settings(self, settings: Mapping[str, Any]) -> SessionSpec:
        """Return the arguments with settings before the program's own."""
        if not settings:
            return self
        return attrs.evolve(self, tools=self.tools.values(), settings={**(self.settings or {}), **settings})

    @property
    def has_plugins(self) -> bool:
        """True if the program names plugins itself."""
        return bool(self.plugins or (self.settings or {}).get("plugins"))


def read_spec(given: Mapping[str, Any]) -> SessionSpec:
    """Return the arguments of `open_session` as a record.

    Args:
        given: The arguments by their names; `hosted` is a dictionary.

    Raises:
        UsageError: An argument has the wrong type, or a folder does not exist; the text names it, with its value.
    """
    _check(given)
    values = {name: value for name, value in given.items() if name not in {"ports", "hosted"}}
    return SessionSpec(**values, host=Hosted(**given["hosted"]))


def _check(given: Mapping[str, Any]) -> None:
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
