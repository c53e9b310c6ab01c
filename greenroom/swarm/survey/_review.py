"""The review of changes: the same looks as a survey's, by concern, at the files that changed; told are new lines only.

Lines from before the change are not part of its review. Each concern is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from greenroom.swarm.survey._changes import ChangedFile, Changes, spans_in_words
from greenroom.swarm.survey._documents import is_document
from greenroom.swarm.survey._findings import Finding, findings_of
from greenroom.swarm.survey._items import SurveyItem
from greenroom.swarm.survey._kinds import KINDS
from greenroom.swarm.survey._listing import Listing
from greenroom.swarm.survey._markdown import code, count, escaped
from greenroom.swarm.survey._partition import plan_reading
from greenroom.swarm.survey._paths import is_loose, is_test
from greenroom.swarm.survey._python import LONG_FUNCTION_LINES
from greenroom.swarm.survey._report import finding_lines, finding_summary, look_first
from greenroom.swarm.survey._survey import Survey

_MAX_FILES: Final = 60
_WANTED_CHUNKS: Final = 2
"""Each is an item for each concern."""


@attrs.frozen
class Concern:
    """One side from which changes are looked at."""

    title: str
    asks: str


CONCERNS: Final[Mapping[str, Concern]] = {
    "mistakes": Concern(
        "Mistakes",
        "Review the changed lines of these files for mistakes: what does not do what it says, what fails at an edge, "
        "what an error or a cancellation leaves behind, what callers elsewhere rely on and is now another way.",
    ),
    "risks": Concern(
        "Risks",
        "Review the changed lines of these files for risks: input from outside that is run, loaded or put into commands, "
        "keys in the text, calls that may wait without a limit, checks that were taken away.",
    ),
    "tests": Concern(
        "Tests",
        "Review the tests of these changes: which changed behaviour has no test, which test would pass without the "
        "change, which one is skipped, empty or asserts nothing.",
    ),
    "upkeep": Concern(
        "Upkeep",
        "Review the changed lines of these files as their future maintainer: names, size, documentation that is now "
        "wrong or missing, links that lead nowhere, what was left from debugging.",
    ),
}
_RISKS: Final = frozenset({
    *("secret", "tls", "debugger", "yaml-load", "shell", "eval", "unpickle", "mktemp", "no-timeout", "async-blocks"),
    *("assert-check", "no-licence"),
})  # fmt: skip


def plan_review(changes: Changes, listing: Listing) -> tuple[SurveyItem, ...]:
    """Return the items of a review: for each concern the files that changed and can be read."""
    changed = {file.path: file for file in changes.files if not file.is_deleted}
    sizes = {path: lines for path, lines in listing.python.items() if path in changed}
    sizes |= {path: lines for path, lines in listing.others.items() if path in changed and is_document(path)}
    items = []
    for chunk in plan_reading(sizes, wanted_items=_WANTED_CHUNKS):
        spans = "\n".join(f"Changed in {file.path}: {_spans(changed[file.path])}" for file in chunk.files)
        for concern in CONCERNS.values():
            subject = chunk.subject.replace("Read ", f"{concern.title}: ", 1)
            items.append(SurveyItem(subject=subject, files=chunk.files, head=f"{concern.asks}\n\n{spans}"))
    return tuple(items)


def _spans(file: ChangedFile) -> str:
    return "all of it is new" if file.spans is None else spans_in_words(file.spans) or "lines were taken away"


def write_review(survey: Survey, changes: Changes) -> str:
    """Return the report of a review."""
    findings = [finding for finding in findings_of(survey) if _is_new(finding, changes)]
    first = look_first(findings)
    new = sum(last - begin + 1 for file in changes.files for begin, last in file.spans or ())
    whole = sum(file.spans is None for file in changes.files)
    parts = [
        f"# Review: {escaped(survey.folder)}",
        "",
        "## Summary",
        "",
        f"- **Changes:** {changes.what}; {count(len(changes.files), 'file')}, {count(new, 'new line')}"
        + (f", and {count(whole, 'file')} that git does not know yet." if whole else "."),
        f"- **Findings:** {finding_summary(findings)}",
    ]
    if first:
        parts += ["", "What to look at first:", "", *(f"{number}. {text}" for number, text in enumerate(first, 1))]
    for name, concern in CONCERNS.items():
        found = [finding for finding in findings if _concern_of(finding) == name]
        told = [*finding_lines(found), *_more_of(name, survey, changes)]
        parts += ["", f"## {concern.title}", *(told or ["", "Nothing that can be told by rules."])]
    parts += [*_looked_at(survey, changes), "", "## How this was made", "", _METHOD]
    return "\n".join(parts) + "\n"


def _is_new(finding: Finding, changes: Changes) -> bool:
    return any(file.path == finding.path and file.has(finding.line) for file in changes.files)


def _concern_of(finding: Finding) -> str:
    if finding.kind in _RISKS:
        return "risks"
    if is_test(finding.path):
        return "tests"
    return "upkeep" if KINDS[finding.kind].weight == 1 or finding.kind == "dead-link" else "mistakes"


def _more_of(concern: str, survey: Survey, changes: Changes) -> list[str]:
    lines = []
    if concern == "tests":
        lines = list(_without_tests(changes))
    elif concern == "upkeep":
        lines = [line for file in changes.files for line in _upkeep(file, survey)]
    return ["", *lines] if lines else []


def _without_tests(changes: Changes) -> Iterator[str]:
    present = [file.path for file in changes.files if not file.is_deleted and file.path.endswith(".py")]
    product = [path for path in present if not is_test(path) and not is_loose(path)]
    if product and not any(map(is_test, present)):
        shown = ", ".join(map(code, product[:5])) + (f" and {len(product) - 5:,} more" if len(product) > 5 else "")
        yield f"- Code changed and no test did: {shown}"


def _upkeep(file: ChangedFile, survey: Survey) -> Iterator[str]:
    facts = survey.files.get(file.path)
    if facts is None:
        return
    for measured in facts.measured:
        if measured.lines > LONG_FUNCTION_LINES and file.touches(measured.line, measured.line + measured.lines - 1):
            yield f"- {code(f'{file.path}:{measured.line}')} {code(measured.name)} was changed and has {measured.lines:,} lines"
    for marker in facts.markers:
        if file.has(marker.line):
            yield f"- {code(f'{file.path}:{marker.line}')} is a new {marker.word}: {code(marker.text)}"
    if not is_test(file.path) and not is_loose(file.path):
        for named in facts.undocumented:
            if file.has(named.line):
                yield f"- {code(f'{file.path}:{named.line}')} {code(named.name)} is new or changed here, and has no docstring"


def _looked_at(survey: Survey, changes: Changes) -> list[str]:
    read = {path for path in (*survey.files, *survey.texts) if path in {file.path for file in changes.files}}
    lines = ["", "## What was looked at", ""]
    for file in changes.files[:_MAX_FILES]:
        facts = survey.files.get(file.path) or survey.texts.get(file.path)
        how = "deleted" if file.is_deleted else _spans(file)
        note = facts.problem if facts else ""
        if not file.is_deleted and file.path not in read:
            note = "no Python and no Markdown: searched for keys and conflicts only"
        lines.append(f"- {code(file.path)}: {how}{f' ({note})' if note else ''}")
    hidden: Sequence[ChangedFile] = changes.files[_MAX_FILES:]
    lines += ["", f"And {len(hidden):,} more files."] if hidden else []
    lines += [f"- Item {number} of the board: no findings reached the lead" for number in survey.left]
    return lines


_METHOD: Final = (
    "By rules, without a language model: git was asked what changed, mates read the changed files once for each concern, "
    "and of what they found, this names what stands on new lines. Rules see the forms of mistakes, not their meaning: what "
    "the change is for, and whether it does that, was not looked at."
)
