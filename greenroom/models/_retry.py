"""Retries around any model: a pure plan, and a stream that carries it out.

Rule 1: only failures that may pass are retried. Rule 2: a provider's retry-after is obeyed, and one that is too long is
given up at once, so that the owner can decide. Rule 3: a restart is reported before its wait. Rule 4: the usage of
failed attempts counts. Rule 5: agents that share a retry budget never send much more than without failures. Rule 6: a
caller that abandons a request in its wait and sends another continues its count of attempts (`ModelRequest.attempt`),
so that nothing is retried more often.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Final, TypeAlias, TypeVar, final

import attrs
import trio

from greenroom.core import ProviderError, UsageError
from greenroom.core.ports import Chance, Ports
from greenroom.core.validation import checked
from greenroom.models._failure_kinds import RETRYABLE
from greenroom.models._layer import Layer
from greenroom.models._model import Model, ModelStream
from greenroom.models._token_usage import Usage
from greenroom.models._types import Delta, ModelRequest, ModelResponse, StreamRestarted, UsageDelta


@attrs.frozen(kw_only=True, field_transformer=checked)
class KindPolicy:
    """Overrides for one kind of error; None: as in the policy."""

    attempts: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(1)))
    first_wait_s: float | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    longest_wait_s: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.ge(0))
    )


FEWER_ATTEMPTS: Final[Mapping[str, int]] = {
    "timeout": 3,  # each of them may have waited for minutes
    "protocol": 3,  # a provider that sends garbage three times will not recover while we wait
    "cut": 3,  # the partial answer is billed each time
}
"""Attempts for kinds of errors that are retried less often than others, unless a setting names the kind; never more
than the attempts of all kinds.
"""


def _check_kinds(_: object, attribute: attrs.Attribute[Any], value: Mapping[str, KindPolicy]) -> None:
    unknown = sorted(value.keys() - RETRYABLE.keys())
    if unknown:
        raise UsageError(
            f"{attribute.name}: unknown kind of error {unknown[0]!r}; expected one of: {', '.join(RETRYABLE)}"
        )


@attrs.frozen(kw_only=True, field_transformer=checked)
class RetryPolicy:
    """The policy for retries."""

    attempts: int = attrs.field(default=8, validator=attrs.validators.ge(1))
    """Total number of requests, the first one included; with the defaults the last one starts about a minute after the
    first. After a timeout, a cut answer, or a malformed one, at most three of them.
    """
    first_wait_s: float = attrs.field(default=0.5, validator=attrs.validators.ge(0))
    """Back-off before the second attempt, in seconds; it doubles from there."""
    longest_wait_s: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    """Upper limit of the doubling, in seconds."""
    jitter: float = attrs.field(default=0.5, validator=[attrs.validators.ge(0), attrs.validators.le(1)])
    """The part of a back-off that chance may take away, so that agents do not retry at the same time."""
    longest_retry_after_s: float = attrs.field(default=60.0, validator=attrs.validators.ge(0))
    """The longest `retry-after` that is obeyed, in seconds; a longer one is given up."""
    by_kind: Mapping[str, KindPolicy] = attrs.field(factory=dict, validator=_check_kinds)
    """Overrides by kind of error, see `RETRYABLE` for the kinds. They determine how often and how soon; whether a
    request may be sent again at all is the error's own `is_retryable`.
    """

    def for_kind(self, kind: str) -> RetryPolicy:
        """Return the policy for one kind of error."""
        special = self.by_kind.get(kind) or KindPolicy()
        fields = attrs.asdict(special, filter=lambda _, value: value is not None)
        fewer = {"attempts": min(self.attempts, FEWER_ATTEMPTS.get(kind, self.attempts))}
        return attrs.evolve(self, by_kind={}, **{**fewer, **fields})


@final
@attrs.define(kw_only=True, eq=False)
class RetryBudget:
    """Retries shared by a whole session, so that many agents do not overload a provider that is in trouble.

    It starts full. Each first attempt adds a part of a retry, each retry takes one; it also refills over time. Share
    one object between the models of a session. Pure: the time is passed in.
    """

    capacity: float = attrs.field(default=1000.0, validator=attrs.validators.ge(0))
    """Maximum number of retries that it holds."""
    per_request: float = attrs.field(default=0.2, validator=attrs.validators.ge(0))
    """Retries that each first attempt adds."""
    per_second: float = attrs.field(default=2.0, validator=attrs.validators.ge(0))
    """Retries that each second adds, so that a session that waits for its provider recovers."""
    _held: float = attrs.field(init=False)
    _filled_at_s: float | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self._held = self.capacity

    @property
    def held(self) -> float:
        """Available retries, as of the last check."""
        return self._held

    def add_request(self) -> None:
        """Record that a request is sent for the first time."""
        self._held = min(self.capacity, self._held + self.per_request)

    def try_take(self, now_s: float) -> bool:
        """Take one retry, if there is one."""
        since_s = 0.0 if self._filled_at_s is None else now_s - self._filled_at_s
        self._filled_at_s = now_s
        self._held = min(self.capacity, self._held + since_s * self.per_second)
        if self._held < 1:
            return False
        self._held -= 1
        return True


@attrs.frozen(kw_only=True)
class _Retries:
    """The shared part of all streams of one model."""

    policy: RetryPolicy
    chance: Chance
    budget: RetryBudget | None


@attrs.frozen
class RetryAfter:
    """Retry after this number of seconds."""

    seconds: float


@attrs.frozen
class NoRetry:
    """Raise the error."""

    why: str


def plan_retry(error: ProviderError, attempt: int, policy: RetryPolicy, chance: Chance) -> RetryAfter | NoRetry:
    """Return the step after a failed attempt.

    Args:
        attempt: Number of the failed attempt; the first one is 1.
        chance: Used once for each `RetryAfter`.
    """
    if not error.is_retryable:
        return NoRetry(f"{error.kind} is not retryable")
    policy = policy.for_kind(error.kind)
    if attempt >= policy.attempts:
        return NoRetry(f"{attempt} attempts have failed")
    if error.retry_after_s is None:
        back_off_s = min(policy.first_wait_s * 2.0 ** min(attempt - 1, 60), policy.longest_wait_s)
        return RetryAfter(back_off_s * (1 - policy.jitter * chance.random()))
    if error.retry_after_s > policy.longest_retry_after_s:
        return NoRetry(f"the provider asks for {error.retry_after_s:g} s")
    # All agents got the same second: spread them over one first back-off, never before that second.
    return RetryAfter(error.retry_after_s + policy.first_wait_s * policy.jitter * chance.random())


def retrying(
    model: Model,
    policy: RetryPolicy | None = None,
    *,
    chance: Chance | None = None,
    budget: RetryBudget | None = None,
) -> Model:
    """Return a model that retries requests after transient failures.

    A cut stream starts again: its deltas so far are void, which a `StreamRestarted` reports before the wait. The usage
    is that of all attempts.

    Args:
        policy: None for the defaults.
        chance: Source of the jitter; None for the machine's.
        budget: Retries shared with other models; None for the policy's limit only.
    """
    retries = _Retries(policy=policy or RetryPolicy(), chance=chance or Ports().chance, budget=budget)
    return Layer(
        model,
        "retrying",
        lambda manager, request: _RetryingSource(model, request, manager, retries),
        more=f", {retries.policy.attempts} attempts",
    )


_Manager: TypeAlias = AbstractAsyncContextManager[ModelStream]
_Counted = TypeVar("_Counted", ModelResponse, UsageDelta)


@final
class _RetryingSource:
    def __init__(self, model: Model, request: ModelRequest, first: _Manager, retries: _Retries) -> None:
        self._model = model
        self._request = request
        self._retries = retries
        self._next_manager: _Manager | None = first
        self._attempt = request.attempt
        self._resume_at_s = 0.0
        self._entered = AsyncExitStack()  # at most the manager of one attempt
        self._stream: ModelStream | None = None
        self._so_far = _nothing(model)
        """Of this attempt only."""
        self._lost = Usage()

    @property
    def so_far(self) -> ModelResponse:
        return self._with_lost(self._so_far_of_attempt)

    @property
    def _so_far_of_attempt(self) -> ModelResponse:
        return self._so_far if self._stream is None else self._stream.so_far

    def _with_lost(self, part: _Counted) -> _Counted:
        """Add the usage of failed attempts; most requests have none."""
        return attrs.evolve(part, usage=self._lost + part.usage) if self._attempt > self._request.attempt else part

    async def finish(self) -> bool:
        """Return False: every delta is read."""
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
            plan = self._plan(error)
            if isinstance(plan, NoRetry):
                error.add_note(f"given up: {plan.why}")
                if self._attempt > 1 and type(error) is ProviderError:
                    raise _tried(error, self._attempt) from error
                raise
            await self.close()
            return self._restart(error, plan.seconds)

    def _plan(self, error: ProviderError) -> RetryAfter | NoRetry:
        retries = self._retries
        plan = plan_retry(error, self._attempt, retries.policy, retries.chance)
        if (
            isinstance(plan, RetryAfter)
            and retries.budget is not None
            and not retries.budget.try_take(trio.current_time())
        ):
            return NoRetry("the session's shared retries are used up")
        return plan

    @property
    def is_holding(self) -> bool:
        return self._stream is not None

    async def close(self) -> None:
        self._so_far, self._stream = self._so_far_of_attempt, None
        await self._entered.aclose()

    async def _start(self) -> ModelStream:
        if self._attempt > 1:
            await trio.sleep_until(self._resume_at_s)
        elif self._retries.budget is not None:
            self._retries.budget.add_request()
        manager = self._next_manager or self._model.stream(self._request)
        self._next_manager = None
        return await self._entered.enter_async_context(manager)

    def _restart(self, error: ProviderError, wait_s: float) -> StreamRestarted:
        lost = self._so_far.usage
        self._lost += lost
        self._attempt += 1
        self._resume_at_s = trio.current_time() + wait_s
        self._so_far = _nothing(self._model)
        return StreamRestarted(
            error.kind,
            self._attempt,
            wait_s,
            lost,
            error.status,
            attempts=self._retries.policy.for_kind(error.kind).attempts,
            is_told=error.retry_after_s is not None,
        )


def _tried(error: ProviderError, attempts: int) -> ProviderError:
    """Return the error with the number of requests sent."""
    told = ProviderError(
        f"{str(error).rstrip('. ')} (tried {attempts} times)",
        kind=error.kind,
        status=error.status,
        retry_after_s=error.retry_after_s,
        is_retryable=error.is_retryable,
    )
    for note in getattr(error, "__notes__", ()):
        told.add_note(note)
    return told


def _nothing(model: Model) -> ModelResponse:
    return ModelResponse((), None, Usage(), model.name)
