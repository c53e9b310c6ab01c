"""Logging in at a server with the SDK's OAuth client: as a program with credentials, with kept tokens, or through a browser.

Rule 1: a secret goes to the authorization server that the entry names, and nowhere else. Rule 2: no message holds a secret.
The SDK is imported when somebody logs in.
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

NOT_LOGGED_IN: Final = "it could not be logged in at: "
"""How the reason begins where a server is left without a login."""
_HIDDEN: Final = "(hidden)"
_CODES: Final = (
    *("invalid_client", "invalid_grant", "invalid_request", "invalid_scope", "invalid_target"),
    *("unauthorized_client", "unsupported_grant_type"),
)
"""What an authorization server may say of a request for tokens (RFC 6749, 5.2; RFC 8707)."""


@final
class Login:
    """How one server is logged in at. Made by `open_login` and `browser_login`."""

    def __init__(self, provider: OAuthClientProvider, kept: _Kept, how: str, *, needs_person: bool = False) -> None:
        self.provider = provider
        """What the SDK puts into requests."""
        self.how = how
        """With what, in words."""
        self._kept = kept
        self._needs_person = needs_person

    def what_to_do(self, name: str) -> str:
        """Return the end of a message, where a person can do something about a login that came to nothing; else nothing."""
        return f"; run `{login_command(name)}`" if self._needs_person else ""

    def in_words(self, problem: Exception) -> str:
        """Return what went wrong on one line, without a secret: of what a server says, only the code that OAuth has for it."""
        from mcp.client.auth import OAuthTokenError

        text = " ".join(str(problem).split())
        if isinstance(problem, OAuthTokenError):
            code = next((one for one in _CODES if one in text), "")
            text = text.partition(":")[0] + (f": {code}" if code else "")
        for secret in self._kept.secrets():
            text = text.replace(secret, _HIDDEN)
        return text


OpenLogin: TypeAlias = Callable[[Http, TokenFile | None], Awaitable[Login | None]]
"""Says how to log in at a server; raises `BadTokens` where what was kept cannot be used."""


def login_command(name: str) -> str:
    """Return what a person types to log in at a server."""
    return f"greenroom mcp login {shlex.quote(name)}"


async def open_login(way: Http, file: TokenFile | None) -> Login | None:
    """Return how to log in; None where nothing is known that one could log in with, or headers do it.

    Raises:
        BadTokens: What was kept cannot be used.
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
        """Renews tokens, and says so where that is not enough."""

        async def _perform_authorization(self) -> httpx2.Request:
            raise OAuthFlowError(f"the tokens of {file.path} are not taken any more")

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
    """Return a login by a person, which uses nothing that was kept before.

    Args:
        way: The server.
        file: Where the tokens are kept; its old content stays until there are new ones.
        comes_back_to: The address to which the browser is sent at the end.
        go: Takes the address at which the person logs in.
        come_back: Waits until the browser has come back.
        on_kept: Called when there are tokens, and they are kept.
    """
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata

    oauth = way.oauth or OAuth()

    @final
    class Provider(OAuthClientProvider):
        """Asks for what the entry says, whatever the server would give."""

        async def _perform_authorization(self) -> httpx2.Request:
            if oauth.scope:
                self.context.client_metadata.scope = oauth.scope
            return await super()._perform_authorization()

    about = {"redirect_uris": [comes_back_to], "client_name": "greenroom", "token_endpoint_auth_method": "none"}
    kept = _Kept(file, {}, oauth, on_kept)
    provider = Provider(way.url, OAuthClientMetadata.model_validate(about), kept, go, come_back)
    kept.context = provider.context
    return Login(provider, kept, "the tokens that it had just given")


@final
class _Kept:
    """Keeps tokens for the SDK, with what it takes to renew them in another process; without a file, as long as it lives."""

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
        """Refuse what cannot be used.

        Raises:
            BadTokens: Something in it has not the form that OAuth gives it.
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
                    raise BadTokens(f"{file.path} has {key!r} in a form that OAuth does not know") from None

    def secrets(self) -> list[str]:
        """Return what nobody is to read, the longest first."""
        tokens, client = self._values.get("tokens") or {}, self._values.get("client") or {}
        found = [tokens.get("access_token"), tokens.get("refresh_token"), client.get("client_secret")]
        found.append(self._oauth.client_secret if self._oauth is not None else None)
        return sorted((one for one in found if isinstance(one, str) and one), key=len, reverse=True)

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

    # Written with the tokens: a client alone is worth nothing, and what was kept before may be worth something.
    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._values["client"] = client_info.model_dump(mode="json", exclude_none=True)
