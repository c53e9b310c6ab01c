"""Effects of common commands on files: which only read, which edit, and which paths they name.

Rule 1: a command is one of these only if every option of it is in a table; any other option makes it an ordinary
command. Rule 2: a word is a path unless it is known not to be one.

Must not know: rules, modes, the disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

import attrs

from greenroom.permissions._expansions import is_harmless
from greenroom.permissions._filter_programs import is_harmless_awk, is_harmless_jq, is_harmless_sed
from greenroom.permissions._git_commands import git_use
from greenroom.permissions._options import Spec, Use, names, read_options, read_spec
from greenroom.permissions._reader_table import FIND_FLAGS, FIND_PATHS, FIND_TEXTS, READERS, VERSIONS
from greenroom.permissions._shell_words import Word


@final
@attrs.frozen
class FileUse:
    """The effects of a known command on files."""

    is_edit: bool
    paths: tuple[Word, ...] = ()
    is_git: bool = False
    searches: bool = False
    opens: bool = False


def file_use(words: Sequence[Word]) -> FileUse | None:
    """Return a command's effects on files, or None if they are not known for certain."""
    if not words or words[0].value is None or (words[0].has_gap and words[0].raw != "["):
        return None
    name, rest = words[0].value, words[1:]
    if not all(map(is_harmless, rest)):
        return None
    if name in VERSIONS and [word.value for word in rest] == ["--version"]:
        return FileUse(is_edit=False)
    read = _SPECIAL.get(name)
    if read is not None:
        return read(rest)
    if name in _SILENT:
        return _silent(rest)
    spec = READERS.get(name)
    is_edit = spec is None
    spec = spec or _EDITORS.get(name)
    use = None if spec is None else read_options(rest, spec)
    if use is None or any(word.value is None and not word.is_process for word in use.paths):
        return None
    paths = tuple(word for word in use.paths if word.value != "-")
    check = _CHECKS.get(name)
    if check is not None and not check(use):
        return None
    return FileUse(is_edit, (*paths, *_patterns(use.texts)), searches=_searches(name, use), opens=name == "diff")


# --- programs that are not told by options alone ------------------------------------------------------------------------

_SILENT: Final = names("echo true false : for case (( exit return break continue")
"""Builtins that only print what they are given, and heads of the shell's grammar."""


def _silent(words: Sequence[Word]) -> FileUse | None:
    """Return what a builtin uses that opens no file: the shell looks for those that a pattern of its words names."""
    if any(word.has_pattern and word.value is None for word in words):
        return None
    return FileUse(is_edit=False, paths=_patterns(words))


def _patterns(words: Sequence[Word]) -> tuple[Word, ...]:
    return tuple(word for word in words if word.has_pattern)


def _printf(words: Sequence[Word]) -> FileUse | None:
    if words and (words[0].value is None or (words[0].value.startswith("-") and words[0].value != "--")):
        return None  # `-v` sets a variable
    return _silent(words)


def _test(words: Sequence[Word]) -> FileUse | None:
    compared = any(re.fullmatch(r"-(?:eq|ne|lt|le|gt|ge)", word.value or "") for word in words)
    if compared and any(re.fullmatch(r"[A-Za-z_]\w*(?:[^\w].*)?", word.value or "") for word in words):
        return None  # in `[[`, a name that is compared as a number is a variable, and its text may be told in an error
    if any(word.has_pattern and word.value is None for word in words):
        return None
    paths = (word for word in words if word.has_pattern or (word.value or "").startswith(("/", "~", "..")))
    return FileUse(is_edit=False, paths=tuple(word for word in paths if word.raw not in ("[", "[[")))


def _read(words: Sequence[Word]) -> FileUse | None:
    values = [word.value for word in words]
    names = values[1:] if values[:1] == ["-r"] else values
    is_plain = all(name is not None and re.fullmatch(r"[a-z_][a-z0-9_]*", name) for name in names)
    return FileUse(is_edit=False) if is_plain else None


def _command(words: Sequence[Word]) -> FileUse | None:
    is_question = len(words) > 1 and words[0].value in ("-v", "-V")
    is_plain = all(word.value is not None and "/" not in word.value for word in words)
    return FileUse(is_edit=False) if is_question and is_plain else None


def _find(words: Sequence[Word]) -> FileUse | None:
    paths: list[Word] = []
    at = 0
    while at < len(words):
        value = words[at].value
        if value is None or not value.startswith(("-", "(", "!", ",", ")")):
            if value is None:
                return None
            paths.append(words[at])
        elif paths or not re.fullmatch(r"-[HP]|-O[0-3]", value):
            break
        at += 1
    while at < len(words):
        word, value = words[at], words[at].value
        at += 1
        if value in FIND_FLAGS:
            continue
        if value in FIND_TEXTS and at < len(words) and not words[at].has_pattern:
            at += 1
        elif value in FIND_TEXTS and at < len(words):
            paths.append(words[at])  # the shell itself looks for files of that name first
            at += 1
        elif value in FIND_PATHS and at < len(words) and words[at].value is not None:
            paths.append(words[at])
            at += 1
        else:
            return None
        if word.has_gap:
            return None
    return FileUse(is_edit=False, paths=tuple(paths))


