"""Which files have no tests, as far as names and imports tell.

Rule 1: a file is tested if a test bears its name, imports it, or imports a package that does. Rule 2: it is a hint and
says so: what runs through a subprocess or a fixture is not seen.
Must not know: how the facts were found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from greenroom.cli.survey._facts import FileFacts
from greenroom.cli.survey._paths import import_names, is_loose, is_test


def untested(facts: Mapping[str, FileFacts]) -> tuple[FileFacts, ...]:
    """Return the files that no test names or imports, by path; files without functions and classes need none."""
    tests = [one for path, one in facts.items() if is_test(path)]
    by_name = _files_by_name(facts)
    reached = {path for one in tests for path in _reached(one.imports, by_name)}
    waiting = sorted(path for path in reached if _is_package(path))
    while waiting:  # a package hands on what it imports
        new = _reached(facts[waiting.pop()].imports, by_name) - reached
        reached |= new
        waiting += sorted(path for path in new if _is_package(path))
    named = {_test_subject(one.path) for one in tests}
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


def _is_package(path: str) -> bool:
    return PurePosixPath(path).name == "__init__.py"


def _test_subject(path: str) -> str:
    """Return what a test is named after: `test_read.py` and `read_test.py` are about `read`."""
    return PurePosixPath(path).stem.removeprefix("test_").removesuffix("_test").strip("_")


def _files_by_name(facts: Mapping[str, FileFacts]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in facts:
        for name in import_names(path, facts.keys()):
            found.setdefault(name, set()).add(path)
    return found


def _reached(imports: Iterable[str], by_name: Mapping[str, set[str]]) -> set[str]:
    return {path for name in imports for path in by_name.get(name, ())}
