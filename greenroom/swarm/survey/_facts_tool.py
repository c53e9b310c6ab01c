"""The tool CodeFacts: what fixed rules see in files, for a teammate to judge before it reads any of them.

A file is read as Read reads it, with the same limits and the same refusals, and is analysed a file at a time, so that no step takes
long. What cannot be read is a fact too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from greenroom.swarm.survey._documents import is_document, survey_document
from greenroom.swarm.survey._facts import Facts, FileFacts, SearchFacts, TextFacts, TreeFacts, parse_facts, write_fact
from greenroom.swarm.survey._kinds import KINDS
from greenroom.swarm.survey._paths import PYTHON, language_of
from greenroom.swarm.survey._python import LONG_FUNCTION_LINES, shortened, survey_python
from greenroom.swarm.survey._tool_answers import parse_page
from greenroom.tools import ToolContext, ToolError, tool
from greenroom.tools.builtin import READ_ONLY_TOOLS

NAME: Final = "CodeFacts"
MAX_PAGES: Final = 12
"""Parts in which one file is read."""
ANSWER_CHARS: Final = 60_000
"""An answer ends with the first file that makes it longer."""
NOT_LOOKED_AT: Final = "(the answer is full; not looked at yet: {count})"
_SHOWN: Final = 8
"""Places of one kind that the short form shows of a file."""
_READ: Final = next(tool for tool in READ_ONLY_TOOLS if tool.name == "Read")


@tool(name=NAME, read_only=True)
async def facts_tool(
    files: list[str],
    path: str = ".",
    full: bool = False,  # noqa: FBT001, FBT002 - the model calls by name
    *,
    ctx: ToolContext,
) -> str:
    """Look at Python files, Markdown and pyproject.toml by fixed rules, and return of each what is worth a closer look, by line:
    likely mistakes and risks, long functions, TODO comments, functions without documentation, links that lead nowhere.
    Look here first, and Read only the lines about which you are in doubt.

    Args:
        files: Their paths, relative to `path`.
        path: A folder; the current directory if left out.
        full: Whether to return every fact, as a JSON object a line, for programs.
    """
    top = ctx.resolve(path)
    lines: list[str] = []
    room = ANSWER_CHARS
    for number, name in enumerate(files):
        ctx.progress(f"Looking at {name}")
        facts = await _facts_of(name, name if path == "." else f"{path.rstrip('/')}/{name}", top, ctx)
        text = write_fact(facts) if full else await ctx.blocking(_in_short, facts, ctx.real_cwd)
        room -= len(text)
        if room < 0 and lines:
            return "\n".join([*lines, NOT_LOOKED_AT.format(count=len(files) - number)])
        lines.append(text)
    return "\n".join(lines) or "(no files were named)"


async def _facts_of(name: str, path: str, top: Path, ctx: ToolContext) -> FileFacts | TextFacts:
    if not (language_of(name) == PYTHON or is_document(path)):
        return FileFacts(path=path, problem="there are no rules for files of this kind: use Read")
    try:
        pages = await read_pages(path, top, ctx)
    except ToolError as error:
        return facts_without(path, shortened(str(error).removeprefix(f"{path} ")))
    return await ctx.blocking(read_facts, path, pages)


async def read_pages(path: str, top: Path, ctx: ToolContext) -> list[str]:
    """Return the answers of Read for a file, as far as it is read.

    Raises:
        ToolError: It cannot be read, may not be read, or is not below `top`.
    """
    pages: list[str] = []
    offset: int | None = 1
    place = ctx.resolve(path)
    if not place.is_relative_to(top):
        raise ToolError(f"{path} is not in the folder")
    if ctx.hides is not None and ctx.hides(str(place)):
        raise ToolError(f"{path} may not be read")
    while offset is not None and len(pages) < MAX_PAGES:
        pages.append(await _READ.call({"file_path": path, "offset": offset}, ctx))
        offset = parse_page(pages[-1]).next_offset
    return pages


def facts_without(path: str, problem: str) -> FileFacts | TextFacts:
    """Return the facts of a file that could not be looked at."""
    if "\\" in path and problem.startswith("does not exist"):  # the search wrote the name as it cannot be asked for
        problem = "not read: its name holds a line break or another character that is shown as an escape"
    return (TextFacts if is_document(path) else FileFacts)(path=path, problem=problem)


def read_facts(path: str, answers: Sequence[str]) -> FileFacts | TextFacts:
    """Return the facts of a file from the answers of Read."""
    pages = [parse_page(answer) for answer in answers]
    lines = [line for page in pages for line in page.lines]
    cut = [number for page in pages for number in page.cut_lines]
    problem = ""
    if pages[-1].next_offset is not None:
        problem = f"only the first {len(lines):,} lines were read"
    elif cut:
        problem = f"line {cut[0]} is too long to be read whole"
    if is_document(path):
        return survey_document(path, lines, problem)
    facts = survey_python(path, lines, problem)
    if not all(page.is_utf8 for page in pages) and not facts.problem:
        facts = attrs.evolve(facts, problem="not UTF-8: the bytes that are not were replaced")
    return facts


# --- for models ---------------------------------------------------------------------------------------------------------


def _in_short(facts: FileFacts | TextFacts, cwd: Path | None = None) -> str:
    """Return a line for the file, and one below it for each place; links are looked up if the folder is given."""
    if isinstance(facts, TextFacts):
        head = f"{facts.path}: {facts.lines:,} lines"
        links = () if cwd is None else facts.links
        dead = [link for link in links if not link.kind.startswith("..") and not Path(cwd or "", link.kind).exists()]
        places = [f":{link.line} links to {link.text}, which is not there" for link in dead]
    else:
        head = f"{facts.path}: {facts.lines:,} lines, {facts.functions} functions, {facts.classes} classes"
        if facts.undocumented_count:
            names = ", ".join(f":{named.line} {named.name}" for named in facts.undocumented[:_SHOWN])
            head += f"; {facts.undocumented_count} of {facts.public} public without documentation ({names})"
        places = [*_functions(facts), *(f":{one.line} {one.word} {one.text}" for one in facts.markers[:_SHOWN])]
    spotted = [f":{one.line} {_titles.get(one.kind, one.kind)}: {one.text}" for one in facts.spotted]
    problem = f"; {facts.problem}" if facts.problem else ""
    return "\n  ".join([f"{head}{problem}", *spotted, *places])


def findings_in_short(findings: str) -> str:
    """Return findings as people read them: facts of the rules in their short form, anything else as it is."""
    facts = parse_facts(findings)
    if not facts:
        return findings
    return "\n".join(map(_fact_in_short, facts))


def _fact_in_short(fact: Facts) -> str:
    match fact:
        case SearchFacts():
            return _search_in_short(fact)
        case TreeFacts():
            return tree_in_short(fact)
    return _in_short(fact)


def _search_in_short(facts: SearchFacts) -> str:
    places = [f"{hit.path}:{hit.line} {hit.text}" for hit in facts.hits[:_SHOWN]]
    return "\n  ".join([f"{facts.label}: {len(facts.hits)} lines in {facts.files} files", *places])


def tree_in_short(facts: TreeFacts) -> str:
    """Return the facts for people and models: a line for each place."""
    lines = [f"{found.path}:{found.line} {_titles.get(found.kind, found.kind)}: {found.text}" for found in facts.found]
    more = facts.found_count - len(facts.found)
    return "\n".join([f"{facts.found_count} places", *lines, *([f"(and {more} more)"] if more else []), *facts.notes])


def _functions(facts: FileFacts) -> Iterator[str]:
    for one in facts.measured[:_SHOWN]:
        if one.lines > LONG_FUNCTION_LINES // 2:
            yield f":{one.line} {one.name}: {one.lines} lines, {one.branches} branches"


_titles: Final[Mapping[str, str]] = {kind: found.title for kind, found in KINDS.items()}
