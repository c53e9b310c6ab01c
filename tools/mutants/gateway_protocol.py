"""Mutants of the gateway's protocol: who gets in, what is done once, what a slow client is told, and its terminal client."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_ANSWERED: Final = "greenroom.gateway.rpc._answered_calls"
_ANSWERED_TESTS: Final = ("tests/gateway/rpc/test_answered_calls.py",)
_CHAT: Final = "greenroom.gateway.chat._chat"
_CHAT_TESTS: Final = ("tests/gateway/chat/test_chat.py",)
_CLIENT: Final = "greenroom.gateway.rpc._client"
_CONNECT: Final = "greenroom.gateway.rpc._connect"
_CONNECTION: Final = "greenroom.gateway.rpc._rpc_connection"
_CONNECT_TESTS: Final = ("tests/gateway/rpc/test_connect.py",)
_EVENT_TESTS: Final = ("tests/gateway/rpc/test_events.py",)
_HUB: Final = "greenroom.gateway.rpc._hub"
_LOOPBACK_TESTS: Final = ("tests/gateway/rpc/test_loopback.py",)
_OUTBOX: Final = "greenroom.gateway.rpc._outbox"
_OUTBOX_TESTS: Final = ("tests/gateway/rpc/test_outbox.py",)
_PAGE_TESTS: Final = ("tests/web/test_page_files.py",)
_READER: Final = "greenroom.gateway.rpc._params_reader"
_REQUEST_TESTS: Final = ("tests/gateway/rpc/test_requests.py",)
_RPC: Final = "greenroom.gateway.rpc._rpc"
_TOKENS: Final = "greenroom.gateway.rpc._rpc_tokens"
_TOKEN_TESTS: Final = ("tests/gateway/rpc/test_tokens.py",)
_VIEW: Final = "greenroom.gateway.chat._chat_view"
_VIEW_TESTS: Final = ("tests/gateway/chat/test_chat_view.py",)

GATEWAY_PROTOCOL: Final = (
    Mutant(
        "a client is given scopes that its token lacks",
        ("A25-a",),
        _CONNECT,
        "    if missing:\n",
        "    if missing and not scopes:\n",
        tests=_CONNECT_TESTS,
    ),
    Mutant(
        "a revoked token is good for open connections",
        ("A25-a",),
        _TOKENS,
        "        return known is not None and grant.scopes",
        "        return known is None or grant.scopes",
        tests=_CONNECT_TESTS,
    ),
    Mutant(
        "a page may set markup",
        ("A25-f",),
        "greenroom.serving._endpoints",
        "frame-ancestors 'none'; require-trusted-types-for 'script'",
        "frame-ancestors 'none'",
        tests=_PAGE_TESTS,
    ),
    Mutant(
        "another page is given the files",
        ("A25-f",),
        "greenroom.serving._heads",
        "    if is_stranger and not",
        "    if not hosts and not",
        tests=_PAGE_TESTS,
    ),
    Mutant("a one-time code is good twice", (), _TOKENS, "        del self._codes[found]\n", "", tests=_TOKEN_TESTS),
    Mutant(
        "a one-time code is good for long",
        (),
        _TOKENS,
        "if matched is not None and self._now() < ends_s:\n                found, scopes",
        "if matched is not None:\n                found, scopes",
        tests=_TOKEN_TESTS,
    ),
    Mutant(
        "a method is called without its scope",
        ("A25-a",),
        _RPC,
        "if spec.scope not in grant.scopes:",
        "if spec.scope not in grant.scopes and not grant.scopes:",
        tests=_CONNECT_TESTS,
    ),
    Mutant(
        "a token of some sessions reaches any",
        (),
        _RPC,
        "session is None or session not in grant.sessions",
        "session is None",
        tests=_REQUEST_TESTS,
    ),
    Mutant(
        "a problem has the path of its object",
        ("A25-b",),
        _READER,
        "path = dotted(place)",
        "path = dotted(place[:1])",
        tests=("tests/gateway/rpc/test_params.py",),
    ),
    Mutant(
        "the same call is made again while it is being done",
        ("A25-c",),
        _RPC,
        "if self._calls.is_running(call, digest):",
        "if not self._calls.is_running(call, digest) and digest == '':",
        tests=_ANSWERED_TESTS,
    ),
    Mutant(
        "a key stands for any parameters",
        ("A25-c",),
        _ANSWERED,
        "    if known != digest:\n",
        "    if not known:\n",
        tests=_ANSWERED_TESTS,
    ),
    Mutant(
        "an answer is not recorded",
        ("A25-c",),
        _RPC,
        "await self._calls.write(call, digest, answer)",
        "await trio.lowlevel.checkpoint()",
        tests=_ANSWERED_TESTS,
    ),
    Mutant(
        "a client that leaves cancels its change",
        (),
        _RPC,
        "        self._nursery.start_soon(self._do, method, call, params, digest, change, begun)\n",
        "        await self._do(method, call, params, digest, change, begun)\n",
        tests=_REQUEST_TESTS,
    ),
    Mutant(
        "requests begin in any order",
        (),
        _CONNECTION,
        "            await has_begun.wait()\n",
        "",
        tests=_REQUEST_TESTS,
    ),
    Mutant(
        "bad frames are not counted",
        ("A25-b",),
        _CONNECTION,
        "                bad += 1\n",
        "",
        tests=_REQUEST_TESTS,
    ),
    Mutant(
        "a deaf client stays",
        ("A25-d",),
        _CONNECTION,
        "            if trio.current_time() >= limit_s:",
        "            if limit_s < 0:",
        tests=_EVENT_TESTS,
    ),
    Mutant(
        "events wait without a limit",
        ("A25-d",),
        _OUTBOX,
        "return self._events < MAX_EVENTS and self._event_bytes + size <= MAX_EVENT_BYTES",
        "return True",
        tests=_EVENT_TESTS,
    ),
    Mutant(
        "a loss is not told",
        ("A25-e",),
        _OUTBOX,
        "            self._gap = self._append(_Waiting(_NO_EVENT, 0))\n",
        "",
        tests=_OUTBOX_TESTS,
    ),
    Mutant(
        "a piece of a text passes another event",
        (),
        _OUTBOX,
        "        self._last[published.session] = self._append(_Waiting(published, size))\n",
        "        number = self._append(_Waiting(published, size))\n"
        "        if published.delta_of or published.session not in self._last:\n"
        "            self._last[published.session] = number\n",
        tests=_OUTBOX_TESTS,
    ),
    Mutant(
        "an event reaches those who may not have it",
        (),
        _HUB,
        "if scope not in self.grant.scopes or not self.grant.reaches(published.session):",
        "if scope not in self.grant.scopes:",
        tests=_EVENT_TESTS,
    ),
    Mutant(
        "a client shows its token to anybody",
        (),
        _CLIENT,
        "                if not is_there():",
        "                if url == '' and not is_there():",
        tests=_LOOPBACK_TESTS,
    ),
    Mutant(
        "a chat shows a text with a hole",
        (),
        _VIEW,
        "        if self._is_holed:\n            self.partial",
        "        if self._is_holed and not text:\n            self.partial",
        tests=_VIEW_TESTS,
    ),
    Mutant(
        "a chat does not read anew after a gap",
        (),
        _CHAT,
        '            if event.name == "gap":\n',
        '            if event.name == "gap" and not event.payload:\n',
        tests=_CHAT_TESTS,
    ),
    Mutant(
        "Escape stops the sub-agents",
        (),
        _CHAT,
        'if self.is_busy:\n            await self._change("chat.abort", {})',
        'if self.is_busy:\n            await self._change("subagents.stop", {})',
        tests=_CHAT_TESTS,
    ),
)
