"""What the commands that everybody uses do with files: which only read, which edit, and which paths they name.

Rule 1: a command counts as one of these only in the forms that are known; an option that could run or write something makes
it a command like any other. Rule 2: a word is a path unless it is known to be none.
Must not know: rules, modes, the disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

import attrs

from greenroom.permissions._shell_words import Word


@final
@attrs.frozen
class FileUse:
    """What a known command does with files.

    Attributes:
        is_edit: Whether it changes them; else it only reads.
        paths: The words that name files; a glob stands for what it may become.
        is_git: Whether it looks at a repository, and so depends on the folder that it runs in.
        searches: Whether it reads files that it does not name, below the folders that it does.
    """

    is_edit: bool
    paths: tuple[Word, ...] = ()
    is_git: bool = False
    searches: bool = False


def file_use(words: Sequence[Word]) -> FileUse | None:
    """Return what a command does with files, or None where that is not known for certain."""
    if not words or words[0].value is None or words[0].has_gap:
        return None
    name, rest = words[0].value, words[1:]
    if name in _SILENT:
        return FileUse(is_edit=False)
    refused = _REFUSED.get(name)
    if refused is not None and any(word.value is None or refused.match(word.value) for word in rest):
        return None
    read = _SPECIAL.get(name)
    if read is not None:
        return read(rest)
    if name in _READERS:
        use = _with_paths(rest, is_edit=False)
        return attrs.evolve(use, searches=True) if use and name == "diff" and _is_recursive(rest) else use
    if name in _EDITORS:
        return _with_paths(rest, is_edit=True)
    return None


_SILENT: Final = frozenset(("echo", "pwd", "which", "true", "false", ":", "test", "[", "[["))
_READERS: Final = frozenset(("ls", "cat", "head", "tail", "wc", "diff", "stat", "du"))
_EDITORS: Final = frozenset(("mkdir", "touch", "rm", "rmdir", "mv", "cp"))
_REFUSED: Final[Mapping[str, re.Pattern[str]]] = {
    "find": re.compile(r"-exec|-ok|-delete|-fprint|-fls|-files0-from"),
    "wc": re.compile(r"--files0-from"),
    "du": re.compile(r"--files0-from|-X|--exclude-from"),
}


def _with_paths(words: Sequence[Word], *, is_edit: bool) -> FileUse | None:
    paths: list[Word] = []
    only_paths = False
    for word in words:
        if word.value is None:
            return None
        if only_paths or not word.value.startswith("-") or word.value == "-":
            paths.append(word)
        elif word.value == "--":
            only_paths = True
        elif word.has_gap:
            return None
        elif "=" in word.value:
            after = word.value.partition("=")[2]
            paths.append(Word(after, after, (after,)))
        elif "/" in word.value or "~" in word.value:
            return None
    return FileUse(is_edit, tuple(word for word in paths if word.value != "-"))


def _grep(words: Sequence[Word]) -> FileUse | None:
    has_pattern = any(re.match(r"-[A-Za-z]*[ef]|--regexp|--file", word.value or "") for word in words)
    rest = list(words)
    if not has_pattern:
        first = next((at for at, word in enumerate(rest) if not (word.value or "").startswith("-")), None)
        if first is None:
            return None
        del rest[first]
    use = _with_paths(rest, is_edit=False)
    return attrs.evolve(use, searches=True) if use and _is_recursive(words) else use


def _is_recursive(words: Sequence[Word]) -> bool:
    return any(_RECURSIVE.match(word.value or "") for word in words)


_RECURSIVE: Final = re.compile(r"-[A-Za-z]*[rR]|--recursive|--dereference-recursive|-d|--directories")


def _find(words: Sequence[Word]) -> FileUse | None:
    paths: list[Word] = []
    for word in words:
        value = word.value or ""
        if value in ("-H", "-L", "-P") and not paths:
            continue
        if value.startswith(("-", "(", "!")):
            break
        paths.append(word)
    return FileUse(is_edit=False, paths=tuple(paths))


def _cd(words: Sequence[Word]) -> FileUse | None:
    target = cd_target(words)
    return None if target is None else FileUse(is_edit=False, paths=(target,))


def cd_target(words: Sequence[Word]) -> Word | None:
    """Return where `cd` goes, given its arguments; None where only the shell could tell."""
    rest = [word for word in words if word.value not in ("-L", "-P", "--")]
    if not rest:
        return Word("~", "~", ("~",))
    if len(rest) > 1 or rest[0].has_gap or rest[0].value in (None, "", "-") or str(rest[0].value).startswith("-"):
        return None
    return rest[0]


_SED_SCRIPT: Final = re.compile(
    r"(?:[0-9]+|\$)?(?:,(?:[0-9]+|\$))?(?:[pd]|s([/|#,:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIip0-9]*)"
)
_SED_OPTIONS: Final = re.compile(r"-[nErsi]+|--in-place|--quiet|--silent|--regexp-extended|--expression")


def _sed(words: Sequence[Word]) -> FileUse | None:
    """Read `sed` with scripts that print, delete or substitute: others can write files or run programs."""
    scripts: list[Word] = []
    paths: list[Word] = []
    takes_script = False
    for word in words:
        value = word.value
        if value is None:
            return None
        if takes_script:
            scripts.append(word)
            takes_script = False
        elif value in ("-e", "--expression"):
            takes_script = True
        elif value.startswith("-"):
            if not _SED_OPTIONS.fullmatch(value):
                return None
        else:
            paths.append(word)
    if not scripts:
        scripts, paths = paths[:1], paths[1:]
    if not scripts or any(word.has_gap or not _SED_SCRIPT.fullmatch(word.value or "") for word in scripts):
        return None
    return FileUse(is_edit=True, paths=tuple(paths))


_GIT_READS: Final[Mapping[str, re.Pattern[str] | None]] = {
    # None: any arguments, save what _GIT_REFUSED names; else the first argument, or none at all.
    **dict.fromkeys(
        ("status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "ls-tree", "describe", "shortlog", "grep"),
        None,
    ),
    **dict.fromkeys(
        ("rev-list", "merge-base", "name-rev", "for-each-ref", "cat-file", "diff-tree", "whatchanged"), None
    ),
    "branch": re.compile(r"-a|-r|-v|-vv|--list|--all|--remotes|--show-current|--verbose"),
    "tag": re.compile(r"-l|--list"),
    "remote": re.compile(r"-v|--verbose|get-url"),
    "stash": re.compile(r"list|show"),
    "config": re.compile(r"--get|--get-all|--list|-l"),
    "worktree": re.compile(r"list"),
}
_GIT_REFUSED: Final = re.compile(
    r"--output|--ext-diff|--textconv|--filters|-O|--open-files|--no-index|--upload-pack|--exec|--edit"
)
_GIT_NEEDS_ARGUMENT: Final = frozenset(("stash", "config", "worktree"))
_GIT_LISTS: Final = frozenset(("branch", "tag"))


def _git(words: Sequence[Word]) -> FileUse | None:
    rest = [word for word in words if word.value != "--no-pager"]
    if not rest or any(word.value is None for word in rest):
        return None
    values = [word.value or "" for word in rest]
    command, arguments = values[0], values[1:]
    if command not in _GIT_READS or any(_GIT_REFUSED.match(one) for one in arguments):
        return None
    form = _GIT_READS[command]
    if form is not None:
        if not arguments:
            return None if command in _GIT_NEEDS_ARGUMENT else FileUse(is_edit=False, is_git=True)
        if not form.fullmatch(arguments[0]):
            return None
        if command in _GIT_LISTS and arguments[0] not in ("-l", "--list") and not all(map(form.fullmatch, arguments)):
            return None
        return FileUse(is_edit=False, is_git=True)
    paths = tuple(word for word in rest[1:] if (word.value or "").startswith(("/", "~", "..")))
    return FileUse(is_edit=False, paths=paths, is_git=True, searches=command == "grep")


_SPECIAL: Final[Mapping[str, Callable[[Sequence[Word]], FileUse | None]]] = {
    "grep": _grep,
    "find": _find,
    "cd": _cd,
    "sed": _sed,
    "git": _git,
}
