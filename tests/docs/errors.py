"""The page docs/reference/errors.md, made from the error classes: `python -m tests.docs.errors` writes it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from greenroom.core import GreenroomError, InternalError, PeerError, ProviderError, UsageError, WorkEnded
from greenroom.models import RETRYABLE
from tests.docs.docstrings import attribute_docs, body_of, faces, lineage, one_line, summary
from tests.docs.events import table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "errors.md"
RAISES: Final = re.compile(r"^ {4}(\w+(?:, \w+)*): ", re.MULTILINE)
ROOTS: Final = frozenset({GreenroomError, UsageError, PeerError, InternalError, WorkEnded})
"""Classes that say whose fault an error is; they are raised everywhere, so where is not listed."""

HEAD: Final = """\
# Errors

The public error classes, grouped by whose fault an error is. Generated from the code by `python -m tests.docs.errors`.

Facts are attributes, so that nobody has to read the text of a message. Everything that greenroom raises on purpose is a
`GreenroomError`; these four below it say whose fault it was:
"""

FOOT: Final = """\
An error within a turn reaches the caller as `TurnFailed`, with the error as its `__cause__`. A plain `UsageError`
may come from any call whose arguments make no sense. *Raised by* lists the public functions that say so themselves.
"""

CHAPTERS: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (UsageError, "The caller's", "Change the call or the settings; the same call fails again."),
    (PeerError, "The outside world's", "A provider, a disk, a tool, a hook, or another actor. Trying again may help."),
    (InternalError, "Ours", "Please report it, with the run folder if there is one."),
    (
        WorkEnded,
        "How work ended",
        "What was asked for began and has no result. Where there was an error, it is the `__cause__`.",
    ),
    (AssertionError, "Of the test kit", "A test has failed. These are assertion errors, as test runners expect."),
    (
        Exception,
        "Of single parts",
        "Raised by functions that read something; sessions turn them into diagnostics or answers.",
    ),
)


@cache
def errors() -> dict[type[Exception], str]:
    """Return every public error class, and the module to import it from."""
    found: dict[type[Exception], str] = {}
    for face in faces():
        for one in shown_by(face):
            if inspect.isclass(one) and issubclass(one, Exception):
                found.setdefault(one, face.__name__)
    return found


@cache
def raised_by() -> dict[str, list[str]]:
    """Return for each error's name the public functions and methods whose docstrings say that they raise it."""
    found: dict[str, set[str]] = {}
    for face in faces():
        for one in shown_by(face):
            for name, text in _documented(one):
                _, _, rest = inspect.cleandoc(text).partition("\nRaises:\n")
                for names in RAISES.findall(rest.split("\n\n")[0]):
                    for error in names.split(", "):
                        found.setdefault(error, set()).add(name)
    return {error: sorted(names) for error, names in found.items()}


def shown_by(face: ModuleType) -> list[Any]:
    """Return what a public module has in its `__all__`."""
    return [getattr(face, name) for name in getattr(face, "__all__", ())]


def _documented(one: Any) -> Iterator[tuple[str, str]]:
    if inspect.isfunction(one):
        yield f"{one.__name__}()", one.__doc__ or ""
    elif inspect.isclass(one):
        yield one.__name__, one.__dict__.get("__doc__") or ""
        for name, member in vars(one).items():
            inner = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if inspect.isfunction(inner) and not name.startswith("_"):
                yield f"{one.__name__}.{name}()", inner.__doc__ or ""


def attributes(error: type) -> dict[str, str]:
    """Return the public attributes that `__init__` of a class and its bases sets, and their types."""
    found: dict[str, str] = {}
    for agent in lineage(error):
        for node in body_of(agent):
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                arguments = [*node.args.args, *node.args.kwonlyargs]
                types = {arg.arg: ast.unparse(arg.annotation) for arg in arguments if arg.annotation is not None}
                found |= {name: types.get(name, "") for name in _set_by(node) if not name.startswith("_")}
    return found


def _set_by(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def section(error: type[Exception], root: type[Exception]) -> str:
    """Return what there is to say about one class of a chapter."""
    base = next((one for one in error.__mro__[1:] if one in errors()), root)
    kind = f", a `{base.__name__}`" if base is not root and root is not Exception else ""
    docs = attribute_docs(error)
    rows = [(f"`{name}`", f"`{one_line(kind)}`", docs.get(name, "")) for name, kind in attributes(error).items()]
    raised = ", ".join(f"`{name}`" for name in raised_by().get(error.__name__, ()))
    parts = [f"### {error.__name__}", f"`{errors()[error]}`{kind}. {summary(error)}"]
    parts += [table(("attribute", "type", "meaning"), rows)] if rows else []
    parts += [kinds()] if error is ProviderError else []
    parts += [f"Raised by {raised}."] if raised else []
    return "\n\n".join(parts)


def kinds() -> str:
    """Return the kinds of a provider's errors."""
    later = {True: [f"`{kind}`" for kind, again in RETRYABLE.items() if again]}
    later[False] = [f"`{kind}`" for kind, again in RETRYABLE.items() if not again]
    return f"Kinds that may succeed later: {', '.join(later[True])}. Kinds that do not: {', '.join(later[False])}."


def chapters() -> Iterator[tuple[type[Exception], str, str, list[type[Exception]]]]:
    """Yield each chapter with its classes, by name; a class is in the first chapter that fits."""
    left = sorted(errors().keys() - ROOTS, key=lambda one: one.__name__)
    for root, title, said in CHAPTERS:
        those = [one for one in left if issubclass(one, root)]
        left = [one for one in left if one not in those]
        yield root, title, said, those


def page() -> str:
    """Return the whole page."""
    roots = [(f"`{root.__name__}`", title, summary(root)) for root, title, _ in CHAPTERS if root in ROOTS]
    parts = [HEAD, table(("class", "whose", "meaning"), roots), FOOT]
    for root, title, said, those in chapters():
        name = f": {root.__name__}" if root in ROOTS else ""
        parts += [f"## {title}{name}", said, *(section(one, root) for one in those)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
