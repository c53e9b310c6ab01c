"""The file with the token of a host, which it shares with those who launch agents there."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from greenroom.core import UsageError, make_private_folder, open_private

MIN_TOKEN_BYTES: Final = 32


def make_token_file(path: Path) -> None:
    """Write a new token to a file of mode 0600, unless there is a file.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        make_private_folder(path.parent)
        descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return
    except OSError as error:
        raise UsageError(f"cannot write the token file {str(path)!r}: {error.strerror or error}") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_hex(MIN_TOKEN_BYTES).encode() + b"\n")


def read_token_file(path: Path) -> bytes:
    """Return the token in a file that nobody else can read.

    Raises:
        UsageError: It cannot be read, others can read it, or it holds no token.
    """
    try:
        mode, content = path.stat().st_mode, path.read_bytes().strip()
    except OSError as error:
        raise UsageError(f"cannot read the token file {str(path)!r}: {error.strerror or error}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise UsageError(f"the token file {str(path)!r} can be read by others: run `chmod 600` on it")
    if len(content) < MIN_TOKEN_BYTES:
        raise UsageError(
            f"the token file {str(path)!r} must hold at least {MIN_TOKEN_BYTES} bytes, got {len(content)}: "
            "remove it, and start the host for a new one"
        )
    return content
