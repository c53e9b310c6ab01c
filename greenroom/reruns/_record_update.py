"""Updating a record: what the code of today asks for takes the place of what was asked then; the answers stay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from greenroom.core.ports import SystemDisk
from greenroom.effects import EFFECTS_FILE, RecordedEffect
from greenroom.models.recordings import MODEL_FILE, write_recording
from greenroom.reruns._recorded_run import RecordedRun


def update_record(
    recorded: RecordedRun,
    requests: Mapping[tuple[str, int], Mapping[str, Any]],
    inputs: Sequence[tuple[RecordedEffect, Mapping[str, Any]]],
) -> None:
    """Replace requests and inputs in the record of a run; it blocks. Each file is replaced as a whole.

    Args:
        recorded: The run.
        requests: Requests of today, by the agent and its number of the request.
        inputs: Results on record, with their inputs of today.
    """
    exchanges = (
        attrs.evolve(exchange, request=requests.get((exchange.agent, exchange.number), exchange.request))
        for exchange in recorded.model.exchanges
    )
    _replace(recorded.folder / MODEL_FILE, write_recording(attrs.evolve(recorded.model, exchanges=tuple(exchanges))))
    changed = {(effect.of, effect.agent, effect.key, effect.at): asked for effect, asked in inputs}
    path = recorded.folder / EFFECTS_FILE
    lines = []
    for line in path.read_bytes().splitlines():
        values = json.loads(line) if line.strip() else {}
        asked = changed.get(tuple(values.get(name) for name in ("of", "agent", "key", "at")))  # type: ignore[arg-type]
        lines.append(line if asked is None else json.dumps({**values, "asked": asked}, separators=(",", ":")).encode())
    _replace(path, b"".join(line + b"\n" for line in lines))


def _replace(path: Path, content: bytes) -> None:
    SystemDisk(is_durable=False).write(path, content)
