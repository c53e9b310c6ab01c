"""The mutants: what is broken, in which module, and which promises have to notice.

A patch is one replacement of text that occurs exactly once, so it fails loudly when the code moves on. The tests that run
are those that name one of the promises; a mutant without a promise says which tests are to notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from pathlib import Path

KERNEL_TESTS: Final = (
    "tests/core",
    "tests/waiting",
    "tests/mailbox",
    "tests/actors",
    "tests/supervisor",
    "tests/trace",
    "tests/testing",
    "tests/soak",
)

_CELL: Final = "greenroom.actors._cell"
_CONTEXT: Final = "greenroom.actors._context"
_ENDS: Final = ("tests/session/test_ends.py",)
_LANES: Final = "greenroom.mailbox._lanes"
_LIFE: Final = "greenroom.actors._incarnation"
_CRON: Final = "greenroom.inbox._cron_times"
_LOOP: Final = "greenroom.actors._loop"
_MAILBOX: Final = "greenroom.mailbox._mailbox"
_SESSION_SCHEDULES: Final = "greenroom.session.parts._session_schedules"
_SCHEDULES: Final = "greenroom.inbox._schedules"
_STATES: Final = ("tests/actors/test_states.py",)
_STRATEGY: Final = "greenroom.supervisor._strategy"
_SUBSCRIPTION: Final = "greenroom.actors._subscription"
_SUPERVISOR: Final = "greenroom.supervisor._supervisor"


_TURN: Final = "greenroom.actors._turn"


@attrs.frozen
class Mutant:
    """One breakage."""

    name: str
    promises: tuple[str, ...]
    module: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    def applied_to(self, source: str) -> str:
        """Return the broken source.

        Raises:
            LookupError: The text to replace is not there exactly once.
        """
        if source.count(self.old) != 1:
            found = source.count(self.old)
            raise LookupError(f"mutant {self.name}: its text is {found} times in {self.module}: {self.old!r}")
        return source.replace(self.old, self.new)

    def check(self, root: Path) -> None:
        """Raise `LookupError` if the patch no longer fits."""
        self.applied_to((root / (self.module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))


MUTANTS: Final = (
    # --- lifecycle -------------------------------------------------------------------------------------------------
    Mutant(
        "no event when an actor begins",
        ("I-1",),
        _LIFE,
        "self.cell.seq = self.cell.record(ActorBegan)",
        "pass",
    ),
    Mutant(
        "the end of a turn twice on record",
        ("I-2",),
        _TURN,
        "            cell.shared.emit(TurnEnded, cell.id, life.number, cell.seq, *outcome.fields(), *numbers)\n",
        "            cell.shared.emit(TurnEnded, cell.id, life.number, cell.seq, *outcome.fields(), *numbers)\n" * 2,
    ),
    Mutant(
        "an idle end, and then another one",
        ("I-2",),
        _LOOP,
        "        if life.state in TERMINAL:",
        "        if False:",
    ),
    Mutant(
        "the exit path does not name the end",
        ("I-3",),
        _CELL,
        "self.shared.emit(ActorGone, self.id, self.life.number, seq, self.life.state._value_)",
        "self.shared.emit(ActorGone, self.id, self.life.number, 0, self.life.state._value_)",
    ),
    Mutant(
        "a turn begins twice",
        ("I-4",),
        _TURN,
        "            cell.seq = cell.shared.emit(TurnBegan, cell.id, life, envelope.parent, self.number, number)\n",
        "            cell.seq = cell.shared.emit(TurnBegan, cell.id, life, envelope.parent, self.number, number)\n" * 2,
    ),
    Mutant(
        "an actor ends in the middle of its turn",
        ("I-5",),
        _LOOP,
        "        outcome = finish(behavior, context, outcome)\n",
        "        if outcome.error is None:\n            outcome = finish(behavior, context, outcome)\n",
    ),
    Mutant("every second number of a turn", ("I-6",), _TURN, "self.number += 1", "self.number += 2"),
    Mutant(
        "user code of an actor that was killed while pending",
        ("I-7",),
        _LOOP,
        "                if life.kill_cause is None:\n                    behavior, context = create",
        "                if life.kill_cause is not None:\n                    scope.cancel()\n"
        "                if True:\n                    behavior, context = create",
    ),
    Mutant(
        "the fold forgets that an actor is gone",
        ("I-8",),
        "greenroom.views._actors",
        "return altered(view, is_gone=True)",
        "return view",
    ),
    Mutant(
        "no last guard",
        ("I-9", "I-44"),
        _SUPERVISOR,
        "                cell.request_kill(cause)\n            elif not cell.is_gone:",
        "                pass\n            elif not cell.is_gone:",
    ),
    # --- mailbox ---------------------------------------------------------------------------------------------------
    Mutant(
        "last in, first out",
        ("I-10",),
        _LANES,
        "envelope = queue.popleft()\n        if self.lease",
        "envelope = queue.pop()\n        if self.lease",
    ),
    Mutant(
        "now waits for next",
        ("I-11",),
        _LANES,
        "        if now:\n",
        "        if now and not next_:\n",
    ),
    Mutant(
        "close discards",
        ("I-12",),
        _MAILBOX,
        "                self._dead(envelope, dead_reason, parent)\n",
        "                pass\n",
    ),
    Mutant(
        "a returned message stays leased",
        ("I-13",),
        _MAILBOX,
        "        self._release(envelope)\n        envelope.attempts += counts\n        return True",
        "        envelope.attempts += counts\n        return True",
    ),
    Mutant(
        "one more than the capacity",
        ("I-14",),
        _MAILBOX,
        "        return self._held < self._capacity and",
        "        return self._held <= self._capacity and",
    ),
    Mutant(
        "a message without a size needs no room",
        ("I-14",),
        _MAILBOX,
        "            if size_bytes or self._producers or held >= self._capacity:",
        "            if size_bytes or self._producers:",
    ),
    Mutant(
        "a cancelled producer stays in the queue",
        ("I-15",),
        "greenroom.mailbox._producers",
        "            del waiting[task]\n",
        "            pass\n",
    ),
    Mutant(
        "hand over instead of wake",
        ("I-16",),
        _MAILBOX,
        "            if envelope is not None:\n                self._since_yield += 1\n",
        "            if envelope is not None:\n                await checkpoint()\n                self._since_yield += 1\n",
    ),
    Mutant(
        "a restart loses the mail",
        ("I-17",),
        _CELL,
        "        self.mailbox.incarnation = number\n",
        "        self.mailbox.incarnation = number\n        list(self.mailbox.lanes.clear())\n",
    ),
    Mutant(
        "no credit for later",
        ("I-18",),
        _LANES,
        "elif later and (not next_ or self._credit <= 0):",
        "elif later and not next_:",
    ),
    Mutant(
        "what was postponed comes back behind",
        ("I-19",),
        _LANES,
        "        for envelope in recalled:\n            self.put_back(envelope)\n",
        "        for envelope in recalled:\n            self.of(envelope.lane).append(envelope)\n",
        tests=_STATES,
    ),
    Mutant(
        "what was postponed comes back in any order",
        ("I-19",),
        _LANES,
        "key=lambda envelope: envelope.number, reverse=True)",
        "key=lambda envelope: envelope.number)",
        tests=_STATES,
    ),
    Mutant(
        "a state change brings nothing back",
        ("I-19",),
        _LIFE,
        "        cell.mailbox.recall(parent=seq)\n",
        "        pass\n",
        tests=_STATES,
    ),
    Mutant(
        "a turn that failed changes the state",
        ("I-19",),
        _CONTEXT,
        '        if turn.envelope is not None:\n            outbox = turn.outbox_for("ctx.enter()")',
        '        if False:\n            outbox = turn.outbox_for("ctx.enter()")',
        tests=_STATES,
    ),
    Mutant(
        "nobody tells the producers",
        ("I-20",),
        _MAILBOX,
        "            self._producers.dismiss()\n",
        "            pass\n",
    ),
    # --- abort and kill --------------------------------------------------------------------------------------------
    Mutant(
        "a sticky abort",
        ("I-21",),
        "greenroom.actors._ref",
        "        if cell.turn.envelope is None:\n            return",
        "        if cell.turn.envelope is None:\n            cell.turn.abort_cause = cell.cause(why)\n            return",
    ),
    Mutant(
        "an abort that is not recorded",
        ("I-22",),
        _TURN,
        "if self.has_events:  # below that the journal has no turns",
        "if False:",
    ),
    Mutant(
        "a turn leaves tasks behind",
        ("I-23",),
        _TURN,
        'self._own_nursery("start a task in").start_soon(function',
        'self._own_nursery("start a task in") and trio.lowlevel.spawn_system_task(function',
    ),
    Mutant(
        "an abort spoils the next turn",
        ("I-24",),
        _LOOP,
        "turn.abort_cause, turn.is_told, hidden = None, False,",
        "turn.is_told, hidden = False,",
    ),
    Mutant(
        "an abort hits the neighbours",
        ("I-25",),
        _TURN,
        "            self.scope.cancel(cause.why)\n",
        "            for one in cell.shared.directory.living():\n"
        "                if one.turn.envelope and one.turn.scope is not None and not one.behavior_name.startswith('_'):\n"
        "                    one.turn.scope.cancel(cause.why)\n",
    ),
    Mutant("a kill that cancels nothing", ("I-26", "I-52"), _CELL, "life.scope.cancel(life.kill_cause.why)", "pass"),
    Mutant(
        "the ladder begins at the top",
        ("I-27",),
        "greenroom.supervisor._ladder",
        "(functools.partial(cell.request_stop, cause, grace_s), grace_s),",
        "(functools.partial(cell.request_kill, cause), grace_s),",
    ),
    Mutant(
        "a kill after the end is recorded",
        ("I-28",),
        _CELL,
        "        if life.kill_cause is not None or life.state in TERMINAL:\n            return\n        life.kill_cause, ",
        "        if life.kill_cause is not None:\n            return\n        life.kill_cause, ",
    ),
    Mutant(
        "a kill in a callback is forgotten by the restart",
        ("I-32",),
        _CELL,
        "        life.is_held = True  # also before",
        "        life.is_held = verdict.delay_s is None  # also before",
    ),
    Mutant(
        "a late request is forgotten",
        ("I-29",),
        _LOOP,
        "requested = life.turn.abort_cause or life.kill_cause",
        "requested = None",
    ),
    Mutant(
        "ack before commit",
        ("I-12", "I-30"),
        _TURN,
        "        self.envelope = envelope\n",
        "        self.envelope = envelope\n        cell.mailbox.ack(envelope)\n        self.is_acked = True\n",
    ),
    # --- supervision, watch, registry ------------------------------------------------------------------------------
    Mutant(
        "Down before unregister",
        ("I-31",),
        _CELL,
        "        self.is_gone, self.life.is_held = True, False\n",
        "        self.is_gone, self.life.is_held = True, False\n        self._notify_subscribers(is_final=True)\n",
    ),
    Mutant(
        "a late watch hears nothing",
        ("I-32",),
        _CELL,
        "            else:\n                self._notify(subscription)\n",
        "",
    ),
    Mutant(
        "an ask outlives its target",
        ("I-33",),
        _CELL,
        "            envelope.reply.fail(ActorEnded(self.id, self.state.value, path=self.path))\n",
        "            pass\n",
    ),
    Mutant(
        "a reply is lost when a stop came",
        ("I-34",),
        _TURN,
        "elif not reply.answer(answer):",
        "elif self._life.stop_cause is None and not reply.answer(answer):",
    ),
    Mutant("incarnations are left out", ("I-35",), _CELL, "self.life.number + 1", "self.life.number + 2"),
    Mutant(
        "whoever was asked to end comes back",
        ("I-36",),
        _STRATEGY,
        "if was_asked or state not in COMES_BACK",
        "if state not in COMES_BACK",
    ),
    Mutant(
        "one restart too many",
        ("I-37",),
        _STRATEGY,
        "if self.used(now_s) >= self.intensity:",
        "if self.used(now_s) > self.intensity:",
    ),
    Mutant(
        "a batch is stopped in start order",
        ("I-38",),
        _STRATEGY,
        "for each in reversed(scope) if each != child",
        "for each in scope if each != child",
    ),
    Mutant(
        "a batch forgets that the next one is about its children too",
        ("I-38",),
        _STRATEGY,
        "self._being_stopped -= Counter((child,))",
        "del self._being_stopped[child]",
    ),
    Mutant(
        "a batch is carried out although another one has overtaken it",
        ("I-38",),
        _STRATEGY,
        "        if self._waiting.get(batch.child) is not batch:\n",
        "        if self._waiting.get(batch.child) is None:\n            return True\n        if False:\n",
    ),
    Mutant(
        "who failed after it was started waits for a batch that was overtaken",
        ("I-38",),
        _STRATEGY,
        "            self._being_stopped -= Counter(stopped_to_start(superseded.steps))\n",
        "            pass\n",
    ),
    Mutant(
        "who gives up kills its children all at once",
        ("I-39",),
        "greenroom.supervisor._behavior",
        "                await self._supervisor.stop_children()\n                raise error\n",
        "                raise error\n",
    ),
    Mutant(
        "whoever builds on a child stays when it is restarted",
        ("I-38",),
        _STRATEGY,
        "if not scope.keys().isdisjoint(depends_on.get(later, ())):",
        "if False:",
    ),
    Mutant(
        "children are stopped in start order",
        ("I-39",),
        _SUPERVISOR,
        "enumerate(reversed(list(self._children)))",
        "enumerate(list(self._children))",
    ),
    Mutant(
        "a stop of the supervisor's own triggers a restart",
        ("I-40",),
        _SUPERVISOR,
        "if self._plans.restarts(cell.id) and not cell.is_unwanted:",
        "if False:",
    ),
    Mutant(
        "every child is significant",
        ("I-41",),
        _STRATEGY,
        "if ends_with is EndsWith.NONE or not specs[child].is_significant:",
        "if ends_with is EndsWith.NONE:",
    ),
    Mutant(
        "a stop of a significant child ends its supervisor",
        ("I-40", "I-41"),
        _SUPERVISOR,
        "if (asked is None or asked.who == cell.id) and ends_supervisor(",
        "if ends_supervisor(",
    ),
    Mutant(
        "names are never free again",
        ("I-42",),
        "greenroom.actors._directory",
        "return self._by_path.pop(path, None) is not None",
        "return True",
    ),
    Mutant(
        "a pinned address follows restarts",
        ("I-43",),
        "greenroom.actors._ref",
        "return cell.incarnation == self.incarnation and cell.state not in TERMINAL",
        "return cell.state not in TERMINAL",
    ),
    Mutant(
        "raise in the wrapper",
        ("I-44",),
        _LOOP,
        "        if outcome.reraise is not None:\n            raise outcome.reraise\n        if verdict",
        "        if outcome.error is not None:\n            raise outcome.error\n        if verdict",
    ),
    Mutant(
        "long circles are not seen",
        ("I-45",),
        _SUBSCRIPTION,
        "            if further is waiter:\n",
        "            if further is waiter and len(trail) < 2:\n",
    ),
    Mutant(
        "a wait that is over is still in the way",
        ("I-45",),
        _SUBSCRIPTION,
        "            if not wait.is_waiting:\n",
        "            if False:\n",
    ),
    # --- determinism, trace, resources -----------------------------------------------------------------------------
    Mutant(
        "deadlines of one tick fire in any order",
        ("I-46",),
        "greenroom.waiting._timers",
        "timer = next(iter(bucket))",
        "timer = __import__('random').SystemRandom().choice(list(bucket))",
        tests=("tests/waiting", "tests/actors", "tests/testing", "tests/session"),
    ),
    Mutant(
        "numbers with gaps",
        ("I-47",),
        "greenroom.core._recorder",
        "self._seq = seq = self._seq + 1",
        "self._seq = seq = self._seq + 2",
    ),
    Mutant(
        "an export without durations",
        ("I-48",),
        "greenroom.trace.exports._export_chrome",
        '"dur": max(0, _us(piece.end_t) - ts),',
        '"dur": 0,',
    ),
    Mutant(
        "withdrawn deadlines stay",
        ("I-49",),
        "greenroom.waiting._timers",
        "        self._bucket.pop(self, None)\n",
        "        pass\n",
    ),
    Mutant(
        "the record changes the order of tasks",
        ("I-50",),
        _LOOP,
        "        if has_turn_tasks:\n            await",
        "        if life.cell.traits.level:\n            await checkpoint()\n        if has_turn_tasks:\n            await",
    ),
    Mutant(
        "jitter from nobody's seed",
        ("I-51",),
        _SUPERVISOR,
        "chance=self._context.ports.chance.random(),",
        "chance=__import__('random').SystemRandom().random(),",
    ),
    Mutant(
        "any word of an event will do",
        ("I-55",),
        "greenroom.trace._checks_machines",
        "            if value not in words:\n",
        "            if False:\n",
        tests=("tests/trace/test_words.py",),
    ),
    # --- mechanisms that no single invariant names -----------------------------------------------------------------
    Mutant(
        "a restart uses the old object",
        (),
        _LOOP,
        "    behavior = cell.factory()\n",
        "    kept = create.__dict__\n"
        "    behavior = kept.get(cell.id) or cell.factory()\n"
        "    kept[cell.id] = behavior\n",
        tests=("tests/supervisor/test_restarts.py",),
    ),
    Mutant(
        "a start may take forever",
        (),
        _LOOP,
        "deadline = cell.shared.timers.after(cell.spec.start_timeout_s, scope.cancel)",
        "deadline = cell.shared.timers.after(math.inf, scope.cancel)",
        tests=("tests/actors/test_idle_ends.py", "tests/supervisor/test_spawn.py"),
    ),
    Mutant(
        "a cancelled ask stays where it is",
        ("I-33",),
        "greenroom.actors._ref",
        "            if slot.is_withdrawn:\n",
        "            if False:\n",
        tests=("tests/actors/test_asks.py",),
    ),
    Mutant(
        "a Down arrives after its watch was cancelled",
        ("I-32",),
        _SUBSCRIPTION,
        "            self._mailbox.withdraw(self._envelope)\n",
        "            pass\n",
        tests=("tests/actors/test_watch.py",),
    ),
    Mutant(
        "timers of a turn that failed run",
        (),
        _CONTEXT,
        '        if self.turn.envelope is not None:\n            self.turn.outbox_for("ctx.send_after()")',
        '        if False:\n            self.turn.outbox_for("ctx.send_after()")',
        tests=("tests/actors/test_send_timer.py",),
    ),
    Mutant(
        "a place that was reserved is never free again",
        (),
        _MAILBOX,
        "            self._reserved -= 1\n            self._free(size_bytes)\n",
        "            self._reserved -= 1\n",
        tests=("tests/actors/test_send_timer.py",),
    ),
    Mutant(
        "a cancelled timer still delivers what waits",
        (),
        "greenroom.actors._send_timer",
        "            self._mailbox.withdraw(envelope, parent=self._here())\n",
        "            pass\n",
        tests=("tests/actors/test_send_timer.py",),
    ),
    Mutant(
        "a clean-up is skipped when nothing runs",
        (),
        "greenroom.actors._behavior",
        'return not (behavior_class.actor_tasks or overrides(behavior_class, "on_stop"))',
        "return not behavior_class.actor_tasks",
        tests=("tests/actors",),
    ),
    # --- ends that leave a nursery as a group ----------------------------------------------------------------------
    Mutant(
        "a teammate's handler sees a bare cancel only",
        ("I-53",),
        "greenroom.teams._teammate",
        "        await super().on_message(message, ctx)\n",
        "        try:\n            await super().on_message(message, ctx)\n        except BaseExceptionGroup:\n"
        "            self._is_in_turn = False\n            raise\n",
        tests=_ENDS,
    ),
    Mutant(
        "a teammate keeps the item of a turn that ended badly",
        ("I-54",),
        "greenroom.teams._teammate",
        "            self._tell_board(GiveBack(",
        "            str(GiveBack(",
        tests=_ENDS,
    ),
    # --- schedules -------------------------------------------------------------------------------------------------
    Mutant(
        "a skipped time of day never comes",
        ("R11-a",),
        _CRON,
        "    return _change(zone, before, moment) or moment\n",
        "    return before\n",
        tests=("tests/inbox",),
    ),
    Mutant(
        "a repeated time of day comes twice",
        ("R11-a",),
        _CRON,
        'return self._interval(zone, start) if "*" in {minute[0], hour[0]} else',
        "return self._interval(zone, start) if True else",
        tests=("tests/inbox",),
    ),
    Mutant(
        "an interval leaps over a change of the clock",
        ("R11-a",),
        _CRON,
        "            if change is None:\n",
        "            if True:\n",
        tests=("tests/inbox",),
    ),
    Mutant(
        "an item is named after the moment of the look",
        ("R11-b",),
        _SCHEDULES,
        "    planned = passed[-1] if len(passed) < MAX_COUNTED else _latest(schedule, passed[-1], now)\n",
        "    planned = now\n",
        tests=("tests/inbox",),
    ),
    Mutant(
        "a prompt that was due is forgotten by the next process",
        ("R11-b", "RM-05"),
        _SESSION_SCHEDULES,
        "        await self._hand_in_pending()  # of an earlier process, or refused before\n",
        "",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "a prompt is handed in under a name of its own",
        ("R11-b", "RM-05"),
        _SESSION_SCHEDULES,
        "        await self._inbox.accept(view.pending, prompt_text",
        "        await self._inbox.accept(f'{view.pending}.{id(view)}', prompt_text",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "a schedule that cannot be recorded is kept in memory",
        ("RM-04",),
        _SESSION_SCHEDULES,
        '            self._drop(event.schedule, "it could not be recorded")\n',
        "",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "missed times go unrecorded",
        ("RM-04",),
        _SESSION_SCHEDULES,
        "        for item in plan.skipped:\n            self._emit(_missed(item, is_due=False))\n",
        "",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "a durable schedule misses what passed while nobody looked",
        ("RM-04",),
        "greenroom.session.schedules._schedule_events",
        "            catches_up=self.is_durable,\n",
        "            catches_up=False,\n",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "prompts that nobody has read pile up",
        ("RM-05",),
        _SESSION_SCHEDULES,
        'was_unread = item.replaces != "" and self._withdraw(item.schedule)',
        "was_unread = False",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "a spent budget stops no prompt",
        (),
        _SESSION_SCHEDULES,
        "        if self._has_paused():\n",
        "        if self._has_paused() and not self._views:\n",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "a session has schedules without end",
        (),
        _SESSION_SCHEDULES,
        ">= MAX_SCHEDULES",
        ">= 10 * MAX_SCHEDULES",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "a field for seconds is read as minutes",
        (),
        _CRON,
        "    if len(parts) != len(FIELDS):\n",
        "    if len(parts) < len(FIELDS):\n",
        tests=("tests/inbox",),
    ),
    Mutant(
        "a scheduled prompt runs in the mode of the session",
        (),
        "greenroom.agents._intake",
        "Mode(limit) if limit else None",
        "None",
        tests=("tests/session/test_schedules.py",),
    ),
    Mutant(
        "what was missed is not named",
        ("R11-b",),
        _SCHEDULES,
        "    missed = passed if is_counted else passed[:-1]\n",
        "    missed = []\n",
        tests=("tests/inbox",),
    ),
    Mutant(
        "a sub-agent outlives its aborted turn",
        (),
        "greenroom.agents.subagents._child_actor",
        "if outcome.state is State.KILLED and outcome.cause is not None:",
        "if False:",
        tests=_ENDS,
    ),
    Mutant(
        "a group of cancels is a failure",
        (),
        "greenroom.core._trio",
        "    cancelled, rest = error.split(trio.Cancelled)\n",
        "    cancelled, rest = None, error\n",
        tests=("tests/actors/test_turn_ends.py",),
    ),
    Mutant(
        "an escalation that was aborted is lost",
        (),
        "greenroom.supervisor._behavior",
        "            self._supervisor.resume_decision(message)\n",
        "            pass\n",
        tests=("tests/supervisor/test_escalation.py",),
    ),
    Mutant(
        "what fails while a call is cancelled fails the turn",
        (),
        "greenroom.agents._call_batches",
        "        raise outcome.reraise or group from None\n",
        "        raise\n",
        tests=_ENDS,
    ),
)
"""At least one for each promise that a running kernel can break."""
