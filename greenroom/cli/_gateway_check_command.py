"""The command `greenroom gateway check`: every problem of a configuration, and its effective values.

It only reads. Exit codes are 0, 1 for a configuration that cannot be used, 2 for a mistake in the command. What `--json`
prints keeps its keys.
"""

from __future__ import annotations

import os
from pathlib import Path

from greenroom.cli._page import Page
from greenroom.core.texts import printable_text
from greenroom.gateway.config import check_report, find_config


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
    reading = find_config(config, os.environ)
    facts, lines = check_report(reading, effective=effective)
    if json:
        Page(facts=facts, lines=()).print(is_json=True)
    else:
        print(*map(printable_text, lines), sep="\n")  # whole: a line ends with what to do
    return 0 if reading.config is not None else 1
