"""The page docs/reference/python.md, made from the docstrings of public names: `python -m tests.docs.python_names` writes it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs

from greenroom.core import Event
from tests.docs.docstrings import attribute_docs, body_of, field_docs, field_types, lineage, one_line
from tests.docs.errors import ROOTS
from tests.docs.events import table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"
WIDTH: Final = 100
"""Columns that a signature may take."""

HEAD: Final = """\
# Python names

Every public name of the library's main modules, with its signature. Made from the docstrings by
`python -m tests.docs.python_names`. Error classes have [a page of their own](errors.md), and so do
[the events](events.md); how to use all this is shown in [actors](../how-to/actors.md), [sessions](../how-to/sessions.md) and
[test your team](../how-to/test-your-team.md).
"""

MODULES: Final = {
    "greenroom": "What most programs need. Names that another module below defines are described there.",
    "greenroom.actors": "Actors without models: behaviors, refs, contexts, signals.",
    "greenroom.supervisor": "The runtime and its supervisors.",
    "greenroom.mailbox": "Mailboxes on their own.",
    "greenroom.patterns": "Consumers of queues, pools, groups, a shutdown in phases and a watchdog for slow steps, built on the names above.",
    "greenroom.models": "What a `Model` is made of; see [write a Model](../how-to/write-a-model.md). The other names of this module are "
    "described in [models](../how-to/models.md) and [its settings](model-settings.md).",
    "greenroom.session": "What a session returns: snapshots, handles and receipts.",
    "greenroom.remote": "Nodes, links and references to actors of another process; see [links](../how-to/links.md).",
    "greenroom.hosting": "Hosts that a program places; see [Ray](../how-to/ray.md).",
    "greenroom.remote.ray": "The wish for hosts on a Ray cluster, and what comes of it; see [Ray](../how-to/ray.md).",
    "greenroom.remote.redis": "Boxes and queues of jobs on a redis server; see [redis](../how-to/redis.md).",
    "greenroom.serving": "A server for requests and WebSocket connections; see [one server](../design/serving.md).",
    "greenroom.gateway.channels": "What a channel of your own is made of; see [write a channel](../how-to/write-a-channel.md).",
    "greenroom.tools": "What a tool of your own is made of, and what `ask_user` is asked; see [tools](../how-to/tools.md).",
    "greenroom.web": "The page of a run, opened by a program; see [look at a run](../how-to/look-at-a-run.md).",
    "greenroom.testing": "The test kit; see [test your team](../how-to/test-your-team.md).",
}
"""The modules of the page, and what is said about each."""

FOR_WRITERS: Final = (
    "AnswerSource",
    "AnswerStream",
    "Assembly",
    "Message",
    "Model",
    "ModelRequest",
    "ModelResponse",
    "ModelStream",
    "ScriptStep",
    "StreamRestarted",
    "TextBlock",
    "TextDelta",
    "Thinking",
    "ThinkingBlock",
    "ThinkingDelta",
    "ToolInputDelta",
    "ToolResultBlock",
    "ToolSchema",
    "ToolUseBlock",
    "ToolUseStarted",
    "Usage",
    "UsageDelta",
    "failure",
    "kind_of_status",
    "retry_after",
)
"""The names of `greenroom.models` that the page describes."""
DESCRIBED: Final = {
    "greenroom.models": FOR_WRITERS,
    "greenroom.session": (
        "Activity",
        "AgentStatus",
        "Interrupted",
        "SweepReport",
        "TaskHandle",
        "TaskResult",
        "TaskStatus",
    ),
    "greenroom.serving": (
        *(
            "Connection",
            "ConnectionEnded",
            "Endpoint",
            "Incident",
            "Judge",
            "NotProven",
            "Request",
            "Resource",
            "Response",
        ),
        *("Secrets", "Server", "ServerStatistics", "Tcp", "UnixSocket", "Upgrade", "open_server"),
    ),
    "greenroom.remote": (
        *(
            "Link",
            "LinkLost",
            "LinkNode",
            "LinkPace",
            "LinkPeer",
            "LinkState",
            "MessageCodec",
            "RemoteError",
            "RemoteRef",
        ),
        *("Unreachable", "causes_across", "open_node"),
    ),
    "greenroom.web": ("OpenedPage", "open_page"),
    "greenroom.tools": ("Arg", "Option", "Question", "QuestionAnswers", "QuestionRequest"),
}
"""The names of modules that the page does not describe as a whole."""

HEADING: Final = re.compile(r"^(Args|Returns|Raises|Attributes|Yields|Example):$", re.MULTILINE)
ENTRY: Final = re.compile(r"^    ([\w, ]+): (.*?)(?=^    \S|\Z)", re.MULTILINE | re.DOTALL)
ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


def names_of(module: str) -> tuple[str, ...]:
    """Return the names of a module that the page lists."""
    if module in DESCRIBED:
        return DESCRIBED[module]
    return tuple(name for name in importlib.import_module(module).__all__ if not name.startswith("_"))


def homes() -> dict[int, str]:
    """Return for each object that a module below `greenroom` defines the module in which the page describes it."""
    return {id(value): module for module in list(MODULES)[1:] for _, value in _values(module)}


def _values(module: str) -> Iterator[tuple[str, Any]]:
    face: ModuleType = importlib.import_module(module)
    for name in names_of(module):
        yield name, inspect.unwrap(getattr(face, name))  # a function with a cache is still a function


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for module, said in MODULES.items():
        parts += [f"## {module}", said, *_chapter(module)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _chapter(module: str) -> Iterator[str]:
    elsewhere = homes() if module == "greenroom" else {}
    plain: list[tuple[str, str]] = []
    described: list[str] = []
    for name, value in _values(module):
        if id(value) in elsewhere and (inspect.isclass(value) or inspect.isfunction(value)):
            anchor = name.lower()
            plain.append((f"[`{name}`](#{anchor})", f"`{elsewhere[id(value)]}`. {first_sentence(value.__doc__)}"))
        elif inspect.isclass(value) and issubclass(value, Exception):
            anchor = "" if value in ROOTS else f"#{name.lower()}"
            plain.append((f"[`{name}`](errors.md{anchor})", first_sentence(value.__doc__)))
        elif inspect.isclass(value) and issubclass(value, Event):
            plain.append((f"[`{name}`](events.md)", first_sentence(value.__doc__)))
        elif inspect.isclass(value) or inspect.isfunction(value):
            described.append(name)
        else:
            plain.append((f"`{name}`", constant(importlib.import_module(module), name)))
    if plain:
        yield table(("name", "meaning"), plain)
    for name in described:
        value = inspect.unwrap(getattr(importlib.import_module(module), name))
        yield from of_class(name, value) if inspect.isclass(value) else of_function(name, value, heading=f"### {name}")


def first_sentence(doc: str | None) -> str:
    """Return the first sentence of a docstring, on one line."""
    paragraph = inspect.cleandoc(doc or "").split("\n\n")[0]
    return one_line(HEADING.split(paragraph, maxsplit=1)[0])


def constant(face: ModuleType, name: str) -> str:
    """Return the docstring below the assignment of a constant, with its value if that is short."""
    value = getattr(face, name)
    shown = f"`{value!r}`" if isinstance(value, int | float | str) else ""
    said = constant_docs(_module_of(face, name)).get(name, "")
    return one_line(" ".join(filter(None, [said, f"Value: {shown}." if shown else ""])))


def _module_of(face: ModuleType, name: str) -> str:
    """Return the module that a face imports a name from; its docstring stands there."""
    for node in ast.walk(ast.parse(inspect.getsource(face))):
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            return node.module or ""
    return face.__name__


@cache
def constant_docs(module: str) -> dict[str, str]:
    """Return the docstrings below the assignments of a module."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    found: dict[str, str] = {}
    for node, below in zip(body, [*body[1:], ast.Pass()], strict=True):
        match node, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = one_line(text)
    return found


