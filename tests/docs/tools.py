"""The page docs/reference/tools.md, made from the tools: `python -m tests.docs.tools` writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from greenroom.agents.subagents import PEER_TOOLS, WORKTREE_TOOLS
from greenroom.session import SCHEDULE_TOOLS
from greenroom.tools import Tool, builtin
from greenroom.tools.builtin import STANDARD_TOOLS, HttpFetcher, make_web_fetch_tool

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "tools.md"

# What each tool needs of its context, beside a folder to work in.
NEEDS: Final = {
    "Write": "`workspace`",
    "Edit": "`workspace`",
    "Bash": "`workspace`, `processes`, `background`",
    "TaskOutput": "`background`",
    "TaskStop": "`background`",
    "TodoWrite": "`workspace`",
    "AskUserQuestion": "`ask_user`",
    "EnterWorktree": "an open session",
    "ExitWorktree": "an open session",
    **dict.fromkeys((tool.name for tool in (*PEER_TOOLS, *SCHEDULE_TOOLS)), "an open session"),
    "WebFetch": "made by `make_web_fetch_tool(fetcher, permit=...)`",
}

HEAD: Final = """\
# Tools

The description of each tool that comes with greenroom, as a model reads it. Generated from the code by `python -m
tests.docs.tools`. The column "in Python" has the tool's name in `greenroom.tools.builtin`; those of worktrees and
`ListAgents` are in `WORKTREE_TOOLS` and `PEER_TOOLS` of `greenroom.agents.subagents`, those of schedules in `SCHEDULE_TOOLS` of
`greenroom.session`.

"""


async def _nobody(*_: object) -> None:
    raise AssertionError("the page is made without calling anything")


def tools() -> tuple[Tool, ...]:
    return (
        *STANDARD_TOOLS,
        make_web_fetch_tool(HttpFetcher(), permit=_nobody),
        *WORKTREE_TOOLS,
        *PEER_TOOLS,
        *SCHEDULE_TOOLS,
    )


def in_python(wanted: Tool) -> str:
    return next((f"`{name}`" for name in builtin.__all__ if getattr(builtin, name) is wanted), "")


def overview() -> str:
    lines = [
        "| tool | in Python | runs in parallel with other calls | needs in the context |",
        "| --- | --- | --- | --- |",
    ]
    for tool in tools():
        beside = "yes" if tool.is_read_only else "no"
        lines.append(
            f"| [{tool.name}](#{tool.name.lower()}) | {in_python(tool)} | {beside} | {NEEDS.get(tool.name, '')} |"
        )
    return "\n".join(lines)


def section(one: Tool) -> str:
    lines = [f"## {one.name}", "", one.description, ""]
    lines += ["| argument | type | default | meaning |", "| --- | --- | --- | --- |"]
    required = one.input_schema.get("required", ())
    for name, schema in one.input_schema["properties"].items():
        default = (
            "required" if name in required else f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
        )
        meaning = schema.get("description", "").replace("|", "\\|")
        lines.append(f"| `{name}` | {kind(schema)} | {default} | {meaning} |")
    return "\n".join(lines)


def kind(schema: Mapping[str, Any]) -> str:
    """Return what a value may be, in words."""
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}"
    if schema.get("type") == "object":
        return "{" + ", ".join(f"`{name}`: {kind(one)}" for name, one in schema["properties"].items()) + "}"
    found = schema.get("type", "anything")
    text = " or ".join(found) if isinstance(found, list) else str(found)
    limits = [f"from {schema['minimum']}"] if "minimum" in schema else []
    limits += [f"to {schema['maximum']}"] if "maximum" in schema else []
    return " ".join([text, *limits])


def page() -> str:
    return HEAD + "\n\n".join([overview(), *map(section, tools())]) + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
