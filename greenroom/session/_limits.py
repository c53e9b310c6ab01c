"""How much the agents of a session may do before it is stopped."""

from __future__ import annotations

from typing import final

import attrs

from greenroom.tools import MAX_OUTPUT_BYTES


@final
@attrs.frozen(kw_only=True)
class LimitSettings:
    """The key `limits` of a settings file."""

    command_output_bytes: int = attrs.field(default=MAX_OUTPUT_BYTES, validator=attrs.validators.ge(1))
    """What a command may print, in the foreground or the background; then it is killed, the model is told, and its file is cut."""
