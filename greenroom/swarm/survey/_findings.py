"""The findings of a survey: those of the teammates, and those that need the whole tree.

The order is that of the table of kinds; within a kind the product comes before its tests, then paths and lines. Where the
listing is cut, nothing is said about files that are not there.
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
from greenroom.swarm.survey._linter import MORE
from greenroom.swarm.survey._paths import is_loose, is_test
from greenroom.swarm.survey._searches import CONFLICTS, LEFTOVERS
from greenroom.swarm.survey._survey import Survey

_ORDER: Final[Mapping[str, int]] = {kind: at for at, kind in enumerate(KINDS)}
_NOT_PARSED: Final = re.compile(r"not parsed: (?:line (\d+): )?(.*)")
_LICENCE: Final = re.compile(r"(un)?licen[cs]e|copying", re.IGNORECASE)
_AT_LEAST: Final = re.compile(r"(?:>=?|~=|==)\s*3\.(\d+)")
_RULE: Final = re.compile(r"\(ruff (\w+)\)$")
_OWN_PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"


@attrs.frozen
class Finding:
    """One place that is worth a look."""

    kind: str
    path: str
    line: int
    text: str = ""
    """The text to show beside the place: usually a line of the file."""
    rule: str = ""
    """The linter's rule that found it or found it too, with the linter's name."""

    @property
    def place(self) -> tuple[str, str, int]:
        """Kind, path and line."""
        return self.kind, self.path, self.line

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
    return tuple(
        sorted(
            _with_the_tree(survey, found),
            key=lambda one: (_ORDER[one.kind], is_test(one.path), one.path, one.line, one.text),
        )
    )


def _with_the_tree(survey: Survey, found: set[Finding]) -> set[Finding]:
    """Return the findings with those of the whole tree; where a linter only confirms one, its rule is added to the text."""
    rules: dict[tuple[str, str, int], str] = {}
    more = set()
    for placed in survey.tree.found:
        rule = _RULE.search(placed.text)
        if rule is not None and rule[1] not in MORE:
            rules[placed.kind, placed.path, placed.line] = rule[0]
        elif placed.kind in KINDS:
            text = placed.text if rule is None else placed.text[: rule.start()].rstrip()
            more.add(Finding(placed.kind, placed.path, placed.line, text, "" if rule is None else rule[0]))
    return {attrs.evolve(finding, rule=rules.get(finding.place, "")) for finding in found} | more


def _spotted(survey: Survey) -> Iterator[Finding]:
    tree = frozenset(survey.listing.paths)
    for path, facts in survey.files.items():
        for spot in facts.spotted:
            if spot.kind == "undefined-all" and (survey.listing.is_cut or _is_module(path, spot.text, tree)):
                continue
            if spot.kind in KINDS:
                yield Finding(spot.kind, path, spot.line, spot.text)


def _is_module(path: str, name: str, tree: frozenset[str]) -> bool:
    """Return True if a name that a package lists is one of its modules, in whatever language."""
    pure = PurePosixPath(path)
    if pure.stem != "__init__":
        return False
    start = f"{pure.parent}/" if str(pure.parent) != "." else ""
    return any(path.startswith((f"{start}{name}.", f"{start}{name}/")) for path in tree)


def _why_not_parsed(facts: FileFacts) -> tuple[int, str] | None:
    """Return the line at which the parser gave up and what it said; None where it did not."""
    found = _NOT_PARSED.fullmatch(facts.problem)
    return (int(found[1] or 1), found[2]) if found else None


def _unparsed(survey: Survey) -> Iterator[Finding]:
    needs = [int(minor) for text in survey.texts.values() for minor in _AT_LEAST.findall(text.requires_python)]
    if max(needs, default=0) > sys.version_info.minor:
        return  # what this Python cannot parse, that one may well
    for path, facts in survey.files.items():
        why = _why_not_parsed(facts)
        # Tests keep broken files on purpose, and a template is no Python yet.
        if why is not None and not is_test(path) and "{" not in path:
            yield Finding("syntax", path, why[0], f"{why[1]} (as Python {_OWN_PYTHON})")


def _long(survey: Survey) -> Iterator[Finding]:
    for path, facts in survey.files.items():
        for measured in facts.measured:
            # One without a decision is a table, however long.
            if measured.lines > VERY_LONG_LINES and measured.branches > 1 and not is_test(path):
                yield Finding(
                    "very-long",
                    path,
                    measured.line,
                    f"{measured.name}: {measured.lines} lines, {measured.branches} branches",
                )


def _searched(survey: Survey) -> Iterator[Finding]:
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
    tree = {
        *listing.paths,
        *(name.partition(": ")[0] for skipped in listing.skipped.values() for name in skipped.names),
    }
    folders = {str(folder) for path in tree for folder in PurePosixPath(path).parents}
    has_licence = any(_LICENCE.match(path) for path in tree if "/" not in path) or "LICENSES" in folders
    for path, facts in survey.texts.items():
        for link in facts.links:
            if not listing.is_cut and link.kind not in tree and link.kind not in folders:
                yield Finding("dead-link", path, link.line, link.text)
        yield from (
            finding for finding in _packaging(facts, tree) if not (finding.kind == "no-licence" and has_licence)
        )


def _packaging(facts: TextFacts, tree: set[str]) -> Iterator[Finding]:
    for spot in facts.spotted:
        if spot.kind in KINDS and not (spot.kind == "no-readme-file" and spot.text in tree):
            yield Finding(spot.kind, facts.path, spot.line, spot.text)
