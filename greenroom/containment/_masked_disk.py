"""A disk that masks secrets in the files of a run that hold no conversation: the journal and what was kept of failures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import final

from greenroom.containment._secrets import Secrets
from greenroom.core import Disk


@final
class MaskedDisk:
    """Passes everything on to another disk; the content of some files is masked, and stays as long as it was.

    Args:
        disk: Where files are kept.
        secrets: What is masked.
        names: The names of the files that it is masked in. Transcripts are not among them: a resumed conversation has to be the
            one that there was, so what it holds was masked before.
    """

    def __init__(self, disk: Disk, secrets: Secrets, names: Collection[str]) -> None:
        self._disk = disk
        self._secrets = secrets
        self._names = names
        self.make_folder = disk.make_folder
        self.sync = disk.sync
        self.read = disk.read
        self.size = disk.size
        self.close = disk.close

    def append(self, path: Path, content: bytes) -> None:
        """Append to a file."""
        self._disk.append(path, self._masked(path, content))

    def write(self, path: Path, content: bytes) -> None:
        """Replace a file in one step."""
        self._disk.write(path, self._masked(path, content))

    def _masked(self, path: Path, content: bytes) -> bytes:
        return self._secrets.mask_bytes(content) if path.name in self._names else content
