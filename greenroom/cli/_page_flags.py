"""The flags `--page` and `--port` of commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from greenroom.core import UsageError

if TYPE_CHECKING:
    from greenroom.terminal import OpenRunPage

MAX_PORT: Final = 65_535


def checked_port(port: int | None, *, is_page: bool) -> int:
    """Return the port of a page; 0 for any free one.

    Raises:
        UsageError: There is no page, or no such port.
    """
    if port is not None and not is_page:
        raise UsageError("--port needs --page; leave out --port, or add --page")
    if port is not None and not 0 <= port <= MAX_PORT:
        raise UsageError(f"--port must be between 0 and {MAX_PORT}, got {port}")
    return port or 0


def page_opener(port: int | None, *, is_page: bool) -> OpenRunPage:
    """Return the function that serves the page of a run.

    Raises:
        UsageError: There is no page, or no such port.
    """
    number = checked_port(port, is_page=is_page)
    if not is_page:
        from greenroom.terminal import without_page

        return without_page
    from greenroom.web import open_page_ahead

    return partial(open_page_ahead, port=number)