# --- functions and classes --------------------------------------------------------------------------------------------


class Shape:
    """The signature of a function, from its source: annotations and defaults as they are written."""

    def __init__(self, name: str, function: Any, *, is_method: bool) -> None:
        self._name = name
        self._function = inspect.unwrap(function)
        self._is_method = is_method

    @cached_property
    def _node(self) -> ast.FunctionDef | ast.AsyncFunctionDef:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(self._function))).body
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        return node

    def __str__(self) -> str:
        arguments = [text for text in self._arguments() if not (self._is_method and text in ("self", "cls"))]
        opening = "async " if isinstance(self._node, ast.AsyncFunctionDef) and not self._is_manager else ""
        result = ast.unparse(self._node.returns) if self._node.returns is not None else "None"
        returned = f" -> {result}" if self._node.name != "__init__" else ""
        if self._is_manager:
            entered = result.removeprefix("AsyncIterator[").removeprefix("Iterator[").removesuffix("]")
            opening = "async with " if opening or isinstance(self._node, ast.AsyncFunctionDef) else "with "
            returned = f" as {entered}" if entered != "None" else ""
        flat = f"{opening}{self._name}({', '.join(arguments)}){returned}"
        if len(flat) <= WIDTH:
            return flat
        return f"{opening}{self._name}(\n" + "".join(f"    {text},\n" for text in arguments) + f"){returned}"

    @property
    def _is_manager(self) -> bool:
        return any("contextmanager" in ast.unparse(each) for each in self._node.decorator_list)

    def _arguments(self) -> Iterator[str]:
        spec = self._node.args
        positional = [*spec.posonlyargs, *spec.args]
        defaults = [None] * (len(positional) - len(spec.defaults)) + list(spec.defaults)
        yield from (self._argument(argument, default) for argument, default in zip(positional, defaults, strict=True))
        if spec.vararg is not None:
            yield "*" + self._argument(spec.vararg, None)
        elif spec.kwonlyargs:
            yield "*"
        yield from (self._argument(*pair) for pair in zip(spec.kwonlyargs, spec.kw_defaults, strict=True))
        if spec.kwarg is not None:
            yield "**" + self._argument(spec.kwarg, None)

    def _argument(self, argument: ast.arg, default: ast.expr | None) -> str:
        """Return an argument as it is written; a default that names a simple constant becomes its value."""
        kind = f": {ast.unparse(argument.annotation)}" if argument.annotation is not None else ""
        if default is None:
            return argument.arg + kind
        text = ast.unparse(default)
        value = self._function.__globals__.get(text)
        if isinstance(value, int | float | str) and not isinstance(value, Enum):
            text = repr(value)
        return f"{argument.arg}{kind}{' = ' if kind else '='}{text}"

    def options(self) -> Iterator[tuple[str, str, str]]:
        """Yield the keyword arguments that travel in a `TypedDict`: name, type, meaning."""
        kwarg = self._node.args.kwarg
        written = ast.unparse(kwarg.annotation) if kwarg is not None and kwarg.annotation is not None else ""
        owner = self._function.__globals__.get(written.removeprefix("Unpack[").removesuffix("]"))
        if isinstance(owner, type):
            docs = field_docs(owner)
            yield from ((name, kind, docs.get(name, "")) for name, kind in field_types(owner).items())


