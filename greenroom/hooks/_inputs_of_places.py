"""What hooks are told of folders and files: worktrees, settings, instructions, what is watched.

Must not know: who reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, final

import attrs

from greenroom.hooks._catalog import HookEvent
from greenroom.hooks._inputs import HookInput


@final
@attrs.frozen(kw_only=True)
class WorktreeCreateInput(HookInput):
    """A worktree is wanted; the hook makes it in place of git."""

    event: ClassVar[HookEvent] = HookEvent.WORKTREE_CREATE

    name: str


@final
@attrs.frozen(kw_only=True)
class WorktreeRemoveInput(HookInput):
    """A worktree that a hook made is not needed any more."""

    event: ClassVar[HookEvent] = HookEvent.WORKTREE_REMOVE

    worktree_path: Path


@final
@attrs.frozen(kw_only=True)
class ConfigChangeInput(HookInput):
    """A settings file was edited, and is about to count."""

    event: ClassVar[HookEvent] = HookEvent.CONFIG_CHANGE
    subject_field: ClassVar[str] = "source"

    source: str
    """`user_settings`, `project_settings` or `local_settings`."""
    file_path: Path


@final
@attrs.frozen(kw_only=True)
class CwdChangedInput(HookInput):
    """A call of an agent changed the folder that its next commands run in: a command, `EnterWorktree` or `ExitWorktree`."""

    event: ClassVar[HookEvent] = HookEvent.CWD_CHANGED

    old_cwd: Path
    new_cwd: Path


@final
@attrs.frozen(kw_only=True)
class DirectoryAddedInput(HookInput):
    """A folder was added that agents may work in, while the session runs; nobody waits for its hooks."""

    event: ClassVar[HookEvent] = HookEvent.DIRECTORY_ADDED
    subject_field: ClassVar[str] = "source"

    directory: Path
    source: str
    """`slash_command` where a person did it, `register_repo_root` where the program did."""


@final
@attrs.frozen(kw_only=True)
class FileChangedInput(HookInput):
    """A file that is watched was made, changed or removed, by whomever."""

    event: ClassVar[HookEvent] = HookEvent.FILE_CHANGED

    file_path: Path
    change: str = attrs.field(metadata={"key": "event"})
    """`add`, `change` or `unlink`."""

    @property
    def subject(self) -> str:
        """Its name, without folders."""
        return self.file_path.name


@final
@attrs.frozen(kw_only=True)
class InstructionsLoadedInput(HookInput):
    """A file of instructions is read by an agent from now on."""

    event: ClassVar[HookEvent] = HookEvent.INSTRUCTIONS_LOADED
    subject_field: ClassVar[str] = "load_reason"

    file_path: Path
    memory_type: str
    """`User`, `Project` or `Local`."""
    load_reason: str
    """`session_start`, `nested_traversal`, `path_glob_match` or `include`."""
    globs: Sequence[str] | None = None
    """The patterns of a rule that counts for some files only."""
    trigger_file_path: Path | None = None
    """The file that an agent worked on, where it was read because of one."""
