"""The state folder: one process holds it, a dead one holds nothing, and clients find only the living one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from greenroom.core import UsageError
from greenroom.gateway.process._state_folder import (
    ADDRESS,
    TOKEN_VARIABLE,
    GatewayHeld,
    StateFolder,
    ensure_token,
    find_gateway,
    hold_state,
    read_token,
)

HOLDER: Final = """
import sys, time
from pathlib import Path
from greenroom.gateway.process._state_folder import hold_state
with hold_state(Path(sys.argv[1])) as held:
    held.publish(url="http://127.0.0.1:4711", port=4711, version="1", started_s=1.0)
    print("held", flush=True)
    time.sleep(60)
"""


def started(state: Path) -> subprocess.Popen[str]:
    """Start a process that holds a state folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(state)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.promise("A22-b")
def test_second_holder_is_refused_with_pid_and_port(tmp_path: Path) -> None:
    state = tmp_path / "state"
    process = started(state)
    try:
        with pytest.raises(GatewayHeld) as caught, hold_state(state):
            pass
        assert (caught.value.pid, caught.value.port) == (process.pid, 4711)
        found = find_gateway(state)
        assert found is not None
        assert (found.pid, found.url) == (process.pid, "http://127.0.0.1:4711")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()

    assert (state / ADDRESS).exists()
    assert find_gateway(state) is None
    with hold_state(state) as held:
        assert find_gateway(state) is None
        assert held.publish(url="u", port=1, version="1", started_s=2.0) == find_gateway(state)
    assert not (state / ADDRESS).exists()


def test_folder_and_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with hold_state(tmp_path / "a" / "state") as held:
            ensure_token(held.folder, {})
            held.publish(url="u", port=1, version="1", started_s=2.0)
            modes = {path.name: path.stat().st_mode & 0o777 for path in held.folder.path.iterdir()}
            assert held.folder.path.stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}


def test_folder_that_others_can_use_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with pytest.raises(UsageError), hold_state(tmp_path):
        pass


def test_file_as_state_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError), hold_state(tmp_path / "file"):
        pass


def test_token_is_made_once_and_a_variable_wins(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    folder = StateFolder(tmp_path)
    with pytest.raises(UsageError):
        read_token(folder, {})

    token = ensure_token(folder, {})

    assert len(bytes.fromhex(token)) == 32
    assert ensure_token(folder, {}) == read_token(folder, {}) == token
    assert ensure_token(folder, {TOKEN_VARIABLE: "other"}) == read_token(folder, {TOKEN_VARIABLE: "other"}) == "other"
    folder.token.chmod(0o640)
    with pytest.raises(UsageError):
        read_token(folder, {})


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', json.dumps({"pid": 1}).encode()])
def test_damaged_address_is_none(tmp_path: Path, content: bytes) -> None:
    tmp_path.chmod(0o700)
    with hold_state(tmp_path):
        (tmp_path / ADDRESS).write_bytes(content)
        assert find_gateway(tmp_path) is None


def test_address_of_another_process_is_none(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with hold_state(tmp_path) as held:
        held.publish(url="u", port=1, version="1", started_s=2.0)
        said = json.loads((tmp_path / ADDRESS).read_bytes())
        (tmp_path / ADDRESS).write_text(json.dumps(said | {"pid": os.getpid() + 1}))
        assert find_gateway(tmp_path) is None
