"""Texts and copies of errors that keep no reference to where the error was raised.

An error holds its traceback, which holds the frames, which hold all arguments and local variables. Anything that
outlives the moment (journals, notices, ends that late watchers ask for, causes of an escalation) is made by these
functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from linecache import getline
from traceback import walk_tb
from types import CodeType, FrameType, TracebackType
from typing import Final

MAX_ERROR_CHARACTERS: Final = 4_000
"""Maximum number of characters kept of an error's text or traceback."""
_DEPTH: Final = 5
_FRAMES: Final = 20
_NOTES: Final = 100
"""Maximum number of notes that are kept for the next error that is raised at the same places."""
_LONG: Final = 100
"""Number of frames above which a note is not kept."""
_PACKAGE: Final = __name__.partition(".")[0] + "."


def cut_text(text: str, limit: int = MAX_ERROR_CHARACTERS) -> str:
    """Return a text of at most `limit` characters: start and end, with a note between them if it was cut."""
    if len(text) <= limit:
        return text
    note = f" ... (cut: {len(text)} characters in all) ... "
    head = max(0, limit - len(note)) * 2 // 3
    tail = max(0, limit - len(note) - head)
    return f"{text[:head]}{note}{text[len(text) - tail :]}"[:limit]


def single_error(error: BaseException, *, or_first: bool = False) -> BaseException:
    """Return the error that is alone in a group, or in groups in groups.

    Args:
        error: Any error; one that is not a group is returned as it is.
        or_first: True to return the first of several; else the group that holds them.
    """
    while isinstance(error, BaseExceptionGroup) and (or_first or len(error.exceptions) == 1):
        error = error.exceptions[0]
    return error


def message_of(error: BaseException) -> str:
    """Return the text of an error, cut; an error class whose `str()` raises is described instead."""
    try:
        return cut_text(str(error))
    except Exception as broken:  # noqa: BLE001 - users write these classes
        return f"(no text: its str() raised {type(broken).__name__})"


def error_text(error: BaseException) -> str:
    """Return the class and the text of an error, cut."""
    text = message_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def stand_in(error: BaseException) -> BaseException:
    """Return an error of the same class with the same attributes, with its traceback as a text note.

    Causes are copied likewise; the context (an error that was being handled) is kept only in the text.
    """
    return _stand_in(error, _DEPTH)


def _stand_in(error: BaseException, depth: int) -> BaseException:
    made = _copied(error, depth)
    if depth and error.__cause__ is not None:
        made.__cause__ = _stand_in(error.__cause__, depth - 1)
    made.__suppress_context__ = True
    if error.__traceback__ is not None:
        made.add_note(_traceback_note(error.__traceback__))
    return made


def _traceback_note(trace: TracebackType) -> str:
    """Return the last frames of a traceback as text, from the first one outside of greenroom on.

    It takes a tenth of what `traceback.format_tb` takes, which marks columns too, and much less for an error that was raised
    at the same places before: a restart pays for it.
    """
    ids: list[int] = []
    end: TracebackType | None = trace
    while end is not None:
        ids.append(id(end.tb_frame.f_code))
        ids.append(end.tb_lineno)
        end = end.tb_next
    key = tuple(ids)
    kept = _notes.get(key)
    if kept is not None:
        return kept[0]
    places = [*walk_tb(trace)]
    note = cut_text("Traceback (most recent call last), kept as text:\n" + "\n".join(_lines(places)))
    if len(_notes) >= _NOTES:
        _notes.clear()
    if len(places) <= _LONG:
        _notes[key] = note, [frame.f_code for frame, _ in places]
    return note


_notes: Final[dict[tuple[int, ...], tuple[str, list[CodeType]]]] = {}
"""The notes of the latest tracebacks, by the id of the code and the line of each frame: to hash code takes long. With the
code itself, so that its id stays its own; it keeps no frames alive.
"""


def _lines(places: Sequence[tuple[FrameType, int]]) -> Iterator[str]:
    outside = (at for at, (frame, _) in enumerate(places) if not _is_ours(frame))
    first = max(next(outside, 0), len(places) - _FRAMES)
    for frame, line in places[first:]:
        code = frame.f_code
        yield f'  File "{code.co_filename}", line {line}, in {code.co_name}'
        source = getline(code.co_filename, line, frame.f_globals).strip()
        if source:
            yield f"    {source}"


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(_PACKAGE)


def _copied(error: BaseException, depth: int) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        return error.derive([_stand_in(inner, depth - 1) for inner in error.exceptions] if depth else [_plain(error)])
    for copied in (_bare_copy, copy):  # some built-in classes keep their text outside their arguments
        try:
            made = copied(error)
            if type(made) is type(error) and str(made) == str(error):
                made.__notes__ = list(getattr(error, "__notes__", ()))
                return made
        except Exception:  # noqa: BLE001, S112 - users write these classes: one that cannot be copied is described in words
            continue
    return _plain(error)


def _bare_copy(error: BaseException) -> BaseException:
    """Return a copy made without `__init__`, whose parameters may differ from `args`."""
    made = type(error).__new__(type(error), *error.args)
    made.args = error.args
    made.__dict__.update(error.__dict__)
    return made


def _plain(error: BaseException) -> BaseException:
    return RuntimeError(error_text(error))
