"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Final

import pytest

from tests.architecture.source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ("pytester",)

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


@pytest.fixture
def session(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini(f"[pytest]\naddopts = --strict-markers -p no:cacheprovider -p {PLUGIN}\ntrio_mode = true\n")
    return pytester


def test_a_failure_shows_the_choices_and_the_command_that_repeats_it(session: pytest.Pytester) -> None:
    session.makepyfile(test_race=RACE)

    shown = session.runpytest_inprocess()

    shown.assert_outcomes(failed=1)
    shown.stdout.fnmatch_lines(
        [
            "*assert 10 == 20*",
            "*found by greenroom in run * of strategy mixed, seed 0*",
            "*choices: [[]0, 1]*",
            "*to repeat it: pytest test_race.py::test_money --greenroom-replay 0,1*",
        ]
    )
    shown.stdout.no_fnmatch_line("*_explore.py*")
    again = session.runpytest_inprocess("test_race.py::test_money", "--greenroom-replay", "0,1")
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*run 1 of strategy replay([[]0, 1])*"])
    session.runpytest_inprocess("--greenroom-replay", "0").assert_outcomes(passed=1)


def test_a_marked_test_runs_as_often_as_it_says_or_as_the_command_line_says(session: pytest.Pytester) -> None:
    session.makepyfile(
        test_count="""
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
    )

    shown = session.runpytest_inprocess("-s")
    shown.assert_outcomes(passed=2)
    shown.stdout.fnmatch_lines(["*RUNS 10*"])
    session.runpytest_inprocess("-s", "--greenroom-schedules", "20").stdout.fnmatch_lines(["*RUNS 40*"])


@pytest.mark.parametrize(
    ("test", "line"),
    [
        ("@pytest.mark.explore\ndef test(): pass", "test is marked explore, so it must be an async function"),
        ("@pytest.mark.explore(runs=3)\nasync def test(): pass", "test: explore does not take runs; *"),
        ("@pytest.mark.explore(3)\nasync def test(): pass", "test: explore does not take 3; *"),
        ("def test(sim): pass", "test uses the fixture sim, so it must have @pytest.mark.explore"),
        (
            "@pytest.mark.explore(strategy='best')\nasync def test(): pass",
            "*UsageError: unknown strategy 'best'; *",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(session: pytest.Pytester, test: str, line: str) -> None:
    session.makepyfile(test_wrong=f"import pytest\n{test}")

    shown = session.runpytest_inprocess()

    assert shown.ret == pytest.ExitCode.TESTS_FAILED
    shown.stdout.fnmatch_lines([line])


def test_choices_that_are_no_numbers_are_refused_before_anything_runs(session: pytest.Pytester) -> None:
    shown = session.runpytest_inprocess("--greenroom-replay", "a,b")

    assert shown.ret == pytest.ExitCode.USAGE_ERROR
    shown.stderr.fnmatch_lines(["*--greenroom-replay*a,b*"])


def test_a_test_that_skips_or_calls_fail_does_so(session: pytest.Pytester) -> None:
    session.makepyfile(
        test_ends="""
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
    )

    shown = session.runpytest_inprocess()

    shown.assert_outcomes(skipped=1, failed=1)
    shown.stdout.fnmatch_lines(["*Failed: too late*", "*to repeat it: pytest test_ends.py::test_fail *"])


def test_other_async_tests_are_left_to_whoever_runs_them(session: pytest.Pytester) -> None:
    session.makepyfile(
        test_others="""
        import trio

        async def test_with_trio(nursery):
            nursery.start_soon(trio.sleep, 0)
        """
    )

    session.runpytest_inprocess().assert_outcomes(passed=1)


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
