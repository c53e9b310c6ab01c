"""A model that fails on purpose: overloaded, cut, standing still, and now and then a bug of our own in the middle of a turn.

Rule 1: what goes wrong follows from the seed and the conversation alone: neither the clock nor the order in which agents
ask has a say. Rule 2: the same request sent a third time goes through, so that retries have an end.
Must not know: who retries, who restarts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.core import InternalError, checked
from greenroom.models._failures import failure
from greenroom.models._layer import Layer, LayerSource
from greenroom.models._model import Model, ModelStream
from greenroom.models._types import Delta, ModelRequest

Fault: TypeAlias = Literal["overloaded", "cut", "hang", "crash"]

_PATIENCE: Final = 2
"""Times that a request may fail."""


def _check_share(_: Any, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{attribute.name} has to be a share between 0 and 1, not {value!r}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class Faults:
    """How often what goes wrong, as shares of the requests."""

    overloaded: float = attrs.field(default=0.08, validator=_check_share)
    """The provider refuses with 529."""
    cut: float = attrs.field(default=0.08, validator=_check_share)
    """The stream ends after its first piece."""
    hang: float = attrs.field(default=0.02, validator=_check_share)
    """The answer stands still for `hang_s`, then fails with `timeout`."""
    crash: float = attrs.field(default=0.05, validator=_check_share)
    """A `PlannedCrash` in the turn, which ends the incarnation."""
    hang_s: float = 2.0
    most_crashes: int = 2
    """In all: a supervisor gives up after more than it allows."""
    spared: frozenset[str] = frozenset()
    """Definitions whose agents do not crash."""


@final
class PlannedCrash(InternalError):
    """A crash that was asked for: what `chaotic` raises in place of a bug."""


def chaotic(model: Model, seed: int, faults: Faults | None = None) -> Model:
    """Return a model that fails now and then, by the seed; put `retrying` around it.

    Args:
        seed: The same one and the same conversation fail in the same way.
        faults: None for the defaults.
    """
    chaos = _Chaos(seed, faults or Faults())
    return Layer(model, "chaotic", lambda manager, request: _ChaoticSource(manager, request, chaos, model.name))


@final
class _Chaos:
    """Decides what goes wrong."""

    def __init__(self, seed: int, faults: Faults) -> None:
        self.seed = seed
        self.faults = faults
        self._times: Counter[bytes] = Counter()
        self._crashes = 0

    def choose(self, request: ModelRequest) -> Fault | None:
        faults = self.faults
        digest = _digest(request)
        self._times[digest] += 1
        times = self._times[digest]
        # What mail has changed is another request, and the next attempt at an answer.
        if request.attempt - 1 + times > _PATIENCE:
            return None
        drawn = hashlib.blake2b(b"%d/%d/%b" % (self.seed, times, digest), digest_size=8).digest()
        share = int.from_bytes(drawn, "big") / 2**64
        kinds: tuple[tuple[Fault, float], ...] = (
            ("crash", 0.0 if request.definition in faults.spared else faults.crash),
            ("overloaded", faults.overloaded),
            ("cut", faults.cut),
            ("hang", faults.hang),
        )
        for kind, part in kinds:
            if share < part:
                return self._allowed(kind)
            share -= part
        return None

    def _allowed(self, kind: Fault) -> Fault | None:
        if kind != "crash":
            return kind
        self._crashes += 1
        return kind if self._crashes <= self.faults.most_crashes else None


def _digest(request: ModelRequest) -> bytes:
    """Tell requests apart by what was said last and how much was done since.

    Not by ids, which are others in every run, nor by what came before: that hangs on who was faster.
    """
    steps, said = 0, ""
    for steps, message in enumerate(reversed(request.messages)):  # noqa: B007 - how far back it was is wanted
        if message.role == "user" and message.text:
            said = message.text
            break
    text = f"{request.definition}\0{steps}\0{said}"
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()


@final
class _ChaoticSource(LayerSource):
    def __init__(
        self, manager: AbstractAsyncContextManager[ModelStream], request: ModelRequest, chaos: _Chaos, model: str
    ) -> None:
        super().__init__(manager, model)
        self._request = request
        self._chaos = chaos
        self._fault: Fault | None = None

    async def next_delta(self) -> Delta | None:
        if self._stream is None:
            self._fault = self._chaos.choose(self._request)
            await self._fail_at_once()
            self._stream = await self._enter()
        elif self._fault == "cut":
            await trio.lowlevel.checkpoint_if_cancelled()
            raise failure("cut", "chaos: the stream was cut")
        try:
            return await anext(self._stream)
        except StopAsyncIteration:
            return None

    async def _fail_at_once(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        match self._fault:
            case "crash":
                raise PlannedCrash(f"chaos: a crash that was asked for (seed {self._chaos.seed})")
            case "overloaded":
                raise failure("overloaded", "chaos: overloaded", status=529)
            case "hang":
                await trio.sleep(self._chaos.faults.hang_s)
                raise failure("timeout", f"chaos: the answer stood still for {self._chaos.faults.hang_s:g} s")
