"""The state folder of a gateway: one process holds it, and clients find that process through it.

Rule 1: the lock is held by the process, not written down, so a dead gateway holds nothing. Rule 2: clients connect only while the lock is
held by the process that wrote the address: whoever has taken the port of a dead gateway is sent no token. Rule 3: nobody else can read
the folder. This module imports nothing large: a second gateway is refused before anything is read.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import JournalError, UsageError, make_private_folder, open_private, whole_path

LOCK: Final = "gateway.lock"
ADDRESS: Final = "gateway.json"
TOKEN: Final = "token"  # noqa: S105 - the name of a file
PAIRING: Final = "pairing-key"
STORE: Final = "inbox.sqlite"
LOGS: Final = "log"
AGENTS: Final = "agents"
TOKEN_VARIABLE: Final = "GREENROOM_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable
"""The variable whose token counts instead of that in the folder."""
_TOKEN_BYTES: Final = 32
_FORKED_S: Final = 1.0
"""Time for which a child that a dead gateway had just forked may still hold its lock."""
_PAUSE_S: Final = 0.02


@final
@attrs.frozen
class StateFolder:
    """The paths in a state folder."""

    path: Path = attrs.field(converter=whole_path)

    @property
    def store(self) -> Path:
        """The store of inputs."""
        return self.path / STORE

    @property
    def logs(self) -> Path:
        """The folder of the log."""
        return self.path / LOGS

    @property
    def token(self) -> Path:
        """The file of the token."""
        return self.path / TOKEN

    def sessions(self, agent: str) -> Path:
        """Return the folder of an agent's run folders."""
        return self.path / AGENTS / agent / "sessions"

    def agent(self, agent: str) -> Path:
        """Return the folder of an agent's credentials."""
        return self.path / AGENTS / agent / "agent"


@final
@attrs.frozen(kw_only=True)
class GatewayAddress:
    """The place where a running gateway is reached."""

    pid: int
    url: str
    """Such as `http://127.0.0.1:18789`."""
    port: int
    version: str
    started_s: float
    """When it started, in seconds since 1970."""


@final
class GatewayHeld(UsageError):
    """Another gateway holds the state folder.

    Attributes:
        pid: The id of its process; 0 if it is not known.
        port: Its port; 0 while it starts.
    """

    def __init__(self, folder: Path, pid: int, port: int) -> None:
        where = f"port {port}" if port else "still starting"
        super().__init__(
            f"another gateway uses {str(folder)!r}: pid {pid or 'unknown'}, {where}; stop it with `greenroom gateway stop`, "
            "or choose another folder with --state"
        )
        self.pid = pid
        self.port = port


@final
@attrs.frozen
class HeldState:
    """A state folder whose lock this process holds. Made by `hold_state`."""

    folder: StateFolder

    def publish(self, *, url: str, port: int, version: str, started_s: float) -> GatewayAddress:
        """Write the address for clients, in one step, and return it. It blocks.

        Raises:
            JournalError: The disk refuses.
        """
        address = GatewayAddress(pid=os.getpid(), url=url, port=port, version=version, started_s=started_s)
        _write_private(self.folder.path / ADDRESS, json.dumps(attrs.asdict(address)) + "\n")
        return address


