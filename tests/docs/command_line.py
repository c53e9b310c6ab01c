"""The page docs/reference/command-line.md, made from the commands: `python -m tests.docs.command_line` writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, get_args

from greenroom.cli._app import _make_app
from tests.docs.docstrings import one_line
from tests.docs.events import table

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-line.md"
OPTIONS: Final = re.compile(r"\n+Parameters\n-+\n.*", re.DOTALL)
KINDS: Final = {bool: "", int: "whole number", float: "number", str: "text", Path: "path"}

HEAD: Final = """\
# The command line

All commands and options, generated from the code by `python -m tests.docs.command_line`; `--help` after any command
shows the same. `greenroom --version` prints the version. `python -P -m greenroom` runs the same program; without `-P`,
Python itself may load [modules of the current folder](../explanation/trust.md#modules).

An option is followed by a space or `=` and its value. A switch has no value and is off by default.

| exit code | means |
| --- | --- |
| 0 | done |
| 1 | not done, or a check failed: a run that breaks an invariant, two runs that differ, a file that should be changed |
| 2 | misuse: one line on standard error says what is wrong and what to do |
| 130, 143 | ended by Ctrl+C, by SIGTERM |

See also [environment variables](environment.md).
"""


def commands(app: App, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    """Yield each command with its words, by name."""
    yield path, app
    for name in sorted(text for text in app if not text.startswith("-")):
        yield from commands(app[name], (*path, name))


def arguments(root: App, app: App) -> list[Argument]:
    """Return what a command takes; nothing for one that only has commands below it."""
    if app.default_command is None:
        return []
    collected = app.assemble_argument_collection(default_parameter=root.default_parameter, parse_docstring=True)
    return [one for one in collected if one.show]


def row(one: Argument) -> tuple[str, str, str, str]:
    """Return the line of one argument or option."""
    names = ", ".join(f"`{name}`" for name in one.names)
    return names, takes(one), default(one), one_line(one.parameter.help or "")


def takes(one: Argument) -> str:
    """Return what an option takes, in words."""
    choices = one.get_choices(force=True)
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    (hint,) = (hint for hint in _members(one.hint) if hint is not type(None))
    (inner,) = get_args(hint) or (hint,)
    return KINDS[inner] if inner is hint else f"{KINDS[inner]}, may be repeated"


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def default(one: Argument) -> str:
    """Return what holds without it; empty where that goes without saying."""
    if one.required:
        return "required"
    value = one.field_info.default
    if isinstance(value, Enum):
        value = value.value
    return "" if value in (None, False, 0.0, inspect.Parameter.empty, "") else f"`{value}`"


def section(root: App, path: tuple[str, ...], app: App) -> str:
    """Return what there is to say about one command."""
    said = OPTIONS.sub("", inspect.cleandoc(app.help or ""))
    rows = [row(argument) for argument in arguments(root, app)]
    below = [f"`greenroom {' '.join((*path, name))}`" for name in sorted(app) if not name.startswith("-")]
    parts = [f"## greenroom {' '.join(path)}", said]
    parts += [table(("argument or option", "takes", "default", "meaning"), rows)] if rows else []
    parts += [f"Commands: {', '.join(below)}."] if below else []
    return "\n\n".join(parts)


def page() -> str:
    """Return the whole page."""
    root = _make_app()
    parts = [section(root, path, app) for path, app in commands(root) if path]
    return "\n\n".join([HEAD.strip(), *parts]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
