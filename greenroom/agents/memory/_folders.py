"""The folder of notes, and who may write there.

An agent writes into its own folder and no other. Whatever an agent is called, its folder is one folder right
below the one for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final
from urllib.parse import quote

import attrs

from greenroom.agents._definition import AgentDefinition, MemoryScope
from greenroom.core.sources import OWN, Places, Scope
from greenroom.core.validation import read_switch

MEMORY_FILE: Final = "MEMORY.md"
MEMORY_TOOLS: Final = ("Read", "Write", "Edit")
"""Tools that an agent with memory can always use."""
OFF_VARIABLE: Final = "GREENROOM_DISABLE_AUTO_MEMORY"
_NAME_BYTES: Final = 200


@final
@attrs.frozen(kw_only=True)
class MemoryFolder:
    """A folder of notes."""

    folder: Path
    """Absolute; it need not exist yet."""
    scope: MemoryScope | None = None
    """None for the main agent's."""

    @property
    def file(self) -> Path:
        """The notes that an agent starts with."""
        return self.folder / MEMORY_FILE

    @property
    def writable(self) -> tuple[Path, ...]:
        """The folders that its owner may write in, besides where it works."""
        return (self.folder,)


def is_memory_on(environ: Mapping[str, str], *, setting: bool | None = None) -> bool:
    """Say whether agents have memory: `GREENROOM_DISABLE_AUTO_MEMORY=1` or `autoMemoryEnabled: false` switches it off."""
    return setting is not False and not read_switch(environ, OFF_VARIABLE)


def agent_memory(definition: AgentDefinition, places: Places, *, is_on: bool = True) -> MemoryFolder | None:
    """Return where an agent keeps its notes; None for one without memory, or where it is switched off."""
    if definition.memory is None or not is_on or Scope.USER not in places.reads:
        return None
    parent = {
        MemoryScope.USER: places.home / "agent-memory",
        MemoryScope.PROJECT: places.root / OWN / "agent-memory",
        MemoryScope.LOCAL: places.root / OWN / "agent-memory-local",
    }[definition.memory]
    return MemoryFolder(folder=parent / folder_name(definition.name), scope=definition.memory)


def main_memory(places: Places, *, is_on: bool = True) -> MemoryFolder | None:
    """Return where the main agent keeps its notes: with the user, one folder for all worktrees of a repository."""
    if not is_on or Scope.USER not in places.reads:
        return None
    return MemoryFolder(folder=places.home / "projects" / folder_name(str(places.main_root)) / "memory")


def tools_with_memory(tools: tuple[str, ...] | None, memory: MemoryFolder | None) -> tuple[str, ...] | None:
    """Return the tools of an agent, with those that its memory needs."""
    if memory is None or tools is None:
        return tools
    return (*tools, *(each for each in MEMORY_TOOLS if each not in tools))


def folder_name(name: str) -> str:
    """Return a name as one that a folder can have, different for different names."""
    made = quote(name, safe=" +=@,").replace("~", "%7E")
    made = f"%2E{made[1:]}" if made.startswith(".") else made
    if len(made) <= _NAME_BYTES:
        return made
    return f"{made[: _NAME_BYTES - 17]}%{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
