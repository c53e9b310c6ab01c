"""Limits of what agents may do before they are stopped."""

from __future__ import annotations

from typing import final

import attrs

from greenroom.agents import ENDED_AFTER, NOTED_AFTER, RepetitionLimits
from greenroom.tools import MAX_OUTPUT_BYTES


@final
@attrs.frozen(kw_only=True)
class LimitSettings:
    """The key `limits` of a settings file."""

    command_output_bytes: int = attrs.field(default=MAX_OUTPUT_BYTES, validator=attrs.validators.ge(1))
    """The number of bytes that a command may print, in the foreground or the background; then it is killed, the model is told, and its file is cut."""
    repeated_calls_noted: int = attrs.field(default=NOTED_AFTER, validator=attrs.validators.ge(1))
    """From how many failures of a call on, with the same input and the same error and no success of any call in between, the
    model is reminded not to repeat it."""
    repeated_calls_end: int = attrs.field(default=ENDED_AFTER, validator=attrs.validators.ge(0))
    """After how many such failures the turn is ended; 0 for never."""

    @property
    def repetition(self) -> RepetitionLimits:
        """The limits of repeated calls, as agents take them."""
        return RepetitionLimits(noted_after=self.repeated_calls_noted, ended_after=self.repeated_calls_end or None)
