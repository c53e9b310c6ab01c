"""Commands that run a text which no rule can read: in another language, later, or through a variable.

Literal shell texts (`bash -c`, `eval`) are not hidden: they are parsed elsewhere. Programs run from files of their own
(`python x.py`, `make`) are not hidden either: the command does not contain them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from greenroom.permissions._filter_programs import is_harmless_awk, is_harmless_sed
from greenroom.permissions._git_table import GIT_RUNS
from greenroom.permissions._options import fixed_beginning, is_option, may_be_option, names
from greenroom.permissions._shell_words import Command, Word, git_command, program
from greenroom.permissions._wrapper_table import (
    ALWAYS_CODE,
    CODE,
    GIT_CONFIG_RUNS,
    HARMLESS_VALUES,
    RUN_LATER,
    SHELLS,
    STDIN_CODE,
    WRAPPERS,
)

_VERSIONED: Final = re.compile(r"((?:python|pypy|perl|ruby|node|php|lua|julia|guile|tclsh|vim)[a-z]*?)-?[0-9][0-9.]*")
_ASSIGNED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^]]*\])?\+?=(.*)", re.DOTALL)
_STDIN: Final = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_EDITORS: Final = names("vim vi nvim view gvim rvim vimdiff less more most gdb nano")
_SET_NAMES: Final = names("read mapfile readarray getopts for select printf unset")
_SET_VALUES: Final = names("env export declare typeset local readonly sudo doas eval command")
_GIT_HARMLESS: Final = frozenset(
    ("--output", "--no-index", "--contents", "--template", "--separate-git-dir", "--edit-description")
)
_COMPARES: Final = re.compile(r"-(?:eq|ne|lt|le|gt|ge|v)")
_EVALUATE: Final = names("[[ test [ let declare typeset local readonly unset")
"""Builtins that evaluate a word as an expression, or as the name of a variable with an expression in brackets."""
_CODE: Final[Mapping[str, Mapping[str, None]]] = {
    name: dict.fromkeys(options.split()) for name, options in CODE.items()
}
_GIT_OPTIONS: Final = {
    command: dict.fromkeys(option for option in options.split() if option not in _GIT_HARMLESS)
    for command, options in GIT_RUNS.items()
}
_CONFIG: Final = re.compile(GIT_CONFIG_RUNS, re.IGNORECASE)


def hides_text(words: Sequence[Word], command: Command) -> bool:
    """True if a command runs a text that no rule can read.

    Args:
        words: The unwrapped command; empty for the effect of its assignments alone.
        command: The command itself, with its assignments and the texts that it is given.
    """
    if not words:
        return any(map(_sets_later, command.assignments)) or _is_evaluated(command)
    name = program(words)
    versioned = _VERSIONED.fullmatch(name)
    name = versioned[1] if versioned else name
    values = [word.value for word in words]
    if name in ALWAYS_CODE:
        return len(words) > 1 or bool(command.texts or command.redirects) or name not in ("alias", "enable", "complete")
    if name in _SET_NAMES and any(_is_later(value or "") for value in values[1:]):
        return True
    if name in _SET_VALUES and any(_sets_later(word) for word in words[1:]):
        return True
    own = _OWN.get(name)
    if own is not None and own(words):
        return True
    return _has_code(name, words) or _reads_code(name, words)


def _has_code(name: str, words: Sequence[Word]) -> bool:
    options = _CODE.get(name, {})
    if not options and name not in _EDITORS:
        return False
    for word, after in itertools.zip_longest(words[1:], words[2:]):
        value = word.value or ""
        if value == "--":
            return False
        if may_be_option(word, options) or (name in _EDITORS and word.has_gap and fixed_beginning(word) == "+"):
            return True
        if value == "-m" and after is not None and f"-m{after.value}" in options:
            return True
        if name in _EDITORS and value.startswith("+") and value != "+":
            return True
        if value in options or (value.startswith("-") and is_option(value, options)):
            return True
    return False


def _reads_code(name: str, words: Sequence[Word]) -> bool:
    """True if an interpreter reads its program from its input, because no file is named."""
    if name not in STDIN_CODE:
        return False
    operands = [
        word for word in words[1:] if word.value is None or not word.value.startswith("-") or word.value in _STDIN
    ]
    if any(word.value in _STDIN or word.value is None for word in operands):
        return True
    informs = any((word.value or "") in ("--version", "-V", "-v", "--help", "-h", "-m") for word in words[1:])
    return not operands and not informs


# --- variables --------------------------------------------------------------------------------------------------------


def _is_later(name: str) -> bool:
    name = name.partition("[")[0]
    return name in RUN_LATER or name.startswith("BASH_FUNC_")


def _sets_later(word: Word) -> bool:
    found = _ASSIGNED.match(word.raw)
    if found is None:
        return False
    if not _is_later(found[1]):
        return False
    value = None if word.value is None else word.value.partition("=")[2]
    return value not in HARMLESS_VALUES and value != ""


def _is_evaluated(command: Command) -> bool:
    """True if arithmetic may set a variable whose text is run, or evaluates a text from outside the script.

    In arithmetic the text of a variable is an expression too, and a subscript in it is expanded.
    """
    words = (*command.assignments, *command.words, *command.texts, *(redirect.target for redirect in command.redirects))
    for word in words:
        for part in word.expansions:
            if (part.kind == "expression" or part.text.endswith("=")) and _is_later(part.text.rstrip("=")):
                return True
            if part.kind == "expression" and part.origin == "any":
                return True
    compares = any(_COMPARES.fullmatch(word.value or "") for word in command.words)
    if program(command.words) in _EVALUATE and (compares or program(command.words) not in ("[", "[[", "test")):
        return any(part.kind == "command" or part.origin == "any" for word in command.words for part in word.expansions)
    return False


# --- programs with rules of their own -----------------------------------------------------------------------------------


def _git(words: Sequence[Word]) -> bool:
    at = git_command(words)
    values = [word.value or "" for word in words]
    if any(_is_run(value, _GIT_OPTIONS[""]) for value in _git_settings(words[1:at])):
        return True
    if at < len(words) and words[at].value is None:
        return True  # an option of git itself, or a command that another option defined
    command = values[at] if at < len(values) else ""
    if command == "config":
        operands = [value for value in values[at + 1 :] if not value.startswith("-") and value != "set"]
        return len(operands) > 1 and _CONFIG.fullmatch(operands[0]) is not None
    own = _GIT_OPTIONS.get(command, {})
    known = _GIT_OPTIONS["*"] | own
    for word in words[at + 1 :]:
        value = word.value or ""
        if value == "--":
            return False
        # A word without a dash (`commit -m "$(...)"`) is taken for an option only if the command has such options of its own.
        if (own or "-" in word.raw[:2]) and may_be_option(word, known):
            return True
        if value in known or (value.startswith("-") and is_option(value, known)) or value.startswith(("ext::", "fd::")):
            return True
    return False


def _git_settings(words: Sequence[Word]) -> Iterator[str]:
    """Yield the options of git itself, without settings (`-c`) that run nothing."""
    at = 0
    while at < len(words):
        value = words[at].value or ""
        at += 1
        if value == "-c" and at < len(words):
            setting = words[at].value
            at += 1
            name, _, text = (setting or "").partition("=")
            if setting is not None and (not _CONFIG.fullmatch(name) or text in HARMLESS_VALUES):
                continue
        yield value


def _is_run(value: str, options: Mapping[str, None]) -> bool:
    return value not in ("-p", "--paginate") and value.startswith("-") and bool(is_option(value, options))


def _sed(words: Sequence[Word]) -> bool:
    scripts: list[Word] = []
    has_option = False
    operands: list[Word] = []
    at = 1
    while at < len(words):
        value = words[at].value
        if value in ("-e", "--expression") and at + 1 < len(words):
            scripts.append(words[at + 1])
            at += 1
        elif value is not None and value.startswith("--expression="):
            scripts.append(Word(value[13:], value[13:], (value[13:],)))
        elif value in ("-f", "--file"):
            has_option = True  # a script of its own
            at += 1
            if at >= len(words) or words[at].value is None or words[at].value in _STDIN:
                return True
        elif value is not None and value.startswith(("--file=", "-f")):
            has_option = True
            if value.removeprefix("--file=").removeprefix("-f") in _STDIN:
                return True
        elif value is not None and re.fullmatch(r"-[nErsuz]*e.+", value):
            text = value.partition("e")[2]
            scripts.append(Word(text, text, (text,)))
        elif value is None or not value.startswith("-"):
            operands.append(words[at])
        at += 1
    if not scripts and not has_option:
        scripts = operands[:1]
    return any(word.value is None or not is_harmless_sed(word.value) for word in scripts)


def _awk(words: Sequence[Word]) -> bool:
    at = 1
    while at < len(words):
        value = words[at].value
        if value in ("-F", "-v", "--field-separator", "--assign"):
            at += 2
            continue
        if value is not None and value.startswith(("-f", "--file")):
            named = value.removeprefix("--file").removeprefix("-f").removeprefix("=")
            word = words[at + 1] if not named and at + 1 < len(words) else None
            return named in _STDIN or (word is not None and (word.value is None or word.value in _STDIN))
        if value is None or re.match(r"-[eilED]|--(?:source|include|load|exec|debug)", value):
            return True
        if not value.startswith("-") or value == "-":
            return not is_harmless_awk(value)
        if value == "--":
            return at + 1 >= len(words) or not is_harmless_awk(words[at + 1].value or "@")
        at += 1
    return False


def _make(words: Sequence[Word]) -> bool:
    values = [word.value or "" for word in words[1:]]
    reads = any(
        value in ("-f", "--file", "--makefile") and (after in _STDIN or not after)
        for value, after in itertools.pairwise(values)
    )
    sets = any("=" in value and ("$" in value or value.startswith(("SHELL=", ".SHELLFLAGS="))) for value in values)
    return reads or sets or any(value in ("-f-", "--file=-", "--makefile=-") for value in values)


def _xargs(words: Sequence[Word]) -> bool:
    """True if the input of `xargs` may become the program, or a script: after a wrapper or a shell, or in place of
    `{}`.
    """
    at = 1
    replaced = ""
    while at < len(words) and (words[at].value or "").startswith("-") and words[at].value != "--":
        value = words[at].value or ""
        takes = value in ("-I", "-n", "-L", "-P", "-s", "-a", "-d", "-E", "--replace", "--max-args", "--arg-file")
        if value.startswith(("-I", "-i", "--replace")):
            given = words[at + 1].value if value == "-I" and at + 1 < len(words) else value[2:]
            replaced = (given or "").removeprefix("-replace").removeprefix("=") or "{}"
        at += 2 if takes and value != "--replace" else 1
    if at < len(words) and words[at].value == "--":
        at += 1
    name = program(words[at:])
    if name in WRAPPERS or (name in SHELLS and not any((word.value or "") == "-c" for word in words[at:])):
        return True
    held = words[at:] if name in SHELLS or name in CODE or name == "eval" else words[at : at + 1]
    return bool(replaced) and any(replaced in (word.value or replaced) for word in held)


def _start_file(words: Sequence[Word]) -> bool:
    """True if a shell reads its first commands from a file that is known only at run time."""
    pairs = itertools.pairwise(words)
    return any(word.value in ("--rcfile", "--init-file") and after.value is None for word, after in pairs)


def _names_later(words: Sequence[Word]) -> bool:
    """True if `printf -v`, `wait -p` and the like write a variable whose text is run."""
    return any(_is_later(word.value or "") for word in words[1:])


_OWN: Final[Mapping[str, Callable[[Sequence[Word]], bool]]] = {
    "git": _git,
    **dict.fromkeys(SHELLS, _start_file),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("xargs", "gxargs"), _xargs),
    **dict.fromkeys(("wait", "unset", "let", "export", "readonly"), _names_later),
}
