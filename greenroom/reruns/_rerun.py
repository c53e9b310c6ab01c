"""Doing a recorded session again: in virtual time, without a model, a network, a process or a file outside its folder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final, get_args

import attrs
import trio
import trio.testing

from greenroom.agents import StoppedByHook
from greenroom.agents.events import AgentSpoke, ModelBegan
from greenroom.agents.memory import folder_name
from greenroom.core import JournalError, TurnFailed, TurnKilled, UsageError
from greenroom.core.ports import InlineBlocking, Ports, SystemDisk
from greenroom.effects import MISSED, Conductor, Difference, EffectReplay, OrderedMailbox, PlaceOrder, RecordedEffect
from greenroom.models.recordings import RecordedModel, ReplayMismatch
from greenroom.reruns._first_cause import with_cause
from greenroom.reruns._mapped_folders import FolderMap
from greenroom.reruns._recorded_run import RecordedRun, error_in, read_run, update_record
from greenroom.session import ATTEMPTS, EVENTS, RunReplay, Session, open_session
from greenroom.trace import JOURNAL, read_end

RERUNS: Final = "reruns"
"""The folder in a run folder that holds its re-runs."""

AtDifference: TypeAlias = Literal["stop", "go-on"]
Program: TypeAlias = Callable[[Session], Awaitable[object]]


@final
@attrs.frozen(kw_only=True)
class Rerun:
    """The result of a re-run."""

    run: Path
    """The run folder of the re-run."""
    difference: Difference | None
    """The first difference; None if there is none."""
    was_cut: bool = False
    """True if the recorded run was killed: the re-run is equal up to there, and ended there."""
    events: int = 0
    """Number of events of the re-run."""
    requests: int = 0
    """Number of its model requests that were equal to recorded ones."""
    results: int = 0
    """Number of its calls, questions and hooks that were, and got their recorded results."""
    tokens: int = 0
    """Tokens that the re-run asked for: always 0."""
    changes: int = 0
    """Number of requests and inputs that differ, if the re-run went on."""
    is_complete: bool = True
    """True if the re-run went through to the end of the record, with such changes or without."""
    is_updated: bool = False
    """True if the record now has the requests and inputs of today."""

    @property
    def is_equal(self) -> bool:
        """True if there is no difference."""
        return self.difference is None


def rerun(
    run: Path | str,
    program: Program,
    *,
    cwd: Path | str | None = None,
    runs: Path | str | None = None,
    at_difference: AtDifference = "stop",
    update: bool = False,
    **opening: Any,
) -> Rerun:
    """Do a recorded session again, and return the first difference.

    It runs Trio itself, in virtual time: it waits for threads of the program, such as those of `trio.Path`, and for nothing else
    of the program's own, such as a connection. Results of tools and answers of models come from the record.

    Args:
        run: A run folder that was recorded with `record: effects`.
        program: The program's own async function, called with the session.
        cwd: The folder that the agents work in; by default the recorded one.
        runs: The folder for the new run folder, which has the name of the recorded one; by default one in that.
        at_difference: `stop` to end at the first difference; `go-on` to serve the recorded answers and results also to requests and
            calls that differ, as long as there are such.
        update: True to go on, and at the end to put the requests and inputs of today into the record, if nothing else differs; the
            answers stay.
        opening: Further arguments of `open_session`, as in the recorded run.

    Raises:
        UsageError: The run has no record of effects, was resumed, or needs something that a re-run does not have.
    """
    recorded = read_run(Path(run))
    clock = trio.testing.MockClock()
    if at_difference not in get_args(AtDifference):
        raise UsageError(f"at_difference must be one of {', '.join(get_args(AtDifference))}, got {at_difference!r}")
    if update and recorded.is_cut:
        raise UsageError(f"the run {recorded.name} was killed, and only the record of a whole run can be updated")
    folder = _free(recorded.folder) if runs is None else Path(runs)
    goes_on = update or at_difference == "go-on"
    rerunner = _Rerunner(recorded, clock, Path(cwd or recorded.cwd), folder, goes_on=goes_on)
    again = trio.run(partial(rerunner.run, program, opening), clock=clock)
    if update and again.changes and again.is_complete:
        update_record(recorded, rerunner.changed_requests, rerunner.changed_inputs)
        return attrs.evolve(again, is_updated=True)
    return again


@final
@attrs.frozen
class RecordClock:
    """The clock of a re-run: Trio's, and the recorded date and time with it."""

    _started: datetime

    def bind(self) -> Callable[[], float]:
        """Return the reader of the clock of the current Trio run."""
        return trio.lowlevel.current_clock().current_time

    def wall(self) -> datetime:
        """Return the date and time of the recorded run."""
        return self._started + timedelta(seconds=trio.current_time())


