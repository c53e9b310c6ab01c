"""A swarm that was cut short is resumed, and comes to the same report."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import attrs
import pytest

from greenroom.cli import main
from greenroom.swarm import SwarmOptions, resumed
from tests.cli.forked import run_forked
from tests.swarm.small_repo import make_small_repo
from tests.terminal.swarms import read_until, replay, rest_of, swarm


def requests_in(tmp_path: Path) -> int:
    (journal,) = tmp_path.rglob("journal.jsonl")
    return journal.read_text("utf-8").count('"ev":"model.begin"')


def go_on(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "GREENROOM_RUNS": str(tmp_path / "runs")}
    return run_forked("swarm", "--resume", "last", *arguments, environ=environ)


# One of each; other moments are in `test_swarm_cut.py`, and in `make chaos-swarm`.
@pytest.mark.parametrize(
    ("moment", "number"), [('"tool":"CodeFacts"', signal.SIGKILL), ('"ev":"item.claimed"', signal.SIGINT)]
)
def test_a_swarm_that_was_cut_short_is_resumed(moment: str, number: signal.Signals, tmp_path: Path) -> None:
    with swarm(tmp_path, latency_s=0.2) as process:
        read_until(process.stdout, moment)
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)

    if number is not signal.SIGKILL:
        (folder,) = (tmp_path / "runs").glob("2*")
        assert "resume with: " in out
        assert re.search(rf"swarm --resume \S*{folder.name}", out)
    done = go_on(tmp_path)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "Done: 5 of 5 items by 4 mates" in done.stdout
    (report,) = (tmp_path / "runs").glob("2*/report.md")  # one that was cut before a word was said is begun anew
    assert "# Code health survey: small" in report.read_text(encoding="utf-8")
    checked = replay(tmp_path, "--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_swarm_that_was_done_has_nothing_more_to_do(tmp_path: Path) -> None:
    with swarm(tmp_path, latency_s=0.0, form="") as process:
        out, code = rest_of(process)
    assert code == 0, out
    asked = requests_in(tmp_path)

    done = go_on(tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Done: 5 of 5 items by 4 mates" in done.stdout
    assert requests_in(tmp_path) == asked > 0, "no request was made"
    options = SwarmOptions(path=Path(), runs=tmp_path / "runs", has_key=True)
    assert resumed(options, "last").model == "playbook", "a run on rules is not billed when it is resumed"
    assert resumed(attrs.evolve(options, model="claude-sonnet-5"), "last").model == "claude-sonnet-5"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--resume", "last"], "no run in"),
        (
            ["--resume", "last", "--task", "Look."],
            "--resume cannot be combined with PATH, --task, --recipe or --agents",
        ),
        (["--resume", "last", "--agents", "4"], "--resume cannot be combined with PATH, --task, --recipe or --agents"),
        (["somewhere", "--resume", "last"], "--resume cannot be combined with PATH, --task, --recipe or --agents"),
    ],
)
def test_what_cannot_be_resumed_is_said_in_a_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["swarm", *arguments, "--runs", str(tmp_path / "runs")]) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_a_run_that_cannot_be_opened_is_refused_before_any_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    assert main(["swarm", str(repo), "--runs", str(runs)]) == 0
    (run,) = runs.glob("2*")
    journal = run / "journal.jsonl"
    whole = journal.read_bytes()

    def refused() -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["swarm", "--resume", "last", "--runs", str(runs)])
        out, err = capsys.readouterr()
        return code, out, err

    with (run / "run.lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = refused()
    header, rest = whole.split(b"\n", 1)
    journal.write_bytes(re.sub(rb'"v":\d+', b'"v":9999', header) + b"\n" + rest)
    newer = refused()
    journal.write_bytes(b"damaged\n" + rest)
    damaged = refused()

    for code, out, err in (held, newer, damaged):
        assert (code, out, err.count("\n")) == (2, "", 1), err


def test_a_run_that_is_not_a_swarm_is_refused_and_not_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repo, runs = make_small_repo(tmp_path / "small"), tmp_path / "runs"
    assert main(["swarm", str(repo), "--runs", str(runs)]) == 0
    (run,) = runs.glob("2*")
    beginning = run / "swarm.json"
    whole = json.loads(beginning.read_text())
    wrong = [
        {"path": 5},
        {"task": None},
        {"agents": "4"},
        {"agents": 0},
        {"recipe": 5},
        {"recipe": "none"},
        {"path": "none"},
    ]
    texts = [None, "", "[]", "{}", *(json.dumps(whole | change) for change in wrong)]
    for text in texts:
        beginning.unlink(missing_ok=True)
        if text is not None:
            beginning.write_text(text)
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        capsys.readouterr()

        assert main(["swarm", "--resume", run.name, "--runs", str(runs)]) == 2, text

        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1), text
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before, text
        if text not in texts[-2:]:
            assert "cannot be resumed as a swarm: its swarm.json is missing or malformed" in err
