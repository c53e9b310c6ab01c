"""Facts that a path alone tells: language, test or not, import name.

Paths are relative and have slashes, as the tools show them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

PYTHON: Final = "Python"
_SUFFIXES: Final[Mapping[str, str]] = {
    "Assembly": "s asm",
    "C": "c h",
    "C#": "cs",
    "C++": "cc cpp cxx hh hpp hxx",
    "CSS": "css less sass scss",
    "Clojure": "clj cljs",
    "Dart": "dart",
    "Elixir": "ex exs",
    "Erlang": "erl hrl",
    "Go": "go",
    "HTML": "htm html",
    "Haskell": "hs",
    "JSON": "json json5 jsonl",
    "Java": "java",
    "JavaScript": "cjs js jsx mjs",
    "Julia": "jl",
    "Kotlin": "kt kts",
    "Lua": "lua",
    "Markdown": "markdown md mdx",
    "Notebook": "ipynb",
    "OCaml": "ml mli",
    "PHP": "php",
    "Perl": "pl pm",
    PYTHON: "py pyi",
    "R": "r",
    "Ruby": "rb rake",
    "Rust": "rs",
    "SQL": "sql",
    "Scala": "scala",
    "Shell": "bash fish sh zsh",
    "Swift": "swift",
    "Text": "rst txt",
    "TypeScript": "cts mts ts tsx",
    "Vue": "vue",
    "XML": "svg xml xsd xsl",
    "YAML or TOML": "cfg ini toml yaml yml",
    "Zig": "zig",
}
_LANGUAGE_OF: Final[Mapping[str, str]] = {
    f".{suffix}": language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()
}
DATA_SUFFIXES: Final = "csv,tsv,jsonl,ndjson,log,lock,svg,map,parquet,sql,dump,geojson,po"
"""Files of these kinds are listed and not searched: they are large, and a match in them does not count."""
_TEST_FOLDERS: Final = frozenset({"_tests", "test", "tests", "type_tests", "unittests"})
_LOOSE_FOLDERS: Final = frozenset({
    *("benchmark", "benchmarks", "bin", "demo", "demos", "doc", "docs", "example", "examples", "sample", "samples"),
    *("script", "scripts", "tool", "tools", "tutorial", "tutorials"),
})  # fmt: skip


@lru_cache(maxsize=4096)  # each request of the lead's asks again for every file
def language_of(path: str) -> str:
    """Return the language that a file's suffix stands for; `other` where it says nothing."""
    return _LANGUAGE_OF.get(PurePosixPath(path).suffix.lower(), "other")


def is_test(path: str) -> bool:
    """Return True if a file belongs to the tests."""
    pure = PurePosixPath(path)
    name = pure.name
    if name.startswith("test_") or name in {"conftest.py", "tests.py"} or pure.stem.endswith("_test"):
        return True
    return not _TEST_FOLDERS.isdisjoint(pure.parts[:-1])


def is_loose(path: str) -> bool:
    """Return True if a file stands beside the product: examples, scripts, documentation, set-up."""
    pure = PurePosixPath(path)
    # Only at the top: deeper down, `tools` and `scripts` are the names of packages.
    return bool(_LOOSE_FOLDERS & {*pure.parts[:-1][:1]}) or path in {"setup.py", "noxfile.py", "tasks.py"}


def may_print(path: str) -> bool:
    """Return True if printing is what the file may well be for."""
    pure = PurePosixPath(path)
    is_door = pure.stem in {"__main__", "cli", "main", "manage"} or "cli" in pure.parts[:-1]
    return is_door or is_test(path) or is_loose(path)


def dotted_path(path: str) -> str:
    """Return the path as a dotted name: `a/b.py` and `a/b/__init__.py` are `a.b`."""
    pure = PurePosixPath(path).with_suffix("")
    return ".".join(pure.parts[:-1] if pure.name == "__init__" else pure.parts)


def absolute_module(path: str, module: str, level: int) -> str:
    """Return the full name of the module that `from ..module import x` in a file means; `level` counts the dots."""
    if not level:
        return module
    above = dotted_path(path).split(".")
    if PurePosixPath(path).name == "__init__.py" and above != [""]:
        above.append("")
    return ".".join([*above[: max(0, len(above) - level)], *([module] if module else [])])


def import_names(path: str, paths: Collection[str], folder: str = "") -> frozenset[str]:
    """Return the names under which a file may be imported: from the top, and from where its packages begin.

    Args:
        path: The file.
        paths: All files, which say what is a package.
        folder: What the top itself is called, which may be a package too.
    """
    whole = dotted_path(path)
    top = PurePosixPath(path).parent
    while top.name and f"{top}/__init__.py" in paths:
        top = top.parent
    inner = dotted_path(path if str(top) == "." else str(PurePosixPath(path).relative_to(top)))
    names = {whole, inner, whole.removeprefix("src.").removeprefix("lib.")}
    if folder and "__init__.py" in paths:
        names.add(f"{folder}.{whole}".rstrip("."))
    return frozenset(names - {""})
