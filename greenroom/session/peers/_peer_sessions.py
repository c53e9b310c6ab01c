"""Letters between the main agents of sessions of one machine and one user: `session:<id>` and `uds:<path>`.

Rule 1: a session takes letters only if the user's settings, or the program, say so; what they say stands in its store, so that it
holds while nobody has the session open. Rule 2: what is said of a letter is true: `delivered` and `stored` mean that it is in the
store of the session, from which no death of a process takes it. Rule 3: what comes in is another agent's words, whatever it says;
who sent it is said by the process that put it there. Rule 4: nothing is sent in a circle: not to oneself, and no text three times in a
minute.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias, final

import attrs
import trio

from greenroom.agents.subagents import SESSION, LetterAnswer, PeerState, PeerStatus
from greenroom.core import JournalError, PeerError, UsageError, is_session_id
from greenroom.core.ports import Ports
from greenroom.core.validation import checked, positive
from greenroom.inbox import BoxFull, LetterPolicy, Origin, StoredItem, peer
from greenroom.permissions import BRIDGE, SOCKET
from greenroom.remote import Letter, LetterRefusal, LetterRefused, check_listening, open_letterbox, send_letter
from greenroom.session.parts._session_inbox import SessionInbox
from greenroom.session.parts._stored_inbox import MAIN_BOX
from greenroom.store import INBOX, SqliteInboxStore, new_uuid, open_inbox_store
from greenroom.trace import is_held

HELD_S: Final = 300.0
"""Seconds after which a held letter expires."""
REPEATED_S: Final = 60.0
"""Seconds in which the same text may be sent to a session twice."""
MAX_SURVEYED: Final = 200
"""Maximum number of sessions beside this one that are looked at."""
_REPEATS: Final = 2
_ONESELF: Final = "is this one: send to `main`, or to an agent"

SessionMessageProblem: TypeAlias = Literal["not_there", "refused", "full", "repeated", "unknown", "broken"]
"""Why a letter did not arrive; after `unknown` it may have."""
_PROBLEMS: Final[Mapping[LetterRefusal, SessionMessageProblem]] = {
    "not_listening": "refused",
    "refused": "refused",
    "timed_out": "unknown",
    "broken": "unknown",
}


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class PeerSettings:
    """Letters from other sessions."""

    inbound: Literal["accept", "hold", "refuse"] = "refuse"
    """Whether the main agent reads them, a person has to release each, or none is taken."""
    socket: str = ""
    """The path of a Unix socket on which letters are taken too; empty for none."""
    sockets: tuple[str, ...] = ()
    """Paths of sockets of other sessions, such as those of other projects, that `ListAgents` shows."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class HostAddress:
    """A host, as this session knows it."""

    address: str
    """Where it listens: `unix:/path`, `http://127.0.0.1:port` or `https://host:port`."""
    token_file: str
    """The file of mode 0600 with the token of the host."""
    ca_file: str = ""
    """The file of the authority, or of the one certificate, that is trusted with `https`; by default those of the system are."""
    workspace: str = ""
    """The host's name of the folder in which agents work there; empty for an empty folder."""


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class RemoteSettings:
    """Agents on other processes."""

    hosts: dict[str, HostAddress] = attrs.field(factory=dict)
    """Hosts by the names of their nodes."""
    unreachable_s: float = attrs.field(default=900.0, validator=positive)
    """Seconds without a word of its host after which a remote agent counts as failed."""


@final
class SessionMessageError(PeerError):
    """A letter did not reach another session; where it is `unknown`, nobody knows.

    Attributes:
        kind: What is wrong.
        session: The other session, as it was given.
    """

    def __init__(self, kind: SessionMessageProblem, session: str, text: str) -> None:
        super().__init__(f"session {session!r} {text}")
        self.kind = kind
        self.session = session


# --- sending ------------------------------------------------------------------------------------------------------------


