"""The file of effects of a run: what came from outside, as lines, and the reader of such files.

{"v": 1, "seed": "9f3c...", "git": "..."}                                                 begins the lines of one process
    {"of": "tool", "agent": "a1", "key": "call_1", "asked": {...}, "got": {...}, "at": 412}    when it has ended
    {"of": "wall", "owner": "session/main", "value": 1790000000.25}                           when it was read

Rule 1: an effect is written before its result is used. Rule 2: a torn line ends the record of its process. Rule 3: what a
line says is served as text and values, and never run.

Must not know: where the file lies and who writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import UsageError

EFFECTS_FILE: Final = "effects.jsonl"
"""The name of the file in a run folder."""
_VERSION: Final = 2


@final
@attrs.frozen(kw_only=True)
class EffectHead:
    """The beginning of the effects of one process."""

    seed: str
    """Seed of its ids and random numbers, in hexadecimal."""
    surroundings: Mapping[str, str] = attrs.field(factory=dict)
    """Texts about the machine and the folder that models read, by their source."""


@final
@attrs.frozen(kw_only=True)
class RecordedEffect:
    """A recorded effect."""

    of: str
    """The kind: `tool`, `hook`, `answer`, `command` (of a skill), `task` or `server`."""
    agent: str
    key: str
    asked: Mapping[str, Any]
    got: Mapping[str, Any]
    at: int
    """`seq` of the last journal event before it ended."""


@final
@attrs.frozen(kw_only=True)
class EffectRecord:
    """The effects of a run, in the order in which they ended."""

    head: EffectHead
    effects: tuple[RecordedEffect, ...]
    readings: Mapping[tuple[str, str], Sequence[float]]
    """Values that were read, in order, by what was read and who read it."""
    processes: int
    """Number of processes that wrote it: more than 1 if the run was resumed."""


@final
class EffectLog:
    """Writer of the effects of one process; the port `Effects` of a run that is recorded.

    Args:
        write: Appends whole lines to the file. It must not wait.
        seq: Returns the number of the last journal event.
        head: What the record begins with.
        mask: Masks secrets in JSON values.
    """

    def __init__(
        self,
        write: Callable[[bytes], object],
        seq: Callable[[], int],
        head: EffectHead,
        mask: Callable[[Any], Any] = lambda values: values,
    ) -> None:
        self.is_served = False
        self._write = write
        self._seq = seq
        self._mask = mask
        # The empty line ends one that an earlier process left torn.
        self._put({"v": _VERSION, "seed": head.seed, **mask(head.surroundings)}, before="\n")

    async def served(self, of: str, agent: str, key: str, asked: Mapping[str, Any], *, may_miss: bool = False) -> None:
        """Return None: nothing is served while a run is recorded."""
        return

    def note(self, of: str, agent: str, key: str, asked: Mapping[str, Any], got: Mapping[str, Any]) -> None:
        """Write an effect, with secrets masked in its input and its result."""
        told = self._mask({"asked": asked, "got": got})
        self._put({"of": of, "agent": agent, "key": key, **told, "at": self._seq()})

    def reading(self, of: str, owner: str, value: float) -> float:
        """Write a value that was read, and return it."""
        self._put({"of": of, "owner": owner, "value": value})
        return value

    async def wait_edge(self, actor: str) -> None:
        """Return at once."""

    def _put(self, line: Mapping[str, Any], *, before: str = "") -> None:
        # ASCII, so that lone surrogates survive.
        self._write((before + json.dumps(line, separators=(",", ":"), default=str) + "\n").encode())


def read_effects(run: Path) -> EffectRecord:
    """Read the effects of a run folder; it blocks.

    Raises:
        UsageError: The file does not exist, or is broken.
    """
    path = run / EFFECTS_FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"the run {run.name} has no record of its effects ({error.strerror}); record one with --record"
        ) from None
    heads: list[EffectHead] = []
    effects: list[RecordedEffect] = []
    readings: dict[tuple[str, str], list[float]] = {}
    lines = content.split(b"\n")
    torn = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except ValueError:
            torn = torn or number
            continue
        if torn and not (isinstance(values, dict) and "v" in values):  # only the end of a process can be torn
            break
        torn = 0
        try:
            if "v" in values:
                heads.append(_head(path, values))
            elif "value" in values:
                readings.setdefault((values["of"], values["owner"]), []).append(float(values["value"]))
            else:
                effects.append(RecordedEffect(**{name: values[name] for name in _FIELDS}))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path}, line {number}: malformed entry of an effect ({error!r})") from None
    if torn and torn != len(lines):
        raise UsageError(f"{path}, line {torn}: malformed JSON")
    if not heads:
        raise UsageError(f"{path} is not a record of effects: its head is missing")
    return EffectRecord(head=heads[0], effects=tuple(effects), readings=readings, processes=len(heads))


def fits(recorded: Any, now: Any) -> bool:
    """True if a recorded input is that of today; secrets in it were masked, by as many stars as they have characters."""
    if isinstance(recorded, str) and isinstance(now, str):
        return recorded == now or (
            "*" * _MASKED in recorded and re.fullmatch(_unmasked(recorded), now, re.DOTALL) is not None
        )
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        return recorded.keys() == now.keys() and all(fits(value, now[name]) for name, value in recorded.items())
    if isinstance(recorded, list) and isinstance(now, list):
        return len(recorded) == len(now) and all(map(fits, recorded, now))
    return bool(recorded == now)


def _unmasked(text: str) -> str:
    """Return a pattern for texts that are masked as this one."""
    return re.sub(rf"(?:\\\*){{{_MASKED},}}", lambda stars: f".{{{len(stars[0]) // 2}}}", re.escape(text))


_MASKED: Final = 8
"""Minimum number of stars in a row that stand for a secret."""
_FIELDS: Final = tuple(field.name for field in attrs.fields(RecordedEffect))


def _head(path: Path, values: Mapping[str, Any]) -> EffectHead:
    if values["v"] != _VERSION:
        raise UsageError(f"{path}: unsupported version {values['v']!r} of a record of effects, expected {_VERSION}")
    surroundings = {name: str(value) for name, value in values.items() if name not in {"v", "seed"}}
    int(values["seed"], 16)
    return EffectHead(seed=values["seed"], surroundings=surroundings)
