"""Commands behind their wrappers: `sudo`, `timeout 5`, `env A=1`, `xargs`, `bash -c '...'`, `find -exec`.

Rule 1: for deny and ask rules every reachable command counts, so a word that may be an argument of the wrapper or the
program itself is taken for both. Rule 2: for allow rules only a few wrappers are removed, and only in known forms. Rule
3: a script passed as text is parsed like the script around it; one that cannot be read in advance, or that is in
another language, is a gap, which any deny or ask rule may match.

Must not know: rules, modes, paths.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, final

import attrs

from greenroom.permissions._hidden_texts import hides_text
from greenroom.permissions._options import may_be_option, names
from greenroom.permissions._shell import parse_script
from greenroom.permissions._shell_words import Command, Pieces, Unparsable, Word, git_command, program
from greenroom.permissions._wrapper_table import ANYWHERE, COMMAND_OPTION, JOIN_WORDS, SHELLS, WRAPPERS

MAX_NESTED: Final = 6
MAX_REACHED: Final = 128

GAP: Final = Word("...", None, (None,))
"""A command that only shows when it runs."""


_LINKER: Final = re.compile(r"ld(?:-linux|-musl)?[\w.-]*\.so(?:\.[0-9]+)*")
_FIND_EXEC: Final = names("-exec -execdir -ok -okdir -x -X --exec --exec-batch")
_FIND_VALUES: Final = names(
    "-name -iname -path -ipath -regex -iregex -type -maxdepth -mindepth -mtime -mmin -newer -size -user"
)
_STDIN: Final = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SPLIT_STRING: Final = re.compile(r"(?:-[A-Za-z0-9]*S|--split-string=?)(.*)", re.DOTALL)
_DURATION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?[smhd]?")
_GIT_SCRIPTS: Final = {
    "rebase": names("-x --exec"),
    "difftool": names("-x --extcmd"),
    "submodule": names("foreach --recursive"),
    "bisect": names("run"),
    "filter-branch": names("--tree-filter --index-filter --env-filter --msg-filter --commit-filter"),
}

SAFE_VARIABLES: Final = names(
    "LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR "
    "CI NODE_ENV RUST_LOG RUST_BACKTRACE GOOS GOARCH CGO_ENABLED PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE COLUMNS LINES"
)
"""Variables that change how a program speaks, not what it does."""


@final
@attrs.frozen
class Part:
    """One command of a script, as rules see it.

    Attributes:
        command: As the script has it.
        reached: What it could come down to, each as words; for deny and ask rules.
    """

    command: Command
    reached: tuple[tuple[Word, ...], ...]

    @property
    def is_hidden(self) -> bool:
        """True if it may run a text that no rule can read."""
        return (GAP,) in self.reached


def parts_of(script: str) -> tuple[Part, ...]:
    """Return all commands of a script, those in texts that it hands to a shell included.

    Raises:
        Unparsable: The script, or a text in it that is a script, is not understood for certain.
    """
    found = _parts_of(script)
    if isinstance(found, str):
        raise Unparsable(found)
    return found


@lru_cache(maxsize=64)  # a call is decided about more than once: before and after its paths are looked up
def _parts_of(script: str) -> tuple[Part, ...] | str:
    """Return the commands, or why they cannot be told."""
    parts: list[Part] = []
    try:
        _collect(script, 0, parts)
    except Unparsable as error:
        return str(error)
    return tuple(parts)


def _collect(script: str, depth: int, parts: list[Part]) -> None:
    if depth > MAX_NESTED or len(parts) > 1_000:
        raise Unparsable("it is nested too deeply")
    for command in parse_script(script):
        texts: list[str] = []
        reached = _reach(command, texts)
        parts.append(Part(command, reached))
        for text in texts:
            _collect(text, depth + 1, parts)


def _reach(command: Command, texts: list[str]) -> tuple[tuple[Word, ...], ...]:
    reached: list[tuple[Word, ...]] = []
    if command.assignments:
        reached.append((*command.assignments, *command.words))
    waiting = [command.words] if command.words else []
    seen: set[tuple[int, ...]] = set()
    while waiting:
        words = waiting.pop()
        key = tuple(map(id, words))  # words of a command are identified by their positions
        if key in seen:
            continue
        seen.add(key)
        reached.append(words)
        for behind in _behind(words, command, texts):
            waiting.append(behind)
            if len(waiting) + len(reached) > MAX_REACHED:
                return (*reached, *waiting, (GAP,))
    if (GAP,) not in reached and any(hides_text(words, command) for words in (*reached, ())):
        reached.append((GAP,))
    return tuple(reached)


def _behind(words: tuple[Word, ...], command: Command, texts: list[str]) -> Iterator[tuple[Word, ...]]:
    name = program(words)
    if len(words) > 1 and (words[0].has_gap or _ASSIGNMENT.match(words[0].raw)):
        yield words[1:]  # it may stand for nothing, or for a wrapper
    if name in SHELLS:
        yield from _shell(words, command, texts)
    elif name in _READERS_OF_TEXT:
        yield from _READERS_OF_TEXT[name](words, texts)
    if name in COMMAND_OPTION:
        yield from _command_option(words, texts)
    own = ANYWHERE if _LINKER.fullmatch(name) else WRAPPERS.get(name)
    if own is not None:
        for start in _starts(words, own):
            yield words[start:]
            if name in JOIN_WORDS:
                yield from _text(words[start:], texts)
                if re.search(r"[\s;&|]", words[start].value or ""):
                    yield from _text(words[start : start + 1], texts)


def _starts(words: Sequence[Word], own: int) -> Iterator[int]:
    """Yield where the command after a wrapper may begin."""
    after_option = False
    for index in range(1, len(words)):
        value = words[index].value
        if value is None:
            after_option = True
            yield index
        elif value == "--":
            after_option = False
        elif value.startswith("-") and value != "-":
            after_option = True
        elif _ASSIGNMENT.match(value):
            after_option = False
        elif value == "-" or "=" in value:
            yield index  # `env` takes any name for a variable, the empty one too, and `-` for `-i`; others may not
            after_option = False
        else:
            yield index
            if not after_option:
                own -= 1
                if own < 0:
                    return
            after_option = False


def _text(words: Sequence[Word], texts: list[str]) -> Iterator[tuple[Word, ...]]:
    if any(word.has_gap for word in words):
        yield (GAP,)
        return
    text = " ".join(word.value or "" for word in words)
    if text.strip() and text != "-" and text not in texts:
        texts.append(text)


def _eval(words: tuple[Word, ...], texts: list[str]) -> Iterator[tuple[Word, ...]]:
    yield from _text(words[1:], texts)


def _trap(words: tuple[Word, ...], texts: list[str]) -> Iterator[tuple[Word, ...]]:
    yield from _text(words[2:3] if len(words) > 1 and words[1].value == "--" else words[1:2], texts)


def _source(words: tuple[Word, ...], _texts: list[str]) -> Iterator[tuple[Word, ...]]:
    if len(words) > 1:
        yield words[1:]
        if words[1].value is None or words[1].value in _STDIN:
            yield (GAP,)


def _shell(words: tuple[Word, ...], command: Command, texts: list[str]) -> Iterator[tuple[Word, ...]]:
    takes_text = reads_stdin = False
    index = 1
    while index < len(words):
        value = words[index].value
        if value is None:
            yield (GAP,)
            return
        if value == "--":
            index += 1
            break
        if value[:1] not in ("-", "+") or value in ("-", "+"):
            break
        if not value.startswith("--"):
            takes_text = takes_text or "c" in value
            reads_stdin = reads_stdin or "s" in value
            index += value[1:].count("o") + value[1:].count("O")
        elif value in ("--rcfile", "--init-file"):
            index += 1
        index += 1
    rest = words[index:]
    if rest:
        yield rest  # a script by its name is looked for like a program
    if takes_text:
        yield from _text(rest[:1], texts) if rest else iter(((GAP,),))
    elif not rest or rest[0].value is None or rest[0].value in _STDIN or reads_stdin:
        for text in command.texts:
            yield from _text((text,), texts)
        if not command.texts:
            yield (GAP,)


def _find(words: tuple[Word, ...], _texts: list[str]) -> Iterator[tuple[Word, ...]]:
    for index, word in enumerate(words):
        if word.value in _FIND_EXEC:
            rest = words[index + 1 :]
            stop = next((at for at, word in enumerate(rest) if word.value in (";", "+")), len(rest))
            if rest[:stop]:
                yield rest[:stop]
        elif words[index - 1].value not in _FIND_VALUES and may_be_option(word, _FIND_EXEC):
            yield (GAP,)


def _git(words: tuple[Word, ...], texts: list[str]) -> Iterator[tuple[Word, ...]]:
    at = git_command(words)
    if 1 < at < len(words):
        yield (words[0], *words[at:])
    scripts = _GIT_SCRIPTS.get(words[at].value or "", frozenset()) if at < len(words) else frozenset()
    for index in range(at, len(words) - 1):
        if words[index].value in scripts:
            yield words[index + 1 :]
            if words[index].value != "run":
                yield from _text(words[index + 1 : index + 2], texts)


def _command_option(words: tuple[Word, ...], texts: list[str]) -> Iterator[tuple[Word, ...]]:
    for index, word in enumerate(words[1:], 1):
        if word.value is None:
            yield (GAP,)
        elif word.value.startswith("--command="):
            texts.append(word.value.removeprefix("--command="))
        elif word.value == "--command" or re.fullmatch(r"-[A-Za-z]*c", word.value):
            yield from _text(words[index + 1 : index + 2], texts)


def _split_string(words: tuple[Word, ...], texts: list[str]) -> Iterator[tuple[Word, ...]]:
    for index, word in enumerate(words[1:], 1):
        found = _SPLIT_STRING.fullmatch(word.value or "")
        if found is not None:
            rest = words[index + 1 :]
            if found[1]:
                rest = (Word(found[1], found[1], (found[1],)), *rest)
            yield from _text(rest, texts)


_READERS_OF_TEXT: Final = {
    "eval": _eval,
    "trap": _trap,
    ".": _source,
    "source": _source,
    "find": _find,
    "fd": _find,
    "fdfind": _find,
    "git": _git,
    "env": _split_string,
}


# --- what allow rules see ---------------------------------------------------------------------------------------------


def allowed_forms(command: Command) -> tuple[tuple[Word, ...], ...]:
    """Return the forms of a command that an allow rule may match: as it is, and without what is safe to take off."""
    forms = [(*command.assignments, *command.words)]
    if not all(is_safe_assignment(assignment) for assignment in command.assignments):
        return tuple(forms)
    words: tuple[Word, ...] | None = command.words
    while words:
        if words != forms[-1]:
            forms.append(words)
        words = _stripped(words)
    return tuple(forms)


def is_safe_assignment(word: Word) -> bool:
    """True if it sets a variable that does not affect programs, to a plain value."""
    return word.value is not None and word.raw.partition("=")[0] in SAFE_VARIABLES


def _stripped(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    values = [word.value or "$" for word in words]
    name, at = values[0], 1
    if name == "timeout":
        while at < len(values) and values[at].startswith("-"):
            at += 2 if values[at] in ("-k", "-s", "--kill-after", "--signal") else 1
        if at >= len(values) or not _DURATION.fullmatch(values[at]):
            return None
        at += 1
    elif name == "nice":
        if values[1:2] == ["-n"]:
            at = 3
        elif len(values) > 1 and re.fullmatch(r"-[0-9]+|-n-?[0-9]+|--adjustment=-?[0-9]+", values[1]):
            at = 2
    elif name == "stdbuf":
        while at < len(values) and re.fullmatch(
            r"-[ioe](?:L|[0-9]+)|--(?:input|output|error)=(?:L|[0-9]+)", values[at]
        ):
            at += 1
    elif name not in ("time", "nohup", "command", "builtin", "noglob", "xargs"):
        return None
    rest = words[at:]
    return rest if rest and rest[0].value and not rest[0].value.startswith("-") else None


def raw_text(words: Sequence[Word]) -> str:
    """Return words as written, one space between them."""
    return " ".join(word.raw for word in words)


def plain_texts(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the texts that deny and ask rules compare: as written, without quotes, and with the program's bare name."""
    plain = [word.raw if word.value is None else word.value for word in words]
    texts = [raw_text(words), " ".join(plain)]
    if plain and "/" in plain[0]:
        texts.append(" ".join((posixpath.basename(plain[0]), *plain[1:])))
    return tuple(dict.fromkeys(texts))


def pieces_of(words: Sequence[Word]) -> tuple[Pieces, ...]:
    """Return the possible values of the words if the shell may change them; empty if it changes nothing."""
    if not any(word.has_gap for word in words):
        return ()
    pieces: list[str | None] = []
    for word in words:
        if pieces and not (pieces[-1] is None or word.pieces[:1] == (None,)):
            pieces.append(" ")
        pieces += word.pieces
    whole = tuple(pieces)
    first = words[0].value
    if first is not None and not words[0].has_gap and "/" in first:
        return (whole, (posixpath.basename(first), *whole[len(words[0].pieces) :]))
    return (whole,)
