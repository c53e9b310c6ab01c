"""The report of `greenroom gateway check`: every problem of a configuration, and its effective values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.core import UsageError
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._effective import effective_values
from greenroom.gateway.config._problems import FILE, Severity
from greenroom.gateway.config._reader import ConfigReading, read_config

CONFIG_VARIABLE: Final = "GREENROOM_GATEWAY_CONFIG"
"""The variable that names the configuration file."""


def find_config(asked: Path | None, environ: Mapping[str, str]) -> ConfigReading:
    """Read the configuration of a gateway; if none is named and the default file does not exist, all values are defaults.

    Args:
        asked: The file; by default that of the variable, or `~/.greenroom/gateway.json5`.
        environ: Variables.

    Raises:
        UsageError: The named file does not exist.
    """
    named = environ.get(CONFIG_VARIABLE, "")
    path = asked or (Path(named) if named else None)
    if path is None:
        path = Path.home() / ".greenroom" / FILE
        if not path.exists():
            return ConfigReading(config=GatewayConfig(), path=path)
    elif not path.exists():
        raise UsageError(f"{'--config' if asked else CONFIG_VARIABLE}: {str(path)!r} does not exist")
    return read_config(path, environ)


def check_report(reading: ConfigReading, *, effective: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the report of a check, as an object for programs and as lines for people.

    Args:
        reading: The configuration.
        effective: True to add every value with its origin.
    """
    import orjson

    problems = reading.problems
    facts: dict[str, Any] = {
        "config": str(reading.path),
        "usable": reading.config is not None,
        "problems": [attrs.asdict(problem) for problem in problems],
    }
    lines = [str(problem) for problem in problems]
    if effective:
        values = effective_values(reading)
        facts["effective"] = {value.path: {"value": value.value, "origin": value.origin} for value in values}
        lines += [f"{value.path} = {orjson.dumps(value.value).decode()}  ({value.origin})" for value in values]
    count = 0 if reading.config is not None else sum(problem.severity is Severity.PROBLEM for problem in problems)
    lines.append(f"{reading.path}: {count or 'no'} problem{'' if count == 1 else 's'}")
    return facts, lines
