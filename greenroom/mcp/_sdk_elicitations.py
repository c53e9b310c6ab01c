"""Conversion of a server's questions between the SDK and our types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from greenroom.core.sources import thawed
from greenroom.mcp._elicitation_actions import ElicitationAction
from greenroom.mcp._elicitations import Elicit, Elicitation, ElicitationAnswer, misfit

if TYPE_CHECKING:
    import mcp_types
    from mcp.client.session import ElicitationFnT

_INVALID: Final = -32602


def answering(server: str, elicit: Elicit) -> ElicitationFnT:
    """Return the SDK callback for the questions of a server.

    Args:
        server: The server's name.
        elicit: Asks the person. An answer that does not match the question becomes an error for the server, with the
            reason.
    """

    async def answer(
        context: Any, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        import mcp_types

        del context
        asked = read_question(server, params)
        said = await elicit(asked) or ElicitationAnswer(action=ElicitationAction.DECLINE)
        why = misfit(asked, said)
        if why:
            return mcp_types.ErrorData(code=_INVALID, message=f"the answer does not match the question: {why}")
        content = said.content if asked.mode == "form" and said.action is ElicitationAction.ACCEPT else None
        return mcp_types.ElicitResult(action=said.action.value, content=None if content is None else thawed(content))

    return answer


def read_question(server: str, params: mcp_types.ElicitRequestParams) -> Elicitation:
    """Convert a question of a server."""
    import mcp_types

    if isinstance(params, mcp_types.ElicitRequestURLParams):
        return Elicitation(
            server=server, message=params.message, mode="url", url=params.url, id=params.elicitation_id or ""
        )
    return Elicitation(server=server, message=params.message, schema=params.requested_schema)
