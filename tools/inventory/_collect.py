"""Everything that a user can name in one checkout, as JSON. Run as a script, with PYTHONPATH set to the checkout.

It must work in checkouts of different ages: modules are looked for by what they define, not by their names.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final

import attrs

import greenroom

ROOT: Final = Path(greenroom.__file__).parent
VARIABLE: Final = re.compile(r"\b(?:GREENROOM|CLAUDE|ANTHROPIC)_[A-Z][A-Z_]*[A-Z]\b")
TOOL_NAME: Final = re.compile(r"[A-Z][a-z]+([A-Z][a-z]+)*")
HOLDS_TOOL_NAME: Final = re.compile(r"(^|_)(TOOL|NAME|WORKTREE|MESSAGE|RESOURCES?|OUTPUT|MODE)(_NAME)?$")


def import_all() -> list[Any]:
    """Import every module of the package and return them."""
    names = [info.name for info in pkgutil.walk_packages([str(ROOT)], "greenroom.")]
    return [
        greenroom,
        *(importlib.import_module(name) for name in names if not name.endswith("_main") and "__" not in name),
    ]


def sources() -> Iterator[tuple[str, ast.Module]]:
    """Yield the name and the tree of each module."""
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(("greenroom", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def classes(modules: Iterable[Any]) -> dict[str, type]:
    """Return the classes of the package by name; of two with one name, the last."""
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


# --- command line -----------------------------------------------------------------------------------------------------


def commands(app: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield each command of the command line by its words."""
    yield " ".join(("greenroom", *path)), app
    for name in sorted(name for name in app if not name.startswith("-")):
        yield from commands(app[name], (*path, name))


def flags(root: Any) -> Iterator[str]:
    """Yield each argument, flag and choice of a flag, behind its command."""
    for words, app in commands(root):
        if app.default_command is not None:
            for argument in app.assemble_argument_collection(default_parameter=root.default_parameter):
                for name in argument.names if argument.show else ():
                    yield f"{words} {name}"
                    yield from (f"{words} {name}={choice}" for choice in argument.get_choices(force=True) or ())


