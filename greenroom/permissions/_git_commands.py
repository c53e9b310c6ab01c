"""Effects of reading git commands: the paths that they name, and whether they print file contents.

Rule 1: a git command counts as reading only if it is in the table, with every option of it. Rule 2: its operands may be
paths, also after a revision (`HEAD:path`), a range of lines (`-L 1,5:path`) or the signs of a pathspec (`:/path`).

Must not know: rules, modes, the disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, final

import attrs

from greenroom.permissions._git_table import (
    GIT_FORMS,
    GIT_GLOBAL,
    GIT_LISTS,
    GIT_READS,
    GIT_SHOWS,
    GIT_SHOWS_IF,
    LISTING,
)
from greenroom.permissions._options import Use, names, read_options
from greenroom.permissions._shell_words import Word, git_command

_MAGIC: Final = re.compile(r":(?:\(([^)]*)\)|([/!^]+):?)")
_SIGNED: Final = re.compile(r"%G|%\((?i:signature)")
_SECRETS: Final = re.compile(r"extraheader|password|token|secret|credential|cookie|smtppass", re.IGNORECASE)
_LISTS_ONLY: Final = names(
    "-s --no-patch --stat --numstat --shortstat --dirstat --summary --name-only --name-status --raw --quiet --compact-summary"
)
_NO_CONTENT: Final = {
    "grep": names("-l --files-with-matches --name-only -L --files-without-match -c --count -q --quiet"),
    "cat-file": names("-t -s -e"),
}
_CONTENT: Final = names(
    "-p -u -U -W --patch --unified --cc --binary --word-diff --color-words --patch-with-stat --patch-with-raw --function-context "
    "--remerge-diff"
)


@final
@attrs.frozen
class GitUse:
    """The effects of a reading git command.

    Attributes:
        paths: The words that may name files.
        shows: True if it prints file contents, also of files that it does not name.
    """

    paths: tuple[Word, ...]
    shows: bool


def git_use(words: Sequence[Word]) -> GitUse | None:
    """Return the effects of a git command, given its arguments; None if they are not known for certain."""
    at = 0
    while at < len(words) and words[at].value in GIT_GLOBAL:
        at += 1
    if at >= len(words):
        return None
    command, rest = words[at].value or "", list(words[at + 1 :])
    spec = GIT_READS.get(command)
    if spec is None:
        return None
    use = read_options(rest, spec)
    if use is None or any(word.value is None for word in use.operands) or not _only_reads(command, use):
        return None
    # Options may stand in front of it: `git remote -v update` asks the remotes.
    form = use.operands[0].value if use.operands else ""
    if form not in GIT_FORMS.get(command, (form,)):
        return None
    return GitUse(tuple(_outside_of_revisions(use.operands)), _shows(command, use, rest))


def _only_reads(command: str, use: Use) -> bool:
    values = [text for texts in use.options.values() for text in texts]
    if any(_SIGNED.search(text) for text in values):
        return False  # git runs gpg for it
    if command in GIT_LISTS:
        return not use.operands or use.has(*LISTING)
    if command == "config":
        # A list holds the settings of the home folder, and passwords may be among them.
        is_key = (
            use.has("--get", "--get-all") and len(use.operands) == 1 and not _SECRETS.search(str(use.operands[0].value))
        )
        return is_key or (use.has("--list", "-l") and use.has("--local"))
    return not (command == "reflog" and use.has("--expire"))


def _shows(command: str, use: Use, words: Sequence[Word]) -> bool:
    if command not in GIT_SHOWS:
        return False
    if command == "stash" and use.operands[:1] and use.operands[0].value == "list":
        return use.has(*_CONTENT)
    only_if = GIT_SHOWS_IF.get(command)
    if only_if is not None and not use.has(*only_if):
        return command == "stash" and use.has(*_CONTENT)
    if use.has(*_NO_CONTENT.get(command, _LISTS_ONLY)) and not use.has(*_CONTENT, "-L"):
        return False
    operands = [word.value or "" for word in words if not (word.value or "").startswith("-")]
    is_one_file = command in ("blame", "annotate", "show", "cat-file") and bool(operands)
    return not (is_one_file and (command in ("blame", "annotate") or all(_blob(text) for text in operands)))


def _blob(text: str) -> bool:
    """True if a revision names one file: what it prints is that file, or the names in a folder."""
    return ":" in text.lstrip(":") and not text.startswith(":")


def _outside_of_revisions(words: Sequence[Word]) -> Iterator[Word]:
    for word in words:
        if "@{" not in (word.value or ""):
            yield word


def shown_paths(words: Sequence[Word]) -> tuple[list[str], bool]:
    """Return the paths that a command of git may print the content of, given all its words, and whether there may be more.

    Paths are relative to the folder that it runs in or to that of the repository.
    """
    at = git_command(words)
    command = words[at].value if at < len(words) else None
    if command is None or command not in GIT_SHOWS:
        return [], command is None and at < len(words)
    found: list[str] = []
    is_open = False
    for word in words[at + 1 :]:
        if word.value is None or (word.has_gap and word.value.strip(".") == "*"):
            is_open = is_open or word.value is None
            continue
        text = word.value
        if text.startswith("-"):
            text = text.partition("=")[2] or text[2:]
        for path in _paths_in(text):
            found.append(path)
            is_open = is_open or bool(set(path) & set("*?["))
    return found, is_open


def _paths_in(text: str) -> Iterator[str]:
    magic = _MAGIC.match(text)
    if magic is not None:
        signs = (magic[1] or "") + (magic[2] or "")
        if not any(sign in signs for sign in ("exclude", "!", "^")):
            yield text[magic.end() :]
        return
    if text:
        yield text
    if ":" in text:
        yield text.rpartition(":")[2]
