"""Names in the documentation that the tree does not have: files, modules and what they hold, commands, options, versions.

Only what can be told exactly is said: a name below a package of the tree, an option of a command that the tree installs. Lines that
tell of the past, and change logs, may name what is gone.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final

import attrs

from greenroom.swarm.survey._facts import Placed
from greenroom.swarm.survey._module_index import ModuleIndex
from greenroom.swarm.survey._paths import import_names, is_loose, is_test

SUFFIXES: Final = frozenset({".md", ".markdown", ".rst"})
_OF_THE_PAST: Final = re.compile(
    r"change|history|news|release|upgrad|migrat|roadmap|todo|archive|deprecat|whats?new|rename", re.IGNORECASE
)
_GONE: Final = re.compile(
    r"removed?\b|deprecat|renamed?\b|no longer|formerly|used to\b|instead of|versionchanged|versionadded|previously|legacy"
    r"|was called|does not exist|not there|would be|for example|imagine|suppose|such as",
    re.IGNORECASE,
)
_TO_COME: Final = re.compile(r"\bnew\b|\badd", re.IGNORECASE)
"""Headings of sections that name what the reader makes."""
_SPAN: Final = re.compile(r"(`{1,2})(?!`)([^`\n]+?)(?<!`)\1(?!`)")
_PATH: Final = re.compile(
    r"(?:\./)?((?:[\w.-]+/)+[\w.-]+\.(?:py|md|rst|toml|cfg|ini|ya?ml|json|sh|txt))(?::\d+(?:-\d+)?)?"
)
_NAME: Final = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(.*\))?")
_IMPORT: Final = re.compile(r"\s*(?:>>> )?from ([A-Za-z_][\w.]*) import \(?([\w, ]+)\)?\s*(?:#.*)?$")
_MODULE_RUN: Final = re.compile(r"python[\d.]* -m ([A-Za-z_][\w.]*)")
_MAKE: Final = re.compile(r"(?:^|[`$;&] ?)make ([a-z][\w-]*)(?=$|[\s`;&])")
_OPTION: Final = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
_TARGET: Final = re.compile(r"^([A-Za-z][\w. -]*?)\s*:(?!=)", re.MULTILINE)
_NOT_NAMES: Final = frozenset({
    *("py", "md", "rst", "toml", "cfg", "ini", "yaml", "yml", "json", "sh", "txt", "html", "css", "js", "log", "lock", "db"),
    *("org", "com", "io", "net", "dev", "whl", "gz", "zip", "svg", "png", "jsonl", "sqlite", "csv", "xml", "conf", "env"),
})  # fmt: skip
_ALWAYS: Final = frozenset({"help", "version"})
_DUNDERS: Final = frozenset({"__version__", "__name__", "__file__", "__doc__", "__path__", "__main__", "__init__"})


@attrs.frozen(kw_only=True)
class Tree:
    """The tree, as a document may speak of it."""

    paths: frozenset[str]
    folders: frozenset[str]
    modules: Mapping[str, str]
    """Paths of modules by the names under which they are imported, those of tests left out."""
    index: Mapping[str, ModuleIndex]
    words: Collection[str]
    """Names and texts that occur in Python files."""
    scripts: frozenset[str]
    """Commands that the project installs."""
    name: str
    version: str
    """Empty where the project's metadata does not say."""
    targets: frozenset[str]
    """Targets of Makefiles."""

    @cached_property
    def packages(self) -> frozenset[str]:
        """Top names of modules."""
        return frozenset(name.partition(".")[0] for name in self.modules)


def tree_of(
    paths: Collection[str], index: Mapping[str, ModuleIndex], project: str, makefiles: Sequence[str], folder: str = ""
) -> Tree:
    """Return the tree for documents.

    Args:
        paths: All files.
        index: The Python files.
        project: The text of `pyproject.toml`; empty if there is none.
        makefiles: The texts of Makefiles.
        folder: What the folder around all is called.
    """
    every = frozenset(paths)
    own = [path for path in index if not is_test(path) and not is_loose(path)]
    installed = {path: top for path in own if (top := _package_of(path, every))}
    metadata = _project(project)
    return Tree(
        paths=every,
        folders=frozenset(str(above) for path in every for above in PurePosixPath(path).parents),
        modules={
            name: path
            for path, top in installed.items()
            for name in import_names(path, every, folder)
            if name.partition(".")[0] == top
        },
        index=index,
        words=frozenset(word for module in index.values() for word in module.uses)
        | frozenset(name for module in index.values() for name in module.bound),
        scripts=frozenset(metadata.get("scripts", {})),
        name=str(metadata.get("name", "")),
        version=str(metadata.get("version", "")),
        targets=frozenset(target for text in makefiles for found in _TARGET.findall(text) for target in found.split()),
    )


