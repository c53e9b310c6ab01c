"""A gateway as a process: start, one conversation, signals, a second one on the same state, a kill, and what is left behind."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom.cli import main
from greenroom.gateway.process._state_folder import ADDRESS, GatewayAddress, find_gateway
from greenroom.testing import ErrorReply
from greenroom.trace import JOURNAL
from tests.cli.forked import Forked
from tests.cli.served import served


@attrs.frozen
class Home:
    """A home with a configuration and a state folder."""

    root: Path
    environ: dict[str, str]

    @property
    def state(self) -> Path:
        return self.root / "state"

    @contextmanager
    def gateway(self) -> Iterator[tuple[Forked, GatewayAddress]]:
        """Run a gateway, and yield it when it is ready."""
        arguments = ("gateway", "--config", str(self.root / "gateway.json5"), "--state", str(self.state))
        process = Forked(*arguments, cwd=self.root, environ=self.environ)
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert "ready at" in line, line
            address = find_gateway(self.state)
            assert address is not None
            yield process, address
        finally:
            process.kill()
            process.communicate()

    def ask(self, *arguments: str) -> int:
        return main(["gateway", *arguments, "--state", str(self.state)])

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.state / JOURNAL).read_text().splitlines()]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gateway.json5").write_text("{gateway: {port: 0, drainSeconds: 5}}")
    environ = {**os.environ, "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-ant-test"}
    return Home(tmp_path, environ)


@pytest.mark.promise("A22-a")
def test_gateway_answers_and_leaves_nothing_when_stopped(home: Home, capfd: pytest.CaptureFixture[str]) -> None:
    """GW-26: the run of a message has one end, which is the exit code and the reason of its command."""
    with served(["hello back", ErrorReply(status=400)]) as server:
        home.environ["ANTHROPIC_BASE_URL"] = server.url
        with home.gateway() as (process, address):
            door = http.client.HTTPConnection("127.0.0.1", address.port, timeout=10)
            door.request("GET", "/healthz")
            answer = door.getresponse()
            assert (answer.status, json.loads(answer.read())["ok"]) == (200, True)
            door.close()
            door.request("GET", "/")
            assert b"<title>greenroom</title>" in door.getresponse().read()
            door.close()
            capfd.readouterr()
            assert home.ask("agent", "--message", "hello") == 0
            assert capfd.readouterr().out == "hello back\n"
            assert home.ask("agent", "--message", "again") == 1
            assert "the run ended with error" in capfd.readouterr().err
            assert home.ask("status", "--json") == 0
            assert json.loads(capfd.readouterr().out)["sessions"]["known"] == 1

            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
            assert process.wait() == 0

    assert home.events()[-1]["ev"] == "gateway.end"
    assert not (home.state / ADDRESS).exists()
    assert find_gateway(home.state) is None
    assert [path.name for path in home.state.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", address.port), timeout=5)


@pytest.mark.promise("A22-b")
def test_second_gateway_is_refused_and_a_killed_one_leaves_the_place(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    """A stranger who takes the port of a killed gateway is sent nothing.

    GW-02, RC-41, RC-93: the lock is held by the process and ends with it; a client believes an address only while the lock is held.
    """
    with home.gateway() as (process, address):
        assert main(["gateway", "--state", str(home.state)]) == 2
        said = capfd.readouterr().err
        assert f"pid {process.pid}" in said
        assert f"port {address.port}" in said
        assert main(["gateway", "--state", str(home.root / "other"), "--port", str(address.port)]) == 2
        assert str(address.port) in capfd.readouterr().err
        assert not (home.root / "other" / JOURNAL).exists()
        assert home.ask("status") == 0
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    with socket.create_server(("127.0.0.1", address.port)) as stranger:
        stranger.settimeout(0)
        assert home.ask("status") == 1
        with pytest.raises(BlockingIOError):
            stranger.accept()

    with home.gateway():
        assert home.ask("sessions") == 0
        assert home.ask("stop", "--reason", "enough") == 0
    assert home.events()[-1] == home.events()[-1] | {"ev": "gateway.end", "why": "enough"}


@pytest.mark.promise("A22-d")
def test_broken_configuration_is_refused_with_every_problem(home: Home, capfd: pytest.CaptureFixture[str]) -> None:
    (home.root / "gateway.json5").write_text(
        "{gateway: {port: 'x', bindd: 1}, agents: {list: [{id: 'a', modell: 'b'}]}}"
    )

    assert main(["gateway", "--config", "gateway.json5", "--state", str(home.state)]) == 2

    said = capfd.readouterr().err
    assert all(path in said for path in ("gateway.port", "gateway.bindd", "agents.list[0].modell"))
    assert not (home.state / JOURNAL).exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["gateway", "status", "--state", "none"], 1),
        (["gateway", "agent", "--message", "hello", "--state", "none"], 1),
        (["gateway", "cron", "fly", "--state", "none"], 2),
        (["gateway", "deliveries", "retry", "--state", "none"], 2),
        (["gateway", "--port", "70000"], 2),
        (["gateway", "--config", "missing.json5"], 2),
    ],
)
def test_mistakes_in_commands_are_told(
    home: Home, capfd: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    """GW-26: a command that cannot do its work says why, too."""
    assert main(arguments) == code
    assert len(capfd.readouterr().err.strip().splitlines()) >= 1
