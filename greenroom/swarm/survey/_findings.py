"""The findings of a survey: what the mates spotted, and what can be told only with the whole tree in view.

Rule 1: the order is that of the table of kinds; within a kind the product comes before its tests, then paths and lines.
Rule 2: where the listing is cut, nothing is said about files that are not there.
Must not know: how findings are written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

import attrs

from greenroom.swarm.survey._facts import FileFacts, TextFacts
from greenroom.swarm.survey._kinds import KINDS, VERY_LONG_LINES
from greenroom.swarm.survey._paths import is_loose, is_test
from greenroom.swarm.survey._searches import CONFLICTS, KEYS, LEFTOVERS
from greenroom.swarm.survey._survey import Survey

_ORDER: Final[Mapping[str, int]] = {kind: at for at, kind in enumerate(KINDS)}
_NOT_PARSED: Final = re.compile(r"not parsed: (?:line (\d+): )?(.*)")
_LICENCE: Final = re.compile(r"(un)?licen[cs]e|copying", re.IGNORECASE)
_AT_LEAST: Final = re.compile(r"(?:>=?|~=|==)\s*3\.(\d+)")
_OWN_PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"


@attrs.frozen
class Finding:
    """One place that is worth a look."""

    kind: str
    path: str
    line: int
    text: str = ""
    """What to show beside the place: a line of the file, as a rule."""

    @property
    def weight(self) -> int:
        """That of its kind."""
        return KINDS[self.kind].weight


def findings_of(survey: Survey) -> tuple[Finding, ...]:
    """Return all findings, in the order in which a report shows them."""
    found = {
        *_spotted(survey),
        *_unparsed(survey),
        *_long(survey),
        *_searched(survey),
        *_documents(survey),
    }
    return tuple(sorted(found, key=lambda one: (_ORDER[one.kind], is_test(one.path), one.path, one.line, one.text)))


def _spotted(survey: Survey) -> Iterator[Finding]:
    tree = frozenset(survey.listing.paths)
    for path, facts in survey.files.items():
        for one in facts.spotted:
            if one.kind == "undefined-all" and (survey.listing.is_cut or _is_module(path, one.text, tree)):
                continue
            if one.kind in KINDS:
                yield Finding(one.kind, path, one.line, one.text)


def _is_module(path: str, name: str, tree: frozenset[str]) -> bool:
    """Whether a name that a package lists is one of its modules, in whatever language."""
    pure = PurePosixPath(path)
    if pure.stem != "__init__":
        return False
    start = f"{pure.parent}/" if str(pure.parent) != "." else ""
    return any(one.startswith((f"{start}{name}.", f"{start}{name}/")) for one in tree)


def _why_not_parsed(facts: FileFacts) -> tuple[int, str] | None:
    """Return the line at which the parser gave up and what it said; None where it did not."""
    found = _NOT_PARSED.fullmatch(facts.problem)
    return (int(found[1] or 1), found[2]) if found else None


def _unparsed(survey: Survey) -> Iterator[Finding]:
    needs = [int(minor) for one in survey.texts.values() for minor in _AT_LEAST.findall(one.requires_python)]
    if max(needs, default=0) > sys.version_info.minor:
        return  # what this Python cannot parse, that one may well
    for path, facts in survey.files.items():
        why = _why_not_parsed(facts)
        # Tests keep broken files on purpose, and a template is no Python yet.
        if why is not None and not is_test(path) and "{" not in path:
            yield Finding("syntax", path, why[0], f"{why[1]} (as Python {_OWN_PYTHON})")


def _long(survey: Survey) -> Iterator[Finding]:
    for path, facts in survey.files.items():
        for one in facts.measured:
            # One without a decision is a table, however long.
            if one.lines > VERY_LONG_LINES and one.branches > 1 and not is_test(path):
                yield Finding("very-long", path, one.line, f"{one.name}: {one.lines} lines, {one.branches} branches")


def _searched(survey: Survey) -> Iterator[Finding]:
    for hit in survey.hits(KEYS.label):
        if not is_test(hit.path):
            yield Finding("secret", hit.path, hit.line)
    marks: dict[str, dict[str, int]] = {}
    for hit in survey.hits(CONFLICTS.label):
        marks.setdefault(hit.path, {}).setdefault(hit.text[:1], hit.line)
    for path, lines in marks.items():
        if {"<", ">"} <= lines.keys() and lines["<"] < lines[">"] and not is_test(path):
            yield Finding("conflict", path, lines["<"])
    for hit in survey.hits(LEFTOVERS.label):
        if not is_test(hit.path) and not is_loose(hit.path):
            yield Finding("leftover", hit.path, hit.line, hit.text)


def _documents(survey: Survey) -> Iterator[Finding]:
    listing = survey.listing
    tree = {*listing.paths, *(name.partition(": ")[0] for one in listing.skipped.values() for name in one.names)}
    folders = {str(folder) for path in tree for folder in PurePosixPath(path).parents}
    has_licence = any(_LICENCE.match(path) for path in tree if "/" not in path) or "LICENSES" in folders
    for path, facts in survey.texts.items():
        for one in facts.links:
            if not listing.is_cut and one.kind not in tree and one.kind not in folders:
                yield Finding("dead-link", path, one.line, one.text)
        yield from (one for one in _packaging(facts, tree) if not (one.kind == "no-licence" and has_licence))


def _packaging(facts: TextFacts, tree: set[str]) -> Iterator[Finding]:
    for one in facts.spotted:
        if one.kind in KINDS and not (one.kind == "no-readme-file" and one.text in tree):
            yield Finding(one.kind, facts.path, one.line, one.text)
