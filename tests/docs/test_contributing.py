"""CONTRIBUTING names floors and files that exist."""

from __future__ import annotations

import re

from tests.docs.floors import PAGE, ROOT, insert

TEXT = PAGE.read_text(encoding="utf-8")


def test_floors_are_those_of_the_code() -> None:
    assert insert(TEXT) == TEXT, "run `python -m tests.docs`"


def test_recipes_name_files_that_exist() -> None:
    named = re.findall(r"`((?:greenroom|tests|docs)/[\w/.-]+)`", TEXT)
    examples = {"greenroom/tools/builtin/_count.py", "tests/tools/builtin/test_count.py"}

    assert len(named) > 10
    assert [path for path in named if path not in examples and not (ROOT / path).exists()] == []


def test_recipes_touch_at_most_five_files() -> None:
    recipes = re.findall(r"^### (A new .*?)$(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)

    assert len(recipes) == 5
    assert all(len(re.findall(r"^\d\. ", body, re.MULTILINE)) <= 5 for _, body in recipes)
