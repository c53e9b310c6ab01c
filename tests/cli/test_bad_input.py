"""Mistakes on the command line: one line that says what, where and what to do, the right exit code, no trace."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from greenroom.cli import main
from greenroom.core.ports import Ports
from greenroom.models import Call, WrittenAnswer
from greenroom.testing import ErrorReply, ReceivedRequest
from greenroom.testing._messages_script import ReplyLike, Script
from greenroom.trace import runs_folder
from tests.cli.served import served
from tests.trace.disks import FillingDisk

PLAYBOOK = ("--model", "playbook")
KEY = "sk-ant-secret"
DEFINITION = "---\nname: {name}\ndescription: d\n{more}---\nYou help.\n"


@attrs.frozen
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def notes(self) -> list[str]:
        return self.err.splitlines()


@attrs.frozen
class Place:
    """A project, and a home that belongs to nobody."""

    root: Path
    captured: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    def write(self, name: str, content: str) -> Path:
        path = self.root / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def call(self, *arguments: str, script: Script | None = None, **environ: str) -> Done:
        """Call the program in this process; with a script, on a model that answers with it."""
        with self.monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
            if script is None:
                return self._call(patch, arguments, environ)
            with served(script) as server:
                return self._call(
                    patch, arguments, {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url} | environ
                )

    def _call(self, patch: pytest.MonkeyPatch, arguments: Sequence[str], environ: dict[str, str]) -> Done:
        for name, value in environ.items():
            patch.setenv(name, value)
        self.captured.readouterr()
        code = main(arguments)
        out, err = self.captured.readouterr()
        assert "Traceback" not in err
        return Done(code, out, err)

    def told(self) -> list[str]:
        """Return what the model was told of its calls, in the latest run."""
        lines = (self.latest() / "transcripts/main.jsonl").read_text(encoding="utf-8").splitlines()
        contents = [json.loads(line)["message"]["content"] for line in lines]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        return [str(block["content"]) for block in blocks if block["type"] == "tool_result"]

    def latest(self) -> Path:
        return max(runs_folder(self.runs).glob("2*"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Place:
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GREENROOM_RUNS", str(tmp_path / "runs"))
    return Place(tmp_path, capfd, monkeypatch)


def bash(command: str) -> WrittenAnswer:
    return WrittenAnswer([Call("Bash", {"command": command})])


# --- options --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("run Go. --max-turns 1.5", "--max-turns: '1.5' is not a whole number"),
        ("run Go. --max-turns many", "--max-turns: 'many' is not a whole number"),
        ("run Go. --max-turns 1e3", "--max-turns: '1e3' is not a whole number"),
        ("run Go. --max-budget-usd inf", "--max-budget-usd must be a number above 0"),
        ("run Go. --resume /", "No conversation found with session ID: /"),
        (
            "sweep --runs /nowhere",
            "--runs: /nowhere is not a directory; leave it out for the runs of the current project",
        ),
        ("run Go. --runs /dev/null", "'/dev/null' is not a folder; give another one with --runs"),
        ("run Go. --settings /", "'/' is neither a JSON object nor a file that can be read: is a directory"),
        ("run Go. --nothing", "Unknown option: --nothing"),
        ("run Go. --model", "--model requires an argument"),
        ("swarm --agents 2.5", "--agents: '2.5' is not a whole number"),
        ("swarm --agents 0", "--agents must be between 1 and 1000, got 0"),
        ("swarm --latency nan", "--latency must be a number of seconds, at least 0, got nan"),
        ("swarm nowhere", "'nowhere' does not exist; give a folder to survey"),
        ("swarm --runs /dev/null", "'/dev/null' is not a folder; give another one with --runs"),
        ("replay", "no run in"),
        ("replay nothing", "run not found: 'nothing'"),
        (
            "replay --at 1.5",
            "--at must be the number of an event, a time such as 8.0s, end or before-failure, got '1.5'",
        ),
        ("replay --since soon", "--since must be the number of an event"),
        ("replay /dev/null", "/dev/null"),
        ("replay --output x", "--output is where an export goes"),
        ("sweep --days 0", "--days must be at least 1, got 0"),
        ("sweep --max-bytes -1", "--max-bytes must be at least 1, got -1"),
        ("sweep --max-bytes 1.5", "--max-bytes: '1.5' is not a whole number"),
        ("sweep --keep-newest -1", "--keep-newest must be at least 0, got -1"),
        ("agents show", "requires an argument"),
        ("agents list --agents {", "--agents is not valid JSON (column 2"),
        ("agents list --agents []", "--agents must be a JSON object"),
        ("agents check nowhere", "'nowhere' is not there; name a file of an agent"),
        ("agents lost", 'Unknown command "lost". Did you mean "list"?'),
        ("rnu Go.", 'Unknown command "rnu". Did you mean "run"?'),
    ],
)
def test_a_wrong_option_is_one_line_and_starts_nothing(place: Place, line: str, why: str) -> None:
    command, *others = line.split()
    done = place.call(command, *others, *(PLAYBOOK if command in {"run", "swarm"} and others[-1] != "--model" else ()))

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("greenroom: ")
    assert why in done.err
    assert done.err.count("\n") == 1
    assert list(place.runs.glob("2*")) == []


@pytest.mark.parametrize("line", ["run Go. --model playbook", "swarm", "replay", "sweep", "agents check"])
def test_a_current_folder_that_is_gone_is_said_to_be(place: Place, line: str, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with place.monkeypatch.context() as patch:
        patch.chdir(gone)
        gone.rmdir()
        done = place.call(*line.split())

    assert done == Done(2, "", "greenroom: the current directory no longer exists; change to another one\n")


# --- definitions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "where", "why"),
    [
        ("---\nname: x\ndescription: d\ntools: [\n---\n", ":4", "not valid YAML"),
        ("---\nname: x\n", ":1", "has no end"),
        ("---\nname: [x]\ndescription: d\n---\n", ":2", "the name must be text, got ['x']"),
        ("---\nname: x\ndescription: d\nmaxTurns: -1\n---\n", ":4", "maxTurns must be a whole number from 1, got -1"),
    ],
)
def test_whoever_asks_for_an_agent_hears_why_its_file_was_left_out(
    place: Place, content: str, where: str, why: str
) -> None:
    place.write(".greenroom/agents/another.md", "---\nname: [\n---\n")
    path = place.write(".greenroom/agents/x.md", content)

    checked = place.call("agents", "check", str(path))
    asked = place.call("run", "Go.", *PLAYBOOK, "--agent", "x")
    shown = place.call("agents", "show", "x")

    assert (checked.code, asked.code, shown.code) == (1, 2, 1)
    assert why in checked.out
    for done in (asked, shown):
        assert done.err.count("\n") == 1
        assert done.err.startswith("greenroom: no agent is called 'x'; there are: ")
        assert why in done.err
        first, second = done.err.split("; /")[1:]
        assert f"x.md{where}: broken:" in first, "the file of that name comes first"
        assert "another.md" in second


def test_odd_files_take_only_themselves_out(place: Place) -> None:
    folder = place.write(".greenroom/agents/x.md", DEFINITION.format(name="x", more="")).parent
    (folder / "round").symlink_to("round")
    (folder / "gone.md").symlink_to("nothing")
    (folder / "endless.md").symlink_to("/dev/zero")
    (folder / b"latin\xff.md".decode(errors="surrogateescape")).write_bytes(b"\xff")
    os.mkfifo(folder / "pipe.md")

    done = place.call("agents", "check")

    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0] == "x: .greenroom/agents/x.md"
    assert lines[-1] == "1 agent, 4 problems to repair"
    assert all(": broken: " in line for line in lines[1:-1])


def test_names_that_mean_nothing_are_said(place: Place) -> None:
    more = "model: gpt-9\ntools: Read, Raed, WebSearch, mcp__a\nfoo: 1\n"
    path = place.write(".greenroom/agents/x.md", DEFINITION.format(name="x", more=more))

    checked = place.call("agents", "check")
    refused = place.call("run", "Go.", "--agent", "x", ANTHROPIC_API_KEY=KEY)
    done = place.call("run", "Go.", "--agent", "x", *PLAYBOOK)

    assert checked.code == 1, "the unknown field"
    assert "unknown field 'foo'" in checked.out
    assert "names the tool 'Raed', which is not built in" in checked.out
    assert "names the model 'gpt-9', which is none of Claude's" in checked.out
    assert "names the tool 'WebSearch', which no session here has; use WebFetch" in checked.out
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "unknown model 'gpt-9'" in refused.err
    assert done.code == 0
    (note,) = [note for note in done.notes if "Raed" in note]
    assert note.startswith(f"greenroom: note: {path}: agent 'x' goes without: there is no tool 'Raed'")


def test_a_skill_that_cannot_be_read_is_said(place: Place) -> None:
    path = place.write(".greenroom/skills/s/SKILL.md", "---\nallowed-tools: [\n---\nText.\n")

    done = place.call("run", "Go.", *PLAYBOOK)

    assert done.code == 0
    (note,) = done.notes
    assert note.startswith(f"greenroom: note: {path}:2: broken: ")


def test_a_home_that_is_relative_is_taken_from_here(place: Place) -> None:
    done = place.call("run", "Go.", *PLAYBOOK, HOME="home")

    assert (done.code, done.err) == (0, "")


def test_more_agents_are_named_where_one_of_them_is_wrong(place: Place) -> None:
    given = json.dumps({"a": {"description": "d", "prompt": "p", "foo": 1}})

    done = place.call("run", "Go.", *PLAYBOOK, "--agents", given)

    assert done.code == 0
    assert done.notes == ["greenroom: note: --agents: ignored: 'a': unknown field 'foo'"]


# --- the model ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (
            ErrorReply(status=401, type="authentication_error", message="invalid x-api-key"),
            "HTTP 401: invalid x-api-key; check the key in ANTHROPIC_API_KEY",
        ),
        (
            ErrorReply(status=404, type="not_found_error", message="model: claude-opus-0"),
            "HTTP 404: model: claude-opus-0; check --model",
        ),
    ],
)
def test_a_refusal_says_what_to_do(place: Place, reply: ErrorReply, line: str) -> None:
    done = place.call("run", "Go.", script=[reply])
    assert done == Done(1, "", f"greenroom: {line}\n")

    done = place.call("run", "Go.", "--output-format", "json", script=[reply])
    assert (done.code, done.err) == (1, "")
    assert json.loads(done.out)["errors"] == [line]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("ANTHROPIC_BASE_URL", "example.com", "is not a valid API URL; it must begin with https://"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:99999", "is not a valid API URL"),
        ("ANTHROPIC_BASE_URL", "http://", "is not a valid API URL"),
        ("ANTHROPIC_API_KEY", f"{KEY}\n", "ANTHROPIC_API_KEY must not contain line breaks"),
        ("ANTHROPIC_API_KEY", f"{KEY}é", "ANTHROPIC_API_KEY must not contain line breaks"),
    ],
)
def test_an_address_or_key_that_cannot_be_used_is_refused_before_anything_is_sent(
    place: Place, name: str, value: str, why: str
) -> None:
    done = place.call("run", "Go.", **{"ANTHROPIC_API_KEY": KEY, name: value})

    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert why in done.err
    assert KEY not in done.err
    assert list(place.runs.glob("2*")) == []


# --- hooks, servers, settings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo '{no json'", "it printed malformed JSON"),
        ("echo '{\"decision\": 7}'", "`decision` must be a text"),
        ("echo oops >&2; exit 3", "status code: 3 oops"),
        ("/no/such/program", "127"),
        ("kill -9 $$", "-9"),
    ],
)
def test_a_hook_that_does_not_work_is_said_once_and_stops_nothing(place: Place, command: str, why: str) -> None:
    settings = json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}})
    script: list[ReplyLike] = [bash("echo one"), bash("echo two"), "done"]

    done = place.call("run", "Go.", "--settings", settings, "--allowed-tools", "Bash", script=script)

    assert (done.code, done.out) == (0, "done\n")
    (note,) = done.notes
    assert note.startswith("greenroom: note: settings: the hook ")
    assert why in note
    assert place.told() == ["one", "two"]


def test_a_hook_whose_server_is_not_there_says_so_in_words(place: Place) -> None:
    entry = {"type": "mcp_tool", "server": "nope", "tool": "t"}
    settings = json.dumps({"hooks": {"PreToolUse": [{"hooks": [entry]}]}})

    done = place.call("run", "Go.", "--settings", settings, script=[bash("ls"), "done"])

    (line,) = done.notes
    assert line.endswith("does not work: the MCP server 'nope' is not connected: no server has this name")


def test_what_an_agent_of_an_untrusted_project_goes_without_is_said(place: Place) -> None:
    """Also of one that is started while the run lasts, and once however often that is."""
    hooks = "hooks: {PreToolUse: [{hooks: [{type: command, command: touch ran}]}]}\n"
    path = place.write(".greenroom/agents/x.md", DEFINITION.format(name="x", more=hooks))
    start = WrittenAnswer([Call("Agent", {"description": "d", "prompt": "p", "subagent_type": "x"})])
    script: list[ReplyLike] = [start, bash("ls"), "child", start, "child", "done"]

    chosen = ("--child-permission", "definition")
    done = place.call("run", "Go.", *chosen, script=script)
    assert (done.code, done.out) == (0, "done\n")
    why = f"agent 'x' runs without its hooks: {path.parents[2]} is not trusted (--trust, is_trusted=True)"
    assert done.notes == [f"greenroom: note: {path}: {why}"]
    assert not (path.parents[2] / "ran").exists()

    assert place.call("run", "Go.", "--trust", *chosen, script=script).notes == []
    assert (path.parents[2] / "ran").exists()


def test_a_model_that_is_not_allowed_is_replaced_and_both_are_named(place: Place) -> None:
    settings = json.dumps({"models": {"available": ["claude-opus-4-1"]}})

    done = place.call("run", "Go.", "--model", "opus", "--settings", settings, script=["done"])

    assert (done.code, done.out) == (0, "done\n")
    (line,) = done.notes
    assert "'opus' is not allowed here; 'claude-opus-4-1' is used instead" in line


def test_a_dead_server_is_one_line_and_the_rest_goes_on(place: Place) -> None:
    settings = json.dumps({"mcpServers": {"a": {"command": "/no/such/program"}}})

    done = place.call("run", "Go.", "--settings", settings, script=["done"])

    why = "/no/such/program cannot be started: no such file or directory"
    assert done == Done(0, "done\n", f"greenroom: note: the MCP server 'a' is not connected: {why}\n")


def test_a_server_of_a_project_waits_for_trust(place: Place) -> None:
    """A script may work on somebody else's checkout."""
    server = {"command": "sh", "args": ["-c", "touch ran; exit 1"]}
    path = place.write(".mcp.json", json.dumps({"mcpServers": {"a": server}}))

    done = place.call("run", "Go.", script=["done"])
    assert (done.code, done.out) == (0, "done\n")
    assert done.err == f"greenroom: note: {path}: ignored: server 'a' is not started: trust {path.parent} first\n"
    assert not (path.parent / "ran").exists()

    place.call("run", "Go.", "--trust", script=["done"])
    assert (path.parent / "ran").exists()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "the file is no JSON"),
        ("[]", "holds no JSON object"),
        ("[" * 100_000, "the file is no JSON"),
        ('{"modle": "x"}', "unknown key 'modle'"),
        ('{"effort": "enormous"}', "effort must be one of"),
        ('{"compaction": {"at_percent": 900}}', "at_percent is a number from 1 to 100"),
    ],
    ids=lambda text: text[:20],
)
def test_a_mistake_in_settings_names_the_file(place: Place, content: str, why: str) -> None:
    path = place.write(".greenroom/settings.json", content)

    done = place.call("run", "Go.", *PLAYBOOK, "--trust")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert str(path) in done.err
    assert why in done.err

    stranger = place.call("run", "Go.", *PLAYBOOK)
    assert stranger.code == 0, "a folder that nobody trusts cannot switch greenroom off"
    (note,) = [note for note in stranger.notes if str(path) in note]
    assert why in note


