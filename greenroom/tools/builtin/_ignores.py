"""Files that searches leave out: version control's own, and those named in ignore files."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from greenroom.tools.builtin._file_reader import Unreadable, open_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

ALWAYS_SKIPPED: Final = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", "_darcs"})
"""Folders of version control; `.git` is a file in a worktree."""
IGNORE_FILES: Final = (".gitignore", ".ignore")
"""In the order of their lines: what `.ignore` says wins."""
IGNORE_FILE_BYTES: Final = 256 * 1024
"""Bytes read of an ignore file."""

_MAX_WILDCARDS: Final = 4
_ODD_SET: Final = re.compile(r"\[[^\]]*(?:\[|&&|\|\||~~|--)")


@attrs.frozen
class Ignores:
    """The ignore rules that hold in one folder: its own, then those of the folders above."""

    folder: str
    """Absolute, without a slash at the end."""
    spec: GitIgnoreSpec | None
    above: Ignores | None

    def names(self, path: str, *, is_folder: bool) -> bool:
        """True if the rules leave out an entry of this folder, given by its absolute path."""
        rules: Ignores | None = self
        while rules is not None:
            if rules.spec is not None:
                within = path[len(rules.folder) :].lstrip("/") + ("/" if is_folder else "")
                answer = rules.spec.check_file(within).include
                if answer is not None:
                    return answer
            rules = rules.above
        return False


def ignores_of(folder: Path, roots: Iterable[Path]) -> Ignores | None:
    """Return the rules that hold above a folder: those of its parents up to the session's directory that contains it.

    If they leave out that folder itself, none of them holds: a search that names an ignored folder is meant to see it.
    """
    tops = [root for root in roots if folder.is_relative_to(root)]
    if not tops:
        return None
    # Of nested directories the outermost counts: what is left out of it is left out of the inner one.
    top = min(tops, key=lambda root: len(root.parts))
    rules: Ignores | None = None
    for parent in (*reversed(folder.parents), folder):
        if rules is not None and rules.names(str(parent), is_folder=True):
            return None
        if parent.is_relative_to(top) and parent != folder:
            rules = extended(rules, parent)
    return rules


def extended(above: Ignores | None, folder: Path) -> Ignores:
    """Return the rules of a folder: those above it and the ones in its own ignore files."""
    lines: list[str] = []
    for name in IGNORE_FILES:
        lines += _lines(folder / name)
    spec = _spec(lines) if lines else None
    if spec is None and above is not None:
        return above
    return Ignores(str(folder), spec, above)


def _lines(path: Path) -> list[str]:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return []
        with open_regular(path) as file:
            return file.read(IGNORE_FILE_BYTES).decode("utf-8", errors="replace").splitlines()
    except (OSError, Unreadable):
        # One that is missing or cannot be read ignores nothing.
        return []


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    # Without `backend` it would take whatever matcher happens to be installed.
    safe = [line for line in lines if _is_safe(line)]
    try:
        return GitIgnoreSpec.from_lines(safe, backend="simple")
    except (ValueError, re.error):
        return GitIgnoreSpec.from_lines([line for line in safe if _is_pattern(line)], backend="simple")


def _is_safe(line: str) -> bool:
    """True if a line can be matched quickly and without warnings.

    pathspec makes an expression for `re` of it: many wildcards could keep that busy indefinitely, and some sets cause
    warnings. Only a malicious file has such lines.
    """
    wildcards = max(name.replace("**", "").count("*") for name in line.split("/"))
    return wildcards <= _MAX_WILDCARDS and line.count("**") <= _MAX_WILDCARDS and _ODD_SET.search(line) is None


def _is_pattern(line: str) -> bool:
    """True if git would understand a line; it skips the others silently, and so do we."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line], backend="simple")
    except (ValueError, re.error):
        return False
    return True
