"""Retries around any model: a pure plan, and a stream that carries it out.

Rule 1: only what may succeed later is tried again. Rule 2: a provider that says when to come back is obeyed, and one that
says "much later" is given up at once, so that the owner can decide. Rule 3: a restart is told before it is waited for.
Rule 4: what failed attempts used was used, and is counted.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TypeAlias, TypeVar, final

import attrs
import trio

from greenroom.core import Chance, Ports, ProviderError
from greenroom.models._model import Model, ModelStream
from greenroom.models._stream import AnswerStream
from greenroom.models._types import Delta, ModelRequest, ModelResponse, StreamRestarted, Usage, UsageDelta


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """When to try again."""

    attempts: int = attrs.field(default=8, validator=attrs.validators.ge(1))
    """Requests in all, the first one included; with the defaults the last one starts about a minute after the first."""
    first_wait_s: float = attrs.field(default=0.5, validator=attrs.validators.ge(0))
    """Back-off before the second attempt, in seconds; it doubles from there."""
    longest_wait_s: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    """Where the doubling ends, in seconds."""
    jitter: float = attrs.field(default=0.5, validator=[attrs.validators.ge(0), attrs.validators.le(1)])
    """The part of a back-off that chance may take away, so that a crowd does not come back at once."""
    longest_retry_after_s: float = attrs.field(default=60.0, validator=attrs.validators.ge(0))
    """The longest `retry-after` that is obeyed, in seconds; a longer one is given up."""


@attrs.frozen
class Wait:
    """Try again after so many seconds."""

    seconds: float


@attrs.frozen
class GiveUp:
    """Let the error through."""

    why: str


def plan_retry(error: ProviderError, attempt: int, policy: RetryPolicy, chance: Chance) -> Wait | GiveUp:
    """Return what to do after an attempt failed.

    Args:
        attempt: Number of the attempt that failed; the first one is 1.
        chance: Asked once for each `Wait`.
    """
    if not error.is_retryable:
        return GiveUp(f"{error.kind} does not pass by itself")
    if attempt >= policy.attempts:
        return GiveUp(f"{attempt} attempts have failed")
    if error.retry_after_s is None:
        back_off_s = min(policy.first_wait_s * 2.0 ** min(attempt - 1, 60), policy.longest_wait_s)
        return Wait(back_off_s * (1 - policy.jitter * chance.random()))
    if error.retry_after_s > policy.longest_retry_after_s:
        return GiveUp(f"the provider asks for {error.retry_after_s:g} s")
    # Everybody was told the same second: spread the return over one first back-off, never before that second.
    return Wait(error.retry_after_s + policy.first_wait_s * policy.jitter * chance.random())


def retrying(model: Model, policy: RetryPolicy | None = None, *, chance: Chance | None = None) -> Model:
    """Return a model that sends again what failed for a passing reason.

    A stream that was cut starts anew: its deltas so far are void, which a `StreamRestarted` says before the wait. The
    usage is that of all attempts.

    Args:
        policy: None for the defaults.
        chance: Where the jitter comes from; None for the machine's.
    """
    return _RetryingModel(model, policy or RetryPolicy(), chance or Ports().chance)


@final
class _RetryingModel:
    def __init__(self, model: Model, policy: RetryPolicy, chance: Chance) -> None:
        self._model = model
        self._policy = policy
        self._chance = chance

    def __repr__(self) -> str:
        return f"<retrying {self._model!r}, {self._policy.attempts} attempts>"

    @property
    def name(self) -> str:
        return self._model.name

    def open(self) -> AbstractAsyncContextManager[None]:
        return self._model.open()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        first = self._model.stream(request)  # here, so that a mistake of the caller's is raised by the call
        return AnswerStream(_RetryingSource(self._model, request, first, self._policy, self._chance))


_Manager: TypeAlias = AbstractAsyncContextManager[ModelStream]
_Counted = TypeVar("_Counted", ModelResponse, UsageDelta)


@final
class _RetryingSource:
    def __init__(
        self, model: Model, request: ModelRequest, first: _Manager, policy: RetryPolicy, chance: Chance
    ) -> None:
        self._model = model
        self._request = request
        self._policy = policy
        self._chance = chance
        self._next_manager: _Manager | None = first
        self._attempt = 1
        self._resume_at_s = 0.0
        self._entered = AsyncExitStack()  # at most the manager of one attempt
        self._stream: ModelStream | None = None
        self._so_far = _nothing(model)
        """Of this attempt alone."""
        self._lost = Usage()

    @property
    def so_far(self) -> ModelResponse:
        return self._with_lost(self._so_far_of_attempt)

    @property
    def _so_far_of_attempt(self) -> ModelResponse:
        return self._so_far if self._stream is None else self._stream.so_far

    def _with_lost(self, part: _Counted) -> _Counted:
        """Add what the failed attempts used; most requests have none."""
        return attrs.evolve(part, usage=self._lost + part.usage) if self._attempt > 1 else part

    async def finish(self) -> bool:
        """Take no short cut: every delta is read."""
        return False

    async def next_delta(self) -> Delta | None:
        try:
            if self._stream is None:
                self._stream = await self._start()
            delta = await anext(self._stream)
            return self._with_lost(delta) if isinstance(delta, UsageDelta) else delta
        except StopAsyncIteration:
            return None
        except ProviderError as error:
            plan = plan_retry(error, self._attempt, self._policy, self._chance)
            if isinstance(plan, GiveUp):
                error.add_note(f"given up: {plan.why}")
                raise
            await self.close()
            return self._restart(error.kind, plan.seconds)

    @property
    def is_holding(self) -> bool:
        return self._stream is not None

    async def close(self) -> None:
        self._so_far, self._stream = self._so_far_of_attempt, None
        await self._entered.aclose()

    async def _start(self) -> ModelStream:
        if self._attempt > 1:
            await trio.sleep_until(self._resume_at_s)
        manager = self._next_manager or self._model.stream(self._request)
        self._next_manager = None
        return await self._entered.enter_async_context(manager)

    def _restart(self, reason: str, wait_s: float) -> StreamRestarted:
        lost = self._so_far.usage
        self._lost += lost
        self._attempt += 1
        self._resume_at_s = trio.current_time() + wait_s
        self._so_far = _nothing(self._model)
        return StreamRestarted(reason, self._attempt, wait_s, lost)


def _nothing(model: Model) -> ModelResponse:
    return ModelResponse((), None, Usage(), model.name)
