"""Tokens for servers at an address, in files of the user's folder: one for each address, for nobody else's eyes.

Rule 1: a file is read only if nobody else can read it, and its tokens go to the address that it was kept for. Rule 2: what goes
wrong is said without a word of what a file holds. Must not know: what tokens are for.
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

from greenroom.core import PeerError, Ports

TOKENS_FOLDER: Final = "mcp-tokens"
"""The folder for tokens, in the user's own."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_SLUG_CHARS: Final = 60
_MAX_BYTES: Final = 256 * 1024


@final
class BadTokens(PeerError):
    """A file of tokens cannot be used; the message names it, says why, and what to do."""


@final
@attrs.frozen
class TokenFile:
    """The tokens for one address."""

    path: Path
    url: str
    _ports: Ports

    async def read(self) -> Mapping[str, Any]:
        """Return what the file holds; nothing where there is none.

        Raises:
            BadTokens: It cannot be read, others can read it too, or it is for another address.
        """
        return await self._ports.blocking.run(self._read)

    async def write(self, values: Mapping[str, Any]) -> None:
        """Keep this for the address, in one step.

        Raises:
            BadTokens: It cannot be written.
        """
        content = json.dumps({"url": self.url, **values}, indent=2).encode() + b"\n"
        disk, run = self._ports.disk, self._ports.blocking.run
        try:
            await run(disk.make_folder, self.path.parent)
            await run(disk.write, self.path, content)
        except OSError as problem:
            raise BadTokens(f"{self.path} cannot be written: {problem.strerror}") from None

    @property
    def now_s(self) -> float:
        """The time, in seconds since 1970, as tokens expire by it."""
        return self._ports.clock.wall().timestamp()

    def _read(self) -> Mapping[str, Any]:
        try:
            with self.path.open("rb") as opened:
                mode = os.fstat(opened.fileno()).st_mode
                content = opened.read(_MAX_BYTES)
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise BadTokens(f"{self.path} cannot be read: {problem.strerror}") from None
        if mode & _OTHERS:
            raise BadTokens(f"{self.path} is not used, because others can read or change it; chmod 600 it")
        try:
            values = json.loads(content)
        except ValueError:
            raise BadTokens(f"{self.path} is no JSON; write it anew, or remove it") from None
        if not isinstance(values, dict) or values.get("url", self.url) != self.url:
            raise BadTokens(f"{self.path} is not for {self.url}; write it anew, or remove it")
        return values


def token_file(folder: Path, url: str, ports: Ports) -> TokenFile:
    """Return where the tokens for an address lie: a file with a name that people recognize."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", url.partition("://")[2].partition("?")[0]).strip("-.")[:_SLUG_CHARS]
    digest = hashlib.sha256(url.encode(errors="surrogatepass")).hexdigest()[:8]
    return TokenFile(folder / f"{slug}-{digest}.json", url, ports)
