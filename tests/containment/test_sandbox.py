"""Commands in the sandbox: the real one where it can be had, and what happens where it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.containment import Sandbox, SandboxSettings, read_their_sandbox
from greenroom.core.ports import SystemIds, ThreadBlocking
from greenroom.models import Call, WrittenAnswer
from greenroom.testing._messages_script import ReplyLike
from greenroom.tools import open_processes
from greenroom.tools._tool_context import SandboxedProcesses
from tests.cli.forked import run_forked
from tests.cli.place import Place
from tests.cli.served import served
from tests.worktrees.repositories import git, make_repository

ON = SandboxSettings(enabled=True)
WHY_NOT = Sandbox(ON).why_not()
NEEDS_SANDBOX = pytest.mark.skipif(bool(WHY_NOT), reason=f"no sandbox here: {WHY_NOT}")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Place:
    made = Place(tmp_path, monkeypatch, capfd)
    made.folder.mkdir()
    (tmp_path / "home").mkdir()
    return made


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder outside of the project, with a file; not in /tmp, which is another one in the sandbox."""
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent, prefix=".outside-") as name:
        (Path(name) / "there").write_text("there")
        yield Path(name)


def run(script: str, root: Path, settings: SandboxSettings = ON) -> tuple[int, str]:
    """Run a script in the sandbox, in a project, and return how it ended and what it printed."""
    command = Sandbox(settings).command(["/bin/sh", "-c", script], cwd=root, roots=[root])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return done.returncode, (done.stdout + done.stderr).strip()


@NEEDS_SANDBOX
@pytest.mark.parametrize(
    "script",
    [
        "echo x > {outside}/new",
        "echo x >> {outside}/there",
        "rm {outside}/there",
        "ln {outside}/there mine",
        "ln -s {outside} link && echo x > link/new",
        "mount -o remount,rw / && echo x > {outside}/new",
        "mount --bind {outside} . && echo x > new",
        "echo x > .greenroom/settings.json",
        "echo x > .git/hooks/post-checkout",
        "git config core.fsmonitor 'touch x' || echo x > .git/config",
        "mv .greenroom elsewhere",
        "nsenter -t 1 -m -p sh -c 'echo x > {outside}/new'",
        "kill -9 {pid}",
    ],
)
def test_a_command_in_the_sandbox_changes_nothing_outside(tmp_path: Path, outside: Path, script: str) -> None:
    project = make_repository(tmp_path / "project")
    (project / ".git" / "hooks").mkdir(exist_ok=True)
    (project / ".greenroom").mkdir()
    (project / ".greenroom" / "settings.json").write_text("{}")
    config = (project / ".git" / "config").read_text()
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            code, said = run(script.format(outside=outside, pid=sleeper.pid), project)
            assert code != 0, said
            assert sleeper.poll() is None
        finally:
            sleeper.kill()

    assert [path.name for path in outside.iterdir()] == ["there"]
    assert (outside / "there").read_text() == "there"
    assert (project / ".greenroom" / "settings.json").read_text() == "{}"
    assert (project / ".git" / "config").read_text() == config
    assert not (project / ".git" / "hooks" / "post-checkout").exists()


@NEEDS_SANDBOX
def test_a_command_in_the_sandbox_works_on_its_project(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    hidden = Path("/tmp") / f"greenroom-{os.getpid()}"
    hidden.write_text("x")
    try:
        script = f"echo y > new.txt; git add new.txt && git -c user.name=a -c user.email=a@b commit -qm c; ls /tmp; echo z > /tmp/mine; cat {hidden}"
        _, said = run(script, project)
    finally:
        hidden.unlink()

    assert git(project, "log", "-1", "--format=%s") == "c"
    assert hidden.name not in said.replace(f"cat: {hidden}: No such file", "")
    assert not Path("/tmp/mine").exists()


@NEEDS_SANDBOX
def test_settings_open_and_close_folders_and_the_network(tmp_path: Path) -> None:
    project, cache, hidden = (tmp_path / name for name in ("project", "cache", "hidden"))
    for folder in (project, cache, hidden):
        folder.mkdir()
    (hidden / "key").write_text("secret")
    (tmp_path / "token").write_text("secret")
    settings = SandboxSettings(
        enabled=True, network=False, writable=(str(cache),), unreadable=(str(hidden), str(tmp_path / "token"))
    )

    code, said = run(
        f"echo x > {cache}/x && ls {hidden} && (cat {tmp_path}/token 2>/dev/null || true) && wc -l < /proc/net/route",
        project,
        settings,
    )

    assert (code, (cache / "x").read_text()) == (0, "x\n")
    assert "key" not in said
    assert "secret" not in said
    assert said.split() == ["1"]  # the line of headings: no route


@NEEDS_SANDBOX
async def test_a_cancelled_command_leaves_nothing_of_its_sandbox(tmp_path: Path) -> None:
    """Also what has a session of its own, and ignores every signal that it can."""
    project = tmp_path / "project"
    project.mkdir()
    blocking = ThreadBlocking()
    script = "trap '' TERM INT HUP; (trap '' TERM; exec setsid sleep 1234) & echo ready > ready; sleep 1234; sleep 1234"

    async with open_processes(
        blocking=blocking, ids=SystemIds(), folder=tmp_path / "tasks", mark="sandboxed", grace_s=0.2
    ) as processes:
        port = SandboxedProcesses(processes, Sandbox(ON), (project,), blocking)
        output = port.new_output()
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lambda: port.run(["/bin/sh", "-c", script], cwd=project, output=output))
                while not (project / "ready").exists():  # noqa: ASYNC110 - another process makes it
                    await trio.sleep(0.01)
                nursery.cancel_scope.cancel()
            with trio.move_on_after(5):
                while left := sleepers():  # noqa: ASYNC110 - of other processes
                    await trio.sleep(0.02)
    assert left == []


