"""URLs that a person has to open before a server performs a call: it refuses, and the call is repeated afterwards.

Rule 1: a URL that the person declines, or that is malformed, is a failed call. Rule 2: the deadlines of the call limit
the wait for a person at a URL.

Must not know: how calls are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import trio

from greenroom.mcp._elicitation_actions import ElicitationAction
from greenroom.mcp._elicitations import Elicit
from greenroom.mcp._mcp_errors import CallFailed
from greenroom.mcp._sdk_elicitations import read_question

if TYPE_CHECKING:
    import mcp_types
    from mcp import MCPError

_WANTED: Final = -32042
_MAX_DONE: Final = 1_000
"""Maximum number of remembered ids of completed actions."""


@final
class Pages:
    """The URLs to which one server sends people.

    Args:
        server: Its name.
        elicit: Asks the person.
    """

    def __init__(self, server: str, elicit: Elicit) -> None:
        self._server = server
        self._elicit = elicit
        self._done: dict[str, None] = {}
        self._changed = trio.Event()

    def note_done(self, asked: str) -> None:
        """Record the id of a question whose action is complete."""
        self._done[asked] = None
        while len(self._done) > _MAX_DONE:
            del self._done[next(iter(self._done))]
        self._changed.set()
        self._changed = trio.Event()

    async def open(self, refused: MCPError) -> bool:
        """Ask a person to open the requested URLs, wait until that is done there, and return whether there were any.

        Raises:
            CallFailed: The person declined.
        """
        wanted = self._read(refused)
        for request in wanted:
            asked = read_question(self._server, request)
            said = await self._elicit(asked)
            if said is None or said.action is not ElicitationAction.ACCEPT:
                how = "no person is available" if said is None else f"the user chose {said.action}"
                raise CallFailed(f"{self._server} requires a URL to be opened first ({asked.message}): {how}")
        while any(request.elicitation_id not in self._done for request in wanted if request.elicitation_id):
            await self._changed.wait()
        return bool(wanted)

    def _read(self, refused: MCPError) -> list[mcp_types.ElicitRequestURLParams]:
        """Return the URLs in an error; none if it is another error, or malformed."""
        import mcp_types

        if refused.code != _WANTED:
            return []
        try:
            return mcp_types.ElicitationRequiredErrorData.model_validate(refused.data).elicitations
        except ValueError:
            return []
