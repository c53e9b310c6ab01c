"""The page docs/reference/gateway-configuration.md, made from the classes: `python -m tests.docs.gateway_configuration` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import attrs

from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._foreign_keys import IDLE_KEYS
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._reader import rule_of
from greenroom.gateway.config._values import Secret, Short
from tests.docs.docstrings import field_docs, summary
from tests.docs.events import table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "gateway-configuration.md"
PLAIN: Final = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Decimal: "number",
    Any: "anything",
}

HEAD: Final = """\
# Configuration of a gateway

Every key of `gateway.json5`. Generated from the code by `python -m tests.docs.gateway_configuration`.

The file is [JSON5](https://json5.org): JSON with comments, keys without quotes, and commas behind the last value.

```json5
{
  agents: {
    defaults: {
      model: "sonnet",
      subagents: { model: "haiku", maxConcurrent: 4 },  // cheaper work, four at a time
    },
    list: [
      { id: "main", default: true, subagents: { allowAgents: ["research"] } },
      { id: "research", workspace: "~/research", tools: { deny: ["group:runtime"] } },
    ],
  },
  channels: {
    irc: { host: "irc.example.org", nick: "helper", password: { env: "IRC_PASSWORD" } },
  },
  commands: { ownerAllowFrom: ["irc:alice"] },
}
```

`greenroom gateway check` reports every problem with its path; `--effective` prints every value with its origin. The file is
never written by greenroom. It and its includes hold at most 256 KiB, nested at most 64 deep; no key may stand twice.

**Variables.** `${NAME}` in the text of a value is replaced by a variable of the environment; one that is not set is a problem.
`$${NAME}` is the text itself.

**Includes.** `{ $include: "agents.json5" }` stands for what that file holds; keys beside `$include` are added. The file must be
in the folder of `gateway.json5` or below it, and cannot include another one.

**Secrets.** Where the tables say *secret*, write a text, or better a reference: `{ env: "NAME" }`, `{ file: "PATH" }`, which nobody
else may be able to read, or `{ exec: ["PROGRAM", "ARGUMENT"] }`, which prints it. Secrets are never shown.

**Short forms.** Where the tables name a short form, a text stands for an object with that key: `model: "opus"` is
`model: { primary: "opus" }`.

**Widths.** `maxConcurrent` is rounded down and never below 1; a value that is not a number means the default. Both are reported.

Keys of OpenClaw that have no effect here are refused, and named as such. The check names settings of the tables below that have no effect
yet, too; they are not refused.

"""


def in_words(kind: Any) -> str:
    """Return the accepted values, in words."""
    rule = rule_of(kind)
    if isinstance(rule, Short):
        return f"{in_words(get_args(kind)[0])}; in short, its `{rule.key}`"
    if rule is not None:
        base = in_words(get_args(kind)[0])
        return f"{base} {rule.in_words}" if base.endswith("number") else rule.in_words
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return in_words(args[0])
    if origin in {Union, UnionType}:
        return " or ".join(in_words(each) for each in args if each is not NoneType)
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in args)
    if origin is tuple:
        return f"list of {_several(args[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return f"object of {_several(args[1])}, by name"
    if kind is Secret:
        return "secret"
    if attrs.has(kind):
        return "object"
    return PLAIN[kind]


def _several(kind: Any) -> str:
    words = in_words(kind)
    return {"text": "texts", "object": "objects", "a text that is not empty": "texts"}.get(words, words)


def below(kind: Any) -> tuple[type[Any], str] | None:
    """Return the class of the objects in a value, and how the path to them goes on."""
    if isinstance(kind, type) and attrs.has(kind) and kind is not Secret:
        return kind, ""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return below(args[0])
    if origin in {Union, UnionType}:
        return next((found for each in args if (found := below(each))), None)
    if origin is tuple:
        return (found[0], f"[]{found[1]}") if (found := below(args[0])) else None
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return (found[0], f".*{found[1]}") if (found := below(args[1])) else None
    return None


def sections(owner: type[Any], path: str, seen: dict[type[Any], str]) -> Iterator[str]:
    """Yield the table of a class, then those of the classes in it; each class once."""
    docs, kinds = field_docs(owner), get_type_hints(owner, include_extras=True)
    rows, inner = [], []
    for field in attrs.fields(owner):
        name, kind = key_of(field.name), kinds[field.name]
        meaning = docs.get(field.name, "")
        found = below(kind)
        if found is not None:
            there, place = found[0], f"{path}.{name}{found[1]}".lstrip(".")
            if there in seen:
                meaning += f" See `{seen[there]}`."
            else:
                seen[there] = place
                inner.append((there, place))
        why = IDLE_KEYS.get(tuple(part for part in f"{path}.{name}".replace("[]", "").split(".") if part))
        if why is not None:
            meaning += f" It has no effect yet: {why}."
        rows.append((f"`{name}`", in_words(kind).replace("|", "\\|"), _default(field.default), meaning))
    title = f"## {path}" if path else "## Sections"
    yield f"{title}\n\n{summary(owner)}\n\n{table(('key', 'takes', 'default', 'meaning'), rows)}"
    for there, place in inner:
        yield from sections(there, place, seen)


def _default(value: Any) -> str:
    if value is attrs.NOTHING:
        return "required"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float | Decimal):
        return f"`{value}`"
    if isinstance(value, tuple) and value and all(isinstance(each, str) for each in value):
        return ", ".join(f"`{each}`" for each in value)
    return f"`{value}`" if isinstance(value, str) and value else ""


def page() -> str:
    """Return the page."""
    return HEAD + "\n\n".join(part.rstrip() for part in sections(GatewayConfig, "", {})) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
