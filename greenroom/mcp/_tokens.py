"""Tokens for remote servers, in private files of the user's folder, one per URL.

A file is read only if nobody else can read it, and its tokens are sent only to its URL. Errors reveal nothing of a
file's content.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import PeerError
from greenroom.core.ports import Ports

TOKENS_FOLDER: Final = "mcp-tokens"
"""Folder of the tokens, in the user's own."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_SLUG_CHARS: Final = 60
_MAX_BYTES: Final = 256 * 1024


@final
class BadTokens(PeerError):
    """An unusable file of tokens; the message gives its name, the reason and the remedy."""


@final
@attrs.frozen
class TokenFile:
    """The tokens for one URL."""

    path: Path
    url: str
    _ports: Ports

    async def read(self) -> Mapping[str, Any]:
        """Return the content of the file; empty if it does not exist.

        Raises:
            BadTokens: It cannot be read, others can read it too, or it is for another URL.
        """
        return await self._ports.blocking.run(self._read)

    async def write(self, values: Mapping[str, Any]) -> None:
        """Replace the content of the file in one step.

        Raises:
            BadTokens: It cannot be written.
        """
        content = json.dumps({"url": self.url, **values}, indent=2).encode() + b"\n"
        disk, run = self._ports.disk, self._ports.blocking.run
        try:
            await run(disk.make_folder, self.path.parent)
            await run(disk.write, self.path, content)
        except OSError as problem:
            raise BadTokens(f"cannot write {self.path}: {problem.strerror}") from None

    @property
    def now_s(self) -> float:
        """The time in seconds since 1970, for the expiry of tokens."""
        return self._ports.clock.wall().timestamp()

    def _read(self) -> Mapping[str, Any]:
        try:
            with self.path.open("rb") as opened:
                mode = os.fstat(opened.fileno()).st_mode
                content = opened.read(_MAX_BYTES)
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise BadTokens(f"cannot read {self.path}: {problem.strerror}") from None
        if mode & _OTHERS:
            raise BadTokens(f"{self.path} is ignored, because others can read or change it; run chmod 600")
        try:
            values = json.loads(content)
        except ValueError:
            raise BadTokens(f"{self.path} is not valid JSON; rewrite or remove it") from None
        if not isinstance(values, dict) or values.get("url", self.url) != self.url:
            raise BadTokens(f"{self.path} is not for {self.url}; rewrite or remove it")
        return values


def token_file(folder: Path, url: str, ports: Ports) -> TokenFile:
    """Return the file for the tokens of a URL, with a recognizable name."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", url.partition("://")[2].partition("?")[0]).strip("-.")[:_SLUG_CHARS]
    digest = hashlib.sha256(url.encode(errors="surrogatepass")).hexdigest()[:8]
    return TokenFile(folder / f"{slug}-{digest}.json", url, ports)
