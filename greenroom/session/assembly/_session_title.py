"""The title of a session, which a hook or the program sets and a resumed run keeps."""

from __future__ import annotations

from typing import Final, final

import attrs

from greenroom.agents.subagents import MainAgent
from greenroom.core import Recorder
from greenroom.session._events import SessionTitled

TITLE_CHARS: Final = 200
"""Maximum length of a title; longer ones are cut."""
TITLE_LINE: Final = "custom-title"
"""The type of the line of a transcript that holds a title."""


@final
@attrs.define(eq=False)
class Title:
    """The title of a session.

    Args:
        text: The title of the run that is resumed; empty for none.
        recorder: Records a change.
        main: The main agent, in whose transcript the title is written.
    """

    text: str
    _recorder: Recorder
    _main: MainAgent

    def change(self, text: str) -> None:
        """Change the title, put on one line; a blank one or the current one changes nothing."""
        title = " ".join(text.split())[:TITLE_CHARS].rstrip()
        if not title or title == self.text:
            return
        self.text = title
        self._recorder.emit(SessionTitled(title=title))
        home = self._main.home
        if home is not None and home.conversation is not None:
            home.conversation.note(TITLE_LINE, {"customTitle": title})
