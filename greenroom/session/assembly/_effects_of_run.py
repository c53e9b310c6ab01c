"""The effects of a run: recorded, or served from the record of an earlier run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, final

import attrs

from greenroom.core.ports import Ports, SystemClock
from greenroom.effects import (
    EFFECTS_FILE,
    EffectHead,
    EffectLog,
    Effects,
    OwnedIds,
    OwnedNumbers,
    RecordedClock,
    drawing_apart,
    plain_clock,
)
from greenroom.mailbox import Mailbox
from greenroom.session.assembly._run_replay import ATTEMPTS, FORKED, GIT, INVOCATION, RUN_FOLDER, USER_FOLDER
from greenroom.session.assembly._session_plan import Plan
from greenroom.session.settings._session_settings import SessionSettings
from greenroom.trace import Journal

_SEED_BITS: Final = 128


@final
@attrs.frozen(kw_only=True, eq=False)
class RunEffects:
    """The effects of one session."""

    port: Effects | None
    """Records results from outside, or serves them; None for neither."""
    ports: Ports
    make_mailbox: Callable[..., Mailbox[Any]] = Mailbox

    @property
    def is_rerun(self) -> bool:
        """True if the session is done again from a record, so that nothing outside of its run folder may change."""
        return self.port is not None and self.port.is_served

    @property
    def has_system_clock(self) -> bool:
        """True if the session runs in the machine's time."""
        return isinstance(plain_clock(self.ports.clock), SystemClock)

    def drawing_once(self, name: str) -> AbstractContextManager[None]:
        """Return a block whose ids do not depend on the actor that runs it: for work that the first actor does for all."""
        return drawing_apart(f"/{name}")


def recorded_part(settings: SessionSettings) -> Literal["off", "model", "effects"]:
    """Return what is recorded beside the journal."""
    return "model" if settings.record == "off" and settings.record_model else settings.record


def effects_of(plan: Plan, journal: Journal, ports: Ports) -> RunEffects:
    """Return the effects of a session, and the ports with which its ids come out the same when it is done again."""
    replay = plan.spec.host.replay
    if replay is not None:
        journal.recorder.listen(replay.follow)
        replay.note_mask(plan.secrets.mask_value)
        replay.note_attempts(_attempts(plan.settings.scalars))
        owned = _owned(ports, replay.seed, replay.effects)
        return RunEffects(port=replay.effects, ports=owned, make_mailbox=replay.make_mailbox)
    if recorded_part(plan.settings.scalars) != "effects":
        return RunEffects(port=None, ports=ports)
    seed = f"{ports.ids.bits(_SEED_BITS):032x}"
    write = partial(journal.write_before, Path(EFFECTS_FILE))
    surroundings = {
        GIT: plan.git,
        RUN_FOLDER: str(journal.folder),
        USER_FOLDER: str(Path.home()),
        ATTEMPTS: str(_attempts(plan.settings.scalars)),
    }
    if plan.spec.host.invocation:
        surroundings[INVOCATION] = plan.spec.host.invocation
    if plan.run.earlier is not None and not plan.run.is_resumed:
        surroundings[FORKED] = plan.run.earlier.name
    log = EffectLog(
        write, lambda: journal.recorder.seq, EffectHead(seed=seed, surroundings=surroundings), plan.secrets.mask_value
    )
    return RunEffects(port=log, ports=_owned(ports, seed, log))


def _attempts(settings: SessionSettings) -> int:
    """Return the maximum number of attempts at a model request; 1 if nothing is retried."""
    return 1 if settings.models is None else settings.models.retries.attempts


def _owned(ports: Ports, seed: str, effects: Effects) -> Ports:
    clock = RecordedClock(ports.clock, effects)
    return attrs.evolve(ports, ids=OwnedIds(seed), chance=OwnedNumbers(seed), clock=clock)
