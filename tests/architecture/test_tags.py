"""Tags around the words of others are written in one place."""

from __future__ import annotations

import ast
import re
from typing import Final

import pytest

from greenroom.core.texts import FRAMES
from tests.architecture.source_tree import sources

_NAMES: Final = "|".join(sorted(map(re.escape, FRAMES), key=len, reverse=True))
_MAY_HOLD: Final = re.compile(rf"</?(?:{_NAMES}|\{{)|</?[\"']|\\(?:x3c|u003c)", re.IGNORECASE)
"""What a module has in its text if it writes a tag; most have not, and need no parsing."""


def written_tags(source: str) -> list[int]:
    """Return the lines of string literals that hold a tag of ours, or make a tag of a name."""
    if _MAY_HOLD.search(source) is None:
        return []
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if re.search(rf"</?(?:{_NAMES})[\s>]", text):
                found.append(node.lineno)
            case ast.JoinedStr(values=parts):
                texts = [part.value if isinstance(part, ast.Constant) else None for part in parts]
                found += [
                    node.lineno
                    for before, part, behind in zip(texts, parts[1:], texts[2:], strict=False)
                    if isinstance(before, str)
                    and before.endswith(("<", "</"))
                    and isinstance(part, ast.FormattedValue)
                    and isinstance(behind, str)
                    and behind.startswith((">", " "))
                    and not (isinstance(part.value, ast.Attribute) and part.value.attr == "__name__")
                ]
    return found


_MENTIONS: Final = {
    "greenroom.agents.delegation._coordinator": "the prompt of a coordinator names the tag that it is going to read",
    "greenroom.agents.delegation._scan": "it names the tags that it has marked in a report",
    "greenroom.gateway.commands._subagent_texts": "it takes the tags out of what a log shows",
    "greenroom.mcp._server_prompts": "the hint for people on what to type behind a command",
    "greenroom.models._layer": "a representation for programmers",
}


def test_no_other_module_writes_tags() -> None:
    found = {
        module: lines
        for module, source in sources().items()
        if module != "greenroom.core.texts._frames" and not module.startswith("greenroom.swarm.survey.")
        if (lines := written_tags(source))
    }

    assert {module: lines for module, lines in found.items() if module not in _MENTIONS} == {}
    assert set(_MENTIONS) == set(found), "an exception that is needed no more"


@pytest.mark.parametrize(
    "source",
    [
        'x = "<system-reminder>"',
        'x = f"<{tag}>{text}</{tag}>"',
        "x = f'<channel source=\"{a}\">'",
        'x = f"a </task-notification>"',
    ],
)
def test_planted_tag_is_found(source: str) -> None:
    assert written_tags(source) == [1] * len(written_tags(source)) != []
