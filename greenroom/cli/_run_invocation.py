"""The arguments of a recorded `greenroom run`, kept in its record, and read to do the run again.

What flags read from files is kept as text, so that the run can be done again where the files are gone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.cli._run_arguments import read_object
from greenroom.cli._run_flags import RunFlags
from greenroom.core import UsageError
from greenroom.headless import HeadlessOptions

_FOLDERS: Final = frozenset(("cwd", "add_dir", "plugin_dir"))
_OF_FILES: Final = {"settings": "--settings", "agents": "--agents", "json_schema": "--json-schema"}
_OF_THE_RUN: Final = frozenset(
    ("model", "max_budget_usd", "record", "recorded", "runs", "session_id", "resume", "continue_")
)
"""Flags that say nothing about what a re-run does."""


def invocation_of(flags: RunFlags, options: HeadlessOptions) -> str:
    """Return the arguments of a run as text, for its record."""
    values: dict[str, Any] = {}
    for field in attrs.fields(RunFlags):
        value = getattr(flags, field.name)
        if field.name in _OF_THE_RUN or (value == field.default and field.name != "cwd"):
            continue
        if field.name in _FOLDERS:
            folders = value if isinstance(value, list) else [value]
            value = [str(folder.absolute()) for folder in folders]
        elif field.name in _OF_FILES:
            value = json.dumps(read_object(_OF_FILES[field.name], value))
        elif field.name == "mcp_config":
            value = [json.dumps(read_object("--mcp-config", config)) for config in value]
        values[field.name] = value
    return json.dumps({"run": values, "prompt": options.prompt, "ceiling_s": options.ceiling_s})


def read_invocation(text: str, name: str) -> tuple[RunFlags, str, float]:
    """Return the flags of a recorded run, its prompt, and the seconds for which it waited for agents in the background.

    Args:
        text: As `invocation_of` returned it.
        name: The name of the run, for errors.

    Raises:
        UsageError: The run cannot be done again from its arguments.
    """
    try:
        told = json.loads(text)
        values = dict(told["run"])
        for field in _FOLDERS & values.keys():
            folders = [Path(folder) for folder in values[field]]
            values[field] = folders[0] if field == "cwd" else folders
        flags = RunFlags(**values)
        prompt, ceiling_s = str(told["prompt"]), float(told["ceiling_s"])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UsageError(
            f"the arguments on the record of {name} do not fit this version ({error}); call greenroom.rerun with a program"
        ) from None
    return flags, prompt, ceiling_s
