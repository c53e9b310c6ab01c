"""Hooks as a flag sets them, and as a program registers them."""

from __future__ import annotations

import json
from typing import Any


def hooks(**commands: str) -> tuple[str, str]:
    """Return the flag that has a command run at each of some moments."""
    entries = {name: [{"hooks": [{"type": "command", "command": one}]}] for name, one in commands.items()}
    return "--settings", json.dumps({"hooks": entries})


def group(*ids: str, **more: Any) -> dict[str, Any]:
    return {"hookCallbackIds": [*ids], **more}


def is_callback(line: dict[str, Any]) -> bool:
    return bool(line["type"] == "control_request" and line["request"]["subtype"] == "hook_callback")
