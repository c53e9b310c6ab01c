"""The files of the pages for browsers, and the endpoints that serve them.

Rule 1: the path of a request is looked up in a table; no path is made of it. Rule 2: files need no credential and hold nothing of a
session, a person or a machine.
"""

from __future__ import annotations

import re
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import trio

from greenroom.serving import Request, Resource, Response

BASE: Final = "base"
"""The folder of what pages share: theme, elements, texts, connection."""
CONTENT_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
INDEX: Final = "index.html"
_COMMENTS: Final = re.compile(rb"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/)$", re.MULTILINE | re.DOTALL)


def page_files(page: str) -> dict[str, tuple[str, bytes]]:
    """Return the content type and the content of each file of a page, by its path. It blocks.

    Scripts and styles come without their comments, which are a tenth of them; lines keep their numbers.

    Args:
        page: The folder of the page, such as `gateway`; its `index.html` is at `/`.
    """
    found = {}
    for folder in (BASE, page):
        for file in sorted(files(__package__).joinpath("static", folder).iterdir(), key=_name):
            path = "/" if file.name == INDEX else f"/{folder}/{file.name}"
            body = file.read_bytes()
            found[path] = (
                CONTENT_TYPES[file.name[file.name.rindex(".") :]],
                uncommented(body) if file.name.endswith((".js", ".css")) else body,
            )
    return found


def uncommented(text: bytes) -> bytes:
    """Return a script or a style without the comments that have lines of their own."""
    return _COMMENTS.sub(lambda found: b"\n" * found[0].count(b"\n"), text)


def page_endpoints(page: str) -> tuple[Resource, ...]:
    """Return what a server has to serve for a page. It blocks: the files are read once.

    Args:
        page: As for `page_files`.
    """
    return tuple(
        Resource(path=path, answer=partial(_answer, Response(body=body, content_type=content_type)))
        for path, (content_type, body) in page_files(page).items()
    )


async def _answer(response: Response, _: Request) -> Response:
    await trio.lowlevel.checkpoint()
    return response


def _name(file: Traversable) -> str:
    return file.name
