"""Messages between the main agents of sessions of one machine and one user: `session:<id>`.

Rule 1: a session listens only where its settings say so. Rule 2: where it listens, and the token that lets a message in, are in
its run folder, for its user alone; so only those who can read that folder may write to it. Rule 3: what comes in is
another agent's words, whatever it says. Rule 4: a message is sent when the other session has recorded it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.agents.subagents import SESSION
from greenroom.core import JournalError, PeerError, UsageError, is_session_id
from greenroom.core.ports import Blocking, Disk, Ids, Ports
from greenroom.core.validation import checked
from greenroom.inbox import OriginKind, peer
from greenroom.remote import Letter, LetterRefused, open_letterbox, send_letter
from greenroom.session.parts._session_inbox import SessionInbox
from greenroom.store import new_uuid
from greenroom.trace import Journal, is_held

DOOR: Final = "peer.json"
"""The file in which a session publishes its port and the token that admits a message."""
MAX_WAITING: Final = 50
"""Maximum number of messages of other sessions that may wait."""

SessionMessageProblem: TypeAlias = Literal[
    "not_there", "not_running", "not_listening", "refused", "timed_out", "broken"
]


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class PeerSettings:
    """Messages from other sessions."""

    listen: bool = False
    """Whether the main agents of other sessions may write to this one's."""


@final
class SessionMessageError(PeerError):
    """A message did not reach another session; where it is `timed_out` or `broken`, nobody knows.

    Attributes:
        kind: What is wrong.
        session: Id of the other session, as it was given.
    """

    def __init__(self, kind: SessionMessageProblem, session: str, text: str) -> None:
        super().__init__(f"session {session!r} {text}")
        self.kind = kind
        self.session = session


# --- sending ------------------------------------------------------------------------------------------------------------


@final
@attrs.frozen
class PeerSessions:
    """The sessions whose runs lie beside this one's."""

    run_folder: Path
    blocking: Blocking
    disk: Disk
    ids: Ids

    async def send(self, session: str, text: str) -> None:
        """Send a message to the main agent of another session, and return when that session has recorded it.

        Raises:
            SessionMessageError: It has not, or nobody knows.
        """
        if session == self.run_folder.name:
            raise SessionMessageError("refused", session, "is this one: send to `main`, or to an agent")
        port, token = await self.blocking.run(self._find_door, session)
        letter = Letter(id=new_uuid(self.ids), sender=self.run_folder.name, text=text)
        try:
            await send_letter(letter, port=port, token=token)
        except UsageError as error:
            raise SessionMessageError("refused", session, f"was not asked: {error}") from error
        except LetterRefused as error:
            kind: SessionMessageProblem = "refused" if error.kind == "too_long" else error.kind
            raise SessionMessageError(kind, session, f"did not take it: {error}") from error

    def _find_door(self, session: str) -> tuple[int, str]:
        folder = self.run_folder.parent / session
        if not is_session_id(session) or not folder.is_dir():
            where = self.run_folder.parent
            raise SessionMessageError("not_there", session, f"is not there: no run of that id lies in {where}")
        if not is_held(folder):
            raise SessionMessageError("not_running", session, "is not running: no process has it open")
        try:
            values = json.loads(self.disk.read(folder / DOOR))
            port, token = values["port"], values["token"]
        except FileNotFoundError:
            hint = "it takes messages only when opened with the setting peers.listen"
            raise SessionMessageError("not_listening", session, f"does not listen: {hint}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SessionMessageError("broken", session, f"has a {DOOR} that cannot be read: {error}") from None
        if not isinstance(port, int) or not isinstance(token, str) or not token.isalnum():
            raise SessionMessageError("broken", session, f"has a {DOOR} that says nothing of use")
        return port, token


# --- receiving ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_door(
    run_folder: Path, inbox: SessionInbox, settings: PeerSettings, *, recording: Journal, ports: Ports
) -> AsyncIterator[None]:
    """Accept messages of other sessions for the main agent, if the settings say so, until the block is left.

    Raises:
        OSError: There is no port, or the run folder cannot be written.
    """
    if not settings.listen:
        yield
        return
    token = secrets.token_hex(32)  # ids are not secrets: some of them reveal the next
    door = run_folder / DOOR

    async def take(letter: Letter) -> None:
        await _take(inbox, letter, recording)

    async with open_letterbox(take, token=token) as port:
        content = json.dumps({"port": port, "token": token}).encode() + b"\n"
        await ports.blocking.run(ports.disk.write, door, content)
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):  # one call of the disk
                await ports.blocking.run(door.unlink, missing_ok=True)


async def _take(inbox: SessionInbox, letter: Letter, recording: Journal) -> None:
    """Hand a letter in as another agent's words, and record it.

    Raises:
        GreenroomError: It cannot be taken.
    """
    if not is_session_id(letter.sender):
        raise UsageError(f"{letter.sender!r} is not a session id")
    waiting = sum(
        item.origin.kind is OriginKind.PEER and item.origin.name.startswith(SESSION) for item in inbox.queued()
    )
    if waiting >= MAX_WAITING:
        raise PeerError(f"{waiting} messages of other sessions wait already; send it later")
    try:
        recording.check_open()
        inbox.send(letter.text, origin=peer(f"{SESSION}{letter.sender}"))
        await recording.commit()
    except JournalError as error:
        raise PeerError(f"it cannot be recorded: {error}") from error
