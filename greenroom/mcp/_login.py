"""Login at a server with the SDK's OAuth client: by client credentials, stored tokens, or a browser.

Rule 1: a secret is sent only to the authorization server that the entry names. Rule 2: no message holds a secret. The
SDK is imported at the first login.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

from greenroom.mcp._configs import Http, OAuth
from greenroom.mcp._tokens import BadTokens, TokenFile

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import OAuthClientProvider
    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

NOT_LOGGED_IN: Final = "login failed: "
"""Prefix of the reason for a server that is left without a login."""
_HIDDEN: Final = "(hidden)"
_CODES: Final = (
    *("invalid_client", "invalid_grant", "invalid_request", "invalid_scope", "invalid_target"),
    *("unauthorized_client", "unsupported_grant_type"),
)
"""Error codes of an authorization server for token requests (RFC 6749, 5.2; RFC 8707)."""


@final
class Login:
    """A login at one server. Made by `open_login` and `browser_login`."""

    def __init__(self, provider: OAuthClientProvider, kept: _Kept, how: str, *, needs_person: bool = False) -> None:
        self.provider = provider
        """The object that the SDK uses for requests."""
        self.how = how
        """The kind of login, in words."""
        self._kept = kept
        self._needs_person = needs_person

    def what_to_do(self, name: str) -> str:
        """Return a hint for a person after a failed login; empty if there is nothing to do."""
        return f"; run `{login_command(name)}`" if self._needs_person else ""

    def in_words(self, problem: Exception) -> str:
        """Return the problem on one line, without a secret: of a server's answer, only the OAuth error code."""
        from mcp.client.auth import OAuthTokenError

        text = " ".join(str(problem).split())
        if isinstance(problem, OAuthTokenError):
            code = next((known for known in _CODES if known in text), "")
            text = text.partition(":")[0] + (f": {code}" if code else "")
        for secret in self._kept.secrets():
            text = text.replace(secret, _HIDDEN)
        return text


OpenLogin: TypeAlias = Callable[[Http, TokenFile | None], Awaitable[Login | None]]
"""Returns the login for a server; raises `BadTokens` if the stored tokens are unusable."""


def login_command(name: str) -> str:
    """Return the command for a login at a server."""
    return f"greenroom mcp login {shlex.quote(name)}"


async def open_login(way: Http, file: TokenFile | None) -> Login | None:
    """Return the login; None if nothing is stored or configured for one, or if headers authenticate.

    Raises:
        BadTokens: The stored tokens are unusable.
    """
    if any(name.lower() == "authorization" for name in way.headers):
        return None
    oauth = way.oauth
    stored = {} if file is None else await file.read()
    if oauth is None or not oauth.client_secret:
        if file is None or not stored.get("tokens"):
            return None
        return _with_tokens(way, file, _Kept(file, stored, oauth))
    return _with_secret(way, oauth, _Kept(file, stored, oauth))


def _with_secret(way: Http, oauth: OAuth, kept: _Kept) -> Login:
    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

    provider = ClientCredentialsOAuthProvider(
        server_url=way.url,
        storage=kept,
        client_id=oauth.client_id,
        client_secret=oauth.client_secret,
        scope=oauth.scope or None,
        issuer=oauth.issuer,
    )
    kept.context = provider.context
    return Login(provider, kept, "the client's credentials")


def _with_tokens(way: Http, file: TokenFile, kept: _Kept) -> Login:
    from mcp.client.auth import OAuthClientProvider, OAuthFlowError
    from mcp.shared.auth import OAuthClientMetadata

    @final
    class Provider(OAuthClientProvider):
        """Refreshes tokens, and raises if that is not enough."""

        async def _perform_authorization(self) -> httpx2.Request:
            raise OAuthFlowError(f"the tokens of {file.path} are no longer accepted")

    kept.check(file)
    provider = Provider(way.url, OAuthClientMetadata(redirect_uris=None), kept)
    kept.context = provider.context
    return Login(provider, kept, f"the tokens of {file.path}", needs_person=True)


