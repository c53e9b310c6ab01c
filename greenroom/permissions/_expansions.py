"""Expansions that reveal no secret and name no files, so that a command may contain them unasked.

Rule 1: a variable is harmless if it is listed here, or if the script itself has certainly set it before. Rule 2:
unquoted, the resulting text may be a pattern of file names, so it has to be known not to be one.

Must not know: rules, modes, the disk.
"""

from __future__ import annotations

import re
from typing import Final

from greenroom.permissions._options import names
from greenroom.permissions._reader_table import NO_PATTERNS
from greenroom.permissions._shell import parse_script
from greenroom.permissions._shell_words import Expansion, Unparsable, Word, program

_HARMLESS: Final = names(
    "? # $ ! - 0 PWD OLDPWD HOME USER LOGNAME UID EUID GROUPS PPID RANDOM SRANDOM SECONDS LINENO EPOCHSECONDS EPOCHREALTIME BASHPID "
    "BASH BASH_VERSION BASH_SUBSHELL SHLVL SHELL HOSTNAME HOSTTYPE OSTYPE MACHTYPE LANG LANGUAGE LC_ALL LC_CTYPE TERM TZ PATH "
    "PIPESTATUS FUNCNAME COLUMNS LINES OPTIND TMPDIR VIRTUAL_ENV CONDA_PREFIX NVM_DIR GOPATH GOROOT JAVA_HOME CARGO_HOME "
    "EDITOR PAGER CI NODE_ENV"
)
"""Variables of bash (its manual, "Shell Variables") and of the environment whose text is neither secret nor a pattern.
"""
_ARGUMENTS: Final = re.compile(r"[1-9@*]|REPLY")
# Their output may repeat their arguments, so these must not be patterns or unknown.
_PATTERN: Final = re.compile(r"[*?\[\\$`]")


def is_harmless(word: Word) -> bool:
    """True if the expansions of a word reveal no secret, and cannot become names of files."""
    return all(_is_harmless(part) for part in word.expansions)


def _is_harmless(part: Expansion) -> bool:
    if part.kind == "command":
        return part.is_quoted or _prints_no_pattern(part.text)
    if part.text in _HARMLESS:
        return True
    if part.kind == "variable" and _ARGUMENTS.fullmatch(part.text):
        return part.is_quoted
    return part.origin == "plain" or (part.origin == "any" and part.is_quoted)


def _prints_no_pattern(script: str) -> bool:
    if _PATTERN.search(script):
        return False
    try:
        commands = parse_script(script)
    except Unparsable:
        return False
    return all(program(command.words) in NO_PATTERNS for command in commands)
