"""The pytest plugin. `@pytest.mark.explore` runs an async test under many schedules, in virtual time.

    @pytest.mark.explore(schedules=500, strategy="pct(3)")
    async def test_no_order_loses_money(sim: Sim) -> None: ...

Options: `--greenroom-schedules N` instead of what the marks say, and `--greenroom-replay 0,0,3,1` to run the choices that a
failure showed. A failure leaves a run folder in `.greenroom/failures`, which `greenroom replay` opens.

    @pytest.mark.reruns("histories/*.run", main=LEAD)
    async def test_the_team_works_as_recorded(recorded_session: Session) -> None: ...

`@pytest.mark.reruns` does recorded runs again with the test as their program. With `--greenroom-update`, a run whose requests differ
fails a last time: it shows the change, and its record takes it.

Rule 1: loaded at the start of every pytest session, it imports nothing but pytest until a marked test runs. Rule 2: a marked
test is a plain function for everybody else, so no other plugin runs it on a loop of its own.
PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import functools
import inspect
import os
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from greenroom.session import Session
    from greenroom.testing._explore import ExplorationFailed
    from greenroom.testing._sim import Sim

REPLAY: Final = "--greenroom-replay"
SCHEDULES: Final = "--greenroom-schedules"
UPDATE: Final = "--greenroom-update"
OPTIONS: Final = ("schedules", "strategy", "faults", "seed", "quiet_after", "quiet_within", "max_steps", "shrinks")
MARK: Final = f"explore({', '.join(f'{name}=...' for name in OPTIONS)}): run an async test under many schedules, as \
greenroom.testing.explore does"
RERUNS: Final = (
    "reruns(pattern, **opening): do the recorded runs that match the pattern again, with the test as their program"
)
THIS_RUN: Final = object()
"""Value of the fixture; each run gets its own `Sim` in its place."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    group = parser.getgroup("greenroom", "greenroom: exploring schedules")
    group.addoption(REPLAY, type=_choices, metavar="CHOICES", help="run explored tests with these choices, as 0,0,3,1")
    group.addoption(SCHEDULES, type=int, metavar="N", help="number of schedules to run explored tests under")
    update_help = "put the requests of today into recorded runs that differ"
    group.addoption(UPDATE, action="store_true", help=update_help)


def _choices(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number.strip()]


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks."""
    config.addinivalue_line("markers", MARK)
    config.addinivalue_line("markers", RERUNS)


@pytest.fixture
def sim(request: pytest.FixtureRequest) -> Sim:
    """The test's run: ports, recorder, fault points and monitors; for tests marked `explore`."""
    if request.node.get_closest_marker("explore") is None:
        pytest.fail(f"{request.node.name} uses the fixture sim, so it must have @pytest.mark.explore", pytrace=False)
    return THIS_RUN  # type: ignore[return-value]


@pytest.fixture
def recorded_session(request: pytest.FixtureRequest) -> Session:
    """The session of a recorded run that is done again; for tests marked `reruns`."""
    if request.node.get_closest_marker("reruns") is None:
        pytest.fail(f"{request.node.name} uses recorded_session, so it must have @pytest.mark.reruns", pytrace=False)
    return THIS_RUN  # type: ignore[return-value]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Replace a marked test by a plain function that explores it, or does recorded runs again."""
    if not isinstance(item, pytest.Function):
        return
    if item.get_closest_marker("explore") is not None:
        item.obj = _exploring(item, item.obj)
    elif (mark := item.get_closest_marker("reruns")) is not None:
        item.obj = _rerunning(item, item.obj, mark)


def _rerunning(item: pytest.Function, function: Callable[..., Any], mark: pytest.Mark) -> Callable[..., None]:
    @functools.wraps(function)
    def do_again(**arguments: Any) -> None:
        __tracebackhide__ = True
        from greenroom.testing._assert_reruns import RerunDiffers, assert_reruns

        async def program(session: Session) -> None:
            given = {name: session if value is THIS_RUN else value for name, value in arguments.items()}
            await function(**given)

        (pattern,) = mark.args
        found = sorted(item.path.parent.glob(pattern))
        if not found:
            pytest.fail(f"{item.name}: no recorded run matches {pattern!r} in {item.path.parent}", pytrace=False)
        for run in found:
            try:
                assert_reruns(run, program, **{"update": item.config.getoption(UPDATE), **mark.kwargs})
            except RerunDiffers as error:
                pytest.fail(str(error), pytrace=False)

    return do_again


def _exploring(item: pytest.Function, function: Callable[..., Any]) -> Callable[..., None]:
    @functools.wraps(function)
    def explore_it(**arguments: Any) -> None:
        __tracebackhide__ = True
        from greenroom.testing._explore import ExplorationFailed, explore
        from greenroom.testing._search import replay

        if not inspect.iscoroutinefunction(function):
            pytest.fail(f"{item.name} is marked explore, so it must be an async function", pytrace=False)
        options = _options(item)
        if (choices := item.config.getoption(REPLAY)) is not None:
            options["strategy"] = replay(choices)

        async def scenario(sim: Sim) -> None:
            given = {name: sim if value is THIS_RUN else value for name, value in arguments.items()}
            await function(**given)

        try:
            explore(scenario, failures=(Exception, pytest.fail.Exception), **options)
        except ExplorationFailed as failed:
            raise _shown(failed, item, function) from None

    return explore_it


def _options(item: pytest.Function) -> dict[str, Any]:
    """Return the options of the marks, the closest one first."""
    options: dict[str, Any] = {}
    for mark in item.iter_markers("explore"):
        wrong = [*map(repr, mark.args), *(name for name in mark.kwargs if name not in OPTIONS)]
        if wrong:
            pytest.fail(f"{item.name}: explore does not take {', '.join(wrong)}; it takes {OPTIONS}", pytrace=False)
        options = {**mark.kwargs, **options}
    if (schedules := item.config.getoption(SCHEDULES)) is not None:
        options["schedules"] = schedules
    return options


def _shown(failed: ExplorationFailed, item: pytest.Function, function: Callable[..., Any]) -> BaseException:
    """Return the error of the test itself, from the test's own frame on, with a note that shows how to repeat it."""
    error = failed.__cause__
    assert error is not None
    error.add_note(f"found by greenroom in run {failed.runs} of strategy {failed.strategy}, seed {failed.seed}")
    error.add_note(f"choices: {list(failed.choices)}")
    if failed.is_repeatable:
        error.add_note(f"to repeat it: {command(item.nodeid, failed.choices)}")
    else:
        error.add_note("the same choices did not fail again: something else affects the run")
    error.add_note(_kept(failed, item))
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code is not inspect.unwrap(function).__code__:
        traceback = traceback.tb_next
    return error.with_traceback(traceback)


def _kept(failed: ExplorationFailed, item: pytest.Item) -> str:
    """Keep the failed run in a folder; return the line that says how to see it."""
    from greenroom.testing._kept_failures import keep_failure

    try:
        folder = keep_failure(
            item.config.rootpath,
            item.nodeid,
            failed.records,
            choices=failed.choices,
            seed=failed.seed,
            strategy=failed.strategy,
        )
    except OSError as error:
        return f"its run could not be kept: {error}"
    return f"to see it: greenroom replay {shlex.quote(os.path.relpath(folder, item.config.invocation_params.dir))}"


def command(nodeid: str, choices: Sequence[int]) -> str:
    """Return the command that runs a test with these choices."""
    return f"pytest {shlex.quote(nodeid)} {REPLAY} {','.join(map(str, choices)) or '0'}"
