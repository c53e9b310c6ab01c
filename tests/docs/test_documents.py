"""Programs of the documents and examples run as they stand."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
import trio

from greenroom.models import AnswerLike, Call
from greenroom.testing import ReceivedRequest, open_messages_server
from tests.docs.programs import ROOT, blocks_of, run_afresh, run_python

pytest_plugins = (
    "pytester",
)  # in a process of its own: one within this process unloads what it was the first to import

NEEDS_A_SERVER = {"gateway_client"}  # run with one by test_gateway_protocol.py
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.stem not in NEEDS_A_SERVER]
BRIEF = """\
from hypothesis import settings

settings.register_profile("brief", deadline=None, derandomize=True, database=None, max_examples=10)
"""


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import warnings; warnings.warn('old', DeprecationWarning)", "DeprecationWarning: old"),
        ("assert __name__ == '__main__'\nimport sys\nsys.exit('no')", "no"),
    ],
)
def test_a_program_that_fails_or_warns_is_found_out(code: str, why: str, tmp_path: Path) -> None:
    for run in (run_python, run_afresh):
        with pytest.raises(AssertionError, match=why):
            run(code, cwd=tmp_path)


def test_the_actor_of_the_readme_counts(tmp_path: Path) -> None:
    actor, _, _ = blocks_of("README.md")

    assert run_afresh(actor, cwd=tmp_path) == "2\n"


async def test_the_agent_of_the_readme_answers_over_a_real_socket(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text("# reads the settings\n")
    _, agent, _ = blocks_of("README.md")
    script: list[AnswerLike] = [Call("Grep", {"pattern": "settings"}), "settings.py reads them."]

    async with open_messages_server(script) as server:
        environment = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": server.url}
        shown = await trio.to_thread.run_sync(lambda: run_afresh(agent, cwd=tmp_path, **environment))

    assert shown.startswith("settings.py reads them.\nUsage(")
    assert list((tmp_path / ".greenroom" / "runs").iterdir())


async def test_the_team_of_the_readme_reviews_over_a_real_socket(tmp_path: Path) -> None:
    """A lead with three requests of its own, and two mates of which the first that is handed the task does it."""

    def answer(received: ReceivedRequest) -> AnswerLike:
        last = json.dumps(received.body["messages"][-1], ensure_ascii=False)
        if "Put a task" in last:
            return Call("TaskCreate", {"subject": "parser.py", "description": "Review it."})
        if "Task #1 is yours" in last:
            return Call("TaskUpdate", {"taskId": "1", "status": "completed"})
        return "One file, no complaints." if "Sum up" in last else "Done."

    _, _, team = blocks_of("README.md")
    async with open_messages_server(answer) as server:
        environment = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": server.url}
        shown = await trio.to_thread.run_sync(lambda: run_python(team, cwd=tmp_path, **environment))

    reviewed, found = shown.splitlines()
    assert reviewed in {"parser.py completed ann", "parser.py completed bob"}
    assert found == "One file, no complaints."
    assert len([line for line in team.splitlines() if line.strip()]) <= 20


def test_the_sessions_of_the_how_to_on_transcripts_are_resumed_and_compacted(tmp_path: Path) -> None:
    resumed, compacted = blocks_of("docs/how-to/transcripts.md")

    assert run_python(resumed, cwd=tmp_path) == "Your name is Ada.\n"
    assert run_python(compacted, cwd=tmp_path) == "The sky is blue.\n"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_as_it_stands_and_fits_on_a_page(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")

    assert capsys.readouterr().out
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60


def test_the_tests_of_the_how_to_pass_and_fail_as_it_says(pytester: pytest.Pytester) -> None:
    files = dict(zip(("seats", "jobs", "agents", "parts"), blocks_of("docs/how-to/test-your-team.md"), strict=True))
    files["seats_broken"] = files["seats"].replace("# await point", "await point")
    files["jobs_broken"] = files["jobs"].replace("    unfinished =", "    unused =")
    assert len(set(files.values())) == len(files)
    pytester.makeini(
        "[pytest]\naddopts = -p greenroom.testing.pytest_plugin -p no:cacheprovider\nfilterwarnings = error\n"
    )
    for name, text in files.items():
        (pytester.path / f"test_{name}.py").write_text(text, encoding="utf-8")

    pytester.makeconftest(BRIEF)

    shown = pytester.runpytest_subprocess("--hypothesis-profile=brief")

    shown.assert_outcomes(passed=3 + 11, failed=2)
    shown.stdout.fnmatch_lines_random(
        [
            "*assert 2 == 1*",
            "*to repeat it: pytest test_seats_broken.py::test_no_seat_is_sold_twice --greenroom-replay *",
            "*of monitor 'jobs' is hot since step*",
            "*to repeat it: pytest test_jobs_broken.py::test_every_job_is_done --greenroom-replay *",
        ]
    )
