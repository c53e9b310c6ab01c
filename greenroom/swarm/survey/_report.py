"""The report of a survey: a summary first, then tables with a place for everything that is claimed.

The same facts give the same text: no times, no ids, nothing in the order in which it came. A list that is cut says by how
much.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from greenroom.containment import FORM_NAMES
from greenroom.swarm.survey._findings import Finding, findings_of
from greenroom.swarm.survey._kinds import KINDS, WEIGHTS
from greenroom.swarm.survey._listing import Listing
from greenroom.swarm.survey._markdown import (
    code,
    count,
    escaped,
    left_out_section,
    left_out_summary,
    more,
    percent,
    table,
)
from greenroom.swarm.survey._paths import is_loose, is_test
from greenroom.swarm.survey._python import LONG_FUNCTION_LINES, MARKER_WORDS
from greenroom.swarm.survey._searches import MARKERS
from greenroom.swarm.survey._shape import shape_sections
from greenroom.swarm.survey._survey import Survey
from greenroom.swarm.survey._testmap import needs_test, untested

_MAX_ROWS: Final = 20
_MAX_FIRST: Final = 10
_MAX_OF_KIND: Final = 3
_MAX_PLACES: Final = 12
_WORDS: Final = {
    3: ("place to mend first", "places to mend first"),
    2: ("likely mistake or risk", "likely mistakes and risks"),
    1: ("matter of tidiness", "matters of tidiness"),
}


def write_report(survey: Survey) -> str:
    """Return the report as Markdown."""
    findings = findings_of(survey)
    parts = [f"# Code health survey: {escaped(survey.folder)}", "", *_summary(survey, findings)]
    if survey.listing.total:
        parts += _findings(survey, findings)
        parts += shape_sections(survey.listing, survey.files)
        if survey.files:
            parts += _long_functions(survey)
        parts += _markers(survey)
        if survey.files:
            parts += [*_documentation(survey), *_tests(survey)]
        parts += _looked_at(survey, findings)
    parts += [*left_out_section(_left_out(survey)), "", "## How this was made", "", _METHOD]
    return "\n".join(parts) + "\n"


# --- summary ----------------------------------------------------------------------------------------------------------


def _summary(survey: Survey, findings: Sequence[Finding]) -> list[str]:
    listing = survey.listing
    if listing.problem:
        return ["## Summary", "", f"The folder could not be listed: {listing.problem}"]
    if not listing.total:
        return [
            "## Summary",
            "",
            "The folder is empty, or ignore files name all that it holds. There is nothing to survey.",
        ]
    files = survey.files.values()
    lines = ["## Summary", "", f"- **Size:** {_size(survey)}", f"- **Findings:** {finding_summary(findings)}"]
    if survey.files:
        lines.append(f"- **Long functions:** {_long_summary(survey)}")
    lines.append(f"- **To do:** {_marker_summary(survey)}")
    if survey.files:
        product = [file for file in files if _is_product(file.path)]
        public = sum(file.public for file in product)
        documented = public - sum(file.undocumented_count for file in product)
        if public:
            share = percent(documented, public)
            lines.append(
                f"- **Documentation:** {documented:,} of {public:,} public functions, methods and classes of the product "
                f"(not of tests, examples and scripts) have a docstring ({share})."
            )
        lines.append(f"- **Tests:** {_test_summary(survey)}")
    lines += left_out_summary(_left_out(survey))
    first = look_first(findings)
    if first:
        lines += ["", "What to look at first:", ""]
        lines += [f"{number}. {text}" for number, text in enumerate(first, 1)]
    elif survey.files:
        lines += ["", "Nothing of what was looked for calls for a look at once."]
    return lines


def _size(survey: Survey) -> str:
    listing, files = survey.listing, survey.files.values()
    text = count(listing.total, "file")
    read = count(len(survey.files), "Python file")
    if listing.is_python_cut:
        read = f"the first {read} by path{_of_all(listing)}, and no more,"
    if not survey.files:
        lines = sum(listing.others.values())
        return (
            f"{text}, none of them Python; {lines:,} lines of text."
            if listing.others
            else f"{text}, none of them text."
        )
    return (
        f"{text}; {read} with {sum(file.lines for file in files):,} lines "
        f"({sum(file.code_lines for file in files):,} without blank and comment lines), "
        f"{count(sum(file.functions for file in files), 'function')} and "
        f"{count(sum(file.classes for file in files), 'class', 'classes')}."
    )


def _of_all(listing: Listing) -> str:
    return f" of {listing.python_total:,}" if listing.python_total else ""


def _long_summary(survey: Survey) -> str:
    functions = sum(file.functions for file in survey.files.values())
    if not functions:
        return "there are no functions."
    long = sum(file.long_count for file in survey.files.values())
    path, longest = max(
        ((path, measured) for path, facts in survey.files.items() for measured in facts.measured),
        key=lambda found: found[1].lines,
    )
    place = code(f"{path}:{longest.line}")
    return (
        f"{long:,} of {functions:,} have more than {LONG_FUNCTION_LINES} lines; the longest is {code(longest.name)} "
        f"with {longest.lines:,} ({place})."
    )


def finding_summary(findings: Sequence[Finding]) -> str:
    """Return how many findings there are of each weight."""
    weights = Counter(finding.weight for finding in findings)
    parts = [count(weights[weight], *_WORDS[weight]) for weight in WEIGHTS if weights[weight]]
    in_tests = sum(is_test(finding.path) for finding in findings)
    if not parts:
        return "none of what was looked for."
    return f"{', '.join(parts)}{f' ({in_tests:,} of all in tests)' if in_tests else ''}."


def _marker_summary(survey: Survey) -> str:
    words = Counter(word for _, _, word, _, _ in _all_markers(survey))
    if not words:
        return "no TODO, FIXME, XXX or HACK."
    total = sum(words.values())
    shown = ", ".join(f"{number} {word}" for word, number in sorted(words.items()))
    return (
        f"{count(total, 'marker')} ({shown}){' in the files that were read' if survey.listing.is_python_cut else ''}."
    )


def _test_summary(survey: Survey) -> str:
    if not any(is_test(path) for path in survey.files):
        return "there are none in this folder, so whether files are tested was not looked at."
    wanted = sum(needs_test(file) for file in survey.files.values())
    missing = len(untested(survey.files, survey.folder))
    return f"{missing:,} of {count(wanted, 'file')} with code are imported by no test, not even through other files."


def look_first(findings: Sequence[Finding]) -> list[str]:
    """Return the places to begin with: of each kind the first ones outside the tests, the last with how many follow."""
    texts: list[str] = []
    for kind in (kind for kind in KINDS if KINDS[kind].weight > 1):
        found = [finding for finding in findings if finding.kind == kind and not is_test(finding.path)]
        for finding in found[:_MAX_OF_KIND]:
            shown = f", {code(finding.text)}" if finding.text else ""
            texts.append(f"{code(f'{finding.path}:{finding.line}')}: {KINDS[kind].title} ({KINDS[kind].sure}){shown}")
        if len(found) > _MAX_OF_KIND:
            texts[-1] += f" (and {len(found) - _MAX_OF_KIND} more of the kind)"
    return texts[:_MAX_FIRST]


def _is_product(path: str) -> bool:
    return not is_test(path) and not is_loose(path)


# --- sections ---------------------------------------------------------------------------------------------------------


def _long_functions(survey: Survey) -> list[str]:
    found = [(path, measured) for path, facts in survey.files.items() for measured in facts.measured]
    found.sort(key=lambda pair: (-pair[1].lines, pair[0], pair[1].line))
    if not found:
        return []
    rows = [(code(one.name), code(f"{path}:{one.line}"), one.lines, one.branches) for path, one in found[:_MAX_ROWS]]
    return ["", "## Longest functions", "", *table(("Function", "Where", "Lines", "Branches"), rows)]


def _findings(survey: Survey, findings: Sequence[Finding]) -> list[str]:
    lines = []
    for weight, title in WEIGHTS.items():
        found = [finding for finding in findings if finding.weight == weight]
        if found:
            lines += ["", f"## {title}", *finding_lines(found)]
    unlisted = sum(file.spotted_count - len(file.spotted) for file in survey.files.values())
    unlisted += survey.tree.found_count - len(survey.tree.found)
    if unlisted:
        lines += [
            "",
            f"Files with very many findings have {count(unlisted, 'more place')}; the lightest are not listed.",
        ]
    return lines


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Return findings by kind: why it matters, what to do, and the places."""
    lines = []
    for kind, known in KINDS.items():
        places = [finding for finding in findings if finding.kind == kind]
        if not places:
            continue
        in_tests = sum(is_test(place.path) for place in places)
        amount = f"{len(places):,}, {in_tests:,} in tests" if in_tests else f"{len(places):,}"
        lines += ["", f"### {known.title} ({amount})", "", f"{known.why} {known.fix} How sure: {known.sure}.", ""]
        lines += [
            " ".join(filter(None, ("-", code(f"{place.path}:{place.line}"), code(place.text), place.rule)))
            for place in places[:_MAX_PLACES]
        ]
        lines += more(_MAX_PLACES, len(places), "places")
    return lines


