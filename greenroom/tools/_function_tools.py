"""Tools made from functions: `@tool`.

Rule 1: what a model may pass is said once, by the signature. Rule 2: `ctx` is injected and never in the schema.
Rule 3: everything that can be wrong with a tool's definition is refused when it is decorated.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from types import FunctionType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    Union,
    final,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import attrs

from greenroom.core import UsageError
from greenroom.tools._docstrings import describe
from greenroom.tools._input_reader import structure, validate
from greenroom.tools._schemas import Arg, Schema, object_schema, schema_of
from greenroom.tools._tool_context import ToolContext
from greenroom.tools._tool_errors import InvalidInput

ToolFunction: TypeAlias = Callable[..., Awaitable[str]]

_CONTEXT: Final = "ctx"
_PLAIN: Final = (str, int, bool, type(None))
# What the Messages API accepts as the name of a tool and of a property.
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ARGUMENT_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


@attrs.frozen
class _Parameter:
    name: str
    """In the signature."""
    called: str
    """In the schema."""
    annotation: Any
    schema: Schema
    is_required: bool
    types: frozenset[type]
    """Any value of exactly one of these types fits, as its own Python value; of others only the schema can tell."""
    choices: frozenset[Any]
    """Texts that fit, where not any text does."""


@final
@attrs.frozen(eq=False, repr=False)
class FunctionTool:
    """A tool that calls a function; made by `tool`."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    is_read_only: bool
    function: ToolFunction
    """The function as it was written, for calling it directly."""
    _parameters: tuple[_Parameter, ...]
    _takes_context: bool
    records_itself: bool = False
    """True if the tool records its effects itself, such as by an event."""

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    def arguments(self, input: Mapping[str, Any]) -> dict[str, Any]:  # noqa: A002 - the protocol's own word
        """Return the function's keyword arguments for an input; what the input leaves out keeps its default.

        Raises:
            InvalidInput: With every problem that there is.
        """
        plain = self._plain_arguments(input)
        return self._checked_arguments(input) if plain is None else plain

    def _checked_arguments(self, input: Mapping[str, Any]) -> dict[str, Any]:  # noqa: A002
        """Return the arguments of an input that the schema allows, each as its annotation wants it."""
        problems = validate(self.input_schema, input)
        arguments: dict[str, Any] = {}
        if not problems:
            for parameter in self._parameters:
                if parameter.called in input:
                    arguments[parameter.name], found = structure(
                        input[parameter.called], parameter.annotation, parameter.called
                    )
                    problems += found
        if problems:
            raise InvalidInput(self.name, tuple(problems))
        return arguments

    def _plain_arguments(self, input: Mapping[str, Any]) -> dict[str, Any] | None:  # noqa: A002
        """Return the arguments of an input that consists of plain values of the requested types; else None."""
        if type(input) is not dict:
            return None
        arguments: dict[str, Any] = {}
        for parameter in self._parameters:
            if parameter.called in input:
                value = input[parameter.called]
                if type(value) not in parameter.types and not (type(value) is str and value in parameter.choices):
                    return None
                arguments[parameter.name] = value
            elif parameter.is_required:
                return None
        return arguments if len(arguments) == len(input) else None

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002
        """Check the input and call the function.

        Raises:
            ToolError: The input does not fit, or the function says so.
        """
        arguments = self._plain_arguments(input)
        if arguments is None:
            arguments = self._checked_arguments(input)
        if self._takes_context:
            arguments[_CONTEXT] = ctx
        answer = await self.function(**arguments)
        if not isinstance(answer, str):
            raise UsageError(f"the tool {self.name} returned {type(answer).__name__}, and a tool returns text")
        return answer


@overload
def tool(function: ToolFunction, /) -> FunctionTool: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, read_only: bool = False
) -> Callable[[ToolFunction], FunctionTool]: ...


def tool(
    function: ToolFunction | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
) -> FunctionTool | Callable[[ToolFunction], FunctionTool]:
    """Make a tool from `async def f(argument: T, *, ctx: ToolContext) -> str`.

    The schema comes from the signature, the texts from the docstring: its first paragraph, and what stands under
    `Args:`. `ctx` may be left out of the signature.

    Args:
        function: The function, where the decorator is used bare.
        name: What the model calls it; without it, `read_file` becomes `ReadFile`.
        description: What the model reads about it, instead of the first paragraph of the docstring.
        read_only: Whether a call changes nothing and may run beside others.

    Raises:
        UsageError: The function cannot be a tool; the text says what to change.
    """

    def decorate(function: ToolFunction) -> FunctionTool:
        return _make(function, name, description, is_read_only=read_only)

    return decorate if function is None else decorate(function)


def tool_schema(function: ToolFunction) -> Schema:
    """Return the JSON schema of a function's arguments, as `tool` makes it."""
    return _schema(_read(function)[0])


