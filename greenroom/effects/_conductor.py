"""The conductor of a re-run, and the results that it serves.

Rule 1: results from outside are served one at a time, in their recorded order, when nothing else can run; the clock is
then set forward to the recorded time. Rule 2: what is held or waits for a place that never comes is a difference, found as
soon as nothing can run. Rule 3: the first difference ends the re-run.

Must not know: files, models, tools.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import attrs
import trio
import trio.testing

from greenroom.effects._effect_file import EffectRecord, RecordedEffect, fits
from greenroom.effects._place_order import OwnerOrder, PlaceOrder, Step

IDLE_S: Final = 3_600.0
"""Seconds of the run's clock beyond the record after which a re-run that only waits for timers is given up."""
PATIENCE_S: Final = 5.0
"""Seconds of the run's clock beyond its recorded time for which timers may still lead to a missing message."""
TINY_S: Final = 1e-6
"""The smallest step of the clock: a deadline that has passed is handled in the next settling."""
MISSED: Final = {"answer": "permission", "hook": "hook"}
"""The causes of differences by the kinds of effects that only one side has; others are `not recorded`, or `too few`."""
REFUSED: Final = " was not run: "
"""Part of what a model reads as the result of a call that was refused."""
HOOK_DENIES: Final = "a hook denies it"
"""Part of what a model reads as the result of a call that a hook denied."""
THREAD_S: Final = 0.002
"""Seconds, of the machine's clock, between two looks at threads that work, and at a program that does not end."""


@final
@attrs.frozen(kw_only=True)
class Difference:
    """The first difference between a record and its re-run."""

    agent: str
    """Id of the agent or actor."""
    what: str
    """The part of its work, such as `request 3`."""
    where: str = ""
    """The place in it, such as `messages[4].content[0].text`; empty for all of it."""
    recorded: Any = None
    now: Any = None
    cause: str = "code"
    """The name of the first cause; see `greenroom.reruns`."""
    detail: str = ""
    """More about the cause, in words."""
    label: str = ""
    """The path of the agent in the tree of actors."""


