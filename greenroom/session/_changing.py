"""What a program and hooks change of a session while it runs: its title, the folders that its agents may work in, the kinds of these.

Rule 1: a change has been made, and is emitted, when the call returns; hooks that are told of it hold nobody up.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from greenroom.agents import AgentHome
from greenroom.core import Ports, UsageError, whole_path
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import DirectoryAddedInput
from greenroom.permissions import Scope, Update
from greenroom.session._composition import Composition
from greenroom.session._delegation import Delegation
from greenroom.session._recording import Recording
from greenroom.session._telling import hooking_of
from greenroom.supervisor import Runtime

FolderSource: TypeAlias = Literal["slash_command", "register_repo_root"]


class OfItself:
    """What a session is called, where its agents may work, and which there are; a part of `Session`."""

    delegation: Delegation
    runtime: Runtime
    _composition: Composition
    _main_home: AgentHome | None
    _recording: Recording
    _ports: Ports

    @property
    def is_sandboxed(self) -> bool:
        """True if commands run in a sandbox; where that cannot be had, they are refused."""
        return self._composition.services.sandbox is not None

    @property
    def freer_children(self) -> str:
        """The mode of agents that are started without one of their own, where it may do more than the session's; else empty."""
        return self._composition.freer_children or ""

    @property
    def title(self) -> str:
        """What people call the session, as a hook or `set_title` said; empty where nobody did. A resumed session keeps it."""
        return self._composition.title.text

    def set_title(self, title: str) -> None:
        """Give the session a title, in one line of at most 200 characters.

        Raises:
            UsageError: It is blank.
            JournalError: Nothing can be put on record any more.
        """
        if not title.strip():
            raise UsageError("a title needs text; this one is blank")
        self._recording.check_open()
        self._composition.title.change(title)

    async def add_folder(self, folder: Path | str, *, source: FolderSource = "register_repo_root") -> Path:
        """Let all agents of the session work in another folder from their next call on, and return its path.

        What its files say of agents, skills and the like is not read. Hooks of `DirectoryAdded` hear of it, and nobody waits for them.

        Args:
            folder: The folder; relative ones lie in the session's.
            source: What hooks are told: whether a person wanted it (`slash_command`), or the program.

        Raises:
            UsageError: There is no such folder, or the agents may work there already.
            JournalError: Nothing can be put on record any more.
        """
        assert self._main_home is not None
        self._recording.check_open()
        home = self._main_home
        path = whole_path(home.services.cwd / folder)
        try:
            is_folder = await self._ports.blocking.run(path.is_dir)
            path = await self._ports.blocking.run(path.resolve) if is_folder else path
        except OSError as problem:  # it is closed to us, or its name is too long
            raise UsageError(f"{str(path)!r} cannot be looked at: {problem.strerror or problem}") from None
        if not is_folder:
            raise UsageError(f"{str(path)!r} is no folder; only a folder that is there can be added")
        there_are = [await self._ports.blocking.run(one.resolve) for one in home.roots]
        if path in there_are:
            raise UsageError(f"{str(path)!r} is a folder of the session already")
        update = Update(kind="addDirectories", destination=Scope.SESSION, directories=(str(path),))
        await self._composition.keep_updates(home, [update])
        hooking = hooking_of(home, self.runtime.recorder)
        if hooking.has(HookEvent.DIRECTORY_ADDED):
            hooking.tell(DirectoryAddedInput(directory=path, source=source))
        return path

    async def add_definitions(self, definitions: Mapping[str, Any], *, source: str = "add_definitions") -> None:
        """Add kinds of agents: they count in this session from now on, before those of `agents` of `open_session` and of any file.

        Models read of them from their next request on. Before the first turn that costs nothing; later a cached prompt is made anew.
        Agents that run keep the definition that they have, the main agent too.

        Args:
            definitions: JSON objects by their names; given once more by the same source, the later one counts.
            source: Who gives them, in words for people.

        Raises:
            UsageError: One of them cannot be used; none was added.
        """
        problems = await self._composition.definitions.add(definitions, source=source)
        self._composition.problems += map(str, problems)
        self.delegation.relist()
