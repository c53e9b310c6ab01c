"""A server that wants tokens, written with the SDK: `python guarded.py PORT ISSUER FILE`; the file holds what it accepts."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from pydantic import AnyHttpUrl

PORT, ISSUER, FILE = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])


class Verifier:
    """Accepts the words of a file."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Look the token up."""
        accepted = token in FILE.read_text(encoding="utf-8").split()  # noqa: ASYNC240 - one word
        return AccessToken(token=token, client_id="c", scopes=["read"]) if accepted else None


server = MCPServer(
    "guarded",
    token_verifier=Verifier(),
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(ISSUER),
        resource_server_url=AnyHttpUrl(f"http://127.0.0.1:{PORT}/mcp"),
        required_scopes=["read"],
        validate_token_resource=False,
    ),
)


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=PORT)
