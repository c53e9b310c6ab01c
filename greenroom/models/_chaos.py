"""A model that fails on purpose: overloaded, cut, stalled, and now and then a crash in the middle of a turn.

Failures follow from the seed and the conversation only: neither the clock nor the order of agents matters. The same
request succeeds at its third attempt, so that retries end.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.core import InternalError
from greenroom.core.validation import checked
from greenroom.models._failure_kinds import failure
from greenroom.models._layer import Layer, LayerSource
from greenroom.models._model import Model, ModelStream
from greenroom.models._types import Delta, ModelRequest

Fault: TypeAlias = Literal["overloaded", "cut", "hang", "crash"]

_PATIENCE: Final = 2
"""Maximum number of failures of one request."""


def _check_share(_: Any, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{attribute.name} must be a share between 0 and 1, got {value!r}")


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class FaultRates:
    """The frequency of each failure, as a share of the requests."""

    overloaded: float = attrs.field(default=0.08, validator=_check_share)
    """The provider refuses with 529."""
    cut: float = attrs.field(default=0.08, validator=_check_share)
    """The stream ends after its first piece."""
    hang: float = attrs.field(default=0.02, validator=_check_share)
    """The answer stalls for `hang_s`, then fails with `timeout`."""
    crash: float = attrs.field(default=0.05, validator=_check_share)
    """A `PlannedCrash` in the turn, which ends the incarnation."""
    hang_s: float = 2.0
    most_crashes: int = 2
    """Maximum number of crashes: a supervisor gives up after more than it allows."""
    spared: frozenset[str] = frozenset()
    """Definitions whose agents do not crash."""


@final
class PlannedCrash(InternalError):
    """A planned crash, raised by `chaotic` in place of a bug."""


def chaotic(model: Model, seed: int, faults: FaultRates | None = None) -> Model:
    """Return a model that fails now and then, by the seed; put `retrying` around it.

    Args:
        seed: The same seed and conversation fail in the same way.
        faults: None for the defaults.
    """
    chaos = _Chaos(seed, faults or FaultRates())
    return Layer(model, "chaotic", lambda manager, request: _ChaoticSource(manager, request, chaos, model.name))


@final
class _Chaos:
    """Decides on failures."""

    def __init__(self, seed: int, faults: FaultRates) -> None:
        self.seed = seed
        self.faults = faults
        self._times: Counter[bytes] = Counter()
        self._crashes = 0

    def choose(self, request: ModelRequest) -> Fault | None:
        faults = self.faults
        digest = _digest(request)
        self._times[digest] += 1
        times = self._times[digest]
        # A request changed by new mail is another one, and so is the next attempt at an answer.
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
    """Return a digest of the latest message and the number of rounds since, to distinguish requests.

    Ids differ in every run, and earlier messages depend on timing, so neither is used.
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
                raise PlannedCrash(f"chaos: a planned crash (seed {self._chaos.seed})")
            case "overloaded":
                raise failure("overloaded", "chaos: overloaded", status=529)
            case "hang":
                await trio.sleep(self._chaos.faults.hang_s)
                raise failure("timeout", f"chaos: the answer stalled for {self._chaos.faults.hang_s:g} s")
