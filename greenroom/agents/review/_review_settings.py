"""Settings of the reviewer of calls in the mode auto."""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.core.validation import checked

TIMEOUT_S: Final = 30.0


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class AutoModeSettings:
    """The key `autoMode` of a settings file. What the lists hold is put to the reviewer in words, besides what it goes by already."""

    model: str = ""
    """The reviewing model: an alias or an id. By default `sonnet` if the session runs on a Claude model, else the
    session's model."""
    timeout_s: float = attrs.field(default=TIMEOUT_S, validator=attrs.validators.gt(0))
    """Maximum duration of a review in seconds; after that, the call is not allowed."""
    environment: tuple[str, ...] = ()
    """Things that belong to you and may be trusted: repositories, hosts, buckets, services."""
    allow: tuple[str, ...] = ()
    """Exceptions to `soft_deny`: calls that may run."""
    soft_deny: tuple[str, ...] = ()
    """Calls that are blocked unless the user has asked for exactly that."""
    hard_deny: tuple[str, ...] = ()
    """Calls that are blocked whatever the user has said."""