# --- the disk, and what is left of a run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("output_format", ["text", "stream-json"])
def test_an_answer_that_cannot_be_written_is_in_the_run_all_the_same(place: Place, output_format: str) -> None:
    with served(["It is 42."]) as server, Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "greenroom", "run", "Go.", "--output-format", output_format],
            env={**os.environ, "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url},
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=50,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == "greenroom: the output cannot be written: no space left on device\n"
    if output_format == "text":
        assert "It is 42." in (place.latest() / "transcripts/main.jsonl").read_text(encoding="utf-8")


def test_a_disk_that_fills_up_in_a_run_is_said_and_the_run_is_not_done(place: Place) -> None:
    """Nothing changes that is not on record, and the exit code is not that of a mistake of the user's."""
    disk = FillingDisk()

    def fill(request: ReceivedRequest) -> ReplyLike:
        disk.is_full = True
        return (
            WrittenAnswer([Call("Write", {"file_path": "x.txt", "content": "x"})])
            if len(request.body["messages"]) < 3
            else "end"
        )

    with place.monkeypatch.context() as patch:
        patch.setattr("greenroom.headless._runner.Ports", lambda: Ports(disk=disk))
        done = place.call("run", "Go.", "--permission-mode", "bypassPermissions", script=fill)

    assert done.code == 1
    assert all("the journal cannot be written: No space left on device" in line for line in done.notes)
    assert done.notes
    assert not (place.root / "project/x.txt").exists()


def test_a_lock_that_cannot_be_written_names_itself_and_not_the_output(place: Place) -> None:
    write = os.write

    def full(descriptor: int, content: bytes) -> int:
        if content == f"{os.getpid()}\n".encode():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content)

    with place.monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        done = place.call("run", "Go.", *PLAYBOOK)

    assert done.code == 2
    assert done.err.endswith("/run.lock: it cannot be written: no space left on device\n")
    assert done.err.count("\n") == 1


def test_a_damaged_journal_names_the_line_and_what_can_still_be_seen(place: Place) -> None:
    place.call("run", "Go.", script=["done"])
    journal = place.latest() / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:4], b"garbage\n", *lines[5:]]))

    done = place.call("replay", "--check")

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "line 5 is damaged; what comes before it can be replayed" in done.err


def test_a_torn_transcript_is_resumed(place: Place) -> None:
    place.call("run", "One.", script=["first"])
    with (place.latest() / "transcripts/main.jsonl").open("ab") as file:
        file.write(b'{"type": "assis')

    done = place.call("run", "Two.", "--resume", "last", script=["second"])

    assert (done.code, done.out) == (0, "second\n")
    assert len(list(place.runs.glob("2*"))) == 1
