"""Docstrings of the package: its faces, classes and fields.

The docstring of a field is read from the source, because Python itself keeps none of an attribute.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Final

import greenroom

ENTRY: Final = re.compile(r"^    (\w+): (.*?)(?=^    \w|^\S|\Z)", re.MULTILINE | re.DOTALL)
HEADING: Final = re.compile(r"^\w+:$", re.MULTILINE)


@cache
def faces() -> tuple[ModuleType, ...]:
    """Return the public modules of the package, the deepest first."""
    names = [module.name for module in pkgutil.walk_packages(greenroom.__path__, "greenroom.")]
    public = [name for name in names if not name.rpartition(".")[2].startswith("_")]
    return tuple(importlib.import_module(name) for name in sorted(public, key=lambda name: -name.count(".")))


def summary(owner: type) -> str:
    """Return the docstring of a class itself up to its first heading, on one line."""
    text = inspect.cleandoc(owner.__dict__.get("__doc__") or "")
    return one_line(HEADING.split(text, maxsplit=1)[0])


def field_docs(owner: type) -> dict[str, str]:
    """Return the docstring under each field or member of a class, those of its bases included."""
    found: dict[str, str] = {}
    for agent in lineage(owner):
        body = body_of(agent)
        for (name, _), below in zip(map(_field, body), [*body[1:], ast.Pass()], strict=True):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))) if name:
                    found[name] = one_line(text)
    return found


def field_types(owner: type) -> dict[str, str]:
    """Return the type of each field as the source has it, those of its bases included."""
    fields = [_field(node) for agent in lineage(owner) for node in body_of(agent)]
    return {name: one_line(written) for name, written in fields if written}


def attribute_docs(owner: type) -> dict[str, str]:
    """Return what stands under `Attributes:` in the docstring of a class, and of its bases."""
    found: dict[str, str] = {}
    for agent in lineage(owner):
        _, _, rest = inspect.cleandoc(agent.__dict__.get("__doc__") or "").partition("\nAttributes:\n")
        found |= {name: one_line(text) for name, text in ENTRY.findall(rest)}
    return found


def one_line(text: str) -> str:
    """Return a text as a cell of a table can hold it."""
    return " ".join(text.split()).replace("|", "\\|")


def lineage(owner: type) -> Iterator[type]:
    """Yield the classes of ours that a class is made of, the most general first."""
    return (one for one in reversed(owner.__mro__) if one.__module__.partition(".")[0] == "greenroom")


@cache
def body_of(owner: type) -> list[ast.stmt]:
    """Return the statements of a class."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(node, ast.ClassDef)
    return node.body


def _field(node: ast.stmt) -> tuple[str, str]:
    """Return the name of the field that a statement makes, and its type; empty where there is none."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
            return name, ast.unparse(annotation)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name, ""
    return "", ""
