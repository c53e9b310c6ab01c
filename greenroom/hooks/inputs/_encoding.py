"""The base class of hook inputs and their JSON encoding.

Field names are the keys of the JSON unless the field's metadata gives another; a field that is None is left out. Encoding never fails,
whatever a model put into a tool's input.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, final

import attrs

from greenroom.hooks._event_table import HookEvent

_OTHER_MODES: Final = {"manual": "default"}


INPUTS: Final[dict[HookEvent, type[HookInput]]] = {}
"""The class of each event's input; filled by the classes themselves."""


@final
@attrs.frozen(kw_only=True)
class HookContext:
    """Common fields of all inputs, and the actor that a run is recorded for."""

    session_id: str
    cwd: Path
    """The current folder of the agent, in which commands run."""
    transcript_path: Path | None = None
    """The main conversation's transcript, also inside a child; None if none is kept."""
    prompt_id: str | None = None
    permission_mode: str | None = None
    effort: str | None = None
    agent_id: str | None = None
    """Inside a child only."""
    agent_type: str | None = None
    actor: str = ""
    """Id of the actor that the run is recorded for."""
    incarnation: int = 0
    parent: int = 0
    """`seq` of the event that caused it."""

    def encode(self) -> dict[str, Any]:
        """Return the keys that all inputs have."""
        mode = self.permission_mode
        values = {
            "session_id": self.session_id,
            "prompt_id": self.prompt_id,
            "transcript_path": "" if self.transcript_path is None else str(self.transcript_path),
            "cwd": str(self.cwd),
            "permission_mode": None if mode is None else _OTHER_MODES.get(mode, mode),
            "effort": None if self.effort is None else {"level": self.effort},
            "agent_id": self.agent_id,
            "agent_type": self.agent_type,
        }
        return {key: value for key, value in values.items() if value is not None}


@attrs.frozen(kw_only=True)
class HookInput:
    """Base class of the inputs; a subclass with an `event` registers itself in `INPUTS`."""

    event: ClassVar[HookEvent]
    subject_field: ClassVar[str] = ""
    """The field that matchers are compared with."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "event" in cls.__dict__:
            # attrs makes each class twice, the second time with slots: that one stays.
            INPUTS[cls.event] = cls

    @property
    def subject(self) -> str:
        """The value that matchers are compared with; empty if matchers have no effect."""
        return str(getattr(self, self.subject_field)) if self.subject_field else ""

    def encode(self, context: HookContext) -> dict[str, Any]:
        """Return the whole input as JSON-compatible values."""
        values = {"hook_event_name": self.event.value, **_fields(self)}
        return {**context.encode(), **values}


def as_json(values: Mapping[str, Any]) -> str:
    """Encode an input as one line of ASCII."""
    return json.dumps(values, separators=(",", ":"))


def _fields(instance: attrs.AttrsInstance) -> dict[str, Any]:
    encoded = [field for field in attrs.fields(type(instance)) if field.metadata.get("is_encoded", True)]
    values = {field.metadata.get("key", field.name): getattr(instance, field.name) for field in encoded}
    return {key: plain(value) for key, value in values.items() if value is not None}


def plain(value: Any) -> Any:
    """Return a JSON-compatible copy: unsupported values become strings, NaN and infinities become null."""
    try:
        return _plain(value)
    except RecursionError:
        return "(nested too deeply to be shown)"


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value if not isinstance(value, int) or value.bit_length() < 1024 else "(a huge number)"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_plain(inner) for inner in value]
    if attrs.has(type(value)):
        return _fields(value)
    return str(value)
