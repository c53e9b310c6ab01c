"""The text of an error: bounded text, and a stand-in without frames."""

from __future__ import annotations

import gc
import traceback
import weakref
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core import GreenroomError, NameTaken, ProviderError
from greenroom.core.texts import cut_text, error_text, message_of, stand_in
from greenroom.core.texts._error_text import MAX_ERROR_CHARACTERS


class Payload:
    """Something large that a frame holds."""


class Odd(Exception):
    """An error whose class takes no arguments and says nothing without its attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.what = "odd"

    def __str__(self) -> str:
        return self.what


class Stubborn(Exception):
    """An error that cannot be made without its one keyword."""

    def __new__(cls, *, word: str) -> Self:
        return super().__new__(cls, word)

    def __init__(self, *, word: str) -> None:
        super().__init__(word)


class Mute(Exception):
    """An error that fails to say what it is."""

    def __str__(self) -> str:
        raise KeyError("text")


def raised(error: BaseException, payload: Payload, depth: int = 3) -> BaseException:
    """Return an error that was raised some frames deep, each of which holds the payload."""

    def fail(left: int, held: Payload) -> None:
        if left:
            fail(left - 1, held)
        raise error

    try:
        fail(depth, payload)
    except BaseException as caught:  # noqa: BLE001, ASYNC103 - the caller looks at it
        return caught  # noqa: ASYNC104
    raise AssertionError


@given(st.text(max_size=300), st.integers(60, 200))
def test_cut_text_keeps_start_and_end_within_the_limit(text: str, limit: int) -> None:
    cut = cut_text(text, limit)

    assert len(cut) <= limit
    assert (
        cut == text if len(text) <= limit else (str(len(text)) in cut and cut[:5] == text[:5] and cut[-5:] == text[-5:])
    )


@pytest.mark.parametrize("error", [ValueError("x" * 10**7), OSError(5, "y" * 10**7), GreenroomError("z" * 10**7)])
def test_text_of_a_huge_error_is_bounded(error: Exception) -> None:
    assert len(message_of(error)) <= MAX_ERROR_CHARACTERS
    assert len(error_text(error)) <= MAX_ERROR_CHARACTERS + 100


def test_text_of_an_error_that_cannot_speak_names_what_it_raised() -> None:
    assert error_text(Mute()) == "Mute: (no text: its str() raised KeyError)"


ERRORS = [
    ValueError("plain"),
    KeyError("key"),
    OSError(2, "no such file", "name"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    NameTaken("bob"),
    ProviderError("overloaded", kind="overloaded"),
    Odd(),
    ExceptionGroup("two", [ValueError("a"), Odd()]),
    BaseExceptionGroup("three", [KeyboardInterrupt(), ExceptionGroup("inner", [OSError(1, "b")])]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_stand_in_is_of_the_same_class_and_says_the_same(error: BaseException) -> None:
    made = stand_in(raised(error, Payload()))

    assert made is not error
    assert (type(made), str(made), made.args[:1]) == (type(error), str(error), error.args[:1])
    assert made.__traceback__ is None
    assert "in fail" in "".join(traceback.format_exception(made))


@pytest.mark.parametrize("error", [Stubborn(word="no"), Mute()])
def test_error_that_cannot_be_copied_is_told_in_words(error: Exception) -> None:
    made = stand_in(error)

    assert str(made) == error_text(error)


@pytest.mark.parametrize("kind", ["alone", "cause", "context", "group", "group of groups"])
def test_stand_in_holds_no_frame(kind: str) -> None:
    payload = Payload()
    gone = weakref.ref(payload)
    error: BaseException = raised(ValueError("inner"), payload)
    if kind in {"cause", "context"}:
        outer = raised(RuntimeError("outer"), payload)
        setattr(outer, f"__{kind}__", error)
        error = outer
    elif kind != "alone":
        error = raised(BaseExceptionGroup("group", [error]), payload)
        error = raised(BaseExceptionGroup("groups", [error]), payload) if kind == "group of groups" else error
    made = stand_in(error)
    del error, payload
    outer = made
    gc.collect()

    assert gone() is None
    assert str(made)


def test_stand_in_keeps_the_chain_of_causes() -> None:
    outer = RuntimeError("outer")
    outer.__cause__ = ValueError("inner")

    made = stand_in(outer)

    assert isinstance(made.__cause__, ValueError)
    assert made.__cause__ is not outer.__cause__


def test_circle_of_causes_ends() -> None:
    error = ValueError("round")
    error.__cause__ = error

    assert str(stand_in(error)) == "round"


def test_notes_tell_errors_apart_by_where_they_were_raised() -> None:
    """The note of an error is kept for the next one that is raised at the same places."""

    def note(depth: int, *, is_late: bool = False) -> str:
        def fail(left: int) -> None:
            if left:
                fail(left - 1)
            if is_late:
                raise LookupError
            raise LookupError

        with pytest.raises(LookupError) as caught:
            fail(depth)
        return str(stand_in(caught.value).__notes__[0])

    first = note(1)

    assert note(1) == first
    assert len({first, note(2), note(1, is_late=True)}) == 3
    assert first.count("in fail") == 2
    assert note(150).count("in fail") == 20
