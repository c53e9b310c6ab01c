"""The command `greenroom gateway check`: every problem of a configuration, and its effective values.

It only reads. Exit codes are 0, 1 for a configuration that cannot be used, 2 for a mistake in the command. What `--json`
prints keeps its keys.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.cli._page import Page, counted
from greenroom.core import UsageError
from greenroom.core.texts import printable_text
from greenroom.gateway.config import (
    FILE,
    ConfigReading,
    GatewayConfig,
    Problem,
    Severity,
    effective_values,
    read_config,
)

_GOOD: Final = 0
_BAD: Final = 1
_VARIABLE: Final = "GREENROOM_GATEWAY_CONFIG"


def check_command(*, config: Path | None = None, effective: bool = False, json: bool = False) -> int:
    """Check the configuration of a gateway.

    Nothing is started and no file is changed. Secrets are never printed.

    Parameters
    ----------
    config
        The file; by default GREENROOM_GATEWAY_CONFIG, or ~/.greenroom/gateway.json5.
    effective
        Print every value with its origin.
    json
        Print one JSON object instead of lines.
    """
    reading = _read(config)
    facts: dict[str, Any] = {
        "config": str(reading.path),
        "usable": reading.config is not None,
        "problems": [attrs.asdict(problem) for problem in reading.problems],
    }
    lines = [str(problem) for problem in reading.problems]
    if effective:
        values = effective_values(reading)
        facts["effective"] = {value.path: {"value": value.value, "origin": value.origin} for value in values}
        lines += [f"{value.path} = {_shown(value.value)}  ({value.origin})" for value in values]
    if reading.config is None:
        lines.append(f"{reading.path}: {counted(sum(map(_is_problem, reading.problems)), 'problem')}")
    else:
        lines.append(f"{reading.path}: no problems")
    if json:
        Page(facts=facts, lines=()).print(is_json=True)
    else:
        print(*map(printable_text, lines), sep="\n")  # whole: a line ends with what to do
    return _GOOD if reading.config is not None else _BAD


def _read(asked: Path | None) -> ConfigReading:
    """Return what the file holds; where none is named and none is there, all defaults."""
    named = os.environ.get(_VARIABLE, "")
    path = asked or (Path(named) if named else None)
    if path is None:
        path = Path.home() / ".greenroom" / FILE
        if not path.exists():
            return ConfigReading(config=GatewayConfig(), path=path)
    elif not path.exists():
        origin = "--config" if asked else _VARIABLE
        raise UsageError(f"{origin}: {str(path)!r} does not exist")
    return read_config(path, os.environ)


def _is_problem(problem: Problem) -> bool:
    return problem.severity is Severity.PROBLEM


def _shown(value: object) -> str:
    import orjson

    return orjson.dumps(value).decode()
