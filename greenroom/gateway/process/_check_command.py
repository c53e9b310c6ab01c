"""The command `greenroom gateway check`: every problem of a configuration, and its effective values.

It only reads. Exit codes are 0, 1 for a configuration that cannot be used, 2 for a mistake in the command.
"""

from __future__ import annotations

import os
from pathlib import Path

from greenroom.core.texts import printable_text
from greenroom.gateway.config import check_report, find_config
from greenroom.gateway.process._printed import print_json, print_lines
from greenroom.gateway.trust import admission_report


def check_command(
    *, config: Path | None = None, effective: bool = False, as_: str | None = None, json: bool = False
) -> int:
    """Check the configuration of a gateway.

    Parameters
    ----------
    config
        The file; by default GREENROOM_GATEWAY_CONFIG, or ~/.greenroom/gateway.json5.
    effective
        Print every value with its origin.
    as_
        Print what becomes of a message of CHANNEL:PEER[:SENDER], and why.
    json
        Print one JSON object instead of lines.
    """
    reading = find_config(config, os.environ)
    facts, lines = admission_report(check_report(reading, effective=effective), reading, as_)
    if json:
        print_json(facts)
    else:
        print_lines(*map(printable_text, lines))  # whole: a line ends with what to do
    return 0 if reading.config is not None else 1
