"""Confinement of a worktree's users: the main checkout's files and git are out of bounds.

The effect of a command is read from its text; a command whose relevant effect cannot be read is refused. Only the main
checkout is protected, not the rest of the machine. This keeps a model in its checkout and is not a sandbox: a program
can still be made to go elsewhere.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.worktrees._claims import Worktree

_ENDS: Final = frozenset({"&&", "||", ";", "|", "&", "|&", ";;", "(", ")", "{", "}", "\n", "!"})
_KEYWORDS: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "while", "until", "time", "!", "{", "}"}
)
_WRAPPERS: Final = frozenset({"env", "command", "exec", "nohup", "sudo", "builtin", "nice", "xargs", "setsid", "time"})
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_MOVES: Final = frozenset({"cd", "pushd", "chdir"})
_GIT_PLACES: Final = ("--git-dir", "--work-tree", "--exec-path", "--namespace", "--separate-git-dir")
_GIT_VALUES: Final = frozenset({"-C", "-c", *_GIT_PLACES})
_PLACE_VARIABLES: Final = frozenset({"CDPATH", "HOME", "OLDPWD", "PWD", "BASH_ENV", "ENV"})
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", re.DOTALL)
_EXPANDS: Final = re.compile(r"[$`*?\[{]|^~[^/]")
_REDIRECT: Final = re.compile(r"[0-9]*(>>?\|?|&>>?|<>)")
_SUBSTITUTION: Final = re.compile(r"\$\(|`|<\(|>\(")


class _Refused(Exception):
    pass


def confine_path(path: Path, worktree: Worktree) -> str:
    """Return the reason why a worktree's user must not write a file; empty if it may.

    Args:
        path: An absolute path, which need not exist; its links are resolved.
        worktree: The writer's worktree.
    """
    if not _is_in_main(os.path.realpath(path), worktree):
        return ""
    return f"{path} is in the main checkout; work in your worktree {worktree.path} only"


def why_refused(command: str, *, cwd: Path, worktree: Worktree) -> str:
    """Return the reason why a worktree's user must not run a shell command; empty if it may.

    Refused are commands that work in the main checkout, that send git there (`-C`, `--git-dir`, `GIT_DIR`, `cd`), that
    write a file there by redirection, and those where one of these places cannot be read from the text.

    Args:
        command: The line, for a POSIX shell.
        cwd: Its initial folder, an absolute path.
        worktree: Its user's worktree.
    """
    try:
        _CommandReader(str(cwd), worktree).read(command)
    except _Refused as refused:
        return f"{refused}; work in your worktree {worktree.path} only"
    return ""


def _is_in_main(real: str, worktree: Worktree) -> bool:
    target, root, own = Path(real), Path(os.path.realpath(worktree.root)), Path(os.path.realpath(worktree.path))
    return target.is_relative_to(root) and not target.is_relative_to(own)


@final
@attrs.define
class _CommandReader:
    """Follows a command from folder to folder."""

    cwd: str
    worktree: Worktree
    depth: int = 0

    def __attrs_post_init__(self) -> None:
        self.enter(".")

    def real(self, word: str) -> str:
        """Return the path of a word; refuse one that only the shell can expand."""
        if _EXPANDS.search(word):
            raise _Refused(f"cannot determine where {word!r} leads")
        return os.path.realpath(os.path.join(self.cwd, os.path.expanduser(word)))  # noqa: PTH111, PTH118 - texts

    def check(self, word: str, what: str) -> str:
        real = self.real(word)
        if _is_in_main(real, self.worktree):
            raise _Refused(f"{what} leads to the main checkout {self.worktree.root}")
        return real

    def enter(self, word: str) -> None:
        self.cwd = self.check(word, f"the folder {word!r}")

    def read(self, command: str) -> None:
        if self.depth > 8:
            raise _Refused("the command is nested too deeply")
        for inner in _substituted(command):
            self.inner(inner)
        for words in _simple_commands(command):
            self.read_simple(words)

    def inner(self, command: str) -> None:
        _CommandReader(self.cwd, self.worktree, self.depth + 1).read(command)

    def read_simple(self, words: list[str]) -> None:
        words = self._without_redirections(words)
        while words:
            found = _ASSIGNMENT.fullmatch(words[0])
            if found:
                self.assign(found[1], found[2])
            elif words[0] in _KEYWORDS:
                pass
            elif os.path.basename(words[0]) in _WRAPPERS:  # noqa: PTH119 - a text
                self._options(words)
                words = words[1:]
                while words and words[0].startswith("-"):
                    words = words[1:]
                continue
            else:
                self.call(words)
                return
            words = words[1:]

    def assign(self, name: str, value: str) -> None:
        if name.startswith("GIT_"):
            self.check(value, f"{name}={value}") if value else None
        elif name in _PLACE_VARIABLES:
            raise _Refused(f"{name} changes where later commands work")

    def call(self, words: Sequence[str]) -> None:
        program, arguments = os.path.basename(words[0]), words[1:]  # noqa: PTH119 - a text
        if _EXPANDS.search(words[0]) and words[0] not in ("[", "[["):
            raise _Refused(f"cannot determine which program {words[0]!r} is")
        if program in _MOVES:
            self._move([word for word in arguments if word == "-" or not word.startswith("-")], program)
        elif program in ("eval", "source", "."):
            raise _Refused(f"cannot determine what {program!r} runs")
        elif program in ("export", "declare", "local", "readonly", "typeset"):
            for word in arguments:
                if found := _ASSIGNMENT.fullmatch(word):
                    self.assign(found[1], found[2])
        elif program in _SHELLS:
            self._shell(arguments)
        elif program == "git":
            self._git(arguments)
        else:
            if program == "ln":
                for word in arguments:
                    self.check(word, f"the link to {word!r}") if not word.startswith("-") else None
            self._options(words)

    def _move(self, places: Sequence[str], program: str) -> None:
        if len(places) != 1 or places[0] == "-":
            if program == "cd" and not places:
                places = ["~"]
            else:
                raise _Refused(f"cannot determine where {program!r} leads")
        self.enter(places[0])

    def _shell(self, arguments: Sequence[str]) -> None:
        for number, word in enumerate(arguments):
            if re.fullmatch(r"-[a-z]*c", word):
                if number + 1 < len(arguments):
                    self.inner(arguments[number + 1])
                return
        if not arguments or arguments[0] == "-s":
            raise _Refused("cannot determine what a shell reads from its input")

    def _git(self, arguments: Sequence[str]) -> None:
        here, rest = self.cwd, list(arguments)
        try:
            while rest and rest[0].startswith("-"):
                name, _, value = rest.pop(0).partition("=")
                if name in _GIT_VALUES and not value and rest:
                    value = rest.pop(0)
                if name == "-C":
                    self.enter(value)
                elif name in _GIT_PLACES:
                    self.check(value, f"{name}={value}")
                elif name == "-c" and value.lower().startswith(("core.worktree", "alias.", "core.hookspath")):
                    raise _Refused(f"cannot determine what git does with {value!r}")
            for word in rest:
                name, equals, value = word.partition("=")
                if equals and name in _GIT_PLACES:
                    self.check(value, word)
        finally:
            self.cwd = here

    def _options(self, words: Sequence[str]) -> None:
        """Check the folders that programs such as make, tar and env change to."""
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if word in ("-C", "--directory", "--chdir", "--cwd", "--prefix") and following:
                self.check(following, f"{word} {following}")
            elif word.startswith(("--directory=", "--chdir=", "--cwd=", "--prefix=")):
                self.check(word.partition("=")[2], word)
            elif word.startswith("-C") and len(word) > 2 and "/" in word:
                self.check(word[2:], word)

    def _without_redirections(self, words: Sequence[str]) -> list[str]:
        kept, following = [], iter(words)
        for word in following:
            if _REDIRECT.fullmatch(word):
                target = next(following, "")
                if target and not target.lstrip("&").isdigit():
                    self.check(target, f"the redirection to {target!r}")
            else:
                kept.append(word)
        return kept


def _simple_commands(command: str) -> Iterator[list[str]]:
    if "<<" in command:
        raise _Refused("cannot analyze a here-document")
    lexer = shlex.shlex(command.replace("\\\n", "").replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if word in _ENDS or (set(word) <= set("();|&") and word):
                yield words
                words = []
            else:
                words.append(word)
    except ValueError as error:
        raise _Refused(f"cannot parse the command: {str(error).lower()}") from None
    yield words


def _substituted(command: str) -> Iterator[str]:
    """Yield the contents of $( ), backticks and <( ), which a shell runs as well."""
    for found in _SUBSTITUTION.finditer(command):
        rest = command[found.end() :]
        if found[0] == "`":
            yield rest.partition("`")[0]
            continue
        depth = 1
        for number, character in enumerate(rest):
            depth += (character == "(") - (character == ")")
            if not depth:
                yield rest[:number]
                break
        else:
            raise _Refused("cannot parse the command: unbalanced bracket")