def _all_markers(survey: Survey) -> list[tuple[str, int, str, str, str]]:
    """Return path, line, word, text and what is around, of each marker that was reported."""
    found = [
        (path, marker.line, marker.word, marker.text, marker.within)
        for path, facts in survey.files.items()
        for marker in facts.markers
    ]
    for hit in survey.hits(MARKERS.label):
        match = re.search(MARKERS.pattern, hit.text)
        word = next((group for group in match.groups() if group in MARKER_WORDS), "TODO") if match else "TODO"
        found.append((hit.path, hit.line, word, hit.text, ""))
    return sorted(found)


def _markers(survey: Survey) -> list[str]:
    found = _all_markers(survey)
    lines = ["", "## To do", ""]
    if not found:
        return [*lines, "No TODO, FIXME, XXX or HACK was found."]
    most = 3 * _MAX_ROWS
    rows = [(word, code(f"{path}:{line}"), code(within), code(text)) for path, line, word, text, within in found[:most]]
    lines += [*table(("Marker", "Where", "In", "Text"), rows), *more(most, len(found), "markers")]
    unlisted = sum(file.marker_count - len(file.markers) for file in survey.files.values())
    search = survey.searches.get(MARKERS.label)
    if unlisted:
        lines += ["", f"{count(unlisted, 'marker')} in files with very many of them are not counted here."]
    if search and search.is_cut:
        lines += ["", "Outside Python there are more of them than were listed."]
    return lines


