"""The swarm, from its command line: what it reports, and what it says to a mistake."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from greenroom.cli import main
from greenroom.models import AnswerLike, ModelRequest
from greenroom.swarm.recipes import SURVEY
from greenroom.swarm.survey import play_mate
from greenroom.swarm.survey._survey_conversation import read_conversation
from tests.cli.forked import run_afresh, run_forked
from tests.swarm.small_repo import make_small_repo

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
ROOT = Path(__file__).parents[2]
Completed: TypeAlias = "subprocess.CompletedProcess[str]"
COMMAND = (sys.executable, "-m", "greenroom")


def run(
    *arguments: str, runs: Path, cwd: Path | None = None, started: Callable[..., Completed] = run_forked
) -> Completed:
    """Run what `make swarm` runs: the installed command, no terminal, no key."""
    return started(*arguments, environ={**os.environ, "GREENROOM_RUNS": str(runs)}, cwd=cwd)


def report_of(runs: Path) -> str:
    (report,) = runs.glob("2*/report.md")
    return report.read_text(encoding="utf-8")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GREENROOM_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_small_repo(tmp_path / "small")


# --- the whole program ------------------------------------------------------------------------------------------------


def test_the_command_surveys_a_folder_and_its_run_replays(repo: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    before = {path: path.read_bytes() for path in repo.rglob("*") if path.is_file()}

    done = run("swarm", str(repo), runs=runs, started=run_afresh)

    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0] == "greenroom swarm: model playbook (rule-based: fixed rules, no language model)"
    assert any(re.match(r"Done: 5 of 5 items by 4 mates in ", line) for line in lines)
    assert "  1. shop/broken.py:1: A file does not parse (certain), invalid syntax" in done.stdout
    (report,) = runs.glob("2*/report.md")
    assert lines[-2] == f"Report: {report}"
    hint = shlex.split(lines[-1].removeprefix("Replay: "))
    assert subprocess.run(hint, capture_output=True, check=False).returncode == 0, "the hint works as it stands"
    assert {path: path.read_bytes() for path in repo.rglob("*") if path.is_file()} == before
    checked = run("replay", "last", "--check", runs=runs)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_lines_tell_what_matters_and_nothing_else(repo: Path, tmp_path: Path) -> None:
    done = run("swarm", str(repo), "--agents", "1", runs=tmp_path / "runs")

    told = [line for line in done.stdout.splitlines() if re.match(r" *\d+:\d{2}  ", line)]
    assert any("mate-1 completed item 2: Read README.md" in line for line in told)
    assert any("lead: All findings are here; I write the report." in line for line in told)
    assert len(told) < 20
    assert not re.search(r"(turn|model|tool)\.(begin|end)", done.stdout)


def test_json_is_one_object_a_line(repo: Path, tmp_path: Path) -> None:
    done = run("swarm", str(repo), "--json", runs=tmp_path / "runs")

    first, *events, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert (first["ev"], first["model"], first["is_rule_based"]) == ("swarm.begin", "playbook", True)
    assert (last["ev"], last["state"], last["completed"], last["items"]) == ("swarm.end", "done", 5, 5)
    numbers = [event["seq"] for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert events[-1]["ev"] == "session.end"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["swarm", "no/such"], "'no/such' does not exist; give a folder to survey"),
        (["swarm", "README.md"], "'README.md' is not a folder; give the folder that it is in"),
        (["swarm", "--agents", "0"], "--agents must be between 1 and 1000, got 0"),
        (["swarm", "--agents", "many"], "Invalid value for --agents: 'many' is not a whole number"),
        (["swarm", "--latency", "nan"], "--latency must be a number of seconds, at least 0, got nan"),
        (["swarm", "--model", "gpt-9"], "unknown model 'gpt-9'"),
        (["swarm", "--model", "claude-sonnet-5"], "the model 'claude-sonnet-5' needs a key: set ANTHROPIC_API_KEY"),
        (["swarm", "--runs", "README.md"], "is not a folder; give another one with --runs"),
        (["swarm", "--what"], "Unknown option: --what"),
        (["swarm", "--seed", "3"], "--seed says which failures --chaos puts into the run; give both, or neither"),
        (["swarm", "--chaos", "--seed", "x"], "Invalid value for --seed: 'x' is not a whole number"),
        (["dance"], 'Unknown command "dance"'),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    arguments: list[str],
    said: str,
    repo: Path,
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(repo)

    assert main(arguments) == 2

    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("greenroom: ")
    assert said in err
    assert not runs.exists()


def test_a_mistake_gives_the_process_its_exit_code(tmp_path: Path) -> None:
    done = run("swarm", "no/such", runs=tmp_path / "runs")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "greenroom: 'no/such' does not exist; give a folder to survey\n"


def test_a_reader_that_leaves_gets_no_trace(repo: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "GREENROOM_RUNS": str(tmp_path / "runs")}
    with subprocess.Popen(
        [*COMMAND, "swarm", str(repo)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while "lead: " not in process.stdout.readline():
            pass
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=30) == 1
    assert run("replay", "last", "--check", runs=tmp_path / "runs").returncode == 0


def test_names_that_the_terminal_cannot_show_are_no_mistake(repo: Path, tmp_path: Path) -> None:
    (repo / "caf\u00e9.py").write_text("# TODO: \u4e2d\u6587\n", encoding="utf-8")
    environ = {**os.environ, "GREENROOM_RUNS": str(tmp_path / "runs"), "PYTHONIOENCODING": "ascii"}

    done = subprocess.run(
        [*COMMAND, "swarm", str(repo), "--json"], capture_output=True, env=environ, timeout=50, check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"caf?.py" in done.stdout
    assert "| TODO | `caf\u00e9.py:1` |  | `\u4e2d\u6587` |" in report_of(tmp_path / "runs")


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--help"]) == 0
    assert "swarm" in capsys.readouterr().out
    assert main(["swarm", "--help"]) == 0
    assert "--agents" in capsys.readouterr().out


# --- the report -------------------------------------------------------------------------------------------------------


def test_the_report_names_what_is_in_the_folder(repo: Path, runs: Path) -> None:
    assert main(["swarm", str(repo)]) == 0

    report = report_of(runs)
    for line in [
        "# Code health survey: small",
        "- **Findings:** 1 place to mend first, 3 likely mistakes and risks, 5 matters of tidiness.",
        f"1. `shop/broken.py:1`: A file does not parse (certain), `invalid syntax (as Python {PYTHON})`",
        "2. `shop/prices.py:9`: Bare `except:` (likely), `except:`",
        "3. `shop/prices.py:8`: `eval` or `exec` (likely), `return eval(item)`",
        "### A mutable default argument (1)",
        "- `shop/prices.py:4` `def price(item, seen=[]):`",
        "- **Long functions:** 1 of 5 have more than 60 lines; the longest is `very_long` with 73 (`shop/long.py:4`).",
        "- **To do:** 2 markers (1 FIXME, 1 TODO).",
        "| `very_long` | `shop/long.py:4` | 73 | 1 |",
        "| FIXME | `shop/prices.py:5` | `price` | `taxes are missing in three countries` |",
        "| TODO | `README.md:3` |  | `TODO: say what it is for` |",
        "| `shop/stock.py` | 2 | 2 | `Stock` (1), `Stock.count` (2) |",
        "| `shop/long.py` | 74 | 1 |",
        "- `app.js:2` `console.log('here');`",
        "- `shop/broken.py`: not parsed: line 1: invalid syntax",
        "- `shop/latin.py`: not UTF-8: the bytes that are not were replaced",
        "- Binary: 1 file (shop/picture.png)",
    ]:
        assert line in report.splitlines(), line
    tests = report[report.index("## Files that no test imports") : report.index("## What was looked")]
    assert "shop/prices.py" not in tests
    assert "shop/stock.py" in tests


def test_the_same_folder_gives_the_same_report(repo: Path, tmp_path: Path) -> None:
    reports = set()
    for number, agents in enumerate((1, 3, 7)):
        runs = tmp_path / f"runs-{number}"
        assert main(["swarm", str(repo), "--runs", str(runs), "--agents", str(agents)]) == 0
        reports.add(report_of(runs))

    assert len(reports) == 1


def test_an_empty_folder_gets_a_report_that_says_so(
    tmp_path: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()

    assert main(["swarm", str(tmp_path / "empty")]) == 0

    assert "There is nothing to survey." in report_of(runs)
    assert "nothing to survey" in capsys.readouterr().out.lower()


def test_a_folder_without_python_gets_a_sensible_report(tmp_path: Path, runs: Path) -> None:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "index.html").write_text("<!-- FIXME: title -->\n<p>\n", encoding="utf-8")
    (folder / "main.ts").write_text("debugger;\n", encoding="utf-8")

    assert main(["swarm", str(folder)]) == 0

    report = report_of(runs)
    assert "- **Size:** 2 files, none of them Python; 3 lines of text." in report
    assert "| FIXME | `index.html:1` |  | `<!-- FIXME: title -->` |" in report
    assert "- `main.ts:1` `debugger;`" in report
    assert "Undocumented" not in report


def test_binary_files_only(tmp_path: Path, runs: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"\x89PNG\0\0")

    assert main(["swarm", str(folder)]) == 0

    assert "- **Size:** 1 file, none of them text." in report_of(runs)
    assert "- Binary: 1 file (a.png)" in report_of(runs)


def test_files_that_cannot_be_opened_are_named(repo: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root reads everything, so the open itself fails here."""
    really_open = os.open

    def refusing_open(path: Any, *arguments: Any, **keywords: Any) -> int:
        if str(path).endswith("stock.py"):
            raise PermissionError(13, "Permission denied", str(path))
        return really_open(path, *arguments, **keywords)

    monkeypatch.setattr(os, "open", refusing_open)

    assert main(["swarm", str(repo)]) == 0

    assert "- Cannot be read: 1 file (shop/stock.py: permission denied)" in report_of(runs).splitlines()