@final
class Conductor:
    """Decides, whenever nothing can run, what comes next: a held message, a waiting step, a result, a deadline.

    Args:
        order: The recorded sequences.
        places: Number and time of each recorded event, in order; seconds since the journal began.
        clock: The clock of the re-run; it stands still but for this.
        is_cut: True if the recorded run has no end: its process was killed.
    """

    def __init__(
        self, order: PlaceOrder, places: Sequence[tuple[int, float]], clock: trio.testing.MockClock, *, is_cut: bool
    ) -> None:
        self._order = order
        self._numbers = [number for number, _ in places]
        self._times = [time_s for _, time_s in places]
        self._clock = clock
        self.is_cut = is_cut
        self.difference: Difference | None = None
        """The first difference."""
        self.was_cut = False
        """True if the re-run ended where the record of a killed run does."""
        self.scope = trio.CancelScope()
        """The scope of the program; cancelled at a difference, and at the end of a cut record."""
        self._is_over = False
        self._over_s = 0.0
        self._waiting: list[tuple[int, int, trio.Event]] = []
        self._count = 0

    async def wait_place(self, number: int) -> None:
        """Return when the recorded event of that number is the next one from outside."""
        self._count += 1
        waiting = (number, self._count, trio.Event())
        self._waiting.append(waiting)
        try:
            await waiting[2].wait()
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    async def wait_edge(self, actor: str) -> None:
        """Return when all messages that the record has before the actor's next step have been put."""
        owner = self._order.owner(actor)
        while owner is not None and owner.expects_message:
            edge = trio.Event()
            owner.edges.append(edge)
            await edge.wait()

    async def end_with(self, difference: Difference) -> None:
        """End the re-run with a difference, unless there was one before; never returns."""
        self.note(difference)
        await trio.sleep_forever()

    async def end_of_record(self, difference: Difference) -> None:
        """Wait for what a killed run did not live to see; else end with a difference, since more was asked for. Never returns."""
        self.note_end_of_record(difference)
        await trio.sleep_forever()

    def note_end_of_record(self, difference: Difference) -> bool:
        """Return True if the run was killed, so that what it asked for last waits; else cancel the program because of a difference."""
        if not self.is_cut:
            self.note(difference)
        return self.is_cut

    def note(self, difference: Difference) -> None:
        """Note a difference, unless there was one before, and cancel the program."""
        if self.difference is None and not self.was_cut:
            self.difference = difference
        self._end("the re-run differs")

    def _end(self, why: str) -> None:
        """Cancel the program; while it ends, nothing is held any more."""
        if not self._is_over:
            self._is_over, self._over_s = True, self._clock.current_time()
        for owner in self._order.owners():
            owner.lift()
        self.scope.cancel(why)

    async def run(self) -> None:
        """Conduct, until cancelled. While a thread of the program works, nothing comes next."""
        threads = trio.to_thread.current_default_thread_limiter()
        while True:
            await trio.testing.wait_all_tasks_blocked()
            if threads.borrowed_tokens or not (self._settle() or self._step()):
                await trio.testing.wait_all_tasks_blocked(THREAD_S)

    def _settle(self) -> bool:
        """Put held messages whose place has come, and wake steps that need not wait; return whether there were any."""
        has_moved = False
        for owner in self._order.owners():
            while (held := owner.take_due()) is not None:
                has_moved = True
                held.admit(held.envelope)
            has_moved = owner.open_edges() or has_moved
        return has_moved

    def _step(self) -> bool:
        """Do what comes next; return False if there is nothing, because a program that was cancelled does not end."""
        deadline_s = trio.lowlevel.current_statistics().seconds_to_next_deadline
        now_s = self._clock.current_time()
        if self._waiting:
            first = min(self._waiting)
            ahead_s = max(0.0, self._time_of(first[0] + 1) - now_s)
            if deadline_s <= ahead_s:
                self._clock.jump(max(deadline_s, TINY_S))
                return True
            self._clock.jump(ahead_s)
            self._waiting.remove(first)
            first[2].set()
            return True
        missing = self._missing()
        if now_s + deadline_s <= self._limit_s(missing):
            self._clock.jump(max(deadline_s, TINY_S))
        elif self._is_over:
            return False
        elif self.is_cut:
            self.was_cut = True
            self._end("the record ends here")
        elif missing is None:
            self.note(
                Difference(
                    agent="",
                    what="the program",
                    cause="order",
                    detail="nothing can run, and nothing on record is left to wait for",
                )
            )
        else:
            self.note(_absent(*missing))
        return True

    def _limit_s(self, missing: tuple[OwnerOrder, Step] | None) -> float:
        """Return until when timers may still lead to something, on the run's clock."""
        last_s = self._times[-1] if self._times else 0.0
        if self._is_over:
            return self._over_s + IDLE_S
        if missing is not None:
            return self._time_of(missing[1].seq) + PATIENCE_S
        return last_s if self.is_cut else last_s + IDLE_S

    def _missing(self) -> tuple[OwnerOrder, Step] | None:
        """Return the first recorded step for which a message or a step waits, and its owner."""
        waiting = [(owner, owner.next) for owner in self._order.owners() if owner.held or owner.edges]
        found = [(owner, step) for owner, step in waiting if step is not None]
        return min(found, key=lambda pair: pair[1].seq) if found else None

    def _time_of(self, number: int) -> float:
        at = bisect_left(self._numbers, number)
        return self._times[at] if at < len(self._times) else self._times[-1] if self._times else 0.0


def _absent(owner: OwnerOrder, step: Step) -> Difference:
    held = ", ".join(f"{kind} from {sender or 'the program'}" for (sender, kind), *_ in owner.held)
    waits = f"held for it: {held}" if held else "its owner waits for it"
    detail = f"the record has {step} at event {step.seq}, and it has not come; {waits}"
    return Difference(agent=owner.owner, what="order", recorded=str(step), now=None, cause="order", detail=detail)


# --- effects ---------------------------------------------------------------------------------------------------------