@final
@attrs.frozen
class _Definition:
    """A function, equal to every other one that the same `def` made with the same defaults and annotations.

    Sessions make their own tools from closures, each of which would be parsed again: a tenth of the cost of a short
    session.
    """

    function: FunctionType = attrs.field(eq=False)
    means: tuple[object, ...]

    @classmethod
    def of(cls, function: FunctionType) -> _Definition:
        """Return the definition of a function."""
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items())
        names = id(function.__globals__), function.__name__, function.__doc__  # what annotations in quotes refer to
        means = (function.__code__, *names, tuple(function.__annotations__.items()), defaults, *map(type, defaults))
        return cls(function, means)


def _read(function: ToolFunction) -> tuple[tuple[_Parameter, ...], bool]:
    """Return the parameters of a function, and whether it takes the context."""
    if isinstance(function, FunctionType) and not vars(function):  # else something such as `wraps` says otherwise
        with suppress(TypeError):  # a default that cannot be hashed
            return _read_once(_Definition.of(function))
    return _parameters(function), _CONTEXT in inspect.signature(function).parameters


@lru_cache(maxsize=1_024)
def _read_once(definition: _Definition) -> tuple[tuple[_Parameter, ...], bool]:
    function = definition.function
    return _parameters(function), _CONTEXT in inspect.signature(function).parameters


def _make(function: ToolFunction, name: str | None, description: str | None, *, is_read_only: bool) -> FunctionTool:
    written = getattr(function, "__name__", repr(function))
    if not inspect.iscoroutinefunction(function):
        raise UsageError(f"{written}: a tool is an `async def`")
    called = name if name is not None else _camel_case(written)
    if _TOOL_NAME.fullmatch(called) is None:
        raise UsageError(f"{called!r} cannot name a tool: 1 to 64 letters, digits, '_' and '-'")
    summary = description if description is not None else describe(function).summary
    if not summary.strip():
        raise UsageError(f"{written}: without a docstring no model knows what it is for")
    parameters, takes_context = _read(function)
    return FunctionTool(called, summary, _schema(parameters), is_read_only, function, parameters, takes_context)


def _schema(parameters: tuple[_Parameter, ...]) -> Schema:
    return object_schema(
        {parameter.called: parameter.schema for parameter in parameters},
        [p.called for p in parameters if p.is_required],
    )


def _parameters(function: ToolFunction) -> tuple[_Parameter, ...]:
    written = function.__name__
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        text = f"{written}: a type in its signature cannot be read: {error}; import or define that name for real"
        raise UsageError(text) from error
    if hints.get("return", str) is not str:
        raise UsageError(f"{written}: a tool returns str")
    texts = describe(function).entries
    signature = {
        name: parameter for name, parameter in inspect.signature(function).parameters.items() if name != _CONTEXT
    }
    undocumented = sorted(set(texts) - set(signature) - {_CONTEXT})
    if undocumented:
        raise UsageError(f"{written}: `Args:` names {', '.join(undocumented)}, which the signature does not have")
    found = tuple(_parameter(written, parameter, hints, texts) for parameter in signature.values())
    names = [parameter.called for parameter in found]
    if len(set(names)) < len(names):
        raise UsageError(f"{written}: two arguments have the same name in {', '.join(names)}")
    return found


def _parameter(written: str, one: inspect.Parameter, hints: Mapping[str, Any], texts: Mapping[str, str]) -> _Parameter:
    place = f"{written}({one.name})"
    if one.kind not in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY}:
        raise UsageError(f"{place}: the arguments of a tool have names; no *, **, or positional-only ones")
    if one.name not in hints:
        raise UsageError(f"{place}: a type is needed")
    annotation, arg = _split(hints[one.name])
    called = arg.name or one.name
    if _ARGUMENT_NAME.fullmatch(called) is None:
        raise UsageError(f"{place}: {called!r} cannot name an argument: 1 to 64 letters, digits, '_', '.' and '-'")
    schema = schema_of(annotation, place=place)
    bound = arg.bound(schema, place)
    types, choices = _plain_ones(annotation) if bound == schema else (frozenset[type](), frozenset[Any]())
    schema = bound
    if one.name in texts:
        schema["description"] = texts[one.name]
    default = one.default.value if isinstance(one.default, Enum) else one.default
    if isinstance(default, str | int | float):
        schema["default"] = default
    return _Parameter(one.name, called, annotation, schema, one.default is one.empty, types, choices)


def _plain_ones(annotation: Any) -> tuple[frozenset[type], frozenset[Any]]:
    """Return the types and the texts that fit an annotation as they are; none where something else could take them."""
    members = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    choices = [choice for member in members if get_origin(member) is Literal for choice in get_args(member)]
    others = [member for member in members if member not in _PLAIN and get_origin(member) not in {Literal, list, dict}]
    if others or any(type(allowed) is not str for allowed in choices):
        return frozenset(), frozenset()
    return frozenset(member for member in members if member in _PLAIN), frozenset(choices)


def _split(annotation: Any) -> tuple[Any, Arg]:
    if get_origin(annotation) is Annotated:
        inner, *extras = get_args(annotation)
        for extra in extras:
            if isinstance(extra, Arg):
                return inner, extra
    return annotation, Arg()


def _camel_case(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
