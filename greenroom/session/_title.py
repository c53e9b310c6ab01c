"""What people call a session: a hook says it, or the program, and a run that is gone on with keeps it.

Must not know: who asks for it, where it is shown.
"""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.agents import AgentState
from greenroom.core import Recorder
from greenroom.session._events import SessionTitled

TITLE_CHARS: Final = 200
"""A title is no longer than this; the rest is cut."""
TITLE_LINE: Final = "custom-title"
"""The type of the line of a transcript that says a title."""


@final
@attrs.define(eq=False)
class Title:
    """The title of a session: what people call it.

    Args:
        text: What it had before; empty for none.
        recorder: Puts it on record.
    """

    text: str
    _recorder: Recorder
    home: AgentState | None = None
    """The main agent's, in whose transcript it stands; set once that is made."""

    def change(self, text: str) -> None:
        """Give the session another title, on one line; a blank one changes nothing, nor does the one that it has."""
        title = " ".join(text.split())[:TITLE_CHARS].rstrip()
        if not title or title == self.text:
            return
        self.text = title
        self._recorder.emit(SessionTitled(title=title))
        if self.home is not None and self.home.conversation is not None:
            self.home.conversation.note(TITLE_LINE, {"customTitle": title})
