"""Addresses that a person has to open before a server does what it was asked for: it refuses, and the call is made once more afterwards.

Rule 1: what is not agreed to, or cannot be read, is a call that failed. Rule 2: waiting for a person who is at an address ends with
the deadlines of the call.
Must not know: how calls are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import trio

from greenroom.mcp._elicitation import Elicit, ElicitationAction
from greenroom.mcp._errors import CallFailed
from greenroom.mcp._sdk_asking import read_question

if TYPE_CHECKING:
    import mcp_types
    from mcp import MCPError

_WANTED: Final = -32042
_MAX_DONE: Final = 1_000
"""So many ids of what is done are remembered, the latest."""


@final
class Pages:
    """The addresses that one server sends people to.

    Args:
        server: Its name.
        elicit: Puts a question before a person.
    """

    def __init__(self, server: str, elicit: Elicit) -> None:
        self._server = server
        self._elicit = elicit
        self._done: dict[str, None] = {}
        self._changed = trio.Event()

    def note_done(self, asked: str) -> None:
        """Hear the id of a question: what a person was to do there is done."""
        self._done[asked] = None
        while len(self._done) > _MAX_DONE:
            del self._done[next(iter(self._done))]
        self._changed.set()
        self._changed = trio.Event()

    async def open(self, refused: MCPError) -> bool:
        """Ask a person to open what a server wants opened, wait until that is done there, and say whether it wants anything.

        Raises:
            CallFailed: The person does not want to.
        """
        wanted = self._read(refused)
        for one in wanted:
            asked = read_question(self._server, one)
            said = await self._elicit(asked)
            if said is None or said.action is not ElicitationAction.ACCEPT:
                how = "nobody can be asked" if said is None else f"the user said {said.action}"
                raise CallFailed(f"{self._server} wants an address opened first ({asked.message}): {how}")
        while any(one.elicitation_id not in self._done for one in wanted if one.elicitation_id):
            await self._changed.wait()
        return bool(wanted)

    def _read(self, refused: MCPError) -> list[mcp_types.ElicitRequestURLParams]:
        """Return what an error says that is to be opened; nothing where it is another error, or cannot be read."""
        import mcp_types

        if refused.code != _WANTED:
            return []
        try:
            return mcp_types.ElicitationRequiredErrorData.model_validate(refused.data).elicitations
        except ValueError:
            return []
