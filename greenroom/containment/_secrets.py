"""The known values of secrets, which are kept out of what is recorded.

Rule 1: a value is known if a variable holds it whose name says that it is a secret. Rule 2: a mask is as long as what it hides, so
that offsets in files stay true and a secret that came in two parts is hidden as one. Rule 3: what a model reads is masked before
it enters the conversation: afterwards the transcript, the request and a replay hold the same text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, final

from greenroom.containment._environment import names_secret_value

MIN_CHARS: Final = 8
"""A shorter value is not masked: it would be found in ordinary text."""
_PLAIN_CHARS: Final = 16
"""From this length on a value is masked although it is one word: a shorter one, such as `postgres`, is a word of many files."""
_BLOCK_BYTES: Final = 1 << 20


def _is_telling(value: str) -> bool:
    """Return True if a value is hardly found by chance in an ordinary text."""
    if len(value) < MIN_CHARS or value.isspace() or value.startswith(("/", "~", "./")):
        return False
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return mixed or len(value) >= _PLAIN_CHARS


@final
class Secrets:
    """The values that are masked.

    Args:
        environments: Variables, such as those of the process and of the settings.
    """

    def __init__(self, *environments: Mapping[str, str]) -> None:
        held = {value for each in environments for name, value in each.items() if names_secret_value(name)}
        values = {value for value in held if _is_telling(value)}
        escaped = {json.dumps(value)[1:-1] for value in values} | {
            json.dumps(value, ensure_ascii=False)[1:-1] for value in values
        }
        found = sorted(values | escaped, key=len, reverse=True)
        encoded = [value.encode(errors="surrogateescape") for value in found]
        self._text = re.compile("|".join(map(re.escape, found))) if found else None
        self._bytes = re.compile(b"|".join(map(re.escape, encoded))) if found else None
        self._overlap = max(map(len, encoded), default=1) - 1

    def __bool__(self) -> bool:
        return self._text is not None

    def __repr__(self) -> str:
        return f"<Secrets {'some' if self else 'none'}>"

    def mask(self, text: str) -> str:
        """Return a text with a star in the place of each character of a secret."""
        return text if self._text is None else self._text.sub(lambda found: "*" * len(found[0]), text)

    def mask_bytes(self, content: bytes) -> bytes:
        """Return bytes of the same length with stars in the place of secrets."""
        return content if self._bytes is None else self._bytes.sub(lambda found: b"*" * len(found[0]), content)

    def mask_value(self, value: Any) -> Any:
        """Return what JSON can hold with all of its texts masked."""
        if self._text is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {key: self.mask_value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.mask_value(each) for each in value)
        return value

    def mask_file(self, path: Path, start: int = 0) -> int:
        """Mask a file in its place, also while it is appended to; returns where to begin the next time. It looks at the disk.

        Args:
            path: The file; nothing happens where it is not there.
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
