"""What holds for every test: Hypothesis profiles, and an environment that no shell of the developer's shines into."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# No profile has a deadline: time is a port, and a busy machine is not a bug.
settings.register_profile("dev", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True, print_blob=True, database=None)
# For a second look at properties that hold with the full number of examples elsewhere in the same run.
settings.register_profile("brief", settings.get_profile("ci"), max_examples=10)
settings.register_profile("soak", deadline=None, max_examples=5_000, print_blob=True)
# `--hypothesis-profile soak` (make test ARGS=...) is read later and wins.
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def is_foreign(variable: str) -> bool:
    """Say whether a variable could change what greenroom does: where it writes, or which model it talks to."""
    return variable.startswith(("GREENROOM_", "ANTHROPIC_"))


for _variable in filter(is_foreign, list(os.environ)):  # before anything is imported or collected
    del os.environ[_variable]


# No `monkeypatch` here: Hypothesis refuses function-scoped fixtures, save autouse ones that need no other.
@pytest.fixture(autouse=True)
def isolated_environment() -> Iterator[None]:
    """Keep API keys and our own settings out of every test, and what a test sets out of the next."""
    before = dict(os.environ)
    yield
    # Only our own are put back: pytest keeps notes of its own in the environment while a test runs.
    for variable in filter(is_foreign, {*before, *os.environ}):
        os.environ.pop(variable, None)
    os.environ.update({name: value for name, value in before.items() if is_foreign(name)})
