"""The effects of a run: recorded, or served from the record of an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, final

import attrs

from greenroom.core import UsageError
from greenroom.core.ports import Ports
from greenroom.effects import EFFECTS_FILE, EffectHead, EffectLog, Effects, OwnedIds, OwnedNumbers, RecordedClock
from greenroom.mailbox import Mailbox
from greenroom.session.assembly._run_replay import RunReplay
from greenroom.session.settings._session_settings import SessionSettings
from greenroom.trace import Journal

_SEED_BITS: Final = 128
RUN_FOLDER: Final = "run_folder"
GIT: Final = "git"
"""The surroundings that are served in a re-run: no process is started for them."""


@final
@attrs.frozen(kw_only=True, eq=False)
class RunEffects:
    """The effects of one session."""

    effects: Effects | None
    ports: Ports
    make_mailbox: Callable[..., Mailbox[Any]] = Mailbox


def recorded_part(settings: SessionSettings) -> Literal["off", "model", "effects"]:
    """Return what is recorded beside the journal."""
    return "model" if settings.record == "off" and settings.record_model else settings.record


def effects_of(
    settings: SessionSettings,
    replay: RunReplay | None,
    journal: Journal,
    ports: Ports,
    *,
    surroundings: Mapping[str, str],
) -> RunEffects:
    """Return the effects of a session, and the ports with which its ids come out the same when it is done again."""
    if replay is not None:
        journal.recorder.listen(replay.follow)
        return RunEffects(
            effects=replay.effects, ports=_owned(ports, replay.seed, replay.effects), make_mailbox=replay.make_mailbox
        )
    if recorded_part(settings) != "effects":
        return RunEffects(effects=None, ports=ports)
    seed = f"{ports.ids.bits(_SEED_BITS):032x}"
    write = partial(journal.write_before, Path(EFFECTS_FILE))
    log = EffectLog(write, lambda: journal.recorder.seq, EffectHead(seed=seed, surroundings=surroundings))
    return RunEffects(effects=log, ports=_owned(ports, seed, log))


def _owned(ports: Ports, seed: str, effects: Effects) -> Ports:
    clock = RecordedClock(ports.clock, effects)
    return attrs.evolve(ports, ids=OwnedIds(seed), chance=OwnedNumbers(seed), clock=clock)


def served_git(replay: RunReplay | None) -> str | None:
    """Return the recorded state of the repository, in words; None to look at it."""
    return None if replay is None else replay.surroundings.get(GIT, "")


def check_replay(replay: RunReplay | None, servers: Mapping[str, Any] | tuple[Any, ...]) -> None:
    """Refuse to do a session again that would start a process.

    Raises:
        UsageError: It has MCP servers.
    """
    if replay is not None and servers:
        raise UsageError("a session with MCP servers cannot be done again yet: their tool lists are not on record")
