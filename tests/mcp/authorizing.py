"""A server and its authorization server in one, written with the SDK: `python authorizing.py PORT FOLDER`.

Nobody is asked: whoever comes with a browser is let in. The folder says what happens: `refuse` refuses, `forget` takes no
token, `short` gives tokens that last a second, `known-client` is a client that is registered. `clients`, `given` and `asked` hold
what was registered, given and asked for.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

PORT, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
URL = f"http://127.0.0.1:{PORT}"


def note(name: str, text: str) -> None:
    with (FOLDER / name).open("a", encoding="utf-8") as opened:
        opened.write(f"{text}\n")


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Keeps everything in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        if (FOLDER / "known-client").exists():
            values = json.loads((FOLDER / "known-client").read_text(encoding="utf-8"))
            self.clients[values["client_id"]] = OAuthClientInformationFull.model_validate(values)

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        note("clients", client_info.model_dump_json(exclude_none=True))
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        note("asked", " ".join(params.scopes or []))
        back = str(params.redirect_uri)
        if (FOLDER / "refuse").exists():
            return construct_redirect_uri(back, error="access_denied", state=params.state)
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(back, code=code.code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._give(client.client_id, authorization_code.scopes)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self._give(client.client_id, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        is_forgotten = (FOLDER / "forget").exists()
        return None if is_forgotten else self.access.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.access.pop(token.token, None)

    def _give(self, client: str, scopes: list[str]) -> OAuthToken:
        lasts_s = 1 if (FOLDER / "short").exists() else 3_600
        access, refresh = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        self.access[access] = AccessToken(token=access, client_id=client, scopes=scopes, resource=f"{URL}/mcp")
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client, scopes=scopes)
        note("given", f"{access} {refresh}")
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=lasts_s, scope=" ".join(scopes))


server = MCPServer(
    "authorizing",
    auth_server_provider=Provider(),
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(URL),
        resource_server_url=AnyHttpUrl(f"{URL}/mcp"),
        required_scopes=["read"],
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read", "write"]),
        validate_token_resource=False,
    ),
)


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=PORT)