def _package_of(path: str, paths: Collection[str]) -> str:
    """Return the package at the top, or below `src` or `lib`, that a file is in; empty if it is in none."""
    parts = PurePosixPath(path).parts
    at = 1 if parts[0] in {"src", "lib"} else 0
    return parts[at] if "/".join((*parts[: at + 1], "__init__.py")) in paths else ""


def _project(text: str) -> Mapping[str, Any]:
    try:
        project = tomllib.loads(text).get("project", {})
    except tomllib.TOMLDecodeError:
        return {}
    return project if isinstance(project, dict) else {}


def is_judged(path: str) -> bool:
    """Return True if a document is one that should say what is there today."""
    pure = PurePosixPath(path)
    return pure.suffix.lower() in SUFFIXES and not is_test(path) and not _OF_THE_PAST.search(path)


def stale_names(path: str, lines: Sequence[str], tree: Tree) -> Iterator[Placed]:
    """Yield what a document names and the tree does not have, each text once."""
    seen: set[tuple[str, str]] = set()
    is_past = False
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            is_past = _GONE.search(line) is not None or _TO_COME.search(line) is not None
        if is_past or _GONE.search(line):
            continue
        for kind, text in _of_line(path, line, tree):
            if (kind, text) not in seen:
                seen.add((kind, text))
                yield Placed(kind, path, number, text)


def _of_line(path: str, line: str, tree: Tree) -> Iterator[tuple[str, str]]:
    for _, span in _SPAN.findall(line):
        if (found := _PATH.fullmatch(span)) and _is_missing(path, found[1], tree):
            yield "stale-path", found[1]
        elif (found := _NAME.fullmatch(span)) and _is_unknown(found[1], tree):
            yield "stale-name", found[1]
    if found := _IMPORT.match(line):
        names = [f"{found[1]}.{name.strip().partition(' ')[0]}" for name in found[2].split(",") if name.strip()]
        yield from (("stale-name", name) for name in names if _is_unknown(name, tree))
    yield from (("stale-command", command) for command in _commands(line, tree))
    if tree.name and tree.version:
        for version in re.findall(rf"(?<![\w-]){re.escape(tree.name)}==([\d.]+[\w.]*)", line):
            if version.rstrip(".") != tree.version:
                yield "stale-version", f"{tree.name}=={version.rstrip('.')}, and the project is at {tree.version}"


def _commands(line: str, tree: Tree) -> Iterator[str]:
    """Yield the commands of a line that nobody can run."""
    for module in _MODULE_RUN.findall(line):
        if module.partition(".")[0] in tree.packages and module not in tree.modules:
            yield f"python -m {module}"
    if tree.targets and (("`" in line and "|" not in line) or line.lstrip("$ \t").startswith("make ")):
        yield from (f"make {target}" for target in _MAKE.findall(line) if target not in tree.targets)
    yield from _options(line, tree)


def _options(line: str, tree: Tree) -> Iterator[str]:
    """Yield the options that a line gives to a command of the project and that no Python file has."""
    for script in tree.scripts:
        command = re.search(rf"(?:^|[`$]) ?{re.escape(script)} ([^`|;&]*)", line.strip())
        for option in _OPTION.findall(command[1]) if command else ():
            plain = option.replace("-", "_")
            names = {
                f"--{option}",
                plain,
                plain.removeprefix("no_"),
                f"is_{plain}",
                f"{plain}_",
                f"--{option}/--no-{option}",
            }
            if option not in _ALWAYS and names.isdisjoint(tree.words):
                yield f"{script} --{option}"


def _is_missing(path: str, name: str, tree: Tree) -> bool:
    """Return True if a path is not in the tree, although its first folder is one at the top."""
    if name.partition("/")[0] not in tree.folders or name.startswith(("path/", "./path")):
        return False
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return (
        name not in tree.paths
        and beside not in tree.paths
        and not any(known.endswith(f"/{name}") for known in tree.paths)
    )


def _is_unknown(name: str, tree: Tree) -> bool:
    """Return True if a dotted name begins with a package of the tree, and goes on with a name that is not in it."""
    parts = name.split(".")
    if parts[0] not in tree.packages or parts[-1] in _NOT_NAMES or parts[0] not in tree.modules:
        return False
    if {*parts} & _DUNDERS:
        return False
    at = max(end for end in range(1, len(parts) + 1) if ".".join(parts[:end]) in tree.modules)
    if at == len(parts):
        return False
    path = tree.modules[".".join(parts[:at])]
    module = tree.index.get(path)
    folder = str(PurePosixPath(path).parent)
    if module is None or module.hides_names or f"{folder}/{parts[at]}" in tree.folders:
        return False
    return parts[at] not in module.bound and not any(known.startswith(f"{folder}/{parts[at]}.") for known in tree.paths)