def _cd(words: Sequence[Word]) -> FileUse | None:
    target = cd_target(words)
    return None if target is None else FileUse(is_edit=False, paths=(target,))


def cd_target(words: Sequence[Word]) -> Word | None:
    """Return where `cd` goes, given its arguments; None where only the shell could tell."""
    rest = [word for word in words if word.value not in ("-L", "--")]
    if not rest:
        return Word("~", "~", ("~",))
    if len(rest) > 1 or rest[0].has_gap or rest[0].value in (None, "", "-") or str(rest[0].value).startswith("-"):
        return None
    return rest[0]


_SED: Final = read_spec(
    "paths",
    "-nErsuz -e: -i? --quiet --silent --regexp-extended --expression= --in-place --separate --unbuffered --null-data --debug "
    "--posix --version --help",
)


def _sed(words: Sequence[Word]) -> FileUse | None:
    """Read `sed` with scripts that print, delete or substitute: others can write files or run programs."""
    use = read_options(words, _SED)
    if use is None or any(use.options.get("-i", [])):  # the suffix of a copy may lead elsewhere
        return None
    scripts = [*use.options.get("-e", []), *use.options.get("--expression", [])]
    paths = list(use.operands)
    if not scripts and paths:
        first = paths.pop(0)
        scripts = [first.value or ""] if not first.has_gap else []
    if not scripts or not all(map(is_harmless_sed, scripts)) or any(word.value is None for word in paths):
        return None
    return FileUse(is_edit=use.has("-i", "--in-place"), paths=tuple(word for word in paths if word.value != "-"))


_AWK: Final = read_spec("paths", "-F: -v: --field-separator= --assign= --version")
_JQ: Final = read_spec(
    "paths",
    "-nrjacCMSsRe --null-input --raw-output --join-output --ascii-output --compact-output --color-output --monochrome-output "
    "--sort-keys --slurp --raw-input --exit-status --tab --indent= --stream --seq --version --help",
)


def _filter(spec: Spec, is_harmless_program: Callable[[str], bool]) -> Callable[[Sequence[Word]], FileUse | None]:
    def read(words: Sequence[Word]) -> FileUse | None:
        use = read_options(words, spec)
        if use is None or not use.operands:
            return FileUse(is_edit=False) if use is not None and use.has("--version", "--help") else None
        first, *paths = use.operands
        if first.value is None or first.has_gap or not is_harmless_program(first.value):
            return None
        if any(word.value is None for word in paths):
            return None
        return FileUse(is_edit=False, paths=tuple(word for word in paths if word.value != "-"))

    return read


def _git(words: Sequence[Word]) -> FileUse | None:
    found = git_use(words)
    return None if found is None else FileUse(is_edit=False, paths=found.paths, is_git=True, searches=found.shows)


_SPECIAL: Final[Mapping[str, Callable[[Sequence[Word]], FileUse | None]]] = {
    "find": _find,
    "cd": _cd,
    "sed": _sed,
    "git": _git,
    "printf": _printf,
    "read": _read,
    "command": _command,
    "jq": _filter(_JQ, is_harmless_jq),
    **dict.fromkeys(("[", "[[", "test"), _test),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _filter(_AWK, is_harmless_awk)),
}

# --- programs that are told by their options ----------------------------------------------------------------------------

_EDITORS: Final[Mapping[str, Spec]] = {
    "mkdir": read_spec("paths", "-pv -m: --parents --verbose --mode="),
    "touch": read_spec("paths", "-acfhm -d: -t: -r@ --no-create --date= --reference=@ --time= --no-dereference"),
    "rm": read_spec(
        "paths",
        "-dfiIrRv --dir --force --recursive --verbose --interactive=? --one-file-system --preserve-root",
    ),
    "rmdir": read_spec("paths", "-pv --parents --verbose --ignore-fail-on-non-empty"),
    "mv": read_spec(
        "paths",
        "-bfinTuv -S: -t@ --force --interactive --no-clobber --no-target-directory --target-directory=@ --update=? --verbose "
        "--backup=? --suffix= --strip-trailing-slashes",
    ),
    "cp": read_spec(
        "paths",
        "-abdfilnpPrRTuvx -S: -t@ --archive --backup=? --force --interactive --link --no-clobber --no-dereference --preserve=? "
        "--no-preserve= --parents --recursive --suffix= --target-directory=@ --no-target-directory --update=? --verbose "
        "--one-file-system --reflink=? --sparse= --strip-trailing-slashes --attributes-only",
    ),
}


def _searches(name: str, use: Use) -> bool:
    if name in ("rg", "diff"):
        return name == "rg" or use.has("-r", "--recursive")
    return name in ("grep", "egrep", "fgrep") and use.has("-r", "--recursive", "-d", "--directories")


_CHECKS: Final[Mapping[str, Callable[[Use], bool]]] = {
    # Comparing folders, it follows every link in them.
    "diff": lambda use: not use.has("-r", "--recursive") or use.has("--no-dereference"),
    # Without a plus, an operand sets the clock.
    "date": lambda use: all((word.value or "").startswith("+") for word in use.operands),
    "strings": lambda use: not any((word.value or "").startswith("@") for word in use.operands),
}
