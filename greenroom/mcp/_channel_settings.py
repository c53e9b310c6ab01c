"""Settings of channels: the MCP servers that may push messages into a session."""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.core.validation import checked

PER_MINUTE: Final = 60
MAX_PER_MINUTE: Final = 600


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class ChannelSettings:
    """The settings of one channel: a value of the key `channels` of a settings file."""

    per_minute: int = attrs.field(
        default=PER_MINUTE, validator=(attrs.validators.ge(1), attrs.validators.le(MAX_PER_MINUTE))
    )
    """Maximum number of messages in a minute, besides 20 at once; further ones are dropped, counted and reported."""
