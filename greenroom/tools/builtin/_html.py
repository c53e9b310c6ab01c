"""The text of an HTML page: what a reader sees of it, line by line, without layout."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

_UNSEEN: Final = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe"})
_BLOCKS: Final = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "br",
        "dd",
        "div",
        "dl",
        "dt",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "td",
        "th",
        "title",
        "tr",
        "ul",
    ]
)
_HEADING: Final = re.compile("h[1-6]")
_MANY_LINES: Final = re.compile(r"\n{3,}")


def text_of_html(page: str) -> str:
    """Return the text of a page; any text does, however broken as HTML."""
    reader = _TextReader()
    reader.feed(page)
    reader.close()
    return _MANY_LINES.sub("\n\n", "\n".join(line.rstrip() for line in "".join(reader.parts).split("\n"))).strip()


class _TextReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen: list[str] = []
        self._pre = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen.append(tag)
        elif tag in _BLOCKS and not self._unseen:
            self._new_line()
            if _HEADING.fullmatch(tag):
                self.parts.append(f"\n{'#' * int(tag[1])} ")
            elif tag == "li":
                self.parts.append("- ")
        self._pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unseen:
            # What was opened within it and never closed ends with it.
            del self._unseen[self._unseen.index(tag) :]
        elif tag in _BLOCKS and not self._unseen:
            self._new_line()
        self._pre = max(0, self._pre - (tag == "pre"))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS and not self._unseen:
            self._new_line()

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if not self._pre:
            data = re.sub(r"\s+", " ", data)
            if not self.parts or self.parts[-1].endswith(("\n", " ")):
                data = data.lstrip()
        if data:
            self.parts.append(data)

    def _new_line(self) -> None:
        if self.parts and not self.parts[-1].endswith("\n"):
            self.parts.append("\n")
