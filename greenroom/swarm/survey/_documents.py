"""What the text of a document shows: links of Markdown to files beside it, and what packaging says and lacks.

Rule 1: code, comments and whatever a template fills in are no links. Rule 2: whether a file is there, the lead knows.
Must not know: where the text came from; whether it is all of the file is passed in.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import unquote

from greenroom.swarm.survey._facts import Spotted, TextFacts
from greenroom.swarm.survey._paths import is_test

PROJECT: Final = "pyproject.toml"
MAX_LINKS: Final = 400
_FENCE: Final = re.compile(r" {0,3}(?:[-*+>] +|\d+\. +)*(```+|~~~+)")
_INLINE_CODE: Final = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_COMMENT: Final = re.compile(r"<!--.*?-->")
_LINK: Final = re.compile(r"\]\(\s*<?([^)<>\s]+)>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)")
_REFERENCE: Final = re.compile(r" {0,3}\[[^\]^][^\]]*\]:\s+<?([^<>\s]+)>?")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_FILLED_IN: Final = re.compile(r"[{}$*|\\]|\.\.\.")
_NOT_IN_TREE: Final = frozenset({"", ".html", ".htm"})
"""Endings of what a site builder makes."""
_AT_LINE: Final = re.compile(r"\(at line (\d+)")


def is_document(path: str) -> bool:
    """Whether a file is one that is read for its links, or for what it says of packaging."""
    pure = PurePosixPath(path)
    is_text = pure.suffix.lower() in {".md", ".markdown"} and not is_test(path) and "{" not in path
    return is_text or path == PROJECT


def survey_document(path: str, lines: Sequence[str], problem: str = "") -> TextFacts:
    """Return the facts of a document.

    Args:
        path: As the report shows it.
        lines: The text, as far as it was read.
        problem: Why `lines` is not the whole file, if it is not.
    """
    if path == PROJECT:
        return _project(path, lines, problem)
    links = tuple(dict.fromkeys(_links(path, lines)))[:MAX_LINKS]
    return TextFacts(path=path, lines=len(lines), links=links, problem=problem)


def _links(path: str, lines: Sequence[str]) -> Iterator[Spotted]:
    for number, line in _prose(lines):
        reference = _REFERENCE.match(line)
        for target in [*_LINK.findall(line), *([reference[1]] if reference else [])]:
            file = _file_of(path, target)
            if file:
                yield Spotted(number, file, target)


def _prose(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither code nor comment."""
    fence = ""
    is_comment = False
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
            continue
        if mark and not is_comment:
            fence = mark[1]
            continue
        text = _INLINE_CODE.sub("", _COMMENT.sub("", line))
        if is_comment:
            _, end, text = line.partition("-->")
            is_comment = not end
            text = text if end else ""
        if "<!--" in text:
            text = text.partition("<!--")[0]
            is_comment = True
        # Four spaces begin a block of code; in a list they may not, and then a link goes unchecked.
        if text.strip() and not text.startswith(("    ", "\t")):
            yield number, text


def _file_of(path: str, target: str) -> str:
    """Return the file of the folder that a link means; empty where it means something else."""
    if _SCHEME.match(target) or target.startswith(("#", "/", "?", "@")) or _FILLED_IN.search(target):
        return ""
    name = unquote(target.partition("#")[0].partition("?")[0])
    if PurePosixPath(name).suffix.lower() in _NOT_IN_TREE or name.endswith("/"):
        return ""
    file = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return "" if file.startswith("..") else file


# --- packaging --------------------------------------------------------------------------------------------------------


def _project(path: str, lines: Sequence[str], problem: str) -> TextFacts:
    facts = TextFacts(path=path, lines=len(lines), problem=problem)
    if problem:
        return facts
    try:
        content = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        line = min(int(found[1]), len(lines)) if found else max(1, len(lines))
        return TextFacts(path=path, lines=len(lines), spotted=(Spotted(line, "no-toml", str(error)),))
    project = content.get("project")
    if not isinstance(project, dict) or "name" not in project:
        return facts
    line = next((number for number, text in enumerate(lines, 1) if text.strip() == "[project]"), 1)
    spotted = tuple(Spotted(_line_of(lines, text) or line, kind, text) for kind, text in _lacking(project))
    required = project.get("requires-python")
    needs = required if isinstance(required, str) else ""
    return TextFacts(path=path, lines=len(lines), spotted=spotted, requires_python=needs)


def _lacking(project: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    dynamic = project.get("dynamic", [])
    is_private = any(str(one).startswith("Private ::") for one in project.get("classifiers", []))
    if "requires-python" not in project and "requires-python" not in dynamic:
        yield "no-requires-python", ""
    says_licence = any("license" in one for one in (*project, *dynamic)) or any(
        str(one).startswith("License ::") for one in project.get("classifiers", [])
    )
    if not says_licence and not is_private:
        yield "no-licence", ""
    readme = project.get("readme")
    file = readme.get("file") if isinstance(readme, dict) else readme
    if isinstance(file, str):
        yield "no-readme-file", file
    elif readme is None and "readme" not in dynamic and not is_private:
        yield "no-readme", ""


def _line_of(lines: Sequence[str], text: str) -> int:
    found = (number for number, line in enumerate(lines, 1) if text and text in line and "readme" in line)
    return next(found, 0)
