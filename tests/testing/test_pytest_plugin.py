"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import attrs
import pytest

from tests.architecture.source_tree import ROOT

PLUGIN: Final = "greenroom.testing.pytest_plugin"
RACE: Final = """
import pytest
from greenroom.core import point

BALANCE = {"it": 0}

async def pay():
    read = BALANCE["it"]
    await point("read")
    BALANCE["it"] = read + 10

@pytest.mark.explore(schedules=50)
async def test_money(sim, tmp_path):
    import trio
    assert sim.steps < 10
    BALANCE["it"] = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pay)
        nursery.start_soon(pay)
    assert BALANCE["it"] == 20
"""


COUNT: Final = """
import pytest, trio
pytestmark = pytest.mark.explore(schedules=7, strategy="pct(2)")
runs = []

async def test_seven():
    await trio.sleep(3600)
    runs.append(1)

@pytest.mark.explore(schedules=3)
class TestThree:
    @pytest.mark.parametrize("number", [1])
    async def test_three(self, number, sim):
        runs.append(number)

def teardown_module():
    print("RUNS", len(runs))
"""
ENDS: Final = """
import pytest
pytestmark = pytest.mark.explore

async def test_skip():
    pytest.skip("not here")

async def test_fail(sim):
    steps = sim.steps
    await sim.point("saved")
    if sim.steps > steps:
        pytest.fail("too late")
"""
OTHERS: Final = """
import trio

async def test_with_trio(nursery):
    nursery.start_soon(trio.sleep, 0)
"""
WRONG: Final = {
    "bare": ("@pytest.mark.explore\ndef test(): pass", "test is marked explore, so it must be an async function"),
    "runs": ("@pytest.mark.explore(runs=3)\nasync def test(): pass", "test: explore does not take runs; *"),
    "three": ("@pytest.mark.explore(3)\nasync def test(): pass", "test: explore does not take 3; *"),
    "fixture": ("def test(sim): pass", "test uses the fixture sim, so it must have @pytest.mark.explore"),
    "strategy": (
        "@pytest.mark.explore(strategy='best')\nasync def test(): pass",
        "*UsageError: unknown strategy 'best'; *",
    ),
}
FILES: Final = {
    "race": RACE,
    "count": COUNT,
    "ends": ENDS,
    "others": OTHERS,
    **{f"wrong_{name}": f"import pytest\n{test}" for name, (test, _) in WRONG.items()},
}


@attrs.frozen
class Shown:
    """The output of a session of pytest, and its exit code."""

    code: int
    out: pytest.LineMatcher
    err: pytest.LineMatcher

    def ended(self, name: str) -> list[str]:
        """Return how the tests of a file ended, in order."""
        lines = [line.split() for line in self.out.lines if f" test_{name}.py" in line]
        return sorted(words[0] for words in lines if words[0] in {"PASSED", "FAILED", "SKIPPED", "ERROR"})

    def failure_of(self, test: str) -> list[str]:
        """Return the lines under the heading of a failed test, up to the next heading."""
        start = next(at for at, line in enumerate(self.out.lines) if line.strip("_") == f" {test} ") + 1
        rest = self.out.lines[start:]
        return rest[: next(at for at, line in enumerate(rest) if line.startswith(("____", "====")))]


@attrs.frozen
class Sessions:
    """Sessions over the same files, each in a process of its own: one within this process unloads what it was the first to import."""

    folder: Path

    def run(self, *arguments: str) -> Shown:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-s",
            "-rA",
            "--basetemp",
            str(self.folder / "temporary"),
            *arguments,
        ]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=100, check=False)
        out, err = (pytest.LineMatcher(text.splitlines()) for text in (done.stdout, done.stderr))
        return Shown(done.returncode, out, err)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Sessions:
    folder = tmp_path_factory.mktemp("sessions")
    settings = f"[pytest]\naddopts = --strict-markers -p no:cacheprovider -p {PLUGIN}\ntrio_mode = true\n"
    (folder / "pytest.ini").write_text(settings, encoding="utf-8")
    for name, text in FILES.items():
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    return Sessions(folder)


@pytest.fixture(scope="module")
def together(sessions: Sessions) -> Shown:
    """One session over all files: to start one costs a second."""
    return sessions.run()


def test_a_failure_shows_the_choices_and_the_command_that_repeats_it(sessions: Sessions, together: Shown) -> None:
    assert together.ended("race") == ["FAILED"]
    together.out.fnmatch_lines_random(
        [
            "*assert 10 == 20*",
            "*found by greenroom in run * of strategy mixed, seed 0*",
            "*choices: [[]0, 1]*",
            "*to repeat it: pytest test_race.py::test_money --greenroom-replay 0,1*",
            "*to see it: greenroom replay .greenroom/failures/test_race-py-test_money-1*",
        ]
    )
    pytest.LineMatcher(together.failure_of("test_money")).no_fnmatch_line("*_explore.py*")
    again = sessions.run("test_race.py::test_money", "--greenroom-replay", "0,1")
    assert again.ended("race") == ["FAILED"]
    again.out.fnmatch_lines(["*run 1 of strategy replay([[]0, 1])*", "*failures/test_race-py-test_money-2*"])
    kept = [sessions.folder / ".greenroom" / "failures" / f"test_race-py-test_money-{number}" for number in (1, 2)]
    assert [json.loads((each / "choices.json").read_bytes())["choices"] for each in kept] == [[0, 1]] * 2
    assert sessions.run("test_race.py", "--greenroom-replay", "0").ended("race") == ["PASSED"]


def test_a_marked_test_runs_as_often_as_it_says_or_as_the_command_line_says(
    sessions: Sessions, together: Shown
) -> None:
    assert together.ended("count") == ["PASSED"] * 2
    together.out.fnmatch_lines(["*RUNS 10*"])
    sessions.run("test_count.py", "--greenroom-schedules", "20").out.fnmatch_lines(["*RUNS 40*"])


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_told_in_one_line(together: Shown, name: str) -> None:
    _, line = WRONG[name]

    assert together.code == pytest.ExitCode.TESTS_FAILED
    assert set(together.ended(f"wrong_{name}")) <= {"FAILED", "ERROR"}
    assert together.ended(f"wrong_{name}")
    together.out.fnmatch_lines([line])


def test_choices_that_are_no_numbers_are_refused_before_anything_runs(sessions: Sessions) -> None:
    shown = sessions.run("--greenroom-replay", "a,b")

    assert shown.code == pytest.ExitCode.USAGE_ERROR
    shown.err.fnmatch_lines(["*--greenroom-replay*a,b*"])


def test_a_test_that_skips_or_calls_fail_does_so(together: Shown) -> None:
    assert together.ended("ends") == ["FAILED", "SKIPPED"]
    together.out.fnmatch_lines_random(["*Failed: too late*", "*to repeat it: pytest test_ends.py::test_fail *"])


def test_other_async_tests_are_left_to_whoever_runs_them(together: Shown) -> None:
    assert together.ended("others") == ["PASSED"]


def test_the_plugin_is_installed_under_the_name_of_its_module() -> None:
    """Under another name, `-p` with the module's name would be a second plugin, which pytest refuses."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


def test_a_session_without_explored_tests_loads_next_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_light.py").write_text(
        "import sys\ndef test(): assert {'trio', 'attr', 'hypothesis'} & set(sys.modules) == set()\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", "--noconftest"]

    done = subprocess.run(
        [*command, str(tmp_path)],
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )

    assert done.returncode == 0, done.stdout
