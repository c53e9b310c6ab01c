"""Path rules: gitignore patterns with four kinds of prefix.

Rule 1: `//x` is absolute, `~/x` in the home folder, `/x` in the folder of the source, `x` and `./x` in the current
folder. Rule 2: paths are compared as text; the targets of links are arguments. Rule 3: `dir/**` alone means the current
folder's in an allow rule, and any such folder in ask and deny rules.

Must not know: the disk.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MAX_STARS: Final = 4
_ONE_SEGMENT: Final = re.compile(r"(?:\./)?([^/*?\[]+)/\*\*/?")
_ODD_SET: Final = re.compile(r"\[[^\]]*(?:\[|&&|\|\||~~|--)")


def path_problem(pattern: str) -> str | None:
    """Return the problem of a path pattern, or None."""
    if pattern.startswith("!"):
        return "must not begin with '!': a rule cannot cancel another"
    if pattern.startswith("~") and pattern[1:2] not in ("", "/"):
        return "must not name another user's home folder; write //home/..."
    if pattern.startswith("#"):
        return "must not begin with '#', which starts a comment"
    segments = [segment for segment in pattern.split("/") if segment != "**"]
    if pattern.count("**/") > _MAX_STARS or any(segment.count("*") > _MAX_STARS for segment in segments):
        return f"must have at most {_MAX_STARS} stars in a row or in one part of the path"
    if _ODD_SET.search(pattern):
        return "has an unsupported set of characters"
    try:
        _spec(_anchored(pattern, "/", "/", "/", is_wide=False)[1])
    except ValueError as error:
        return f"is not a valid path pattern ({error})"
    return None


def absolute_path(path: str, *, cwd: str, home: str) -> str | None:
    """Return the absolute path, `..` not yet resolved; None if it depends on the shell's state (`~other`)."""
    if path == "~" or path.startswith("~/"):
        return home + path[1:]
    if path.startswith("~"):
        return None
    return path if path.startswith("/") else posixpath.join(cwd, path)


def normal(path: str) -> str:
    """Return an absolute path without `.`, `..` and repeated slashes."""
    return "/" + posixpath.normpath(path).lstrip("/")


def is_within(path: str, folder: str) -> bool:
    """True if a normal path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def matches_path(
    pattern: str, path: str, *, root: str, cwd: str, home: str, is_wide: bool, searches: bool = False
) -> bool:
    """True if a normal path matches the pattern of a rule.

    Args:
        pattern: As written in the rule.
        path: A normal path.
        root: The folder of the rule's source.
        cwd: The current folder of the call.
        home: The home folder.
        is_wide: True if the rule denies or asks, so that it also matches in case of doubt.
        searches: True if the path is a folder whose content is searched.
    """
    base, anchored = _anchored(pattern, root or cwd, cwd, home, is_wide=is_wide)
    spec = _spec(anchored)
    if is_within(path, base) and path != base:
        within = path[len(base) :].lstrip("/")
        if spec.check_file(within).include or spec.check_file(within + "/").include:
            return True
    if not searches:
        return False
    # A placeholder for everything below: it matches if all that lies in the folder would.
    probe = posixpath.join(path, "\x01")
    return is_within(probe, base) and bool(spec.check_file(probe[len(base) :].lstrip("/")).include)


def _anchored(pattern: str, root: str, cwd: str, home: str, *, is_wide: bool) -> tuple[str, str]:
    if pattern.startswith("//"):
        return "/", "/" + pattern.lstrip("/")
    if pattern == "~" or pattern.startswith("~/"):
        return normal(home), pattern[1:] or "/**"
    if pattern.startswith("/"):
        return normal(root), pattern
    if pattern in (".", "./", ".."):
        pattern += "/**"
    segment = _ONE_SEGMENT.fullmatch(pattern)
    if segment is not None and is_wide and segment[1] not in (".", ".."):
        return normal(cwd), f"**/{segment[1]}/**"
    base = cwd
    is_relative = pattern.startswith(("./", "../"))
    while pattern.startswith(("./", "../")):
        first, _, pattern = pattern.partition("/")
        base = base if first == "." else posixpath.dirname(normal(base))
    return normal(base), ("/" + pattern.lstrip("/")) if is_relative else pattern


@lru_cache(maxsize=4_096)
def _spec(pattern: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([pattern])