@final
class PeerSessions:
    """The sessions whose runs lie beside this one's, and sockets of this machine.

    Args:
        run_folder: The run of this session.
        settings: What the session takes itself, and the sockets of others.
        ports: Time, ids and threads.
    """

    def __init__(self, run_folder: Path, settings: PeerSettings, ports: Ports) -> None:
        self._run_folder = run_folder
        self._settings = settings
        self._ports = ports
        self._recent: deque[_SentText] = deque(maxlen=1_000)

    async def send(self, to: str, text: str) -> LetterAnswer:
        """Send a letter to the main agent of another session, and return where it is.

        Args:
            to: `session:` and the id of a session whose run lies beside this one's, or `uds:` and the path of a socket.
            text: At most 1,048,576 characters.

        Raises:
            SessionMessageError: It did not arrive, or nobody knows.
        """
        if to.startswith(BRIDGE):
            where = to.removeprefix(BRIDGE)
            raise SessionMessageError("refused", where, "is on another machine, and there are no links to others yet")
        sent = self._note_sent(to, text)
        try:
            if to.startswith(SOCKET):
                return await self._send_to_socket(to.removeprefix(SOCKET), text)
            return await self._send_to_run(to.removeprefix(SESSION), text)
        except SessionMessageError as error:
            if error.kind != "unknown" and sent in self._recent:  # it did not arrive, so the next one repeats nothing
                self._recent.remove(sent)
            raise

    def _note_sent(self, to: str, text: str) -> _SentText:
        """Note a text before it is sent, so that two at once are two.

        Raises:
            SessionMessageError: It was sent too often.
        """
        now = trio.current_time()
        same = sum((sent.to, sent.text) == (to, text) and now - sent.at_s < REPEATED_S for sent in self._recent)
        if same >= _REPEATS:
            where = to.partition(":")[2]
            raise SessionMessageError("repeated", where, f"was sent this text {same} times within {REPEATED_S:g} s")
        sent = _SentText(to, text, now)
        self._recent.append(sent)
        return sent

    async def _send_to_run(self, session: str, text: str) -> LetterAnswer:
        if session == self._run_folder.name:
            raise SessionMessageError("refused", session, _ONESELF)
        folder = self._run_folder.parent / session
        run = self._ports.blocking.run
        if not is_session_id(session) or not await run(folder.is_dir):
            where = self._run_folder.parent
            raise SessionMessageError("not_there", session, f"is not there: no run of that id lies in {where}")
        try:
            async with self._store_of(folder) as store:
                policy = await store.policy(MAIN_BOX)
                if policy is LetterPolicy.REFUSE:
                    hint = "it takes them only when opened with the setting peers.inbound"
                    raise SessionMessageError("refused", session, f"takes no letters: {hint}")
                letter = Letter(id=new_uuid(self._ports.ids), sender=self._run_folder.name, text=text)
                await store.put([_item(letter, MAIN_BOX, policy, self._ports)])
        except BoxFull as error:
            raise SessionMessageError("full", session, f"did not take it: {error}") from error
        except UsageError as error:
            raise SessionMessageError("refused", session, f"was not asked: {error}") from error
        except JournalError as error:
            raise SessionMessageError("broken", session, f"cannot be written to: {error}") from error
        if policy is LetterPolicy.HOLD:
            return "held"
        return "delivered" if await run(is_held, folder) else "stored"

    @asynccontextmanager
    async def _store_of(self, folder: Path) -> AsyncIterator[SqliteInboxStore]:
        """Open the store of a run; a letter in it survives a power cut, whatever that session asks of its own.

        Raises:
            JournalError: It cannot be used.
        """
        store = await open_inbox_store(
            folder / INBOX, blocking=self._ports.blocking, wall=self._ports.clock.wall, is_power_safe=True
        )
        try:
            yield store
        finally:
            await store.aclose()  # noqa: ASYNC102 - shielded inside, one call of the disk

    async def _send_to_socket(self, path: str, text: str) -> LetterAnswer:
        if path == self._settings.socket:
            raise SessionMessageError("refused", path, _ONESELF)
        letter = Letter(id=new_uuid(self._ports.ids), sender=self._run_folder.name, text=text)
        try:
            how = await send_letter(letter, path=Path(path))
        except UsageError as error:
            raise SessionMessageError("refused", path, f"was not asked: {error}") from error
        except LetterRefused as error:
            raise SessionMessageError(_PROBLEMS[error.kind], path, f"did not take it: {error}") from error
        return "held" if how == "held" else "delivered"

    # --- looking ---------------------------------------------------------------------------------------------------

    async def survey(self) -> tuple[PeerStatus, ...]:
        """Return the sessions beside this one that have a store, at most the latest 200, and the sockets of the settings.

        Those that take letters come first, the latest before earlier ones; nothing is changed by looking.
        """
        runs = self._run_folder.parent
        names = await self._ports.blocking.run(_session_names, runs, self._run_folder.name)
        found = [await self._look(name) for name in names]
        found += [await self._look_at_socket(path) for path in self._settings.sockets]
        return tuple(sorted(found, key=lambda status: status.state is PeerState.REFUSES))

    async def _look(self, session: str) -> PeerStatus:
        folder, address = self._run_folder.parent / session, f"{SESSION}{session}"
        try:
            async with self._store_of(folder) as store:
                policy = await store.policy(MAIN_BOX)
        except JournalError as error:
            return PeerStatus(address=address, state=PeerState.REFUSES, why=str(error))
        if policy is LetterPolicy.ACCEPT:
            is_running = await self._ports.blocking.run(is_held, folder)
            return PeerStatus(address=address, state=PeerState.TAKES if is_running else PeerState.STORES)
        return PeerStatus(address=address, state=PeerState.HOLDS if policy is LetterPolicy.HOLD else PeerState.REFUSES)

    async def _look_at_socket(self, path: str) -> PeerStatus:
        try:
            await check_listening(Path(path))
        except (LetterRefused, UsageError) as error:
            return PeerStatus(address=f"{SOCKET}{path}", state=PeerState.REFUSES, why=str(error))
        return PeerStatus(address=f"{SOCKET}{path}", state=PeerState.LISTENS)


