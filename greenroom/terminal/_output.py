"""Standard output and error, which may end early: the reader has gone, or the disk is full; errors in words for people.

Whatever the output does, nothing of it is a trace, not even from the interpreter's flush at its exit.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from greenroom.core import GreenroomError, ProviderError
from greenroom.core.texts import printable_json, printable_text

if TYPE_CHECKING:
    from rich.table import Table

PROGRAM = "greenroom"
OpenRunPage: TypeAlias = Callable[[Path], AbstractAsyncContextManager[Callable[[Path], str] | None]]
"""Serves the page of a run that begins inside the block, in a folder of runs; yields a function that shows the run of a folder and returns
the page's address, or None if there is no page."""
_WORLD = re.compile(r"actor (?P<who>\S+) failed: (?P<what>.+)", re.DOTALL)


def without_page(_: Path) -> AbstractAsyncContextManager[None]:
    """Serve no page."""
    return nullcontext()


def flush_output() -> None:
    """Write out what is held back; a process without standard output has nothing to write."""
    if sys.stdout is not None:
        sys.stdout.flush()


def is_terminal() -> bool:
    """Return True if somebody looks at what is printed."""
    return sys.stdout is not None and sys.stdout.isatty()


def can_draw() -> bool:
    """Return True if the output goes to a terminal whose cursor can be moved."""
    return is_terminal() and os.environ.get("TERM", "") not in {"", "dumb"}


def for_reader(text: str) -> str:
    """Return text as standard output gets it: as it is for a program, without control characters for a terminal."""
    return printable_text(text) if is_terminal() else text


def json_for_reader(text: str) -> str:
    """Return JSON as standard output gets it: on a terminal control characters are written as escapes."""
    return printable_json(text) if is_terminal() else text


def printable(text: str, most: int = 160) -> str:
    """Return text on one line, without control characters, cut where it is long."""
    line = printable_text(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1] + "…"


def drop_output() -> None:
    """Discard buffered and further output: the interpreter flushes again at its exit."""
    with suppress(OSError, ValueError, AttributeError):  # there may be no descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, sys.stdout.fileno())
        finally:
            os.close(null)


def complain(text: str, *, code: int) -> int:
    """Say what went wrong in one line on standard error, without control characters, and return the exit code."""
    # Servers, hooks and files are quoted in it, and none of them is to write on the terminal as it likes.
    line = printable_text(" ".join(text.split()))
    with suppress(OSError):  # nobody is left to tell
        print(f"{PROGRAM}: {line}", file=sys.stderr, flush=True)
    return code


def note(text: str) -> None:
    """Say on one line of standard error what the user should know and what stops nothing."""
    complain(f"note: {text}", code=0)


class LogNotes(logging.Handler):
    """Says what the runtime logs as all other notes are said."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.name_of: Callable[[str], str] = str
        """Returns what people know an actor by; set by a run that knows."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it; where the world is at fault, who failed and what it did says all that a person can use."""
        text = record.getMessage()
        world = _WORLD.fullmatch(text)
        if world is not None:
            *above, name = world["who"].split("/")
            is_server = "mcp" in above  # its errors name it
            text = world["what"] if is_server else f"agent {self.name_of(name)} failed: {world['what'].rstrip('. ')}"
        note(text)
        if record.exc_info:
            print(printable_text(self.format(record).partition("\n")[2]), file=sys.stderr, flush=True)


@contextmanager
def noting_log() -> Iterator[LogNotes]:
    """Say what the runtime logs while the block lasts; a program that listens hears it besides."""
    log = logging.getLogger(PROGRAM)
    handler = LogNotes()
    log.addHandler(handler)
    try:
        yield handler
    finally:
        log.removeHandler(handler)


def program() -> str:
    """Return what to type to start this program again: `greenroom` where that is on PATH and the same one."""
    started = sys.argv[0]
    name = Path(started).name
    found = shutil.which(PROGRAM)
    if found is not None and _belongs_here(found):
        return PROGRAM
    if name == "__main__.py":
        on_path = shutil.which("python") == sys.executable
        return f"{'python' if on_path else shlex.quote(typed(Path(sys.executable)))} -m {PROGRAM}"
    return shlex.quote(started) if name == PROGRAM else PROGRAM


def _belongs_here(script: str) -> bool:
    """Return True if a script on PATH is the one that runs, or lies beside the Python that does."""
    with suppress(OSError):
        if Path(script).samefile(sys.argv[0]):
            return True
    return Path(script).absolute().parent == Path(sys.executable).parent


def typed(path: Path) -> str:
    """Return a path as one would type it here."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def print_table(table: Table) -> None:
    """Print a table, as wide as the terminal; 200 columns where there is none."""
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console.width = 200
    console.print(table)


HINTS: Final[Mapping[str, str]] = {
    "authentication": "check the key in ANTHROPIC_API_KEY",
    "permission": "check what the key in ANTHROPIC_API_KEY is for",
    "billing": "check the account that the key belongs to",
    "not_found": "check --model",
    "connection": "check the network, and ANTHROPIC_BASE_URL where that is set",
    "too_large": "the prompt /compact shortens the conversation of a run that is resumed",
    "truncated": "ask for less at a time, or raise max_tokens",
}
"""Hints for the kinds of `ProviderError` that a user can fix."""
_CLASS: Final = re.compile(r"^([A-Z]\w*): ")


def explained(error: ProviderError) -> str:
    """Return what happened to a request and what to do about it, in one sentence."""
    text = str(error).rstrip(". ")
    return f"{text}; {HINTS[error.kind]}" if error.kind in HINTS else text


def without_class(text: str) -> str:
    """Return the description of an error, as events have it, without the name of its class; that of a bug keeps it."""
    found = _CLASS.match(text)
    return text[found.end() :] if found is not None and found[1] in _names_of(GreenroomError) else text


def _names_of(kind: type[GreenroomError]) -> set[str]:
    return {kind.__name__}.union(*map(_names_of, kind.__subclasses__()))