def _documentation(survey: Survey) -> list[str]:
    product = [one for path, one in survey.files.items() if _is_product(path) and one.undocumented_count]
    if not product:
        return []
    product.sort(key=lambda one: (-one.undocumented_count, one.path))
    rows = [
        (
            code(file.path),
            file.undocumented_count,
            file.public,
            ", ".join(f"{code(named.name)} ({named.line})" for named in file.undocumented[:4])
            + (", ..." if file.undocumented_count > 4 else ""),
        )
        for file in product[:_MAX_ROWS]
    ]
    columns = ("File", "Undocumented", "Public", "The first of them (line)")
    text = "Public functions, methods and classes that have no docstring; without tests, examples and scripts."
    return ["", "## Undocumented", "", text, "", *table(columns, rows), *more(_MAX_ROWS, len(product), "files")]


def _tests(survey: Survey) -> list[str]:
    if not any(is_test(path) for path in survey.files):
        return []
    missing = sorted(untested(survey.files, survey.folder), key=lambda one: (-one.code_lines, one.path))
    lines = ["", "## Files that no test imports", ""]
    if not missing:
        return [*lines, "Tests import every file with code, be it through other files."]
    text = (
        "No test is named after these files or imports them, be it through other files; largest first. What tests reach "
        "only through a command line cannot be seen this way, and is listed too."
    )
    rows = [(code(file.path), file.code_lines, file.functions) for file in missing[:_MAX_ROWS]]
    lines += [text, "", *table(("File", "Lines of code", "Functions"), rows)]
    return lines + more(_MAX_ROWS, len(missing), "files")


