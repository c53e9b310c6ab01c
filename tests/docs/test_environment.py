"""The page about environment variables names those that the code has, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from greenroom.agents.compaction import CompactionSettings
from greenroom.mcp import McpSettings
from greenroom.models.choice import DEFAULT_CLAUDE_MODEL

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
OURS: Final = re.compile(r"\b(?:GREENROOM|CLAUDE|ANTHROPIC)_[A-Z][A-Z_]*[A-Z]\b")
SHOWN: Final = set(re.findall(r"`([A-Z][A-Z_]*[A-Z])`", PAGE))
COUNTERPARTS: Final = PAGE.partition("## What has no counterpart")[2].partition("\n## ")[0]
OF_OTHERS: Final = {"ANTHROPIC_CUSTOM_HEADERS", "NO_COLOR", "FORCE_COLOR", "COLUMNS"}
"""Variables that only libraries read."""
NOT_READ: Final = {name for name in SHOWN if f"| `{name}" in COUNTERPARTS or f", `{name}`" in COUNTERPARTS} | {"TMPDIR"}
"""Of which the page says that nothing stands in their place; the last is the standard library's."""


@cache
def texts_and_names() -> tuple[set[str], set[str]]:
    """Return every text of the code, and what it reads from the environment by name."""
    texts, names = set(), set()
    for path in sorted((ROOT / "greenroom").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not OURS.search(source) and not any(name in source for name in (*SHOWN, "environ")):
            continue  # it has none of them, and a syntax tree costs much
        tree = ast.parse(source)
        texts |= {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if "environ" in source:
            names |= set(read_by_name(tree))
    return texts, names


def read_by_name(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case (
                ast.Call(func=ast.Attribute(value=source, attr="get"), args=[ast.Constant(value=str(name)), *_])
                | ast.Subscript(value=source, slice=ast.Constant(value=str(name)))
            ) if "environ" in ast.unparse(source):
                yield name


def test_no_variable_is_left_out() -> None:
    texts, read = texts_and_names()
    named = {name for text in texts for name in OURS.findall(text)}

    assert "GREENROOM_HOME" in named
    assert "TERM" in read
    assert (named | read) - SHOWN - {"CLAUDE_MODELS", "PATH"} == set()


def test_no_variable_is_there_that_nothing_reads_or_sets() -> None:
    found, _ = texts_and_names()
    words = {word for text in found for word in re.findall(r"[A-Z_]{3,}", text)}

    stale = {name for name in SHOWN - OF_OTHERS - NOT_READ if name not in words and name.partition("_")[2] not in found}

    assert stale == set()
    assert {name for name in NOT_READ - {"TMPDIR"} if name in words} == set()
    assert len(NOT_READ) == 5


def test_the_defaults_are_those_of_the_code() -> None:
    mcp = McpSettings()
    seconds = (mcp.start_timeout_s, mcp.call_timeout_s, mcp.idle_network_s, mcp.idle_stdio_s)
    numbers = [f"{CompactionSettings().window_tokens:,}", f"{mcp.output_tokens:,}"]
    numbers += [f"{1_000 * second:,.0f}" for second in seconds]

    assert [one for one in (*numbers, f"`{DEFAULT_CLAUDE_MODEL}`") if one not in PAGE] == []
