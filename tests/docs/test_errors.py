"""The page about errors lists every public error class with everything that it carries."""

from __future__ import annotations

from tests.docs.docstrings import attribute_docs, summary
from tests.docs.errors import PAGE, ROOTS, attributes, chapters, errors, page


def test_the_page_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.errors`"


def test_every_error_is_in_one_chapter() -> None:
    listed = [one for *_, those in chapters() for one in those]

    assert len(listed) == len(set(listed))
    assert set(listed) == errors().keys() - ROOTS


def test_every_error_says_when_it_is_raised_and_what_it_carries() -> None:
    silent = [error.__name__ for error in errors() if not summary(error)]
    differing = [error.__name__ for error in errors() if attributes(error).keys() != attribute_docs(error).keys()]

    assert (silent, differing) == ([], [])
