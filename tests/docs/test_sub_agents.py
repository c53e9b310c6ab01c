"""The pages about sub-agents: their programs run, and the places in the code that they name are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.programs import ROOT, blocks_of, run_python

PLACE = re.compile(r"`([a-z_/]+\.py):([A-Za-z_.]+)`")
WHY = (ROOT / "docs" / "explanation" / "sub-agents.md").read_text(encoding="utf-8")


def names_in(path: Path) -> set[str]:
    """Return the classes and functions of a module, and the methods of its classes as `Class.method`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{one.name}" for one in inner}
    return names


@pytest.mark.parametrize(("file", "name"), sorted(set(PLACE.findall(WHY))))
def test_a_place_in_the_code_that_is_named_is_there(file: str, name: str) -> None:
    assert name in names_in(ROOT / "greenroom" / file)


def test_the_seven_questions_are_answered_with_places_in_the_code() -> None:
    answers = re.split(r"^\*\*.+\?\*\*", WHY.split("## Seven questions")[1], flags=re.MULTILINE)[1:]

    assert len(answers) == 7
    assert all(PLACE.search(answer) for answer in answers)


def test_the_programs_of_the_how_to_run(tmp_path: Path) -> None:
    called, spawned = blocks_of("docs/how-to/sub-agents.md")

    assert run_python(called, cwd=tmp_path) == "It says: settings.py does.\nExplore completed 0\n"
    assert [line.rstrip() for line in run_python(spawned, cwd=tmp_path).splitlines()] == [
        "heard 1: Where are the tests?",
        "completed heard 2: And the examples?",
        "2",
        "True no time left",
    ]
