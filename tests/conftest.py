"""Settings of all tests: Hypothesis profiles, the seed of Trio's schedules, and an environment that no shell of the
developer's shines into.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
import shutil
import signal
import tempfile
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import settings
from trio._core import _run

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

# No profile has a deadline: time is a port, and a busy machine is not a bug.
settings.register_profile("dev", deadline=None, max_examples=60, derandomize=True, print_blob=True, database=None)
# For a second look at properties that hold with the full number of examples elsewhere in the same run.
settings.register_profile("brief", settings.get_profile("dev"), max_examples=10)
settings.register_profile("soak", deadline=None, max_examples=5_000, print_blob=True)
# Whoever runs the tests for the first time must not see a chance failure: new examples and new schedules belong to the soak,
# or to those who ask for them with `--hypothesis-profile soak` and `--schedules N`, which are read later and win.
settings.load_profile("dev")


MANAGED_VARIABLE: Final = "GREENROOM_MANAGED"


def is_foreign(variable: str) -> bool:
    """Say whether a variable could change what greenroom does: where it writes, or which model it talks to."""
    return variable.startswith(("GREENROOM_", "ANTHROPIC_"))


# A background job of a shell begins with Ctrl+C ignored, and the tests of Ctrl+C would say so.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

for _variable in filter(is_foreign, list(os.environ)):  # before anything is imported or collected
    del os.environ[_variable]
# Nor does an administrator's folder of this machine count: an empty one stands for it.
_nobodys = os.environ[MANAGED_VARIABLE] = tempfile.mkdtemp(prefix="greenroom-managed-")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses the schedules of a run."""
    parser.addoption("--schedules", type=int, help="seed of the order in which Trio runs tasks; 0 unless given")


# Workers of pytest-xdist are told the options of the one that started them, and so take the same seed.
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of this run's schedules: the same unless it is given, as for Hypothesis."""
    if config.option.schedules is None:
        config.option.schedules = 0


# What is collected is half a million objects, which each full collection of a test would go through: 0.3 s.
@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what was there before the first test out of what the collector looks at."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        # The objects are counted one by one, 20 ms each time, and each command in the process of the tests asks.
        frozen = gc.get_freeze_count()
        gc.get_freeze_count = lambda: frozen


def pytest_sessionfinish() -> None:
    """Remove our own folder. What was frozen stays so: the last looks of pytest are for what tests left behind."""
    shutil.rmtree(_nobodys, ignore_errors=True)


def pytest_report_header(config: pytest.Config) -> str:
    """Say how a run is done again that failed."""
    return f"schedules: --schedules {config.option.schedules}"


@pytest.fixture(autouse=True)
def seeded_schedules(request: pytest.FixtureRequest) -> None:
    """Make Trio take the order of a test's tasks from the seed of the run, so that what failed fails again."""
    _run._r.seed(f"{request.config.option.schedules} {request.node.nodeid}")


_numbers: Final = itertools.count()


# In place of pytest's own, which looks through all folders that there are for the number of the next: thousands, each time.
@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an empty folder for a test, with its name (the first 26 characters) and a number."""
    name = re.sub(r"\W", "_", request.node.name)[:26]
    return tmp_path_factory.mktemp(f"{name}{next(_numbers)}", numbered=False)


# No `monkeypatch` here: Hypothesis refuses function-scoped fixtures, save autouse ones that need no other.
@pytest.fixture(autouse=True)
def isolated_environment() -> Iterator[None]:
    """Keep API keys and our own settings out of every test, and what a test sets out of the next."""
    before = _ours()
    yield
    # Only our own are put back: pytest keeps notes of its own in the environment while a test runs.
    after = _ours()
    if after != before:
        for variable in after:
            del os.environ[variable]
        os.environ.update(before)


def _ours() -> dict[str, str]:
    return {variable: os.environ[variable] for variable in os.environ if is_foreign(variable)}
