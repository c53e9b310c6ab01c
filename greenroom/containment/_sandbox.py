"""The sandbox: agents' commands with the project as the only writable place.

It is bubblewrap, the barrier behind the permission rules. Rule 1: if it is enabled but not available, no command runs;
a trial shows whether it is. Rule 2: files that affect later sessions stay read-only in a writable project too:
settings, git hooks, git configuration. Rule 3: the process group of a command is ended as without it: processes in the
sandbox end with its first process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.containment._environment import ChildKind, child_environment
from greenroom.core.sources import OWN, THEIRS, Unusable, read_start

PROGRAM: Final = "bwrap"
TRY_S: Final = 10.0
"""Timeout of the trial."""
_KEPT: Final = (OWN, THEIRS, ".mcp.json", ".git/hooks", ".git/config")
_EMPTY: Final = ("/tmp", "/var/tmp", "/run/user")  # noqa: S108 - the private ones of the sandbox
_SOCKETS: Final = (
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
)
"""Access to these sockets means being root outside the sandbox."""
_GITFILE_BYTES: Final = 4096


@final
@attrs.frozen(kw_only=True)
class SandboxSettings:
    """Whether commands run in a sandbox, and its contents."""

    enabled: bool = False
    """True if commands run in a sandbox; if it is not available, they are refused."""
    network: bool = True
    """True if the network can be reached from it."""
    writable: tuple[str, ...] = ()
    """Writable folders besides the agent's working folders; `~` is the home folder."""
    unreadable: tuple[str, ...] = ()
    """Files and folders that appear empty in it, but for writable folders inside of them; `~` is the home folder."""


@final
class Sandbox:
    """The sandbox of a session. Its methods block: call them through `Blocking`; they may be called from any thread."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._refusal: str | None = None

    def why_not(self) -> str:
        """Return the reason why no command can run in it; empty if one can. It is tried once."""
        with self._lock:
            if self._refusal is None:
                self._refusal = self._try()
            return self._refusal

    def command(
        self, command: Sequence[str], *, cwd: Path, roots: Sequence[Path], files: Sequence[Path] = ()
    ) -> list[str]:
        """Return the command line that runs a command in it.

        Args:
            command: The program and its arguments.
            cwd: Its absolute initial folder.
            roots: The writable folders, with links resolved.
            files: Further writable files, which must exist.
        """
        mounts = [*self._mounts(roots)]
        mounts += [part for path in files for part in ("--bind", str(path), str(path))]
        return [*self._base(), *mounts, "--chdir", str(cwd), "--", *command]

    def _base(self) -> list[str]:
        program = shutil.which(PROGRAM) or PROGRAM
        shared = [] if self._settings.network else ["--unshare-net"]
        empty = [part for path in _EMPTY if Path(path).is_dir() for part in ("--tmpfs", path)]
        closed = [part for path in _SOCKETS if Path(path).exists() for part in ("--ro-bind", os.devnull, path)]
        return [
            *(program, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL", *shared),
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *empty, *closed),
        ]

    def _mounts(self, roots: Sequence[Path]) -> Iterator[str]:
        # Later mounts cover earlier ones: what is inside a folder comes after it, read-only parts and hidden ones included.
        writable = [*roots, *filter(None, map(_repository_of, roots))]
        writable += [_expanded(path) for path in self._settings.writable]
        hidden = [_expanded(path) for path in self._settings.unreadable]
        mounts: list[tuple[Path, Callable[[Path], Iterator[str]]]] = [(path, self._hidden) for path in hidden]
        mounts += [(path, self._bound) for path in dict.fromkeys(writable) if path not in hidden]
        for path, mounted in sorted(mounts, key=lambda mount: len(mount[0].parts)):
            yield from mounted(path)

    @staticmethod
    def _bound(root: Path) -> Iterator[str]:
        if root.exists():
            yield from ("--bind", str(root), str(root))
            kept = [root / name for name in _KEPT]
            kept += [root / "hooks", root / "config"] if root.name == ".git" else []
            for path in kept:
                if path.exists():
                    yield from ("--ro-bind", os.path.realpath(path), str(path))

    @staticmethod
    def _hidden(path: Path) -> Iterator[str]:
        if path.is_dir():
            yield from ("--tmpfs", str(path))
        elif path.exists():
            yield from ("--ro-bind", os.devnull, str(path))

    def _try(self) -> str:
        if shutil.which(PROGRAM) is None:
            return "bubblewrap (bwrap) is not installed"
        try:
            done = subprocess.run(
                [*self._base(), "--", "/bin/sh", "-c", "exit 0"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=child_environment(ChildKind.COMMAND),
                cwd="/",
                timeout=TRY_S,
                check=False,
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"cannot run bubblewrap: {' '.join(str(error).split())}"
        said = " ".join(done.stderr.decode(errors="replace").split())[:300]
        return (
            f"bubblewrap cannot create a sandbox: {said or f'exit status {done.returncode}'}" if done.returncode else ""
        )


def _repository_of(root: Path) -> Path | None:
    """Return the repository of a git worktree, which git writes to from there; None for any other folder."""
    try:
        own = read_start(root / ".git", _GITFILE_BYTES).strip().removeprefix("gitdir: ")
        folder = Path(os.path.normpath(root / own))
        common = Path(os.path.realpath(folder / read_start(folder / "commondir", _GITFILE_BYTES).strip()))
    except Unusable:
        return None
    return common if common.name == ".git" and Path(os.path.realpath(folder)).is_relative_to(common) else None


def _expanded(path: str) -> Path:
    return Path(os.path.realpath(Path(path).expanduser()))


_UNKNOWN: Final = "has no counterpart here and is ignored"
_LEFT_OUT: Final[Mapping[str, str]] = {
    "excludedCommands": "commands cannot leave the sandbox",
    "network.allowedDomains": "there is no filter by name: sandboxed commands have no network",
    "autoAllowBashIfSandboxed": "permission rules decide in the sandbox as well",
    "allowUnsandboxedCommands": "no call can leave the sandbox",
}


def read_their_sandbox(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return `sandbox` of a `.claude` settings file converted to greenroom's, and notes on ignored parts.

    Args:
        values: The object under `sandbox`.
    """
    files = values.get("filesystem")
    files = files if isinstance(files, Mapping) else {}
    made: dict[str, Any] = {
        "enabled": values.get("enabled") is True,
        "network": False,
        "writable": [path for path in _texts(files.get("allowWrite")) if not path.startswith("//")],
        "unreadable": [path for path in _texts(files.get("denyRead")) if "*" not in path],
    }
    obeyed = {"enabled", "failIfUnavailable", "filesystem.allowWrite", "filesystem.denyRead", "network.deniedDomains"}
    said = []
    for name, value in _flat(values):
        is_met = name == "allowUnsandboxedCommands" and value is False
        is_met = is_met or (name == "autoAllowBashIfSandboxed" and value is False)
        if name not in obeyed and not is_met and value not in ([], {}, None):
            said.append(f"sandbox.{name}: {_LEFT_OUT.get(name, _UNKNOWN)}")
    return made, said


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _flat(values: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name in sorted(values, key=str):
        value = values[name]
        if name in {"network", "filesystem"} and isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", value[inner]) for inner in sorted(value, key=str))
        else:
            yield name, value
