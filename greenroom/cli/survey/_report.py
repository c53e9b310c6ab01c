"""The report of a survey: a summary first, then tables with a place for everything that is claimed.

Rule 1: the same facts give the same text: no times, no ids, nothing in the order in which it came. Rule 2: a list that
is cut says by how much.
Must not know: who found what.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from greenroom.cli.survey._facts import Facts, FileFacts, Hit, SearchFacts, Spotted
from greenroom.cli.survey._listing import Listing
from greenroom.cli.survey._markdown import code, count, escaped, more, percent, table
from greenroom.cli.survey._paths import is_loose, is_test
from greenroom.cli.survey._patterns import KINDS
from greenroom.cli.survey._python import LONG_FUNCTION_LINES, MARKER_WORDS
from greenroom.cli.survey._searches import CONFLICTS, KEYS, LEFTOVERS, MARKERS
from greenroom.cli.survey._shape import shape_sections
from greenroom.cli.survey._testmap import needs_test, untested

_MOST_ROWS: Final = 20
_MOST_FIRST: Final = 10
_MOST_OF_KIND: Final = 3
_MOST_PLACES: Final = 12
_VERY_LONG_LINES: Final = 150


@attrs.frozen
class Survey:
    """All that is known when the report is written."""

    folder: str
    listing: Listing
    files: Mapping[str, FileFacts]
    """The Python files, by path."""
    searches: Mapping[str, SearchFacts]
    left: tuple[str, ...]
    """Numbers of the items without findings."""

    @classmethod
    def gather(cls, folder: str, listing: Listing, facts: Iterable[Facts], left: tuple[str, ...]) -> Survey:
        """Sort the facts by what they are about."""
        files: dict[str, FileFacts] = {}
        searches: dict[str, SearchFacts] = {}
        for fact in facts:
            match fact:
                case FileFacts(path=path):
                    files[path] = fact
                case SearchFacts(label=label):
                    searches[label] = fact
        return cls(folder, listing, dict(sorted(files.items())), searches, left)


def write_report(survey: Survey) -> str:
    """Return the report as Markdown."""
    parts = [f"# Code health survey: {escaped(survey.folder)}", "", *_summary(survey)]
    if survey.listing.total:
        parts += shape_sections(survey.listing, survey.files)
        if survey.files:
            parts += [*_long_functions(survey), *_patterns(survey)]
        parts += _markers(survey)
        if survey.files:
            parts += [*_documentation(survey), *_tests(survey)]
        parts += _other_searches(survey)
    parts += [*_left_out(survey), "", "## How this was made", "", _METHOD]
    return "\n".join(parts) + "\n"


# --- summary ----------------------------------------------------------------------------------------------------------


def _summary(survey: Survey) -> list[str]:
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
    lines = ["## Summary", "", f"- **Size:** {_size(survey)}"]
    if survey.files:
        lines += [
            f"- **Long functions:** {_long_summary(survey)}",
            f"- **Suspicious patterns:** {_pattern_summary(survey)}",
        ]
    lines.append(f"- **To do:** {_marker_summary(survey)}")
    if survey.files:
        product = [one for one in files if _is_product(one.path)]
        public = sum(one.public for one in product)
        documented = public - sum(one.undocumented_count for one in product)
        if public:
            share = percent(documented, public)
            lines.append(
                f"- **Documentation:** {documented:,} of {public:,} public functions, methods and classes of the product "
                f"(not of tests, examples and scripts) have a docstring ({share})."
            )
        lines.append(f"- **Tests:** {_test_summary(survey)}")
    first = _look_first(survey)
    if first:
        lines += ["", "What to look at first:", ""]
        lines += [f"{number}. {text}" for number, text in enumerate(first[:_MOST_FIRST], 1)]
        lines += more(_MOST_FIRST, len(first), "such places, below")
    elif survey.files:
        lines += ["", "Nothing of what was looked for calls for a look at once."]
    return lines


def _size(survey: Survey) -> str:
    listing, files = survey.listing, survey.files.values()
    text = count(listing.total, "file")
    if not survey.files:
        lines = sum(listing.others.values())
        return (
            f"{text}, none of them Python; {lines:,} lines of text."
            if listing.others
            else f"{text}, none of them text."
        )
    return (
        f"{text}; {count(len(survey.files), 'Python file')} with {sum(one.lines for one in files):,} lines "
        f"({sum(one.code_lines for one in files):,} without blank and comment lines), "
        f"{count(sum(one.functions for one in files), 'function')} and "
        f"{count(sum(one.classes for one in files), 'class', 'classes')}."
    )


def _long_summary(survey: Survey) -> str:
    functions = sum(one.functions for one in survey.files.values())
    if not functions:
        return "there are no functions."
    long = sum(one.long_count for one in survey.files.values())
    path, longest = max(
        ((path, one) for path, facts in survey.files.items() for one in facts.measured),
        key=lambda found: found[1].lines,
    )
    place = code(f"{path}:{longest.line}")
    return (
        f"{long:,} of {functions:,} have more than {LONG_FUNCTION_LINES} lines; the longest is {code(longest.name)} "
        f"with {longest.lines:,} ({place})."
    )


def _pattern_summary(survey: Survey) -> str:
    spots = _spots(survey)
    weights = Counter(KINDS[spot.kind].weight for path, spot in spots if not is_test(path))
    in_tests = len(spots) - sum(weights.values())
    if not spots:
        return "none of those that were looked for."
    parts = []
    for weight, one, many in (
        (3, "to look at first", "to look at first"),
        (2, "likely mistake", "likely mistakes"),
        (1, "matter of tidiness", "matters of tidiness"),
    ):
        if weights[weight]:
            parts.append(count(weights[weight], one, many))
    text = ", ".join(parts) or "none outside the tests"
    return f"{text}; {in_tests:,} in tests." if in_tests else f"{text}."


def _marker_summary(survey: Survey) -> str:
    words = Counter(word for _, _, word, _, _ in _all_markers(survey))
    if not words:
        return "no TODO, FIXME, XXX or HACK."
    total = sum(words.values())
    return f"{count(total, 'marker')} ({', '.join(f'{number} {word}' for word, number in sorted(words.items()))})."


def _test_summary(survey: Survey) -> str:
    if not any(is_test(path) for path in survey.files):
        return "there are none in this folder, so whether files are tested was not looked at."
    wanted = sum(needs_test(one) for one in survey.files.values())
    missing = len(untested(survey.files))
    return f"{missing:,} of {count(wanted, 'file')} with code are named or imported by no test."


def _look_first(survey: Survey) -> list[str]:
    keys = [hit for hit in _hits(survey, KEYS.label) if not is_test(hit.path)]
    found = _first_of("looks like a key or password", keys)
    found += _first_of("holds a merge conflict", _hits(survey, CONFLICTS.label))
    found += [
        f"{code(one.path)} does not parse ({one.problem.removeprefix('not parsed: ')})"
        for one in survey.files.values()
        if one.problem.startswith("not parsed: ") and not is_test(one.path)
    ]
    for weight in (3, 2):
        for kind in KINDS:
            if KINDS[kind].weight == weight:
                found += _first_of_kind(survey, kind)
    found += [
        f"{code(f'{path}:{one.line}')}: {code(one.name)} has {one.lines:,} lines and about {one.branches} branches"
        for path, facts in survey.files.items()
        for one in facts.measured
        if one.lines > _VERY_LONG_LINES and not is_test(path)
    ]
    return found


def _first_of(what: str, hits: Sequence[Hit]) -> list[str]:
    texts = [f"{code(f'{hit.path}:{hit.line}')} {what}" for hit in hits[:_MOST_OF_KIND]]
    if len(hits) > _MOST_OF_KIND:
        texts[-1] += f" (and {len(hits) - _MOST_OF_KIND} more of the kind)"
    return texts


def _first_of_kind(survey: Survey, kind: str) -> list[str]:
    """Return the first places of a pattern outside the tests, the last with the number of those that follow."""
    places = [(path, spot) for path, spot in _spots(survey) if spot.kind == kind and not is_test(path)]
    texts = [
        f"{code(f'{path}:{spot.line}')}: {KINDS[kind].title}, {code(spot.text)}"
        for path, spot in places[:_MOST_OF_KIND]
    ]
    if len(places) > _MOST_OF_KIND:
        texts[-1] += f" (and {len(places) - _MOST_OF_KIND} more of the kind)"
    return texts


def _is_product(path: str) -> bool:
    return not is_test(path) and not is_loose(path)


def _spots(survey: Survey) -> list[tuple[str, Spotted]]:
    return [(path, one) for path, facts in survey.files.items() for one in facts.spotted if one.kind in KINDS]


def _hits(survey: Survey, label: str) -> tuple[Hit, ...]:
    facts = survey.searches.get(label)
    return facts.hits if facts else ()


# --- sections ---------------------------------------------------------------------------------------------------------


def _long_functions(survey: Survey) -> list[str]:
    found = [(path, one) for path, facts in survey.files.items() for one in facts.measured]
    found.sort(key=lambda pair: (-pair[1].lines, pair[0], pair[1].line))
    if not found:
        return []
    rows = [(code(one.name), code(f"{path}:{one.line}"), one.lines, one.branches) for path, one in found[:_MOST_ROWS]]
    return ["", "## Longest functions", "", *table(("Function", "Where", "Lines", "Branches"), rows)]


def _patterns(survey: Survey) -> list[str]:
    spots = _spots(survey)
    accepted = sum(one.accepted_count for one in survey.files.values())
    lines = ["", "## Suspicious patterns", ""]
    if not spots:
        lines.append("None of those that were looked for.")
    by_kind = {kind: [spot for spot in spots if spot[1].kind == kind] for kind in KINDS}
    rows = [
        (
            KINDS[kind].title,
            sum(not is_test(path) for path, _ in found),
            sum(is_test(path) for path, _ in found),
            KINDS[kind].why,
        )
        for kind, found in by_kind.items()
        if found
    ]
    lines += table(("Pattern", "In code", "In tests", "Why it matters"), rows)
    for kind, found in by_kind.items():
        # Those in the product first; tests do odd things on purpose.
        shown = sorted(found, key=lambda spot: (is_test(spot[0]), spot[0], spot[1].line))
        if shown:
            lines += ["", f"### {KINDS[kind].title[0].upper()}{KINDS[kind].title[1:]}", ""]
            lines += [f"- {code(f'{path}:{one.line}')} {code(one.text)}" for path, one in shown[:_MOST_PLACES]]
            lines += more(_MOST_PLACES, len(shown), "places")
    listed = sum(len(one.spotted) for one in survey.files.values())
    total = sum(one.spotted_count for one in survey.files.values())
    lines += more(listed, total, "places in files with very many of them")
    if accepted:
        lines += [
            "",
            f"Not counted: {count(accepted, 'place')} where a `noqa` or `nosec` says that somebody has looked.",
        ]
    return lines


def _all_markers(survey: Survey) -> list[tuple[str, int, str, str, str]]:
    """Return path, line, word, text and what is around, of each marker that was reported."""
    found = [
        (path, one.line, one.word, one.text, one.within)
        for path, facts in survey.files.items()
        for one in facts.markers
    ]
    for hit in _hits(survey, MARKERS.label):
        match = re.search(MARKERS.pattern, hit.text)
        word = next((one for one in match.groups() if one in MARKER_WORDS), "TODO") if match else "TODO"
        found.append((hit.path, hit.line, word, hit.text, ""))
    return sorted(found)


def _markers(survey: Survey) -> list[str]:
    found = _all_markers(survey)
    lines = ["", "## To do", ""]
    if not found:
        return [*lines, "No TODO, FIXME, XXX or HACK was found."]
    most = 3 * _MOST_ROWS
    rows = [(word, code(f"{path}:{line}"), code(within), code(text)) for path, line, word, text, within in found[:most]]
    lines += [*table(("Marker", "Where", "In", "Text"), rows), *more(most, len(found), "markers")]
    unlisted = sum(one.marker_count - len(one.markers) for one in survey.files.values())
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
            code(one.path),
            one.undocumented_count,
            one.public,
            ", ".join(f"{code(named.name)} ({named.line})" for named in one.undocumented[:4])
            + (", ..." if one.undocumented_count > 4 else ""),
        )
        for one in product[:_MOST_ROWS]
    ]
    columns = ("File", "Undocumented", "Public", "The first of them (line)")
    text = "Public functions, methods and classes that have no docstring; without tests, examples and scripts."
    return ["", "## Undocumented", "", text, "", *table(columns, rows), *more(_MOST_ROWS, len(product), "files")]


def _tests(survey: Survey) -> list[str]:
    if not any(is_test(path) for path in survey.files):
        return []
    missing = sorted(untested(survey.files), key=lambda one: (-one.code_lines, one.path))
    lines = ["", "## Files without tests", ""]
    if not missing:
        return [*lines, "Every file with code is named or imported by a test."]
    text = (
        "No test is named after these files, imports them, or imports a package that does; largest first. What tests "
        "reach only through a command line, a subprocess or a fixture cannot be seen this way, and is listed too."
    )
    rows = [(code(one.path), one.code_lines, one.functions) for one in missing[:_MOST_ROWS]]
    lines += [text, "", *table(("File", "Lines of code", "Functions"), rows)]
    return lines + more(_MOST_ROWS, len(missing), "files")


def _other_searches(survey: Survey) -> list[str]:
    lines = []
    for label, title in (
        (KEYS.label, "Keys and passwords"),
        (CONFLICTS.label, "Merge conflicts"),
        (LEFTOVERS.label, "Debugging left in other languages"),
    ):
        hits = _hits(survey, label)
        if hits:
            lines += ["", f"## {title}", ""]
            lines += [f"- {code(f'{hit.path}:{hit.line}')} {code(hit.text)}".rstrip() for hit in hits[:_MOST_ROWS]]
            lines += more(_MOST_ROWS, len(hits), "places")
    return lines


# --- the end ----------------------------------------------------------------------------------------------------------


def _left_out(survey: Survey) -> list[str]:
    listing = survey.listing
    named = {name.partition(": ")[0] for files in listing.skipped.values() for name in files.names}
    found = [
        f"{code(path)}: {one.problem}"
        for path, one in survey.files.items()
        if one.problem and not (path in named and not one.lines)  # else what was skipped names it below
    ]
    found += [f"{label}: {one.problem}" for label, one in sorted(survey.searches.items()) if one.problem]
    missing = sorted(set(listing.python) - set(survey.files))
    found += [f"{code(path)}: no mate reported on it" for path in missing[:_MOST_ROWS]]
    found += [line for line in more(_MOST_ROWS, len(missing), "files that no mate reported on") if line]
    found += [f"Item {number} of the board: no findings reached the lead" for number in survey.left]
    found += listing.skip_lines
    if listing.uncounted:
        kinds = ", ".join(f"{number:,} {suffix}" for suffix, number in listing.uncounted.items())
        total = sum(listing.uncounted.values())
        found.append(f"Data files, whose lines were not counted: {count(total, 'file')} ({kinds})")
    if listing.is_python_cut:
        last = code(max(listing.python))
        found.append(
            f"Python files after {last} in the order of their paths: only the first {len(listing.python):,} were read"
        )
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
    lines = ["", "## What was left out", ""]
    return [*lines, *(f"- {one}" for one in found)] if found else [*lines, "Nothing that could be seen."]


_METHOD: Final = (
    "By rules, without a language model: a lead divided the files among a team, the mates read every Python file, parsed "
    "it and searched the other text files, and the lead put their findings together. Files that ignore files name were "
    "not looked at. A pattern is a reason to look, not a proof; tests are matched by names and imports, so a file that "
    "runs only through a command line or a fixture may be listed although it is tested."
)
