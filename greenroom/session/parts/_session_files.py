"""Files of a session: the folders that its agents work in, and how files were before its tools changed them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, final

from greenroom.agents.subagents import MainAgent
from greenroom.core import Recorder, UsageError, whole_path
from greenroom.core.ports import Ports
from greenroom.hooks import HookEvent
from greenroom.hooks.inputs import DirectoryAddedInput
from greenroom.permissions import Scope, Update
from greenroom.session.equipment._composition import Composition
from greenroom.session.equipment._session_hooks import hooking_of
from greenroom.session.record._file_rewind import rewind_on_record
from greenroom.store import new_uuid
from greenroom.tools.checkpoints import FileCheckpoints, FileRewind
from greenroom.trace import Journal

FolderSource: TypeAlias = Literal["slash_command", "register_repo_root"]


@final
class SessionFiles:
    """The folders and files of one session; `session.files`.

    Attributes:
        checkpoints: Checkpoints of files as they were when messages of the user's arrived; None if none are kept.
    """

    def __init__(
        self,
        composition: Composition,
        main: MainAgent,
        *,
        checkpoints: FileCheckpoints | None,
        recorder: Recorder,
        recording: Journal,
        ports: Ports,
    ) -> None:
        self.checkpoints = checkpoints
        self._composition = composition
        self._main = main
        self._recorder = recorder
        self._recording = recording
        self._ports = ports

    @property
    def cwd(self) -> Path:
        """The folder that the agents work in; that of the worktree while the main agent is in one."""
        home = self._main.home
        return self._composition.services.cwd if home is None or home.profile.place is None else home.profile.place

    @property
    def worktree(self) -> Path | None:
        """The worktree that the main agent has entered; None if it is in none."""
        home = self._main.home
        return None if home is None or home.worktree is None else home.worktree.worktree.path

    async def add_folder(self, folder: Path | str, *, source: FolderSource = "register_repo_root") -> Path:
        """Add a folder that all agents of the session may work in from their next call on, and return its path.

        Agents, skills and settings in the folder are not read. Hooks of `DirectoryAdded` are notified; nobody waits for them.

        Args:
            folder: The folder; relative paths start at the session's.
            source: The source that hooks are given: a person (`slash_command`) or the program.

        Raises:
            UsageError: The folder does not exist, or the agents may work there already.
            JournalError: Nothing can be recorded any more.
        """
        home = self._main.home
        assert home is not None
        self._recording.check_open()
        path = whole_path(home.services.cwd / folder)
        try:
            is_folder = await self._ports.blocking.run(path.is_dir)
            path = await self._ports.blocking.run(path.resolve) if is_folder else path
        except OSError as problem:  # it is closed to us, or its name is too long
            raise UsageError(f"cannot add folder {str(path)!r}: {problem.strerror or problem}") from None
        if not is_folder:
            raise UsageError(f"cannot add folder {str(path)!r}: it is not a directory")
        known = [await self._ports.blocking.run(root.resolve) for root in home.roots]
        if path in known:
            raise UsageError(f"cannot add folder {str(path)!r}: the session already includes it")
        update = Update(kind="addDirectories", destination=Scope.SESSION, directories=(str(path),))
        await self._composition.rules.keep_updates(home, [update])
        hooking = hooking_of(home, self._recorder)
        if hooking.has(HookEvent.DIRECTORY_ADDED):
            hooking.tell(DirectoryAddedInput(directory=path, source=source))
        return path

    async def rewind(self, message_id: str, *, dry_run: bool = False) -> FileRewind:
        """Set the files that tools have changed back to how they were when a message of the user's arrived.

        Files made since are removed; files changed or deleted since are restored, also those that others changed. Files that only commands
        changed are not known. The conversation stays as it is, and later messages can be rewound to afterwards. Cancelled, it
        runs to its end. Requires `fileCheckpointingEnabled`.

        Args:
            message_id: The uuid of its line in the transcript, or the `message_id` given to `run` or `send`.
            dry_run: Change nothing, and only return which files would change.

        Returns:
            The files; `error` names those that could not be restored.

        Raises:
            UsageError: No checkpoints are kept, the message is unknown, or its checkpoint was dropped.
            JournalError: The rewind was done, and could not be recorded.
        """
        if not dry_run:
            self._recording.check_open()
        done = await rewind_on_record(
            self.checkpoints, message_id, dry_run=dry_run, recorder=self._recorder, ports=self._ports
        )
        if not dry_run:
            await self._recording.commit()
        return done

    def new_message(self, message_id: str) -> str:
        """Return the uuid for the next message of the user's, to which files can be rewound; empty without checkpoints."""
        if self.checkpoints is None:
            return ""
        uuid = new_uuid(self._ports.ids)
        self.checkpoints.call(uuid, message_id)
        return uuid

    def name_message(self, uuid: str, message_id: str) -> None:
        """Note what the host calls a message."""
        if self.checkpoints is not None:
            self.checkpoints.call(uuid, message_id)
