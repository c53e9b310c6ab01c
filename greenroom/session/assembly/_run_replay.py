"""The record that a session is done again from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

import attrs

from greenroom.core import Record
from greenroom.effects import Effects
from greenroom.mailbox import Mailbox


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