def browser_login(
    way: Http,
    file: TokenFile,
    comes_back_to: str,
    go: Callable[[str], Awaitable[None]],
    come_back: Callable[[], Awaitable[AuthorizationCodeResult]],
    on_kept: Callable[[], None],
) -> Login:
    """Return a login by a person, which ignores stored tokens.

    Args:
        way: The server.
        file: File for the tokens; its content stays until there are new ones.
        comes_back_to: The URL to which the browser is redirected at the end.
        go: Receives the URL at which the person logs in.
        come_back: Waits until the browser has come back.
        on_kept: Called when tokens have been stored.
    """
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    oauth = way.oauth or OAuth()

    @final
    class Provider(OAuthClientProvider):
        """Requests the scopes of the entry, whatever the server proposes."""

        async def _perform_authorization(self) -> httpx2.Request:
            if oauth.scope:
                self.context.client_metadata.scope = oauth.scope
            return await super()._perform_authorization()

    about = {"redirect_uris": [comes_back_to], "client_name": "greenroom", "token_endpoint_auth_method": "none"}
    kept = _Kept(file, {}, oauth, on_kept)
    provider = Provider(way.url, OAuthClientMetadata.model_validate(about), kept, go, come_back)
    kept.context = provider.context
    return Login(provider, kept, "the tokens that it had just issued")


@final
class _Kept:
    """Storage of tokens for the SDK, with all that a refresh in another process needs; without a file, in memory."""

    def __init__(
        self,
        file: TokenFile | None,
        stored: Mapping[str, Any],
        oauth: OAuth | None,
        on_kept: Callable[[], None] = lambda: None,
    ) -> None:
        self.context: OAuthContext | None = None
        self._on_kept = on_kept
        self._file = file
        self._values = dict(stored)
        self._oauth = oauth
        if oauth is not None and oauth.client_id:
            self._values.setdefault("client", {"client_id": oauth.client_id})

    def check(self, file: TokenFile) -> None:
        """Check a token file.

        Raises:
            BadTokens: A value violates OAuth.
        """
        from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken

        models: dict[str, Callable[[Any], object]] = {
            "tokens": OAuthToken.model_validate,
            "client": OAuthClientInformationFull.model_validate,
            "server": OAuthMetadata.model_validate,
            "obtained_s": float,
        }
        for key, validate in models.items():
            if self._values.get(key) is not None:
                try:
                    validate(self._values[key])
                except (ValueError, TypeError):
                    raise BadTokens(f"{file.path}: {key!r} violates OAuth") from None

    def secrets(self) -> list[str]:
        """Return the secrets, longest first."""
        tokens, client = self._values.get("tokens") or {}, self._values.get("client") or {}
        found = [tokens.get("access_token"), tokens.get("refresh_token"), client.get("client_secret")]
        found.append(self._oauth.client_secret if self._oauth is not None else None)
        return sorted((item for item in found if isinstance(item, str) and item), key=len, reverse=True)

    # --- what the SDK asks for ----------------------------------------------------------------------------------------

    async def get_tokens(self) -> OAuthToken | None:
        from mcp.shared.auth import OAuthMetadata, OAuthToken

        tokens, context = self._values.get("tokens"), self.context
        if tokens is None:
            return None
        token = OAuthToken.model_validate(tokens)
        obtained_s = self._values.get("obtained_s")
        if context is not None:
            if obtained_s is not None and token.expires_in is not None:
                context.token_expiry_time = float(obtained_s) + token.expires_in
            if context.oauth_metadata is None and self._values.get("server") is not None:
                context.oauth_metadata = OAuthMetadata.model_validate(self._values["server"])
        return token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._values["tokens"] = tokens.model_dump(mode="json", exclude_none=True)
        context = self.context
        if context is not None and context.oauth_metadata is not None:
            self._values["server"] = context.oauth_metadata.model_dump(mode="json", exclude_none=True)
        if self._file is not None:
            self._values["obtained_s"] = self._file.now_s
            await self._file.write(self._values)
        self._on_kept()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        from mcp.shared.auth import OAuthClientInformationFull

        client = self._values.get("client")
        return None if client is None else OAuthClientInformationFull.model_validate(client)

    # Written with the tokens: a client alone is useless, and the previous content may still be useful.
    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._values["client"] = client_info.model_dump(mode="json", exclude_none=True)
