"""The port through which tools tell that they are about to change a file; who listens keeps it as it was."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, final

import attrs


@final
@attrs.frozen(kw_only=True)
class FileChange:
    """A file that a tool is about to write."""

    path: Path
    """Absolute, with links resolved."""
    root: Path
    """The folder that the agent is confined to and that the file lies in."""
    before: bytes | None
    """Its content; None if there is no file."""
    mode: int = 0
    """Its permission bits; 0 if there is no file."""
    after: bytes
    """Its new content."""


class FileChanges(Protocol):
    """Receiver of the file changes that tools make."""

    def keeping(self, change: FileChange) -> AbstractContextManager[None]:
        """Keep the file as it is; the block changes it, or fails and leaves it. Called in the thread that does so.

        It never fails itself: a change does not depend on whether it can be taken back.
        """
        ...