@final
class _Rerunner:
    """One re-run of a recorded run."""

    def __init__(
        self, recorded: RecordedRun, clock: trio.testing.MockClock, cwd: Path, runs: Path, *, goes_on: bool
    ) -> None:
        self._recorded = recorded
        self._runs = runs
        self._cwd = cwd
        self._mask: Callable[[Any], Any] = lambda values: values
        self._folders = FolderMap(
            [
                (recorded.run_folder, str(self._runs / recorded.name)),
                (recorded.cwd, str(cwd.resolve())),
                (folder_name(recorded.cwd), folder_name(str(cwd.resolve()))),  # of the notes of a project
                (recorded.home, str(Path.home())),
            ]
        )
        self._order = PlaceOrder(recorded.steps, request=ModelBegan, end=AgentSpoke)
        self._conductor = Conductor(self._order, recorded.places, clock, is_cut=recorded.is_cut)
        served = (attrs.evolve(effect, got=self._folders.to_now(effect.got)) for effect in recorded.effects.effects)
        record = attrs.evolve(recorded.effects, effects=tuple(served))
        self._effects = EffectReplay(
            record,
            self._conductor,
            as_recorded=self._folders.to_recorded,
            text_of=recorded.text_of,
            serves_changed=goes_on,
        )
        self._model = RecordedModel(
            self._folders.mapped_answers(recorded.model),
            normalize=self._folders.normal,
            pace=self._conductor.wait_place,
            on_mismatch=self._differs,
            serves_changed=goes_on,
        )

    async def run(self, program: Program, opening: dict[str, Any]) -> Rerun:
        """Run the program on the record, and return what was found."""
        conductor, failure = self._conductor, None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(conductor.run)
            with conductor.scope:
                try:
                    async with open_session(
                        model=self._model,
                        cwd=self._cwd,
                        runs=self._runs,
                        ports=self._ports(),
                        replay=self._replay(),
                        **opening,
                    ) as session:
                        await program(session)
                except Exception as error:  # noqa: BLE001 - raised again below, unless it follows from a difference
                    failure = error
            nursery.cancel_scope.cancel()
        difference = conductor.difference
        if difference is None and not conductor.was_cut:
            difference = self._ended(failure)
        is_complete, first = difference is None, self._first_change()
        difference = first or difference
        if difference is not None:
            difference = attrs.evolve(difference, label=self._recorded.paths.get(difference.agent, ""))
        return Rerun(
            run=self._runs / self._recorded.name,
            difference=difference,
            was_cut=self._recorded.is_cut and difference is None,
            events=self._order.events,
            requests=self._model.compared,
            results=self._effects.compared,
            changes=len(self.changed_requests) + len(self.changed_inputs),
            is_complete=is_complete,
        )

    def _ended(self, failure: Exception | None) -> Difference | None:
        """Return the difference of a program that has ended; raise its failure unless the record has one, or explains it."""
        is_of_turn = isinstance(failure, TurnFailed | TurnKilled)
        is_new = failure is not None and (not self._recorded.error or self._error() is None)
        difference = None if is_new and not is_of_turn else self._left_over() or self._other_end()
        if failure is not None and is_new and difference is None:
            raise failure
        if difference is not None and failure is not None and isinstance(failure.__cause__, StoppedByHook):
            return attrs.evolve(difference, cause="hook", detail=str(failure))
        return difference

    @property
    def changed_requests(self) -> Mapping[tuple[str, int], Mapping[str, Any]]:
        """The requests of today that differ from recorded ones, by the agent and its number of the request; secrets are masked."""
        return {place: self._mask(asked) for place, (_, asked) in self._model.changed.items()}

    @property
    def changed_inputs(self) -> Sequence[tuple[RecordedEffect, Mapping[str, Any]]]:
        """The results on record whose inputs differ, with these inputs; secrets in them are masked."""
        return [(effect, self._mask(difference.now)) for effect, difference in self._effects.changed]

    def _first_change(self) -> Difference | None:
        """Return the difference that the re-run went on from whose answer or result comes first in the record; None if there is none."""
        places = {(exchange.agent, exchange.number): exchange.at for exchange in self._recorded.model.exchanges}
        found = [(effect.at, difference) for effect, difference in self._effects.changed]
        request = min(self._model.changed, key=places.__getitem__, default=None)
        if request is not None:
            mismatch, asked = self._model.changed[request]
            found.append((places[request], with_cause(difference_of(mismatch), asked, self._effects)))
        return min(found, key=itemgetter(0), default=(0, None))[1]

    def _ports(self) -> Ports:
        return Ports(
            clock=RecordClock(self._recorded.started),
            disk=SystemDisk(is_durable=False),
            blocking=InlineBlocking(),
        )

    def _replay(self) -> RunReplay:
        head = self._recorded.effects.head
        return RunReplay(
            name=self._recorded.name,
            seed=head.seed,
            effects=self._effects,
            surroundings=head.surroundings,
            make_mailbox=partial(OrderedMailbox, order=self._order),
            follow=self._order.follow,
            note_mask=self._note_mask,
            note_attempts=self._note_attempts,
        )

    def _note_attempts(self, now: int) -> None:
        recorded = self._recorded.effects.head.surroundings.get(ATTEMPTS, "")
        if recorded.isdecimal():
            self._model.attempts = (int(recorded), now)

    def _note_mask(self, mask: Callable[[Any], Any]) -> None:
        self._mask = mask

    def _differs(self, mismatch: ReplayMismatch, asked: Mapping[str, Any]) -> bool:
        """Note a difference; return True if a request is none, because the record ends before it."""
        difference = difference_of(mismatch)
        if not difference.where:
            return self._conductor.note_end_of_record(difference)
        self._conductor.note(with_cause(difference, asked, self._effects))
        return False

    def _left_over(self) -> Difference | None:
        """Return what the record has and the re-run did not ask for."""
        try:
            self._model.assert_done()
        except ReplayMismatch as mismatch:
            return attrs.evolve(difference_of(mismatch), cause="too few", detail=str(mismatch))
        effect = self._effects.unserved()
        if effect is None:
            return None
        what = f"{effect.of} {effect.key}"
        detail = "the record has it, and the re-run did not ask for it"
        return Difference(
            agent=effect.agent, what=what, recorded=effect.asked, cause=MISSED.get(effect.of, "too few"), detail=detail
        )

    def _other_end(self) -> Difference | None:
        """Return a difference if the program has ended with another error than the recorded one."""
        recorded, now = self._recorded.error, self._folders.to_recorded(self._error() or "")
        if self._recorded.is_cut or recorded == now:
            return None
        detail = "it ends with another error"
        return Difference(
            agent="", what="the end of the program", recorded=recorded or None, now=now or None, detail=detail
        )

    def _error(self) -> str | None:
        """Return the error that the re-run ended with, empty for none; None if it has not begun."""
        try:
            return error_in(read_end(self._runs / self._recorded.name / JOURNAL, EVENTS).entries)
        except JournalError:
            return None


def _free(run: Path) -> Path:
    """Return a folder in a run folder for one more re-run."""
    return next(folder for number in count(1) if not (folder := run / RERUNS / str(number)).exists())


def difference_of(mismatch: ReplayMismatch) -> Difference:
    """Return the difference of a model request."""
    cause = "code" if mismatch.path else "too many"
    return Difference(
        agent=mismatch.agent,
        what=f"request {mismatch.number}",
        where=mismatch.path,
        recorded=mismatch.recorded,
        now=mismatch.asked,
        cause=cause,
        detail=str(mismatch),
    )
