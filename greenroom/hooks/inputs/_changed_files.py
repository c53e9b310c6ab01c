"""Inputs of the events of folders and files: worktrees, settings, instructions, watched files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, final

import attrs

from greenroom.core import frozen
from greenroom.hooks._event_table import HookEvent
from greenroom.hooks.inputs._encoding import HookInput


@final
@frozen(kw_only=True)
class WorktreeCreateInput(HookInput):
    """A worktree is requested; the hook creates it in place of git."""

    event: ClassVar[HookEvent] = HookEvent.WORKTREE_CREATE

    name: str


@final
@frozen(kw_only=True)
class WorktreeRemoveInput(HookInput):
    """A worktree that a hook created is no longer needed."""

    event: ClassVar[HookEvent] = HookEvent.WORKTREE_REMOVE

    worktree_path: Path


@final
@frozen(kw_only=True)
class ConfigChangeInput(HookInput):
    """A settings file was edited and is about to be applied."""

    event: ClassVar[HookEvent] = HookEvent.CONFIG_CHANGE
    subject_field: ClassVar[str] = "source"

    source: str
    """`user_settings`, `project_settings` or `local_settings`."""
    file_path: Path


@final
@frozen(kw_only=True)
class CwdChangedInput(HookInput):
    """A call changed the folder for an agent's next commands: a command, `EnterWorktree` or `ExitWorktree`."""

    event: ClassVar[HookEvent] = HookEvent.CWD_CHANGED

    old_cwd: Path
    new_cwd: Path


@final
@frozen(kw_only=True)
class DirectoryAddedInput(HookInput):
    """A working folder was added while the session runs; its hooks are not awaited."""

    event: ClassVar[HookEvent] = HookEvent.DIRECTORY_ADDED
    subject_field: ClassVar[str] = "source"

    directory: Path
    source: str
    """`slash_command` if a person added it, `register_repo_root` if the program did."""


@final
@frozen(kw_only=True)
class FileChangedInput(HookInput):
    """A watched file was created, changed or removed, by any process."""

    event: ClassVar[HookEvent] = HookEvent.FILE_CHANGED

    file_path: Path
    change: str = attrs.field(metadata={"key": "event"})
    """`add`, `change` or `unlink`."""

    @property
    def subject(self) -> str:
        """Its name, without folders."""
        return self.file_path.name


@final
@frozen(kw_only=True)
class InstructionsLoadedInput(HookInput):
    """An agent has loaded a file of instructions."""

    event: ClassVar[HookEvent] = HookEvent.INSTRUCTIONS_LOADED
    subject_field: ClassVar[str] = "load_reason"

    file_path: Path
    memory_type: str
    """`User`, `Project` or `Local`."""
    load_reason: str
    """`session_start`, `nested_traversal`, `path_glob_match` or `include`."""
    globs: Sequence[str] | None = None
    """The patterns of a rule that applies to some files only."""
    trigger_file_path: Path | None = None
    """The file that caused the rule to load, if any."""