def exit_codes(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the exit codes that programs name."""
    for tree in trees.values():
        for node in ast.walk(tree):
            match node:
                case ast.AnnAssign(
                    target=ast.Name(id="NOT_DONE" | "MISUSE" | "EXIT_SAME" | "EXIT_DIFFERENT"),
                    value=ast.expr() as value,
                ):
                    yield str(ast.literal_eval(value))
                case ast.AnnAssign(target=ast.Name(id="EXIT_CODES"), value=ast.Dict(values=values)):
                    yield from (str(ast.literal_eval(value)) for value in values)


# --- settings, variables ----------------------------------------------------------------------------------------------


def settings(owner: type, known: dict[str, type], path: str = "") -> Iterator[str]:
    """Yield the keys of a class of settings, nested ones with their path."""
    for field in attrs.fields(owner):
        name = f"{path}{field.name}"
        yield name
        written = str(owner.__annotations__.get(field.name, ""))
        for word in re.findall(r"[A-Z]\w+", written):
            inner = vars(sys.modules[owner.__module__]).get(word) or known.get(word)
            if isinstance(inner, type) and attrs.has(inner):
                yield from settings(inner, known, f"{name}.")
            elif isinstance(inner, type) and issubclass(inner, Enum):
                yield from (f"{name}={member.value}" for member in inner)


def variables(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the environment variables that the code reads or sets."""
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from VARIABLE.findall(node.value)
            match node:
                case (
                    ast.Call(func=ast.Attribute(value=source, attr="get"), args=[ast.Constant(value=str(name)), *_])
                    | ast.Subscript(value=source, slice=ast.Constant(value=str(name)))
                ) if "environ" in ast.unparse(source):
                    yield name


# --- tools, hooks, events ---------------------------------------------------------------------------------------------


def tools(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the names of tools: those given to `tool`, those in tables of tools, those of constants."""
    for tree in trees.values():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="tool"), keywords=keywords):
                    for keyword in keywords:
                        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                            yield str(keyword.value.value)
                case ast.Tuple(elts=[ast.Constant(value=str(name)), ast.Name(), ast.Constant(value=bool())]):
                    yield name
                case ast.AnnAssign(target=ast.Name(id=held), value=ast.Constant(value=str(name))) if (
                    HOLDS_TOOL_NAME.search(held) and TOOL_NAME.fullmatch(name)
                ):
                    yield name
                case ast.Dict(keys=keys, values=values) if values and "ToolTraits" in ast.unparse(values[0]):
                    yield from (str(key.value) for key in keys if isinstance(key, ast.Constant))


def tool_arguments() -> Iterator[str]:
    """Yield the arguments of the tools that need no session to be made."""
    from greenroom.tools.builtin import STANDARD_TOOLS

    for offered in STANDARD_TOOLS:
        yield from (f"{offered.name}.{name}" for name in offered.input_schema["properties"])


def hook_inputs(known: dict[str, type]) -> Iterator[str]:
    """Yield what the programs of hooks are sent, field by field."""
    for inner in known.values():
        event: Any = inner.__dict__.get("event")
        if attrs.has(inner) and isinstance(event, known["HookEvent"]):
            for field in attrs.fields(inner):
                if all(field.metadata.get(mark, True) for mark in ("is_encoded", "is_told")):
                    yield f"{getattr(event, 'value', '')}.{field.metadata.get('key', field.name)}"


def journal_events(known: dict[str, type], modules: Iterable[Any]) -> Iterator[str]:
    """Yield the kinds of events that a journal may hold."""
    for module in modules:
        listed = vars(module).get("EVENTS", ())
        for each in listed if isinstance(listed, tuple) else ():
            if isinstance(each, type) and issubclass(each, known["Event"]):
                yield str(each.kind)  # type: ignore[attr-defined]  # of a class that is only known at run time


def journal_fields(known: dict[str, type]) -> Iterator[str]:
    """Yield the fields of those events."""
    from greenroom.session import EVENTS

    assert "Event" in known
    for each in EVENTS:
        yield from (f"{each.kind}.{field.name}" for field in attrs.fields(each))


# --- names ------------------------------------------------------------------------------------------------------------


def public_names(modules: Iterable[Any]) -> Iterator[str]:
    """Yield the public names of every face."""
    for module in modules:
        if not any(part.startswith("_") for part in module.__name__.split(".")):
            for name in getattr(module, "__all__", ()):
                yield f"{module.__name__}.{name}"


def members() -> Iterator[str]:
    """Yield the public attributes and methods of the classes of the main module."""
    for name, value in main_classes():
        own = {each for ancestor in value.__mro__[:-1] for each in vars(ancestor)}
        own |= {field.name for field in attrs.fields(value)} if attrs.has(value) else set()
        own |= set(set_in_constructor(value))
        own -= set(dir(Exception)) if issubclass(value, BaseException) else set()
        yield from (f"{name}.{member}" for member in own if not member.startswith("_"))


def set_in_constructor(owner: type) -> Iterator[str]:
    """Yield the attributes that `__init__` of a class or of its ancestors sets."""
    for ancestor in owner.__mro__:
        made = vars(ancestor).get("__init__")
        if inspect.isfunction(made) and made.__code__.co_filename.startswith(str(ROOT)):
            for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(made)))):
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        yield name


def parameters() -> Iterator[str]:
    """Yield the parameters of the functions and methods of the main module."""
    for name in greenroom.__all__:
        value = getattr(greenroom, name)
        if inspect.isfunction(value):
            yield from (f"{name}({parameter})" for parameter in parameters_of(value))
    for name, value in main_classes():
        for member in dir(value):
            function = inspect.getattr_static(value, member)
            is_shown = "Made by" not in (value.__doc__ or "") if member == "__init__" else not member.startswith("_")
            if inspect.isfunction(function) and is_shown:
                path = name if member == "__init__" else f"{name}.{member}"
                yield from (f"{path}({parameter})" for parameter in parameters_of(function))


def parameters_of(function: Any) -> Iterator[str]:
    """Yield the parameters of a function by name, those of a `TypedDict` included."""
    function = inspect.unwrap(function)
    for parameter in list(inspect.signature(function).parameters.values()):
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield from () if parameter.name == "self" else (parameter.name,)
            continue
        options = re.search(r"\w+(?=\]$)", str(parameter.annotation))
        owner = function.__globals__.get(options.group()) if options else None
        yield from owner.__annotations__ if owner is not None else (f"**{parameter.name}",)


def main_classes() -> Iterator[tuple[str, type]]:
    """Yield the classes of the main module."""
    for name in greenroom.__all__:
        value = getattr(greenroom, name)
        if isinstance(value, type):
            yield name, value


def members_of_parts(known: dict[str, type]) -> Iterator[str]:
    """Yield the names of the public attributes and methods of what a session is made of."""
    for owner in known.values():
        if owner.__module__.startswith("greenroom.session."):
            found = {*vars(owner), *inspect.get_annotations(owner), *set_in_constructor(owner)}
            yield from (name for name in found if not name.startswith("_"))


def definitions(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Return for each name that modules define at their top level these modules."""
    found: dict[str, list[str]] = {}
    for module, tree in trees.items():
        for node in tree.body:
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.setdefault(name, []).append(module)
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    found.setdefault(name, []).append(module)
    return found


def main() -> None:
    """Print the inventory of the checkout."""
    modules = import_all()
    known = classes(modules)
    trees = dict(sources())
    app = importlib.import_module("greenroom.cli._app")._make_app()
    found: dict[str, Iterable[str]] = {
        "commands": (words for words, _ in commands(app)),
        "flags": flags(app),
        "exit codes": exit_codes(trees),
        "settings": settings(known["SessionSettings"], known),
        "variables": variables(trees),
        "tools": tools(trees),
        "arguments of tools": tool_arguments(),
        "hook events": (member.value for member in known["HookEvent"]),  # type: ignore[attr-defined]  # an enum
        "hook inputs": hook_inputs(known),
        "journal events": journal_events(known, modules),
        "fields of journal events": journal_fields(known),
        "public names": public_names(modules),
        "members of public classes": members(),
        "parameters": parameters(),
    }
    inventory: dict[str, Any] = {name: sorted(set(items)) for name, items in found.items()}
    below = {"definitions": definitions(trees), "members": sorted(set(members_of_parts(known)))}
    json.dump({"root": str(ROOT.parent), "items": inventory, **below}, sys.stdout)


if __name__ == "__main__":
    main()
