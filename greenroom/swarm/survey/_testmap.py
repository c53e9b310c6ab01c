"""Which files have no tests, as far as names and imports tell.

Rule 1: a file is tested if a test bears its name, or imports it, be it through other files. Rule 2: it is a hint and
says so: what runs only through a command line is not seen.
Must not know: how the facts were found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import PurePosixPath

from greenroom.swarm.survey._facts import FileFacts
from greenroom.swarm.survey._paths import import_names, is_loose, is_test


def untested(facts: Mapping[str, FileFacts], folder: str = "") -> tuple[FileFacts, ...]:
    """Return the files that no test names or imports, by path; files without functions and classes need none.

    Args:
        facts: Those of all files, by path.
        folder: What the folder around all of them is called: it may be a package itself.
    """
    by_name = _files_by_name(facts, folder)
    reached: set[str] = set()
    waiting = sorted(path for path in facts if is_test(path))
    while waiting:  # what is imported hands on what it imports itself
        new = _reached(facts[waiting.pop()].imports, by_name) - reached
        reached |= new
        waiting += sorted(new)
    named = {_test_subject(one.path) for one in facts.values() if is_test(one.path)}
    return tuple(
        one
        for path, one in sorted(facts.items())
        if needs_test(one) and path not in reached and PurePosixPath(path).stem.strip("_") not in named
    )


def needs_test(facts: FileFacts) -> bool:
    """Whether there is something in a file that a test could be for."""
    has_code = facts.functions > 0 or facts.classes > 0
    path = PurePosixPath(facts.path)
    return has_code and path.suffix == ".py" and not is_test(facts.path) and not is_loose(facts.path)


def _test_subject(path: str) -> str:
    """Return what a test is named after: `test_read.py` and `read_test.py` are about `read`."""
    return PurePosixPath(path).stem.removeprefix("test_").removesuffix("_test").strip("_")


def _files_by_name(facts: Mapping[str, FileFacts], folder: str) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in facts:
        for name in import_names(path, facts.keys(), folder):
            found.setdefault(name, set()).add(path)
    return found


def _reached(imports: Iterable[str], by_name: Mapping[str, set[str]]) -> set[str]:
    """Return the files that imports run: to import `a.b` runs the package `a` first."""
    names = {name for whole in imports for name in accumulate(whole.split("."), "{}.{}".format)}
    return {path for name in names for path in by_name.get(name, ())}