# --- the end ----------------------------------------------------------------------------------------------------------


def _looked_at(survey: Survey, findings: Sequence[Finding]) -> list[str]:
    listing = survey.listing
    parsed = [file for file in survey.files.values() if not file.problem]
    lines = ["", "## What was looked at", ""]
    if survey.files:
        lines.append(
            f"- {count(len(survey.files), 'Python file')} read, {len(parsed):,} of them whole and parsed; findings, size, "
            "markers, documentation and imports come from there"
        )
    if survey.texts:
        links = sum(len(text.links) for text in survey.texts.values())
        lines.append(f"- {count(len(survey.texts), 'document')} read, with {count(links, 'link')} to files beside them")
    if listing.others:
        lines.append(
            f"- {count(len(listing.others), 'text file')} outside Python searched for markers, conflicts and keys"
        )
    if survey.listing.total:
        lines.append(f"- Keys and passwords were looked for in these forms: {', '.join(FORM_NAMES)}")
    if survey.tree.linter:
        lines.append(
            f"- {survey.tree.linter} looked at the Python files too; its rule stands behind what it found or confirmed"
        )
    accepted = sum(file.accepted_count for file in survey.files.values())
    if accepted:
        lines.append(
            f"- Not reported: {count(accepted, 'place')} where a `noqa` or `nosec` says that somebody has looked"
        )
    absent = [KINDS[kind].title for kind in KINDS if kind not in {finding.kind for finding in findings}]
    if survey.files and absent:
        lines.append(f"- Looked for and not found: {'; '.join(absent)}")
    return lines


def _left_out(survey: Survey) -> list[str]:
    """Return what was not looked at, the largest gap first."""
    listing = survey.listing
    named = {name.partition(": ")[0] for files in listing.skipped.values() for name in files.names}
    found = []
    if listing.is_python_cut:
        last = code(max(listing.python))
        found.append(
            f"Python files after {last} in the order of their paths: only the first {len(listing.python):,}"
            f"{_of_all(listing)} were read, so findings, markers and sizes are those of these"
        )
    found += [
        f"{code(path)}: {one.problem}"
        for path, one in survey.files.items()
        if one.problem and not (path in named and not one.lines)  # else what was skipped names it below
    ]
    found += [f"{code(path)}: {one.problem}" for path, one in survey.texts.items() if one.problem]
    found += [f"{label}: {one.problem}" for label, one in sorted(survey.searches.items()) if one.problem]
    missing = sorted(set(listing.python) - set(survey.files))
    found += [f"{code(path)}: no mate reported on it" for path in missing[:_MAX_ROWS]]
    found += [line for line in more(_MAX_ROWS, len(missing), "files that no mate reported on") if line]
    found += [f"Item {number} of the board: no findings reached the lead" for number in survey.left]
    found += [*listing.skip_lines, *survey.tree.notes]
    if listing.uncounted:
        kinds = ", ".join(f"{number:,} {suffix}" for suffix, number in listing.uncounted.items())
        total = sum(listing.uncounted.values())
        found.append(f"Data files, whose lines were not counted: {count(total, 'file')} ({kinds})")
    if listing.is_others_cut:
        found.append("Lines of other text files were counted only for the first of them: there are very many")
    if listing.is_cut:
        unseen = listing.total - len(listing.paths)
        found.append(f"{count(unseen, 'file')} of {listing.total:,} are counted, but not listed by name")
    notebooks = [path for path in listing.others if path.endswith(".ipynb")]
    if notebooks:
        found.append(
            f"{count(len(notebooks), 'notebook')}: their lines are counted, the code in their cells was not looked at"
        )
    return found


_METHOD: Final = (
    "By rules, without a language model: a lead divided the files among a team, the mates read every Python file, parsed "
    "it, read the documents and searched the other text files, and the lead put their findings together. Files that "
    "ignore files name were not looked at. A finding is what the text shows: nothing was run. Tests are matched by names "
    "and imports, so a file that runs only through a command line may be listed although it is tested."
)
