"""Retries around any model: a pure plan, and a stream that carries it out.

Rule 1: only what may succeed later is tried again. Rule 2: a provider that says when to come back is obeyed, and one that
says "much later" is given up at once, so that the owner can decide. Rule 3: a restart is told before it is waited for.
Rule 4: what failed attempts used was used, and is counted. Rule 5: a crowd that shares a budget of retries never sends much
more than it would if all went well. Rule 6: whoever gives a request up in its wait and asks anew goes on with the count of its
attempts (`ModelRequest.attempt`), so that nothing is tried more often for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Final, TypeAlias, TypeVar, final

import attrs
import trio

from greenroom.core import Chance, Ports, ProviderError, UsageError, checked
from greenroom.models._failures import RETRYABLE
from greenroom.models._layer import Layer
from greenroom.models._model import Model, ModelStream
from greenroom.models._types import Delta, ModelRequest, ModelResponse, StreamRestarted, Usage, UsageDelta


@attrs.frozen(kw_only=True, field_transformer=checked)
class KindPolicy:
    """What is different for one kind of error; None: as in the policy it belongs to."""

    attempts: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(1)))
    first_wait_s: float | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    longest_wait_s: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.ge(0))
    )


FEWER_ATTEMPTS: Final[Mapping[str, int]] = {
    "timeout": 3,  # each of them may have waited for minutes
    "protocol": 3,  # a provider that sends garbage three times will not mend while we wait
    "cut": 3,  # what had come until then is billed each time
}
"""Attempts for kinds of errors that are retried less often than the others, unless a setting names the kind; never more than
the attempts of all kinds."""


def _check_kinds(_: object, attribute: attrs.Attribute[Any], value: Mapping[str, KindPolicy]) -> None:
    unknown = sorted(value.keys() - RETRYABLE.keys())
    if unknown:
        raise UsageError(f"{attribute.name}: no error is of the kind {unknown[0]!r}; there are {', '.join(RETRYABLE)}")


@attrs.frozen(kw_only=True, field_transformer=checked)
class RetryPolicy:
    """When to try again."""

    attempts: int = attrs.field(default=8, validator=attrs.validators.ge(1))
    """Requests in all, the first one included; with the defaults the last one starts about a minute after the first. After a
    timeout, an answer that was cut, or one that cannot be read, at most three of them."""
    first_wait_s: float = attrs.field(default=0.5, validator=attrs.validators.ge(0))
    """Back-off before the second attempt, in seconds; it doubles from there."""
    longest_wait_s: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    """Where the doubling ends, in seconds."""
    jitter: float = attrs.field(default=0.5, validator=[attrs.validators.ge(0), attrs.validators.le(1)])
    """The part of a back-off that chance may take away, so that a crowd does not come back at once."""
    longest_retry_after_s: float = attrs.field(default=60.0, validator=attrs.validators.ge(0))
    """The longest `retry-after` that is obeyed, in seconds; a longer one is given up."""
    by_kind: Mapping[str, KindPolicy] = attrs.field(factory=dict, validator=_check_kinds)
    """What is different for a kind of error, see `RETRYABLE` for the kinds. It decides how often and how soon; whether a
    request may be sent again at all is the error's own `is_retryable`."""

    def for_kind(self, kind: str) -> RetryPolicy:
        """Return the policy for one kind of error."""
        special = self.by_kind.get(kind) or KindPolicy()
        fields = attrs.asdict(special, filter=lambda _, value: value is not None)
        fewer = {"attempts": min(self.attempts, FEWER_ATTEMPTS.get(kind, self.attempts))}
        return attrs.evolve(self, by_kind={}, **{**fewer, **fields})


@final
@attrs.define(kw_only=True, eq=False)
class RetryBudget:
    """Retries that a whole session has in common, so that a crowd does not bury a provider that is in trouble.

    It begins full. Each first attempt adds a part of a retry, each retry takes one; in between it fills by itself. Share one
    object between the models of a session. Pure: the time is passed in.
    """

    capacity: float = attrs.field(default=1000.0, validator=attrs.validators.ge(0))
    """Retries that it holds at most."""
    per_request: float = attrs.field(default=0.2, validator=attrs.validators.ge(0))
    """Retries that each first attempt adds."""
    per_second: float = attrs.field(default=2.0, validator=attrs.validators.ge(0))
    """Retries that each second adds, so that a session that waits for its provider comes back to life."""
    _held: float = attrs.field(init=False)
    _filled_at_s: float | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self._held = self.capacity

    @property
    def held(self) -> float:
        """Retries that could be taken when it was last looked at."""
        return self._held

    def add_request(self) -> None:
        """Note that a request is sent for the first time."""
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
    """What all streams of one model have in common."""

    policy: RetryPolicy
    chance: Chance
    budget: RetryBudget | None


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
    policy = policy.for_kind(error.kind)
    if attempt >= policy.attempts:
        return GiveUp(f"{attempt} attempts have failed")
    if error.retry_after_s is None:
        back_off_s = min(policy.first_wait_s * 2.0 ** min(attempt - 1, 60), policy.longest_wait_s)
        return Wait(back_off_s * (1 - policy.jitter * chance.random()))
    if error.retry_after_s > policy.longest_retry_after_s:
        return GiveUp(f"the provider asks for {error.retry_after_s:g} s")
    # Everybody was told the same second: spread the return over one first back-off, never before that second.
    return Wait(error.retry_after_s + policy.first_wait_s * policy.jitter * chance.random())


def retrying(
    model: Model,
    policy: RetryPolicy | None = None,
    *,
    chance: Chance | None = None,
    budget: RetryBudget | None = None,
) -> Model:
    """Return a model that sends again what failed for a passing reason.

    A stream that was cut starts anew: its deltas so far are void, which a `StreamRestarted` says before the wait. The
    usage is that of all attempts.

    Args:
        policy: None for the defaults.
        chance: Where the jitter comes from; None for the machine's.
        budget: Retries that are shared with other models; None for no limit but the policy's.
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
        return attrs.evolve(part, usage=self._lost + part.usage) if self._attempt > self._request.attempt else part

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
            plan = self._plan(error)
            if isinstance(plan, GiveUp):
                error.add_note(f"given up: {plan.why}")
                if self._attempt > 1 and type(error) is ProviderError:
                    raise _tried(error, self._attempt) from error
                raise
            await self.close()
            return self._restart(error, plan.seconds)

    def _plan(self, error: ProviderError) -> Wait | GiveUp:
        retries = self._retries
        plan = plan_retry(error, self._attempt, retries.policy, retries.chance)
        if isinstance(plan, Wait) and retries.budget is not None and not retries.budget.try_take(trio.current_time()):
            return GiveUp("the retries that the session shares are used up")
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
    """Return the error with how often the request was sent."""
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
