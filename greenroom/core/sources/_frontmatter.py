"""Frontmatter: the YAML between two `---` lines at the head of a Markdown file.

Words follow YAML 1.2: `on`, `off`, `yes`, `no` and dates are text, because YAML 1.1 would turn a key named `on` into a
boolean; fields that take a flag read those words themselves. Anchors, aliases and tags are refused and the size is
bounded, so nothing can expand. Every problem is one `BadFrontmatter` with its line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, final

import attrs

if TYPE_CHECKING:
    from yaml import SafeLoader

FRONTMATTER_CHARACTERS: Final = 64_000
_FENCE: Final = re.compile(r"---[ \t]*")


@final
class BadFrontmatter(Exception):
    """Frontmatter that cannot be read.

    Attributes:
        line: Line in the file, from 1.
        what: The problem and the remedy.
    """

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line
        self.what = what


@final
@attrs.frozen
class FieldEntry:
    """A field as it was written."""

    value: Any
    """The value as parsed from YAML or JSON."""
    text: str | None
    """The literal text of a scalar: `007` and `1.10` lose nothing. None for lists and mappings."""
    line: int = 0


@final
@attrs.frozen(kw_only=True)
class Document:
    """A Markdown file in two parts."""

    fields: Mapping[str, FieldEntry]
    body: str
    """The text after the frontmatter, without white space around it; the whole file if it has no frontmatter."""
    body_line: int = 1
    has_frontmatter: bool = False


def read_frontmatter(content: str) -> Document:
    """Return the fields and the body of a Markdown file.

    Raises:
        BadFrontmatter: The frontmatter has no end, is not a mapping, or is not valid YAML.
    """
    head, document = split_frontmatter(content)
    return document if head is None else attrs.evolve(document, fields=parse_fields(head))


def split_frontmatter(content: str) -> tuple[str | None, Document]:
    """Return the frontmatter of a Markdown file, or None, and the file without its fields.

    Raises:
        BadFrontmatter: The frontmatter has no end, or is too long.
    """
    lines = content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return None, Document(fields={}, body="\n".join(lines).strip())
    end = next((at for at, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        raise BadFrontmatter(1, "the frontmatter has no end; add a line with --- after it")
    head = "\n".join(lines[1:end])
    if len(head) > FRONTMATTER_CHARACTERS:
        raise BadFrontmatter(1, f"the frontmatter has more than {FRONTMATTER_CHARACTERS:,} characters; shorten it")
    body = "\n".join(lines[end + 1 :]).strip()
    return head, Document(fields={}, body=body, body_line=end + 2, has_frontmatter=True)


def entries_of(values: Mapping[str, Any]) -> dict[str, FieldEntry]:
    """Return the fields of a JSON object as if they had been written in frontmatter."""
    return {
        key: FieldEntry(value, value if isinstance(value, str) else _plain_text(value)) for key, value in values.items()
    }


def _plain_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ("" if value is None else None)


def parse_fields(head: str) -> dict[str, FieldEntry]:
    """Return the fields of YAML frontmatter.

    Raises:
        BadFrontmatter: It is not a mapping, or not valid YAML.
    """
    from yaml import MappingNode, MarkedYAMLError, ScalarNode, YAMLError

    try:
        loader = _loader_class()(head)
        try:
            root = loader.get_single_node()
            if root is None:
                return {}
            if not isinstance(root, MappingNode):
                raise BadFrontmatter(2, "the frontmatter is not a list of fields; write one `field: value` per line")
            fields: dict[str, FieldEntry] = {}
            for key_node, node in root.value:
                line = key_node.start_mark.line + 2
                if not isinstance(key_node, ScalarNode):
                    raise BadFrontmatter(line, "a field name must be a plain word")
                key = _whole(key_node.value)
                if key in fields:
                    raise BadFrontmatter(line, f"{key!r} is repeated; it first appears in line {fields[key].line}")
                text = _whole(node.value) if isinstance(node, ScalarNode) else None
                fields[key] = FieldEntry(loader.construct_object(node, deep=True), text, line)
            return fields
        finally:
            loader.dispose()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadFrontmatter((mark.line if mark is not None else 0) + 2, _advice(error.problem or "")) from None
    except YAMLError as error:
        raise BadFrontmatter(2, f"not valid YAML: {' '.join(str(error).split())}") from None
    except (ValueError, TypeError) as error:
        raise BadFrontmatter(2, f"a value cannot be read: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise BadFrontmatter(2, "values are nested too deeply") from None


def _whole(text: str) -> str:
    """Return text without unpaired surrogates, which an escape can produce and no encoding can represent."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _advice(problem: str) -> str:
    if "mapping values are not allowed" in problem:
        return "the value contains ': ' and must be quoted"
    if "cannot start any token" in problem or "did not find expected" in problem or "expected <block end>" in problem:
        return f"not valid YAML ({problem}); quote the value, indent with spaces"
    return f"not valid YAML: {' '.join(problem.split()) or 'it cannot be parsed'}"


@functools.cache
def _loader_class() -> type[SafeLoader]:
    import yaml
    from yaml.composer import ComposerError
    from yaml.constructor import ConstructorError

    class Loader(yaml.SafeLoader):
        """YAML 1.2's core words, without references and tags."""

        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the library's own form

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if getattr(event, "anchor", None) is not None:
                raise ComposerError(
                    None, None, "anchors and aliases are not supported; write the value out", event.start_mark
                )
            return super().compose_node(parent, index)

    def construct_mapping(loader: Any, node: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConstructorError(None, None, "a key must be a plain word", key_node.start_mark)
            key = _whole(key_node.value)
            if key in found:
                raise ConstructorError(None, None, f"{key!r} is repeated", key_node.start_mark)
            found[key] = loader.construct_object(value_node, deep=True)
        return found

    def refuse(_: Any, node: Any) -> Any:
        raise ConstructorError(None, None, f"the tag {node.tag!r} is not supported", node.start_mark)

    Loader.yaml_constructors = {
        None: refuse,
        "tag:yaml.org,2002:null": lambda *_: None,
        "tag:yaml.org,2002:bool": lambda _, node: node.value.lower() == "true",
        "tag:yaml.org,2002:int": lambda _, node: int(node.value),
        "tag:yaml.org,2002:float": lambda _, node: float(node.value),
        "tag:yaml.org,2002:str": lambda _, node: _whole(node.value),
        "tag:yaml.org,2002:seq": lambda loader, node: [loader.construct_object(item, deep=True) for item in node.value],
        "tag:yaml.org,2002:map": construct_mapping,
    }
    for name, pattern, first in (
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
        ("int", r"[-+]?[0-9]{1,18}", list("-+0123456789")),
        ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ):
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(f"^(?:{pattern})$"), first)
    return Loader
