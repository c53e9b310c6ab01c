"""The tables of docs/reference/settings.md, made from the code: `python -m tests.docs.settings` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.agents.compaction import CompactionSettings
from greenroom.agents.review import AutoModeSettings
from greenroom.agents.subagents import DelegationSettings
from greenroom.containment import SandboxSettings
from greenroom.mcp import ChannelSettings
from greenroom.session import SessionSettings
from greenroom.session.schedules._schedule_settings import ScheduleSettings
from greenroom.session.settings._recovery_settings import RecoverySettings
from greenroom.session.settings._session_settings import AT_ONCE, LimitSettings, SwarmSettings, WorktreeKeys
from greenroom.teams import TeamSettings
from tests.docs.docstrings import field_docs, field_types
from tests.docs.events import table

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "settings.md"
TAKES: Final = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "dict[str, str]": "object of texts",
    "dict[str, Any]": "object",
    "dict[str, ChannelSettings]": "object of objects",
    "tuple[str, ...]": "list of texts",
    "tuple[dict[str, Any], ...]": "list of objects",
    "AutoModeSettings": "object",
    "CompactionSettings": "object",
    "DelegationSettings": "object",
    "LimitSettings": "object",
    "SwarmSettings": "object",
    "PeerSettings": "object",
    "RemoteSettings": "object",
    "RecoverySettings": "object",
    "ScheduleSettings": "object",
    "TeamSettings": "object",
    "SandboxSettings": "object",
    "WorktreeKeys": "object",
    "ForkSetting": "`off`, `when_type_omitted` or `explicit`",
    "SkillForkSetting": "`wait` or `background`",
    "ModelSettings": "object, see [settings of models](model-settings.md)",
    "McpSettings": "object, see [MCP servers](mcp.md)",
}


def takes(written: str) -> str:
    """Return what a setting takes, in words."""
    kinds = [kind.strip() for kind in written.split("\\|") if kind.strip() != "None"]
    words = [
        ", ".join(f"`{word.strip().strip(chr(39))}`" for word in kind[len("Literal[") : -1].split(","))
        if kind.startswith("Literal[")
        else TAKES[kind]
        for kind in kinds
    ]
    return " or ".join(words)


def rows(owner: type[attrs.AttrsInstance]) -> str:
    """Return the table of a class of settings."""
    docs, types = field_docs(owner), field_types(owner)
    return table(
        ("key", "takes", "default", "meaning"),
        (
            (f"`{field.name}`", takes(types[field.name]), _default(field.default), docs.get(field.name, ""))
            for field in attrs.fields(owner)
        ),
    )


def _default(value: Any) -> str:
    if value is None or value == () or not isinstance(value, str | int | float):
        return ""
    return f"`{str(value).lower()}`"


def insert(page: str) -> str:
    """Return the page with both tables between their marks."""
    for name, owner in (
        ("settings", SessionSettings),
        ("auto mode", AutoModeSettings),
        ("compaction", CompactionSettings),
        ("delegation", DelegationSettings),
        ("swarm", SwarmSettings),
        ("limits", LimitSettings),
        ("channel", ChannelSettings),
        ("recovery", RecoverySettings),
        ("schedules", ScheduleSettings),
        ("teams", TeamSettings),
        ("worktree", WorktreeKeys),
        ("sandbox", SandboxSettings),
    ):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{rows(owner)}\n{end}{after}"
    before, begin, rest = page.partition("<!-- at once -->\n")
    _, end, after = rest.partition("<!-- end of at once -->")
    at_once = ", ".join(f"`{field.name}`" for field in attrs.fields(SessionSettings) if field.name in AT_ONCE)
    return f"{before}{begin}At once: {at_once}.\n{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(insert(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
