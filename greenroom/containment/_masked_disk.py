"""A disk that masks secrets in the files of a run other than conversations: the journal and kept failures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import final

from greenroom.containment._secrets import Secrets
from greenroom.core import Disk


@final
class MaskedDisk:
    """Forwards everything to another disk; the content of some files is masked, with its length unchanged.

    Args:
        disk: The other disk.
        secrets: The secrets to mask.
        names: Names of the masked files. Transcripts are not among them: a resumed conversation must equal the
            original, so its content was masked before.
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