def sleepers() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == b"sleep\x001234\x00":
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@NEEDS_SANDBOX
def test_a_run_says_that_commands_are_sandboxed(place: Place) -> None:
    """The shell's folder is followed, a long output has its file, and a limit of time ends a command."""
    outside = place.root / "outside"
    calls: list[ReplyLike] = [
        WrittenAnswer([Call("Bash", {"command": f"mkdir sub && cd sub && touch {outside}"}, id="t1")]),
        WrittenAnswer([Call("Bash", {"command": "pwd; seq 20000"}, id="t2")]),
        WrittenAnswer([Call("Bash", {"command": "sleep 60", "timeout": 200}, id="t3")]),
        "Done.",
    ]
    with served(calls) as server:
        environ = {**os.environ, **place.environ(server.url)}
        flags = ("--sandbox", "--output-format", "stream-json", "--permission-mode", "bypassPermissions")
        done = run_forked("run", "Go.", *flags, environ=environ, cwd=place.folder)

    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    said = json.dumps([request.body["messages"][-1] for request in server.requests])
    assert done.returncode == 0, done.stderr
    assert lines[0]["sandbox"] == {"enabled": True}
    assert not outside.exists()
    assert str(place.folder / "sub") in said
    assert "19999" in said
    assert "not done within its timeout" in said


@pytest.fixture
def without(tmp_path: Path) -> Path:
    """A folder of programs without bubblewrap, or with one that fails."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("sh", "bash", "git", "env", "touch"):
        for where in ("/bin", "/usr/bin"):
            if (Path(where) / name).exists() and not (folder / name).exists():
                (folder / name).symlink_to(Path(where) / name)
    return folder


@pytest.mark.parametrize("kind", ["missing", "forbidden", "hangs up"])
@pytest.mark.parametrize("asked", ["flag", "settings", "theirs"])
def test_without_a_sandbox_commands_are_refused(place: Place, without: Path, kind: str, asked: str) -> None:
    if kind != "missing":
        said = (
            "echo 'bwrap: No permissions to create new namespace' >&2; exit 1" if kind == "forbidden" else "kill -9 $$"
        )
        (without / "bwrap").write_text(f"#!/bin/sh\n{said}\n")
        (without / "bwrap").chmod(0o755)
    home = {"settings": ".greenroom", "theirs": ".claude"}.get(asked)
    if home is not None:
        (place.root / "home" / home).mkdir()
        (place.root / "home" / home / "settings.json").write_text('{"sandbox": {"enabled": true}}')
    with served([WrittenAnswer([Call("Bash", {"command": "touch ran"}, id="t1")]), "Done."]) as server:
        environ = {**os.environ, **place.environ(server.url), "PATH": str(without)}
        flags = [*(["--sandbox"] if asked == "flag" else []), "--permission-mode", "bypassPermissions"]
        done = run_forked("run", "Go.", *flags, environ=environ, cwd=place.folder)

    assert done.returncode == 0, done.stderr
    assert not (place.folder / "ran").exists()
    said = json.dumps(server.requests[-1].body["messages"][-1])
    assert "the command was not run: it needs the sandbox" in said


def test_keys_of_others_are_obeyed_or_named() -> None:
    theirs = {
        "enabled": True,
        "autoAllowBashIfSandboxed": False,
        "allowUnsandboxedCommands": False,
        "excludedCommands": ["docker *"],
        "network": {"allowedDomains": ["github.com"], "allowLocalBinding": True},
        "filesystem": {"allowWrite": ["~/.cache"], "denyRead": ["~/.aws"], "denyWrite": ["/etc"]},
        "ignoreViolations": {"*": ["/usr"]},
        "somethingNew": 1,
    }

    made, said = read_their_sandbox(theirs)

    assert made == {"enabled": True, "network": False, "writable": ["~/.cache"], "unreadable": ["~/.aws"]}
    assert [line.partition(":")[0] for line in said] == [
        "sandbox.excludedCommands",
        "sandbox.filesystem.denyWrite",
        "sandbox.ignoreViolations",
        "sandbox.network.allowLocalBinding",
        "sandbox.network.allowedDomains",
        "sandbox.somethingNew",
    ]
    assert read_their_sandbox({"enabled": "yes", "network": 3, "filesystem": []})[0]["enabled"] is False
