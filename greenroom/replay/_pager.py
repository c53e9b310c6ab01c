"""Printing of pages: through a pager if they do not fit on the terminal, and to readers that may go away early."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from typing import Final, ParamSpec

from greenroom.terminal import Page, drop_output, flush_output, is_terminal

P = ParamSpec("P")
_LESS_OPTIONS: Final = "FRX"
"""End at once if all fits, keep colors, leave the page on the screen."""


def print_page(page: Page, pager: str | None) -> None:
    """Print a page; through the user's pager if it is longer than the terminal.

    Args:
        page: The page.
        pager: The pager with its arguments, None for `less`; if it is empty or cannot be found, everything is printed.
    """
    width, height = shutil.get_terminal_size()
    command = shlex.split("less" if pager is None else pager)
    is_long = is_terminal() and sys.stdin is not None and sys.stdin.isatty() and len(page.lines) >= height
    program = shutil.which(command[0]) if command and is_long else None
    if program is None:
        page.print(is_json=False)
        return
    import subprocess

    from greenroom.containment import ChildKind, child_environment

    text = "".join(f"{line}\n" for line in page.cut_lines(width))
    environment = {"LESS": _LESS_OPTIONS, **child_environment(ChildKind.COMMAND)}
    with subprocess.Popen([program, *command[1:]], stdin=subprocess.PIPE, env=environment) as process:
        try:
            process.communicate(text.encode("utf-8", "backslashreplace"))
        except KeyboardInterrupt:  # the pager's to handle; it ends when its input does
            process.wait()


def printed(print_it: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> bool:
    """Print something to a reader that may go away early; returns True."""
    try:
        print_it(*args, **kwargs)
        flush_output()
    except BrokenPipeError:  # the reader has seen enough
        drop_output()
    return True