def of_function(name: str, function: Any, *, heading: str, is_method: bool = False) -> Iterator[str]:
    """Yield what there is to say about a function."""
    shape = Shape(name, function, is_method=is_method)
    yield heading
    yield f"```python\n{shape}\n```"
    yield from described(function.__doc__)
    if rows := [(f"`{option}`", f"`{one_line(kind)}`", said) for option, kind, said in shape.options()]:
        yield table(("option", "type", "meaning"), rows)


def described(doc: str | None) -> Iterator[str]:
    """Yield a docstring as Markdown: arguments and errors become lists."""
    text, *sections = HEADING.split(inspect.cleandoc(doc or ""))
    if text.strip():
        yield indented_as_code(text.strip())
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        entries = [(names, one_line(said)) for names, said in ENTRY.findall(body.strip("\n") + "\n")]
        if title == "Attributes":
            continue  # in the table of the class
        if entries and title in ("Args", "Raises"):
            label = {"Args": "", "Raises": "Raises "}[title]
            yield "\n".join(
                f"- {label}`{names}`: {said}".replace(", ", "`, `", names.count(", ")) for names, said in entries
            )
        elif title == "Returns":
            yield f"Returns: {one_line(body)}"
        else:
            yield f"{title}: {one_line(body)}"


def indented_as_code(text: str) -> str:
    """Return a text whose indented blocks are fenced as Python."""
    parts = re.split(r"\n\n((?:    .*\n?|\n)+)", text)
    return "\n\n".join(
        f"```text\n{textwrap.dedent(part).strip()}\n```" if number % 2 else part.strip()
        for number, part in enumerate(parts)
    ).strip()


