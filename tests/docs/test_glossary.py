"""The glossary has each word once, and its classes are public."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Final

import greenroom
from greenroom.core import Event
from tests.docs.docstrings import faces
from tests.docs.programs import ROOT

PAGE: Final = (ROOT / "docs" / "explanation" / "glossary.md").read_text(encoding="utf-8")
ROWS: Final = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \| (?:`(\w+)`)? ?\|$", PAGE, re.MULTILINE)
NOT_WORDS: Final = {"EventStream", "Restart", "SupervisorSpec", "ToolContext"}
"""Classes of the front page that only belong to a word of the glossary."""


def public_classes() -> set[str]:
    """Return the names of all classes in a face of the package."""
    found = set()
    for face in faces():
        found |= {name for name in getattr(face, "__all__", ()) if inspect.isclass(getattr(face, name, None))}
    return found


def test_glossary_has_each_word_once() -> None:
    words = [word for word, _, _ in ROWS if word not in ("word", "---")]

    assert len(words) > 50
    assert len(words) == len(set(words))


def test_words_of_a_chapter_are_sorted() -> None:
    for chapter in PAGE.split("\n## ")[1:]:
        words = [word for word, _, _ in re.findall(r"^\| ([^|]+?) \|()()", chapter, re.MULTILINE)][2:]
        assert words == sorted(words)


def test_classes_of_the_glossary_are_public() -> None:
    assert {name for _, _, name in ROWS if name} - public_classes() == set()


def test_classes_of_the_front_page_are_in_the_glossary() -> None:
    front = {name: getattr(greenroom, name) for name in importlib.import_module("greenroom").__all__}
    classes = {
        name for name, value in front.items() if inspect.isclass(value) and not issubclass(value, Exception | Event)
    }
    models = {name for name in classes if name.endswith("Model")}

    assert classes - models - NOT_WORDS - {name for _, _, name in ROWS} == set()
