"""Names that greenroom adds to the lines of transcripts."""

from __future__ import annotations

from typing import Final

TURN_OPEN: Final = "isTurnOpen"
"""Marks a summary in a transcript that a turn went on with."""
AT_REST: Final = "isAtRest"
"""Marks a line in a transcript that nobody is to answer."""
TURN_ENDED: Final = "turn-ended"
"""The type of the line of a transcript behind a turn that was aborted or failed; a turn that its process cut has none."""
TYPED: Final = "typed"
"""Names in a transcript what the user typed, where a line holds what that stands for, as for a command by `/name`."""
RESULT: Final = "toolUseResult"
"""Names in a transcript what programs read of a result besides its text."""
NOTICES: Final = "notices"
"""Names in a transcript the ends of tasks that a line tells of: `<task id>.<run>`, and how it ended."""
ITEMS: Final = "items"
"""Names in a transcript the ids of the stored items that a line holds, where they are not the line's own."""
PART: Final = "aborted"
"""Marks an answer in a transcript that is only what the model had said when it was cut off."""
