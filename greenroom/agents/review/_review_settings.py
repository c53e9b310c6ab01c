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
    """The model that reviews: an alias or an id; unless said, `sonnet` where the session runs on one of Claude's, else its own."""
    timeout_s: float = attrs.field(default=TIMEOUT_S, validator=attrs.validators.gt(0))
    """Seconds that a review may take; then the call counts as not allowed."""
    environment: tuple[str, ...] = ()
    """Things that belong to you and may be trusted: repositories, hosts, buckets, services."""
    allow: tuple[str, ...] = ()
    """Calls that may run although `soft_deny` speaks against it."""
    soft_deny: tuple[str, ...] = ()
    """Calls that are blocked unless the user has asked for just that."""
    hard_deny: tuple[str, ...] = ()
    """Calls that are blocked whatever the user has said."""
