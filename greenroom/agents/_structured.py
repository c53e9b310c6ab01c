"""An answer in a form that a program can read: the tool by which an agent gives it, and what makes it do so.

What is given has passed the schema, or the agent reads what is wrong with it. A turn that has to give one does
not end before it has, and fails when the agent could not be brought to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, final

from greenroom.core import PeerError, UsageError
from greenroom.tools import InvalidInput, ToolContext, ToolError, validate

STRUCTURED_OUTPUT: Final = "StructuredOutput"
MAX_RETRIES: Final = 5
"""Times in one turn that an answer may be missing or wrong before the turn fails."""
_DEEPEST: Final = 20
"""Maximum number of references that are followed, one behind the other."""
_CALL_IT: Final = f"You have not given your final answer yet. Call the tool {STRUCTURED_OUTPUT} with it now."
_TAKEN: Final = "Your answer was taken."
_DESCRIPTION: Final = (
    "Gives your final answer, in the form that is asked for. Call it exactly once, at the end of your work: "
    "only what you give here is read by whoever asked."
)


@final
class NoStructuredAnswer(PeerError):
    """The model did not give an answer in the form that was asked for.

    Attributes:
        retries: How often it was told to.
    """

    def __init__(self, retries: int, why: str) -> None:
        super().__init__(f"the model gave no answer that fits the schema after {retries} retries: {why}")
        self.retries = retries


@final
class AnswerTool:
    """Takes the answer of one agent; a turn is told about by its engine.

    Args:
        schema: JSON Schema of an object. Its words for types, properties, lists, choices and limits of numbers are checked,
            references within it are followed; others, such as `pattern`, are only told to the model.
        owner: Returns the id of the agent that may give it.

    Raises:
        UsageError: The schema is not one of an object.
    """

    name = STRUCTURED_OUTPUT
    description = _DESCRIPTION
    is_read_only = True
    acts_on_session = True

    def __init__(self, schema: Mapping[str, Any], owner: Callable[[], str]) -> None:
        self.input_schema = schema
        self.given: dict[str, Any] | None = None
        """The answer of the agent in its latest turn."""
        self._checked = checked_schema(schema)
        self._owner = owner
        self._is_wanted = False
        self._failures = 0
        self._why = ""

    def begin(self, *, is_wanted: bool) -> None:
        """Start a new turn, which has to give an answer if one is wanted."""
        self.given, self._is_wanted, self._failures, self._why = None, is_wanted, 0, ""

    def remind(self) -> str:
        """Return what to tell a model that wants to end its turn; empty where it may.

        Raises:
            NoStructuredAnswer: It was told often enough.
        """
        if not self._is_wanted or self.given is not None:
            return ""
        self._fail("it ended its turn without one")
        self.check()
        return _CALL_IT

    def check(self) -> None:
        """Refuse to go on with a turn that has failed to give an answer too often.

        Raises:
            NoStructuredAnswer: It has.
        """
        if self._is_wanted and self.given is None and self._failures > MAX_RETRIES:
            raise NoStructuredAnswer(MAX_RETRIES, self._why)

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Take the answer.

        Raises:
            InvalidInput: It does not fit.
            ToolError: Another agent calls, such as a fork.
        """
        if ctx.actor != self._owner():
            raise ToolError("Only the agent that was asked gives the answer; say what you have found.")
        problems = validate(self._checked, input)
        if problems:
            self._fail("; ".join(map(str, problems)))
            raise InvalidInput(self.name, tuple(problems))
        self.given = dict(input)
        return _TAKEN

    def _fail(self, why: str) -> None:
        self._failures += 1
        self._why = why


def checked_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a schema `validate` can check, in the words that it knows.

    Raises:
        UsageError: It is not the schema of an object.
    """
    made = _SchemaReader(schema).read(schema)
    if made.get("type") != "object":
        raise UsageError('the schema of an answer has to be that of an object: {"type": "object", "properties": {...}}')
    return made


_TYPES: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
_LIMITS: Final = ("minimum", "maximum", "minItems", "maxItems")


@final
class _SchemaReader:
    """Reads one schema; what references lead to is read once for each number of them on the way, so that it comes to an end."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._found: dict[tuple[str, int], dict[str, Any]] = {}

    def read(self, schema: object, depth: int = 0) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            rest = {word: value for word, value in schema.items() if word != "$ref"}
            return self._follow(reference, depth + 1) | self.read(rest, depth)
        inner = schema.get("allOf")
        if isinstance(inner, list) and len(inner) == 1:
            rest = {word: value for word, value in schema.items() if word != "allOf"}
            return self.read(inner[0], depth) | self.read(rest, depth)
        choices = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(choices, list) and choices:
            return {"anyOf": [self.read(choice, depth) for choice in choices]}
        return self._read_plain(schema, depth)

    def _follow(self, reference: str, depth: int) -> dict[str, Any]:
        if depth > _DEEPEST or not reference.startswith("#"):
            return {}
        if (reference, depth) not in self._found:
            target: object = self._root
            for part in filter(None, reference[1:].split("/")):
                target = target.get(part) if isinstance(target, Mapping) else None
            if target is None:
                raise UsageError(f"the schema refers to {reference!r}, which is not in it")
            self._found[reference, depth] = self.read(target, depth)
        return self._found[reference, depth]

    def _read_plain(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        kinds = schema.get("type", "object" if "properties" in schema else None)
        named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        unknown = [each for each in named if each not in _TYPES]
        if unknown:
            raise UsageError(f"a schema has no type {unknown[0]!r}; there are {', '.join(sorted(_TYPES))}")
        if named:
            made["type"] = kinds
        if isinstance(schema.get("enum"), list) or "const" in schema:
            made["enum"] = schema["enum"] if isinstance(schema.get("enum"), list) else [schema["const"]]
        members, required = schema.get("properties"), schema.get("required")
        if isinstance(members, Mapping):
            made["properties"] = {str(name): self.read(one, depth) for name, one in members.items()}
        if isinstance(required, list):
            made["required"] = [str(each) for each in required]
            made["properties"] = {name: {} for name in made["required"]} | made.get("properties", {})
        if "additionalProperties" in schema:
            others = schema["additionalProperties"]
            made["additionalProperties"] = others if others is False else self.read(others, depth)
        if "items" in schema:
            made["items"] = self.read(schema["items"], depth)
        return made | {word: schema[word] for word in _LIMITS if isinstance(schema.get(word), int | float)}