def test_the_folder_around_the_runs_is_not_surveyed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of a project lie below it; the next survey has to pass over them."""
    monkeypatch.chdir(repo)
    (repo / ".git").mkdir()

    assert main(["swarm"]) == main(["swarm", "."]) == 0

    reports = [path.read_text(encoding="utf-8") for path in repo.glob(".greenroom/runs/2*/report.md")]
    assert len(reports) == 2
    assert reports[0] == reports[1]
    assert "journal" not in reports[0]


def test_another_task_is_a_search_that_says_so(repo: Path, runs: Path) -> None:
    assert main(["swarm", str(repo), "--task", "Where is the 'price' of stock computed?"]) == 0

    report = report_of(runs)
    assert "**This is a search for the words of the task, not an answer to it.**" in report
    assert "| `shop/prices.py` | `price` | 3 |" in report
    assert "- `shop/prices.py:4` `def price(item, seen=[]):`" in report
    assert "| `computed` | 0 | 0 |  |" in report


def test_a_survey_of_asyncio_is_right(runs: Path) -> None:
    folder = Path(asyncio.__file__).parent
    functions = sum(
        len(re.findall(r"^\s*(?:async )?def ", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in folder.glob("*.py")
    )

    assert main(["swarm", str(folder)]) == 0

    report = report_of(runs)
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in folder.glob("*.py"))
    count = len(list(folder.glob("*.py")))
    assert f"{count} Python files with {lines:,} lines" in report
    assert abs(int(re.findall(r"([\d,]+) functions and", report)[0].replace(",", "")) - functions) <= 5
    assert "there are none in this folder, so whether files are tested was not looked at" in report


def test_a_survey_of_a_part_of_this_repository_is_right(tmp_path: Path, runs: Path) -> None:
    """`make swarm` surveys all of it."""
    for folder in ("greenroom/cli", "greenroom/core", "tests/cli", "tests/core"):
        shutil.copytree(ROOT / folder, tmp_path / "part" / folder, ignore=shutil.ignore_patterns("__pycache__"))

    assert main(["swarm", str(tmp_path / "part")]) == 0

    report = report_of(runs)
    assert re.search(r"^\| `greenroom/(cli/(survey/)?)?` \| \d+ \| ", report, re.MULTILINE)
    assert "### A file does not parse" not in report
    tests = report[report.index("## Files that no test imports") : report.index("## What was looked")]
    assert "greenroom/core/_errors.py" not in tests


# --- when agents fail -------------------------------------------------------------------------------------------------


def test_a_lead_that_fails_is_reported_in_a_line(
    repo: Path, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: ModelRequest) -> AnswerLike:
        raise ValueError("no idea")

    monkeypatch.setitem(SURVEY.playbook, "lead", fail)

    assert main(["swarm", str(repo)]) == 1

    out = capsys.readouterr().out
    assert "Why:    the lead's turn did not end well: ValueError: no idea" in out
    assert "Report: none was written" in out
    assert main(["replay", "last", "--check"]) == 0


def test_items_that_no_mate_can_do_are_named_in_the_report(
    repo: Path, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play(request: ModelRequest) -> AnswerLike:
        if "Look at these files" in read_conversation(request.messages).received[-1].text:
            raise ValueError("I cannot read")
        return play_mate(request)

    monkeypatch.setitem(SURVEY.playbook, "mate", play)

    assert main(["swarm", str(repo)]) == 1

    out = capsys.readouterr().out
    assert "Done, but not with everything: 4 of 5 items" in out
    assert re.search(r"^Why:    item #1 \(.*\): it failed or came back 3 times, .*: I cannot read;", out, re.MULTILINE)
    assert "- Item 1 of the board: no findings reached the lead" in report_of(runs)
    assert "- `shop/prices.py`: no mate reported on it" in report_of(runs)