def of_class(name: str, owner: type) -> Iterator[str]:
    """Yield what there is to say about a class: how it is made, its attributes, its methods."""
    yield f"### {name}"
    if (shape := constructor(name, owner)) is not None:
        yield f"```python\n{shape}\n```"
    yield from described(owner.__dict__.get("__doc__"))
    if rows := [(f"`{row}`", f"`{one_line(kind)}`" if kind else "", said) for row, kind, said in attributes(owner)]:
        yield table(("attribute", "type or default", "meaning"), rows)
    for method, function in methods(owner):
        shape = Shape(method, function, is_method=True)
        text = "\n\n".join(described(function.__doc__))
        yield f"**`{name}.{method}`**\n\n```python\n{shape}\n```\n\n{text}".strip()


def constructor(name: str, owner: type) -> Shape | str | None:
    """Return how an object of a class is made; None for enums, protocols and what functions make."""
    if issubclass(owner, Enum) or getattr(owner, "_is_protocol", False):
        return None
    if attrs.has(owner):
        given = [field for field in attrs.fields(owner) if field.init]
        starred = any(field.kw_only for field in given)
        texts = [field.alias + ("" if field.default is attrs.NOTHING else "=...") for field in given]
        return f"{name}({'*, ' if starred else ''}{', '.join(texts)})" if len(texts) <= 6 else f"{name}(...)"
    made_by = re.search(r"[Mm]ade by", owner.__doc__ or "")
    made = owner.__dict__.get("__init__")
    return None if made_by or made is None else Shape(name, made, is_method=True)


def attributes(owner: type) -> Iterator[tuple[str, str, str]]:
    """Yield the documented attributes of a class: name, type or default, meaning."""
    docs = {**attribute_docs(owner), **field_docs(owner)}
    seen: set[str] = set()
    for ancestor in lineage(owner):
        for node in body_of(ancestor):
            match node:
                case ast.AnnAssign(target=ast.Name(id=name)):
                    kind = ast.unparse(node.annotation) + _default(owner, name)
                case ast.Assign(targets=[ast.Name(id=name)]) if issubclass(owner, Enum):
                    kind = ast.unparse(node.value)
                case ast.FunctionDef(name=name) if _is_property(node):
                    kind = ast.unparse(node.returns) if node.returns is not None else ""
                    docs[name] = first_sentence(ast.get_docstring(node))
                case _:
                    continue
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, kind, docs.get(name, "")
    yield from ((name, "", said) for name, said in docs.items() if name not in seen and not name.startswith("_"))


def _default(owner: type, name: str) -> str:
    if not attrs.has(owner):
        return ""
    field = getattr(attrs.fields(owner), name, None)
    if field is None or field.default is attrs.NOTHING:
        return ""
    value = field.default
    if isinstance(value, attrs.Factory):  # type: ignore[arg-type]
        return ""
    shown = value.value if isinstance(value, Enum) else value
    text = ADDRESS.sub("", repr(shown))
    return f" = {text}" if len(text) <= 30 else ""


def _is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(each) for each in node.decorator_list)


def methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods of a class and of its bases in this project; of a conformance kit those to implement."""
    found: dict[str, Any] = {}
    for ancestor in lineage(owner):
        for name, member in vars(ancestor).items():
            inner = getattr(member, "__func__", member)
            is_ours = inspect.isfunction(inner) and str(inner.__module__).startswith("greenroom")
            if is_ours and not name.startswith("_"):
                found[name] = inner
    if owner.__name__.endswith("Conformance"):
        for each in found.values():
            importlib.import_module(each.__module__)  # a test may have dropped it, and `inspect` looks for it
        found = {name: each for name, each in found.items() if "NotImplementedError" in inspect.getsource(each)}
    yield from found.items()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
