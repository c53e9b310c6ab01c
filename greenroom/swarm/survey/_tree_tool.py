"""The tool TreeFacts: what fixed rules see only in the whole tree, by places.

Files are searched and read as Grep and Read do it, with the same limits and refusals, one at a time. Of a secret the place and the form
are returned, never its text.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from greenroom.containment import COARSE_PATTERN, find_secrets
from greenroom.swarm.survey import _linter
from greenroom.swarm.survey._documents import PROJECT, is_document
from greenroom.swarm.survey._facts import Placed, TreeFacts, write_fact
from greenroom.swarm.survey._facts_tool import read_pages, tree_in_short
from greenroom.swarm.survey._import_cycles import find_cycles
from greenroom.swarm.survey._listing import MAX_FILES
from greenroom.swarm.survey._module_index import ModuleIndex, index_module
from greenroom.swarm.survey._paths import DATA_SUFFIXES, PYTHON, is_loose, is_test, language_of
from greenroom.swarm.survey._stale_documents import Tree, is_judged, stale_names, tree_of
from greenroom.swarm.survey._tool_answers import next_offset_of, parse_counts, parse_matches, parse_page
from greenroom.swarm.survey._unused_code import find_unused, unused_places
from greenroom.tools import ToolContext, ToolError, tool
from greenroom.tools.builtin import READ_ONLY_TOOLS

MAX_OF_KIND: Final = 60
"""Places of one kind that an answer holds; the rest is counted."""
MAX_DOCUMENTS: Final = 400
MAX_PAGES: Final = 12
_ASKED_AT_ONCE: Final = 100
_GREP: Final = next(tool for tool in READ_ONLY_TOOLS if tool.name == "Grep")
_CONFIGURATION: Final = re.compile(
    r"\.(env|ya?ml|ini|cfg|conf|properties|toml)$|(^|/)\.env(\.\w+)?$|(^|/)\.(netrc|pypirc|npmrc)$"
)
_SAMPLE: Final = re.compile(r"sample|example|template|dist$|tmpl|default", re.IGNORECASE)
_PROSE: Final = frozenset({".md", ".markdown", ".rst", ".txt", ".html", ".ipynb", ".po", ".lock"})


@tool(name="TreeFacts", read_only=True)
async def tree_facts_tool(
    full: bool = False,  # noqa: FBT001, FBT002 - the model calls by name
    *,
    ctx: ToolContext,
) -> str:
    """Look across all files of the folder by fixed rules, and return by place what no file tells alone: keys and passwords
    (never their text), code that nothing names, modules that import each other, documentation that names what is not there, and
    what a linter says if one is installed.

    Args:
        full: Whether to return the facts as one JSON object, for programs.
    """
    facts = await _look(ctx)
    return write_fact(facts) if full else tree_in_short(facts)


async def _look(ctx: ToolContext) -> TreeFacts:
    top = ctx.resolve(".")
    listed, has_all = await _paths(ctx)
    paths = sorted({*listed, *await ctx.blocking(_empty_packages, top, listed)})
    found, notes = await _secrets(ctx)
    python = [path for path in paths if language_of(path) == PYTHON]
    index: dict[str, ModuleIndex] = {}
    for path in python[:MAX_FILES]:
        ctx.progress(f"Looking at {path}")
        module = await _module(path, top, ctx)
        if module is not None:
            index[path] = module
    found += _secrets_in_code(index)
    found += await ctx.blocking(lambda: list(find_cycles(index, top.name)))
    if has_all and len(python) <= MAX_FILES:
        found += await _unused(index, ctx)
        found += await _stale(paths, index, top, ctx)
    else:
        notes.append("Unused code and stale documentation: there are more files than are read")
    linter, said = await _linted(top, sorted(index), ctx)
    notes += [line for line in said if isinstance(line, str)]
    imported = {(taken.module.rpartition(".")[2], taken.name) for module in index.values() for taken in module.imports}
    linted = [one for one in said if isinstance(one, _linter.LinterFinding)]
    # A file that collects names for others does so with all of its imports.
    collecting = {one.placed.path for one in linted if _is_handed_on(one, imported)}
    found += [one.placed for one in linted if not (one.rule == "F401" and one.placed.path in collecting)]
    notes += await ctx.blocking(_folders_named_as_files, ctx.real_cwd, paths)
    kept, count = _capped(found)
    return TreeFacts(found=kept, found_count=count, linter=linter, notes=tuple(notes))


def _capped(found: Sequence[Placed]) -> tuple[tuple[Placed, ...], int]:
    unique = list(dict.fromkeys(found))
    of_kind: Counter[str] = Counter()
    kept = []
    for placed in sorted(unique, key=lambda one: (is_test(one.path), is_loose(one.path), one.path, one.line)):
        of_kind[placed.kind] += 1
        if of_kind[placed.kind] <= MAX_OF_KIND:
            kept.append(placed)
    return tuple(sorted(kept, key=lambda one: (one.path, one.line, one.kind))), len(unique)


# --- reading ----------------------------------------------------------------------------------------------------------


async def _pages(wanted: Mapping[str, Any], ctx: ToolContext) -> tuple[list[str], bool]:
    """Return the answers of a search, and whether they are all."""
    pages: list[str] = []
    offset: int | None = 0
    for _ in range(MAX_PAGES):
        answer = await _GREP.call({**wanted, "head_limit": 0, "offset": offset}, ctx)
        pages.append(answer)
        offset = next_offset_of(answer)
        if offset is None:
            break
    return pages, offset is None


async def _paths(ctx: ToolContext) -> tuple[set[str], bool]:
    """Return the files with at least one line, and whether they are all."""
    paths: set[str] = set()
    pages, has_all = await _pages({"pattern": "^", "output_mode": "count"}, ctx)
    for page in pages:
        counts = parse_counts(page)
        paths |= counts.counts.keys()
        paths |= {name.partition(": ")[0] for skipped in counts.skipped.values() for name in skipped.names}
    return paths, has_all


def _empty_packages(top: Path, paths: Collection[str]) -> list[str]:
    """Return the files `__init__.py` without a line, which make packages of the folders of other files."""
    folders = {above for path in paths for above in PurePosixPath(path).parents}
    files = (str(folder / "__init__.py") for folder in folders)
    return [file for file in files if file not in paths and (top / file).is_file()]


async def _text(path: str, top: Path, ctx: ToolContext) -> list[str]:
    try:
        pages = await read_pages(path, top, ctx)
    except ToolError:
        return []
    return [line for page in pages for line in parse_page(page).lines]


async def _module(path: str, top: Path, ctx: ToolContext) -> ModuleIndex | None:
    lines = await _text(path, top, ctx)
    return await ctx.blocking(_indexed, path, "\n".join(lines) + "\n")


def _indexed(path: str, text: str) -> ModuleIndex | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return index_module(path, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _folders_named_as_files(top: Path, paths: Sequence[str]) -> list[str]:
    """Return a line that names the folders that one would take for files, an empty one too."""
    folders = {".", *(str(above) for path in paths for above in PurePosixPath(path).parents)}
    named = sorted(
        path.relative_to(top).as_posix()
        for folder in folders
        for path in _entries(top / folder)
        if (is_document(path.name) or path.suffix == ".py") and path.is_dir() and not path.is_symlink()
    )
    shown = ", ".join(named[:5]) + (f", and {len(named) - 5} more" if len(named) > 5 else "")
    return [f"Folders with the name of a file: {shown}"] if named else []


def _entries(folder: Path) -> Iterator[Path]:
    try:
        yield from folder.iterdir()
    except OSError:
        return


# --- what is looked for -----------------------------------------------------------------------------------------------


async def _secrets(ctx: ToolContext) -> tuple[list[Placed], list[str]]:
    """Return the secrets outside of Python code, and a line that says so if not all files were searched."""
    found: list[Placed] = []
    last = ""
    pages, has_all = await _pages({"pattern": COARSE_PATTERN, "-i": True, "output_mode": "content"}, ctx)
    for page in pages:
        for match_ in parse_matches(page):
            last = match_.path
            form = secret_in(match_.path, match_.text)
            if form:
                found.append(Placed("secret", match_.path, match_.line, form))
    return found, [] if has_all else [f"Secrets: too many lines may hold one; what comes after {last} was not searched"]


def secret_in(path: str, line: str) -> str:
    """Return the form of the secret that a line of a file holds; empty if there is none.

    Values of named variables in Python are judged by the syntax tree instead, those in prose not at all.
    """
    suffix = PurePosixPath(path).suffix.lower()
    is_code = language_of(path) == PYTHON
    is_prose = suffix in _PROSE
    if is_test(path) or "example" in line.lower():
        return ""
    is_sample = is_loose(path) or _SAMPLE.search(PurePosixPath(path).name) is not None
    found = find_secrets(
        line,
        plain_values=_CONFIGURATION.search(path) is not None,
        named_values=not (is_code or is_prose or is_sample or suffix.lstrip(".") in DATA_SUFFIXES.split(",")),
    )
    lesser = {"private key", "connection string with a password"}
    return next((one.form for one in found if not ((is_prose or is_sample) and one.form in lesser)), "")


def _secrets_in_code(index: Mapping[str, ModuleIndex]) -> Iterator[Placed]:
    for path, module in index.items():
        if not is_test(path) and not is_loose(path):
            yield from (Placed("secret", path, one.line, f"value of {one.name}") for one in module.secrets)


async def _unused(index: Mapping[str, ModuleIndex], ctx: ToolContext) -> list[Placed]:
    unused = await ctx.blocking(find_unused, index)
    names = sorted({one.definition.name for one in unused})
    elsewhere: set[str] = set()
    for at in range(0, len(names), _ASKED_AT_ONCE):
        some = names[at : at + _ASKED_AT_ONCE]
        pattern = rf"\b({'|'.join(map(re.escape, some))})\b"
        pages, has_all = await _pages({"pattern": pattern, "glob": "!*.{py,pyi}", "output_mode": "content"}, ctx)
        if not has_all:  # what was not read may name any of them
            elsewhere.update(some)
        for page in pages:
            elsewhere |= {name for match_ in parse_matches(page) for name in re.findall(pattern, match_.text)}
    return list(unused_places(unused, elsewhere))


async def _stale(paths: Sequence[str], index: Mapping[str, ModuleIndex], top: Path, ctx: ToolContext) -> list[Placed]:
    project = "\n".join(await _text(PROJECT, top, ctx)) if PROJECT in paths else ""
    makefiles = ["\n".join(await _text(path, top, ctx)) for path in paths if PurePosixPath(path).name == "Makefile"]
    tree = tree_of(paths, index, project, makefiles, top.name)
    found: list[Placed] = []
    for path in [path for path in paths if is_judged(path)][:MAX_DOCUMENTS]:
        lines = await _text(path, top, ctx)
        found += await ctx.blocking(_stale_names, path, lines, tree, top)
    return found


def _stale_names(path: str, lines: Sequence[str], tree: Tree, top: Path) -> list[Placed]:
    """Return what a document names and the tree does not have; a search does not list files that are ignored or empty."""
    near = (top, top / PurePosixPath(path).parent)
    return [
        placed
        for placed in stale_names(path, lines, tree)
        if not (placed.kind == "stale-path" and any(os.path.lexists(folder / placed.text) for folder in near))
    ]


def _is_handed_on(found: _linter.LinterFinding, imported: Collection[tuple[str, str]]) -> bool:
    """Return True if an import is there for other files of the tree, or to find out whether the module is installed."""
    if found.rule != "F401":
        return False
    if "find_spec" in found.placed.text:
        return True
    name = found.placed.text.partition("`")[2].partition("`")[0].rpartition(".")[2]
    return (PurePosixPath(found.placed.path).stem, name) in imported


async def _linted(
    top: Path, files: Sequence[str], ctx: ToolContext
) -> tuple[str, Sequence[_linter.LinterFinding | str]]:
    if not files:
        return "", ()
    program = _linter.find_linter()
    if program is None:
        return "", (_linter.MISSING,)
    try:
        return _linter.linter_version(), await ctx.blocking(_linter.run_linter, program, top, files)
    except OSError as error:
        return "", (f"ruff: {error}",)
