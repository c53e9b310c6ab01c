"""Known values of secrets, and the disk that masks them in the files of a run.

Rule 1: a value is known if a variable holds it whose name indicates a secret. Rule 2: a mask is as long as the secret,
so that offsets in files stay valid and a secret that arrived in two parts is masked as one. Rule 3: text for a model is
masked before it enters the conversation, so that the transcript, the request and a replay hold the same text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, final

from greenroom.containment._environment import names_secret_value
from greenroom.containment._secret_forms import mask_forms
from greenroom.core.ports import Disk

MIN_CHARS: Final = 8
"""Minimum length of a masked value: a shorter one occurs in ordinary text."""
_PLAIN_CHARS: Final = 16
"""Minimum length of a masked value that is a single word: shorter ones, such as `postgres`, occur in many files."""
_BLOCK_BYTES: Final = 1 << 20


def _is_telling(value: str) -> bool:
    """Return True if a value is unlikely to occur by chance in an ordinary text."""
    if len(value) < MIN_CHARS or value.isspace() or value.startswith(("/", "~", "./")):
        return False
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return mixed or len(value) >= _PLAIN_CHARS


@final
class Secrets:
    """The values to mask.

    Args:
        environments: Variables, such as those of the process and of the settings.
        values: Values that are secrets whatever holds them.
        has_forms: Whether text that has the form of a secret is masked in text for a model too, known or not.
    """

    def __init__(self, *environments: Mapping[str, str], values: Iterable[str] = (), has_forms: bool = False) -> None:
        held = set(values) | {
            value for each in environments for name, value in each.items() if names_secret_value(name)
        }
        values = {value for value in held if _is_telling(value)}
        escaped = {json.dumps(value)[1:-1] for value in values} | {
            json.dumps(value, ensure_ascii=False)[1:-1] for value in values
        }
        found = sorted(values | escaped, key=len, reverse=True)
        encoded = [value.encode(errors="surrogateescape") for value in found]
        self._has_forms = has_forms
        self.is_empty: Final = not found and not has_forms
        """True if nothing has to be masked."""
        self._text = re.compile("|".join(map(re.escape, found))) if found else None
        self._bytes = re.compile(b"|".join(map(re.escape, encoded))) if found else None
        self._overlap = max(map(len, encoded), default=1) - 1

    def __bool__(self) -> bool:
        return not self.is_empty

    def __repr__(self) -> str:
        return f"<Secrets {'some' if self else 'none'}>"

    def mask(self, text: str) -> str:
        """Return a text with each character of a secret replaced by a star."""
        text = text if self._text is None else self._text.sub(lambda found: "*" * len(found[0]), text)
        return mask_forms(text) if self._has_forms else text

    def mask_bytes(self, content: bytes) -> bytes:
        """Return bytes of the same length with secrets replaced by stars."""
        return content if self._bytes is None else self._bytes.sub(lambda found: b"*" * len(found[0]), content)

    def mask_value(self, value: Any) -> Any:
        """Return a JSON value with all of its texts masked."""
        if self.is_empty:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {key: self.mask_value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.mask_value(each) for each in value)
        return value

    def mask_file(self, path: Path, start: int = 0) -> int:
        """Mask a file in place, also while it is appended to; return the offset for the next call. It reads the disk.

        Args:
            path: The file; nothing happens if it does not exist.
            start: The offset that an earlier call returned.
        """
        if self._bytes is None:
            return 0
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return start
        try:
            offset = start
            while len(block := os.pread(descriptor, _BLOCK_BYTES + self._overlap, offset)) > self._overlap:
                for found in self._bytes.finditer(block):
                    os.pwrite(descriptor, b"*" * len(found[0]), offset + found.start())
                offset += len(block) - self._overlap
            for found in self._bytes.finditer(block):
                os.pwrite(descriptor, b"*" * len(found[0]), offset + found.start())
            return offset
        finally:
            os.close(descriptor)


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

    def append_all(self, parts: list[tuple[str, bytes]]) -> None:
        """Append to files one after another; after an `OSError`, the list holds what was not written, with secrets masked."""
        parts[:] = [(path, self._masked(Path(path), content)) for path, content in parts]
        self._disk.append_all(parts)

    def write(self, path: Path, content: bytes) -> None:
        """Replace a file in one step."""
        self._disk.write(path, self._masked(path, content))

    def _masked(self, path: Path, content: bytes) -> bytes:
        return self._secrets.mask_bytes(content) if path.name in self._names else content
