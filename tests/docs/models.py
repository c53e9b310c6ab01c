"""The tables of docs/reference/model-settings.md, made from the code: `python -m tests.docs.models` writes the page."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.models import ContinuationPolicy, ModelSettings, RetryPolicy, Thinking
from greenroom.models._deadlines import Deadlines
from greenroom.models._retry import KindPolicy
from greenroom.models.budgets import Limits
from greenroom.models.budgets._pricing import DEFAULT_PRICES, Price

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "model-settings.md"
PARTS: Final[dict[str, tuple[str, type[Any]]]] = {
    "": ("Models", ModelSettings),
    "thinking": ("Thinking", Thinking),
    "deadlines": ("Deadlines", Deadlines),
    "retries": ("Retries", RetryPolicy),
    "retries.by_kind.KIND": ("Retries for one kind of error", KindPolicy),
    "continuation": ("Answers that were cut", ContinuationPolicy),
    "budget": ("Budget", Limits),
    "prices.NAME": ("Prices", Price),
}
HEAD: Final = """\
# Settings of models

Generated from the code by `python -m tests.docs.models`. A program reads them with `read_settings(ModelSettings,
values, source=...)`, which refuses what it does not know and names each mistake with its place. Amounts of money may be
numbers or texts: `0.1` and `"0.1"` are both a tenth.
"""
TAKES: Final = {
    "bool": "true or false",
    "int": "integer",
    "float": "number",
    "str": "text",
    "str | int": "text or integer",
    "Decimal": "amount",
    "tuple[str, ...]": "list of texts",
}


def meanings(one: type[Any]) -> dict[str, str]:
    """Return what stands below each field."""
    (tree,) = ast.parse(inspect.getsource(one)).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            found[field.target.id] = (
                " ".join(ast.literal_eval(text.value).split()) if isinstance(text, ast.Expr) else ""
            )
    return found


def takes(path: str, annotation: str) -> str:
    whole = annotation.removesuffix(" | None")
    if path in PARTS:
        return f"[object](#{PARTS[path][0].lower().replace(' ', '-')})"
    if whole.startswith("Mapping"):
        return "object"
    if whole.startswith("Literal"):
        return " or ".join(f"`{word}`" for word in ast.literal_eval(whole.removeprefix("Literal")))
    return TAKES[whole]


def default(field: attrs.Attribute[Any]) -> str:
    value = field.default
    if value is attrs.NOTHING:
        return "required"
    if value is None:
        return "none"
    if attrs.has(type(value)) or isinstance(value, attrs.Factory | dict):
        return ""
    return f"`{value}`"


def page() -> str:
    parts = [HEAD]
    for path, (title, one) in PARTS.items():
        prefix = f"{path}." if path else ""
        texts = meanings(one)
        parts.append(f"\n## {title}\n\n| setting | takes | default | meaning |\n| --- | --- | --- | --- |\n")
        for field in attrs.fields(one):
            # As written: the type of a field is another one once somebody has resolved it.
            shown = takes(prefix + field.name, one.__annotations__[field.name])
            text = (texts.get(field.name) or meanings(RetryPolicy).get(field.name, "")).replace("|", "\\|")
            parts.append(f"| `{prefix}{field.name}` | {shown} | {default(field)} | {text} |\n")
    parts.append(
        "\n## Built-in prices\n\nUS dollars for a million tokens; the write is that of the cache of five minutes.\n\n"
        "| model | input | output | cache write | cache read |\n| --- | --- | --- | --- | --- |\n"
    )
    for name, price in DEFAULT_PRICES.items():
        over = (
            ""
            if price.long_prompt_over is None
            else f" (x{price.long_prompt_factor} over {price.long_prompt_over:,} tokens)"
        )
        parts.append(
            f"| `{name}`{over} | {price.input} | {price.output} | {price.cache_write} | {price.cache_read} |\n"
        )
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
