"""No file of the project names a machine that it was written on, or the host of a package registry."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from tests.architecture.source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# {an example: the pattern that finds it}, each written so that this file does not hold it: ~ stands for nothing.
FOREIGN: Final = {
    "/wo~rk/": r"/work[/]",
    "/ro~ot/": r"/root[/]",
    "/opt~/pypi": r"/opt[/](pypi|wheels)",
    "pypi~.org": r"pypi[.]org",
    "python~hosted.org": r"pythonhosted[.]org",
    "extra-~index-url = x": r"extra-[i]ndex-url *[= ] *\S",
    "sk-ant~-api03-0123456789abcdef": r"sk-ant[-][A-Za-z0-9_-]{16}",  # the shape of a key; short fakes in tests are fine
}
PATTERN: Final = re.compile("|".join(FOREIGN.values()).encode())


def foreign_words(text: bytes) -> list[str]:
    return sorted({found.group().decode() for found in PATTERN.finditer(text)})


def project_files() -> list[Path]:
    """Return the files that are, or would be, committed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, check=True, capture_output=True, cwd=ROOT, timeout=30).stdout.decode().split("\0")
    return [path for name in names if name and (path := ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = {str(path.relative_to(ROOT)): foreign_words(path.read_bytes()) for path in project_files()}
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize("word", FOREIGN)
def test_each_such_word_is_found(word: str) -> None:
    assert foreign_words(f"before {word.replace('~', '')} after".encode()) != []
    assert foreign_words(b"the work/ folder, a root/ of trees, sk-ant-test") == []
