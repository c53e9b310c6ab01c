"""Changes of sessions: reset, settings, archive.

Rule 1: the event is durable before files are renamed; a start finishes what was not. Rule 2: a session that is reset or archived is closed. Rule 3: whether a
conversation is over is decided when a person writes, and only what people say counts as use.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import attrs

from greenroom.core import JournalError, UsageError
from greenroom.gateway._gateway_errors import Conflict
from greenroom.gateway.announce._queue_plan import QueueMode
from greenroom.gateway.config._sections import SessionConfig
from greenroom.gateway.keepers._agent_budgets import last_time
from greenroom.gateway.keepers._agent_setup import sessions_folder
from greenroom.gateway.keepers._keeper import SessionKeeper
from greenroom.gateway.keepers._keeper_parts import KeeperParts
from greenroom.gateway.keepers._session_models import EFFORTS
from greenroom.gateway.keepers._turn_lookup import TRANSCRIPT
from greenroom.gateway.keepers._turn_reporter import unread_end
from greenroom.gateway.record._archive_names import archived_transcript
from greenroom.gateway.record._gateway_events import SessionArchived, SessionPatched, SessionReset
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.record._rows import SessionRow
from greenroom.gateway.routing._session_key import DirectSession, MainSession, RoomSession, SessionKey, read_label
from greenroom.gateway.runs._child_models import find_model
from greenroom.permissions import parse_mode
from greenroom.store import new_uuid

ARCHIVED: Final = "its session is archived"
RESET: Final = "its session was reset"
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "thinking": tuple(EFFORTS),
    "queue": tuple(QueueMode),
    "send_policy": ("allow", "deny"),
}
_OTHERS: Final = frozenset({"model", "permission_mode"})
_OF_OPENING: Final = frozenset({"model", "thinking", "permission_mode"})


def run_folder(parts: KeeperParts, row: SessionRow) -> Path:
    """Return the run folder of a session."""
    return sessions_folder(parts.state_folder, SessionKey.parse(row.key)) / row.session_id


def check_new(parts: KeeperParts, key: SessionKey, spawned_by: str) -> None:
    """Refuse a new session that its agent may not have.

    Raises:
        Conflict: It has too many sessions; or it has used its budget of the day, and this is a sub-agent's.
    """
    limit = parts.config().limits.known_sessions
    if sum(SessionKey.parse(each).agent == key.agent for each in parts.record.registry.sessions) >= limit:
        raise Conflict(f"agent {key.agent!r} has {limit} sessions; archive some, or raise limits.knownSessions")
    denial = parts.budgets.denial(key.agent) if spawned_by else ""
    if denial:
        raise Conflict(denial)


async def reset_session(keeper: SessionKeeper, who: str) -> str:
    """Give a closed session a new run folder, archive the transcript of the former one, and return the new id.

    A session that has no run folder yet keeps its id: the same reset again, after a kill, changes nothing.
    """
    parts, former = keeper.parts, keeper.row
    if not await parts.ports.blocking.run(run_folder(parts, former).exists):
        return former.session_id
    for item in tuple(keeper.items.taken):  # the turn that was cut is not resumed in another conversation
        await parts.watcher.turn_ended(unread_end(keeper.name, former.session_id, (item,), RESET))
        keeper.settle(item, RESET)
    id_, name = new_uuid(parts.ports.ids), await _free_name(parts, former)
    why = f"reset by {who}" if who else "reset"
    await parts.record.write(
        SessionReset(at_s=parts.now(), session=keeper.name, session_id=id_, transcript=name, why=why)
    )
    await _rename(parts, former, name)
    return id_


def reset_reason(config: SessionConfig, row: SessionRow, now_s: float) -> str:
    """Return why a session begins anew with the next message of a person: `daily` or `idle`; empty if it does not.

    Args:
        config: The section `session` of the configuration.
        row: The session.
        now_s: The wall clock.
    """
    if row.used_s <= row.began_s:
        return ""  # nothing was said in it
    if not isinstance(SessionKey.parse(row.key).rest, MainSession | DirectSession | RoomSession):
        return ""
    reset = config.reset
    if reset.mode == "daily":
        zone = ZoneInfo(config.timezone) if config.timezone else None
        return "daily" if row.began_s < last_time(now_s, reset.at_hour, zone) else ""
    if reset.mode == "idle":
        return "idle" if now_s - max(row.person_s, row.began_s) > reset.idle_minutes * 60 else ""
    return ""


async def patch_session(keeper: SessionKeeper, settings: Mapping[str, object], label: str | None) -> None:
    """Record changed settings of a session.

    Raises:
        UsageError: One is unknown, or has a wrong value.
    """
    if keeper.row.state is SessionState.ARCHIVED:
        raise Conflict(f"session {keeper.name!r} is archived")
    for name, value in settings.items():
        _check(name, value)
    model = settings.get("model")
    if model is not None and find_model(keeper.parts.config(), str(model)) is None:
        raise UsageError(f"unknown model {model!r}; expected a Claude model or one of models.providers")
    parts = keeper.parts
    label = None if label is None else read_label(label)
    changed = dict(settings)
    if "model" in changed and keeper.row.settings.get("fallbacks"):
        changed["fallbacks"] = None  # those of the former model
    await parts.record.write(SessionPatched(at_s=parts.now(), session=keeper.name, settings=changed, label=label))


def needs_reopening(settings: Mapping[str, object]) -> bool:
    """True if changed settings count only for a session that is opened anew."""
    return bool(_OF_OPENING & settings.keys())


def _check(name: str, value: object) -> None:
    if value is None and (name in _WORDS or name in _OTHERS):
        return
    if name in _WORDS:
        if value not in _WORDS[name]:
            raise UsageError(f"{name} must be one of {', '.join(_WORDS[name])}, got {value!r}")
    elif name in _OTHERS:
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"{name} must be a text that is not empty, got {value!r}")
        if name == "permission_mode":
            parse_mode(value)
    else:
        raise UsageError(f"unknown setting {name!r}; expected one of: {', '.join(sorted({*_WORDS, *_OTHERS}))}")


def check_archive(keeper: SessionKeeper, *, is_forced: bool) -> None:
    """Refuse to archive a session that has to stay.

    Raises:
        Conflict: It is a main session, or works, or messages wait for it.
    """
    if isinstance(keeper.key.rest, MainSession):
        raise Conflict(f"cannot archive {keeper.name!r}: it is the main session of its agent; reset it instead")
    if keeper.is_busy and not is_forced:
        raise Conflict(f"cannot archive {keeper.name!r}: a turn of it runs or waits; stop it first")
    if keeper.items.held and not is_forced:
        raise Conflict(f"cannot archive {keeper.name!r}: {len(keeper.items.held)} messages wait for it")


async def archive_session(keeper: SessionKeeper, why: str, name: str) -> str:
    """Archive a closed session, and return the name of its transcript."""
    parts, row = keeper.parts, keeper.row
    name = name or await _free_name(parts, row)
    for item in (*keeper.items.handed, *keeper.items.held):
        await parts.store.withdraw(keeper.name, item)
        await parts.watcher.turn_ended(unread_end(keeper.name, row.session_id, (item,), ARCHIVED))
        keeper.settle(item, ARCHIVED)
    keeper.end_asides()
    await parts.record.write(SessionArchived(at_s=parts.now(), session=keeper.name, transcript=name, why=why))
    await _rename(parts, row, name)
    return name


async def finish_archives(parts: KeeperParts) -> None:
    """Rename the transcripts of sessions that were archived or reset, and that an earlier process did not rename."""
    known = parts.record.registry.sessions.values()
    rows = [row for row in known if row.state is SessionState.ARCHIVED]
    rows += [
        attrs.evolve(row, session_id=row.former_id, transcript=row.former_transcript) for row in known if row.former_id
    ]

    def unfinished() -> list[SessionRow]:
        return [row for row in rows if row.transcript and (_transcripts(parts, row) / TRANSCRIPT).exists()]

    for row in await parts.ports.blocking.run(unfinished):
        await _rename(parts, row, row.transcript)


async def archive_name(parts: KeeperParts, key: str) -> str:
    """Return the name that the transcript of a session has once it is archived, if that happens now."""
    return await _free_name(parts, parts.record.registry.sessions[key])


async def _free_name(parts: KeeperParts, row: SessionRow) -> str:
    moment: datetime = parts.ports.clock.wall()

    def find() -> str:
        folder = _transcripts(parts, row)
        taken = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        return archived_transcript(TRANSCRIPT, moment, taken)

    return await parts.ports.blocking.run(find)


async def _rename(parts: KeeperParts, row: SessionRow, name: str) -> None:
    folder = _transcripts(parts, row)

    def rename() -> None:
        if (folder / TRANSCRIPT).exists() and not (folder / name).exists():
            (folder / TRANSCRIPT).rename(folder / name)

    try:
        await parts.ports.blocking.run(rename)
    except OSError as error:
        raise JournalError(str(folder / TRANSCRIPT), f"it cannot be renamed: {error}") from error


def _transcripts(parts: KeeperParts, row: SessionRow) -> Path:
    return run_folder(parts, row) / "transcripts"