@final
@attrs.frozen(eq=False)
class _SentText:
    """A text that was sent, or is on its way."""

    to: str
    text: str
    at_s: float


def _session_names(runs: Path, own: str) -> list[str]:
    """Return the ids of the sessions of a folder that have a store, the latest first. It looks at the disk."""
    try:
        names = sorted((path.name for path in runs.iterdir() if is_session_id(path.name)), reverse=True)
    except OSError:
        return []
    return list(islice((name for name in names if name != own and (runs / name / INBOX).exists()), MAX_SURVEYED))


# --- receiving ----------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def open_door(inbox: SessionInbox, settings: PeerSettings, ports: Ports, *, own: str) -> AsyncIterator[None]:
    """Take letters for the main agent as the settings say, until the block is left; in the store they are taken after that too.

    What others put into the store is handed in by `SessionInbox.follow_news`.

    Args:
        inbox: The inbox of the session.
        settings: Whether letters are taken, and where.
        ports: Time and ids.
        own: The id of the session.

    Raises:
        JournalError: What the settings say cannot be stored.
        UsageError: The path of the socket is not one that can be trusted.
        OSError: The socket cannot be made.
    """
    policy = LetterPolicy(settings.inbound)
    if await inbox.stored.store.policy(inbox.stored.box) is not policy:
        await inbox.stored.store.set_policy(inbox.stored.box, policy)
    if policy is LetterPolicy.REFUSE:
        yield
        return
    if not settings.socket:
        yield
        return

    async def take(letter: Letter) -> str:
        if letter.sender == own:
            raise UsageError("a session does not write to itself")
        return await _take(inbox, letter, policy, ports)

    async with open_letterbox(take, path=Path(settings.socket)):
        yield


async def _take(inbox: SessionInbox, letter: Letter, policy: LetterPolicy, ports: Ports) -> str:
    """Store a letter as another agent's words, and say where it is.

    Raises:
        GreenroomError: It cannot be taken.
    """
    if not is_session_id(letter.sender):
        raise UsageError(f"{letter.sender!r} is not a session id")
    if policy is LetterPolicy.ACCEPT:
        await inbox.accept(letter.id, letter.text, origin=_origin_of(letter))
        return "delivered"
    await inbox.stored.store.put([_item(letter, inbox.stored.box, policy, ports)])
    return "held"


def _origin_of(letter: Letter) -> Origin:
    return peer(f"{SESSION}{letter.sender}")


def _item(letter: Letter, box: str, policy: LetterPolicy, ports: Ports) -> StoredItem:
    """Return a letter as an item of a box; one that a person has to let in expires."""
    now, is_held = ports.clock.wall().timestamp(), policy is LetterPolicy.HOLD
    return StoredItem(
        id=letter.id,
        box=box,
        text=letter.text,
        origin=_origin_of(letter),
        is_held=is_held,
        created_at=now,
        expires_at=now + HELD_S if is_held else math.inf,
    )
