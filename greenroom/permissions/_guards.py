"""Calls that no mode approves by itself: deletion of critical folders, and writes to settings of tools and shells.

Rule 1: `rm` and `rmdir` on the root, its direct children, the home folder, the current folder and those above it, or on
a glob directly under a variable, require a person in every mode. Rule 2: protected paths are not opened by allow rules
or by accepting edits.

Must not know: rules, modes, the disk.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Final

from greenroom.permissions._path_patterns import absolute_path, is_within, normal
from greenroom.permissions._shell_words import Word, program

_FOLDERS: Final = frozenset(
    (".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude", ".greenroom")
)
_OPEN_WITHIN: Final = frozenset(((".claude", "worktrees"), (".greenroom", "worktrees")))
_PAIRS: Final = frozenset(((".config", "git"),))
_FILES: Final = frozenset(
    (
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".envrc", ".inputrc"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".gitconfig", ".gitmodules", ".gitattributes"),
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".netrc", ".ripgreprc", ".mcp.json", ".claude.json"),
    )
)
_HOME_VARIABLE: Final = re.compile(r"\"?(?:\$HOME|\$\{HOME\})\"?(?=/|$)")
_GLOB_UNDER_VARIABLE: Final = re.compile(r"\"?\$(?:\w+|\{\w+\})\"?/+(?:[.]?[*?\[].*)?")


def protected_part(path: str) -> str | None:
    """Return the protected folder or file that a normal path lies in, or None."""
    names = [name.lower() for name in path.split("/")]
    index = 0
    while index < len(names):
        pair = tuple(names[index : index + 2])
        if pair in _OPEN_WITHIN:
            index += 2
            continue
        if pair in _PAIRS:
            return "/".join(pair)
        if names[index] in _FOLDERS or (names[index] in _FILES and index == len(names) - 1):
            return names[index]
        index += 1
    return None


def is_worktree(path: str) -> bool:
    """True if a normal path is that of a folder for worktrees."""
    return tuple(path.split("/")[-3:-1]) in _OPEN_WITHIN


def critical_removal(reached: Iterable[Sequence[Word]], *, dirs: Iterable[str], home: str) -> str | None:
    """Return the path that a command would delete and that requires a person in every mode, or None.

    Args:
        reached: The commands that it could amount to.
        dirs: The folders that it may run in, absolute.
        home: The home folder.
    """
    for words in reached:
        if program(words) not in ("rm", "rmdir"):
            continue
        for word in words[1:]:
            for folder in dirs:
                if _is_critical(word, folder, home):
                    return word.raw
    return None


def _is_critical(word: Word, cwd: str, home: str) -> bool:
    value = word.value
    if value is None:
        in_home = _HOME_VARIABLE.match(word.raw)
        if in_home is None:
            return _GLOB_UNDER_VARIABLE.fullmatch(word.raw) is not None
        value = "~" + word.raw[in_home.end() :].replace('"', "").replace("'", "")
    elif word.raw.startswith(("'~", '"~', "\\~")):
        value = "./" + value
    path = absolute_path(value, cwd=cwd, home=home)
    if path is None:
        return False
    while posixpath.basename(path.rstrip("/")) in ("*", "**", ".*", "{*,.*}"):
        path = posixpath.dirname(path.rstrip("/"))
    path = normal(path)
    return path.count("/") <= 1 or is_within(normal(cwd), path) or is_within(normal(home), path)
