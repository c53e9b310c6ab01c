"""The record that a session is done again from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, final

import attrs

from greenroom.core import Record
from greenroom.effects import Effects
from greenroom.mailbox import Mailbox

RUN_FOLDER: Final = "run_folder"
GIT: Final = "git"
FORKED: Final = "forked"
USER_FOLDER: Final = "home"
INVOCATION: Final = "invocation"
ATTEMPTS: Final = "attempts"
"""Names of texts about a run's surroundings: its folder, the state of the repository, the run that it was forked from, the
user's folder, the arguments of its program, the maximum number of attempts at a model request."""


@final
@attrs.frozen(kw_only=True, eq=False)
class RunReplay:
    """The record that a session is done again from."""

    name: str
    """The id of the recorded session, which the re-run has too."""
    seed: str
    effects: Effects
    surroundings: Mapping[str, str]
    make_mailbox: Callable[..., Mailbox[Any]]
    follow: Callable[[Record], None]
    """Takes each event of the re-run."""
    note_mask: Callable[[Callable[[Any], Any]], object]
    """Takes the function that masks the secrets of the re-run in JSON values."""
    note_attempts: Callable[[int], object]
    """Takes the maximum number of attempts at a model request, as the settings of the re-run say."""

    @property
    def git(self) -> str:
        """The recorded state of the repository, in words."""
        return self.surroundings.get(GIT, "")