@final
class EffectReplay:
    """The port `Effects` of a re-run: results come from the record; nothing is done.

    Args:
        record: The recorded effects.
        conductor: Says when each may come.
        as_recorded: Maps an input to the folders of the record.
        text_of: Returns what the model of the record read as the result of an agent's call; None if it read none.
        serves_changed: True to serve results also if their input differs; `changed` then has these.
    """

    def __init__(
        self,
        record: EffectRecord,
        conductor: Conductor,
        *,
        as_recorded: Callable[[Any], Any],
        text_of: Callable[[str, str], str | None] = lambda _agent, _call: None,
        serves_changed: bool = False,
    ) -> None:
        self.is_served = True
        self._text_of = text_of
        self._decided: dict[str, list[RecordedEffect]] = {}
        self.changed: list[tuple[RecordedEffect, Difference]] = []
        """Results that were served although their input differs."""
        self._serves_changed = serves_changed
        self.compared = 0
        """Number of results that were asked for as in the record."""
        self._conductor = conductor
        self._as_recorded = as_recorded
        self._left: dict[tuple[str, str, str], deque[RecordedEffect]] = {}
        self._readings = {key: deque(values) for key, values in record.readings.items()}
        for effect in record.effects:
            self._left.setdefault((effect.of, effect.agent, effect.key), deque()).append(effect)

    async def served(
        self, of: str, agent: str, key: str, asked: Mapping[str, Any], *, may_miss: bool = False
    ) -> Mapping[str, Any] | None:
        """Return the recorded result when its place has come. A difference ends the re-run."""
        left = self._left.get((of, agent, key))
        now = self._as_recorded(json.loads(json.dumps(asked, default=str)))
        what = f"{of} {key}"
        if not left and may_miss:
            await trio.sleep_forever()
        if not left:
            cause, detail = self._why_missing(of, agent, key)
            await self._conductor.end_of_record(Difference(agent=agent, what=what, now=now, cause=cause, detail=detail))
            return None
        effect = left.popleft()
        if not fits(effect.asked, now):
            difference = Difference(agent=agent, what=what, where="input", recorded=effect.asked, now=now)
            if any(decided.got.get("updated_input") for decided in self.decisions(agent, key)):
                difference = attrs.evolve(difference, cause="hook", detail="a hook has rewritten the input of the call")
            if not self._serves_changed:
                await self._conductor.end_with(difference)
            self.changed.append((effect, difference))
        self.compared += 1
        if of in MISSED:
            self._decided.setdefault(agent, []).append(effect)
        if effect.got.get("cut"):
            await trio.sleep_forever()
        await self._conductor.wait_place(effect.at)
        return effect.got

    def _why_missing(self, of: str, agent: str, key: str) -> tuple[str, str]:
        """Return the cause of a result that the record does not have, with more about it."""
        owners = [owner for kind, owner, name in self._left if (kind, name) == (of, key)]
        if owners and agent not in owners:
            return "ids", f"the record has it for {owners[0]}: ids are drawn in another order"
        refused = (self._text_of(agent, key) if of == "tool" else None) or ""
        if REFUSED in refused:
            return "hook" if HOOK_DENIES in refused else "permission", f"the recorded call was not run: {refused}"
        return MISSED.get(of, "not recorded"), "the record has no result for it, and nothing is run in a re-run"

    def decisions(self, agent: str, call: str = "") -> Sequence[RecordedEffect]:
        """Return the outcomes of hooks and the answers of people that an agent has got so far, or those about one of its calls."""
        return [effect for effect in self._decided.get(agent, ()) if effect.key.endswith(call)]

    def is_left(self, agent: str, call: str) -> bool:
        """True if the record has a result of the call, and it was not asked for."""
        return bool(self._left.get(("tool", agent, call)))

    def note(self, of: str, agent: str, key: str, asked: Mapping[str, Any], got: Mapping[str, Any]) -> None:
        """Do nothing: a served result is on record."""

    def reading(self, of: str, owner: str, value: float) -> float:
        """Return the next recorded value of that owner; after the last one, `value`."""
        left = self._readings.get((of, owner))
        return left.popleft() if left else value

    async def wait_edge(self, actor: str) -> None:
        """Wait as `Conductor.wait_edge` does."""
        await self._conductor.wait_edge(actor)

    def unserved(self) -> RecordedEffect | None:
        """Return the first recorded effect that was not asked for; None if all were."""
        return min((left[0] for left in self._left.values() if left), key=lambda effect: effect.at, default=None)