@contextmanager
def hold_state(path: Path) -> Iterator[HeldState]:
    """Hold a state folder, which is created with mode 0700 if it is missing. The system releases it when the process ends. It blocks.

    Raises:
        GatewayHeld: Another gateway holds it.
        UsageError: Others can read the folder, or it is not a folder.
        JournalError: The disk refuses.
    """
    folder = StateFolder(path)
    _make_folder(folder.path)
    try:
        descriptor = open_private(folder.path / LOCK, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise JournalError(str(folder.path / LOCK), error.strerror or str(error)) from None
    try:
        _take_lock(folder, descriptor)
        (folder.path / ADDRESS).unlink(missing_ok=True)  # of a gateway that was killed
        try:
            yield HeldState(folder)
        finally:
            (folder.path / ADDRESS).unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def find_gateway(path: Path) -> GatewayAddress | None:
    """Return where the gateway of a state folder is reached; None if none runs there, or it is not ready for clients. It blocks.

    Nothing is changed: the lock is shared for an instant, without waiting.
    """
    folder = StateFolder(path)
    pid = _holder(folder.path / LOCK)
    address = _read_address(folder.path / ADDRESS)
    return address if pid and address is not None and address.pid == pid else None


def ensure_token(folder: StateFolder, environ: Mapping[str, str]) -> str:
    """Return the token that has all rights, made at the first start. It blocks.

    Raises:
        UsageError: Others can read its file, or it holds none.
        JournalError: The disk refuses.
    """
    if environ.get(TOKEN_VARIABLE):
        return environ[TOKEN_VARIABLE]
    return _ensure_secret(folder.token)


def ensure_pairing_key(folder: StateFolder) -> str:
    """Return the secret that pairing codes are made from, made at the first start; no other token changes it. It blocks.

    Raises:
        UsageError: Others can read its file, or it holds none.
        JournalError: The disk refuses.
    """
    return _ensure_secret(folder.path / PAIRING)


def _ensure_secret(path: Path) -> str:
    if not path.exists():
        _write_private(path, secrets.token_hex(_TOKEN_BYTES) + "\n")
    return _read_secret(path)


def read_token(folder: StateFolder, environ: Mapping[str, str]) -> str:
    """Return the token for clients of a state folder. It blocks.

    Raises:
        UsageError: There is none, or others can read its file.
    """
    if environ.get(TOKEN_VARIABLE):
        return environ[TOKEN_VARIABLE]
    return _read_secret(folder.token)


def _read_secret(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise UsageError(f"there is no {path.name} in {str(path.parent)!r}: start the gateway once") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text that the gateway has written"
        raise UsageError(f"cannot read {str(path)!r}: {why}; delete it, and start the gateway for a new one") from None
    if mode & 0o077:
        raise UsageError(f"{str(path)!r} can be read by others; run `chmod 600` on it, or delete it for a new one")
    if not text:
        raise UsageError(f"{str(path)!r} is empty; delete it, and start the gateway for a new one")
    return text


def _make_folder(path: Path) -> None:
    try:
        make_private_folder(path)
        mode = path.stat().st_mode
    except OSError as error:
        raise UsageError(f"cannot use the state folder {str(path)!r}: {error.strerror or error}") from None
    if mode & 0o077:
        raise UsageError(f"the state folder {str(path)!r} can be used by others; run `chmod 700` on it")


def _take_lock(folder: StateFolder, descriptor: int) -> None:
    import fcntl

    ends = time.monotonic() + _FORKED_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            pid = _pid_in(descriptor)
            if pid and not _is_running(pid) and time.monotonic() < ends:
                time.sleep(_PAUSE_S)
                continue
            address = _read_address(folder.path / ADDRESS)
            port = address.port if address is not None and address.pid == pid else 0
            raise GatewayHeld(folder.path, pid, port) from None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        raise JournalError(str(folder.path / LOCK), error.strerror or str(error)) from None


def _holder(lock: Path) -> int:
    """Return the id of the process that holds a lock; 0 for none."""
    import fcntl

    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid_in(descriptor)
    except OSError:
        return 0
    finally:
        os.close(descriptor)
    return 0


def _pid_in(descriptor: int) -> int:
    said = os.pread(descriptor, 32, 0).strip()
    return int(said) if said.isdigit() else 0


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        pass
    return True


def _read_address(path: Path) -> GatewayAddress | None:
    try:
        said = json.loads(path.read_bytes())
        return GatewayAddress(
            pid=int(said["pid"]),
            url=str(said["url"]),
            port=int(said["port"]),
            version=str(said["version"]),
            started_s=float(said["started_s"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_private(path: Path, text: str) -> None:
    """Replace a file with mode 0600 in one step."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        with suppress(FileNotFoundError):
            temporary.unlink()
        descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise JournalError(str(path), error.strerror or str(error)) from None
