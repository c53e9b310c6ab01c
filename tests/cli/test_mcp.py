"""The command `greenroom mcp`, as a person or a program at the command line sees it; servers and logins are real."""

from __future__ import annotations

import gc
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.cli import main
from tests.core.plugin_folders import plugin
from tests.mcp.real import AUTHORIZING, BOUND_S, EVERYTHING, free_port, on_port, wait_for_port
from tests.mcp.warm import warm_command

pytestmark = [
    pytest.mark.slow,  # the SDK is imported, here and in servers
    pytest.mark.filterwarnings("ignore:Async generator 'httpx?2.*' was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Async generator 'httpcore2.*' was garbage collected:ResourceWarning"),
]
BROWSER = """
import sys, urllib.request
print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1]).read())
"""


class Mcp:
    """Calls the command and keeps what it printed."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.error = ""

    def __call__(self, *arguments: str) -> tuple[int, str]:
        code = main(["mcp", *arguments])
        printed = self.capsys.readouterr()
        self.error = printed.err
        gc.collect()
        return code, printed.out

    def json(self, *arguments: str) -> tuple[int, Any]:
        code, text = self(*arguments, "--json")
        return code, json.loads(text)

    def write(self, **servers: Any) -> None:
        (self.folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


@pytest.fixture
def mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Mcp:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    browser = tmp_path / "browser.py"
    browser.write_text(BROWSER)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GREENROOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "their_home"))
    monkeypatch.setenv("BROWSER", f"{shlex.quote(sys.executable)} {shlex.quote(str(browser))} %s")
    monkeypatch.setenv("GREENROOM_MCP_TIMEOUT", "20000")
    return Mcp(project, capsys)


@contextmanager
def authorizing(folder: Path) -> Iterator[str]:
    with on_port(AUTHORIZING, str(folder)) as port:
        trio.run(wait_for_port, port)
        yield f"http://127.0.0.1:{port}/mcp"


def program() -> dict[str, Any]:
    command, *args = warm_command(EVERYTHING)
    return {"command": command, "args": args}


def test_list_is_a_table_of_how_servers_stand(mcp: Mcp, tmp_path: Path) -> None:
    with authorizing(tmp_path) as url:
        mcp.write(all=program(), far={"type": "http", "url": f"{url}?key=s3cret"}, bad={"url": "http://h"})
        code, text = mcp("list", "--trust")
        machine = url.removesuffix("/mcp")

    lines = text.splitlines()
    assert code == 0
    assert lines[0].split() == ["name", "status", "type", "from", "tools", "where"]
    assert lines[1].split()[:4] == ["all", "connected", "stdio", "project"]
    assert lines[2].split() == ["far", "needs-auth", "http", "project", "0", machine]
    assert lines[3].startswith("far: it requires a login: it answered HTTP 401; run `greenroom mcp login far`")
    assert "server 'bad' has a url and no type" in lines[4]
    assert "s3cret" not in text
    assert mcp.error == ""


def test_list_of_a_project_that_is_not_trusted_starts_nothing_of_it(mcp: Mcp) -> None:
    ran = mcp.folder / "ran"
    mcp.write(evil={"command": "touch", "args": [str(ran)]})
    code, text = mcp("list")
    _, facts = mcp.json("list", "--mcp-config", json.dumps({"mcpServers": {"mine": {"command": "/does/not/exist"}}}))
    asked, _ = mcp("login", "evil")

    assert code == 0
    assert text.splitlines()[0] == "no MCP servers; write them into .mcp.json, or into ~/.greenroom/settings.json"
    assert "server 'evil' is not started: trust" in text
    assert [(fact["name"], fact["status"], fact["scope"]) for fact in facts["servers"]] == [("mine", "failed", "cli")]
    assert asked == 1
    assert mcp.error.endswith("--trust does that here\n")
    assert not ran.exists()


def test_list_and_login_are_held_to_what_an_administrator_says(
    mcp: Mcp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managed, ran = tmp_path / "managed", mcp.folder / "ran"
    managed.mkdir()
    monkeypatch.setenv("GREENROOM_MANAGED", str(managed))
    (managed / "settings.json").write_text(
        json.dumps({"deniedMcpServers": [{"serverName": "evil"}, {"serverName": 1}]})
    )
    mcp.write(evil={"command": "touch", "args": [str(ran)]})
    code, text = mcp("list", "--trust")
    asked, _ = mcp("login", "evil", "--trust")

    assert code == 0
    assert "server 'evil' is not connected: it is listed in deniedMcpServers" in text
    assert "deniedMcpServers[1] matches no server" in text
    assert asked == 1
    assert mcp.error.endswith("server 'evil' is not connected: it is listed in deniedMcpServers\n")
    assert not ran.exists()


def test_servers_of_plugins_are_listed_and_logged_in_at(mcp: Mcp, tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    data = tmp_path / "home/plugins/data/kit"
    with authorizing(tmp_path) as url:
        servers = {
            "far": {"type": "http", "url": url},
            "near": {"command": "touch", "args": ["${CLAUDE_PLUGIN_DATA}/a"]},
        }
        plugin(folder, {".mcp.json": {"mcpServers": servers}}, name="kit")
        given = ("--plugin-dir", str(folder))
        _, before = mcp.json("list", *given, "--plugin-dir", "gone")
        code, _ = mcp("login", "plugin_kit_far", *given)
        _, after = mcp.json("list", *given)
        removed, _ = mcp("logout", "plugin_kit_far", *given)

    assert [(server["name"], server["status"]) for server in before["servers"]] == [
        ("plugin_kit_far", "needs-auth"),
        ("plugin_kit_near", "failed"),
    ]
    assert "run `greenroom mcp login plugin_kit_far`" in before["servers"][0]["why"]
    assert any("plugin 'gone' not loaded" in one for one in before["found"])
    assert (data / "a").exists()
    assert (code, removed) == (0, 0)
    assert after["servers"][0]["status"] == "connected"


def test_login_list_and_logout(mcp: Mcp, tmp_path: Path) -> None:
    with authorizing(tmp_path) as url:
        mcp.write(far={"type": "http", "url": url})
        code, text = mcp("login", "far", "--trust")
        _, before = mcp.json("list", "--trust")
        gone, removed = mcp("logout", "far", "--trust")
        _, again = mcp("logout", "far", "--trust")
        _, after = mcp.json("list", "--trust")

    first, _, address, _, last = text.splitlines()
    assert code == 0
    assert first == "Log in to far here:"
    assert address.startswith(f"{url.removesuffix('/mcp')}/authorize?")
    words, _, path = last.partition("; the tokens are in ")
    assert words == "logged in to far, which has 1 tool"
    assert path.startswith(f"{tmp_path}/home/mcp-tokens/127.0.0.1-")
    assert [server["status"] for server in before["servers"]] == ["connected"]
    assert (gone, removed, again) == (0, f"far: removed {path}\n", "far: no tokens are kept\n")
    assert [server["status"] for server in after["servers"]] == ["needs-auth"]


def test_a_login_that_is_refused_is_one_line(mcp: Mcp, tmp_path: Path) -> None:
    (tmp_path / "refuse").touch()
    with authorizing(tmp_path) as url:
        mcp.write(far={"type": "http", "url": url}, all=program())
        code, _ = mcp("login", "far", "--trust")
        refused = mcp.error
        without, text = mcp("login", "all", "--trust")

    assert code == 1
    assert refused == "greenroom: login failed for the MCP server 'far': it was refused (access_denied)\n"
    assert (without, text) == (2, "")
    assert "is of type stdio" in mcp.error


def test_a_server_that_wants_no_login_or_is_not_there_is_said_so(mcp: Mcp) -> None:
    with on_port(EVERYTHING) as port:
        trio.run(wait_for_port, port)
        mcp.write(
            free={"type": "http", "url": f"http://127.0.0.1:{port}/mcp"},
            gone={"type": "http", "url": f"http://127.0.0.1:{free_port()}/mcp"},
        )
        code, text = mcp("login", "free", "--trust")
        gone, _ = mcp("login", "gone", "--trust")
        error = mcp.error
        nobody, _ = mcp("login", "nobody", "--trust")

    assert code == 0
    assert text.startswith("free needs no login; it has ")
    assert gone == 1
    assert error.startswith("greenroom: login failed for the MCP server 'gone': it cannot be reached")
    assert nobody == 1
    assert mcp.error == "greenroom: unknown MCP server 'nobody'; expected one of: free, gone\n"


def test_ctrl_c_in_the_middle_of_a_login_ends_it_without_a_trace(mcp: Mcp, tmp_path: Path) -> None:
    with authorizing(tmp_path) as url:
        mcp.write(far={"type": "http", "url": url})
        command = [sys.executable, "-m", "greenroom", "mcp", "login", "far", "--trust", "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "Log in to far here:\n"
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=BOUND_S)

    assert process.returncode == 130
    assert error == "greenroom: note: SIGINT: stopping; repeat to kill what runs\n"
    assert not (tmp_path / "home").exists()
