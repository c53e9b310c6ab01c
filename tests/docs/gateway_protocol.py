"""The page docs/reference/gateway-protocol.md, made from the table of methods: `python -m tests.docs.gateway_protocol` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_type_hints

import attrs

from greenroom.gateway.config._clock_and_limits import CronJob
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.rpc._connect import ConnectParams
from greenroom.gateway.rpc._methods import EVENTS, METHODS, OWN_METHODS
from greenroom.gateway.rpc._outbox import MAX_EVENTS
from greenroom.gateway.rpc._rpc_frames import MAX_BAD_FRAMES, MAX_REQUESTS, PROTOCOL, ErrorCode
from greenroom.gateway.rpc._scopes import RpcScope
from tests.docs.docstrings import field_docs
from tests.docs.events import table
from tests.docs.gateway_configuration import below, in_words

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "gateway-protocol.md"
ELSEWHERE: Final = {CronJob: "see `cron.jobs` in the [configuration](gateway-configuration.md)"}

HEAD: Final = f"""\
# Protocol of a gateway

Programs and pages speak to a gateway in JSON over a WebSocket at `/rpc` of its port. This is protocol {PROTOCOL}. Generated from the table
of methods by `python -m tests.docs.gateway_protocol`. `greenroom chat` is such a program; a small one is
[examples/gateway_client.py](../../examples/gateway_client.py).

```json
{{"type": "req", "id": "1", "method": "connect", "params": {{"minProtocol": 1, "maxProtocol": 1,
  "client": {{"id": "my-program", "version": "1"}}, "auth": {{"token": "..."}}}}}}
{{"type": "res", "id": "1", "ok": true, "payload": {{"type": "hello-ok", "protocol": 1}}}}
{{"type": "event", "event": "chat", "payload": {{"sessionKey": "agent:main:main", "state": "final", "message": "Hi"}}, "seq": 1}}
{{"type": "res", "id": "2", "ok": false, "error": {{"code": "bad_request", "message": "...", "details": {{"path": "limit"}}}}}}
```

**Connecting.** The first call is `connect`, within 5 s and 16 KiB. A token is the content of the file `token` in the state folder, one of
`gateway.auth.tokens`, or one that a page got for a one-time code of `greenroom gateway open`: such a code is good once, for a minute, and
the answer has the `token`, which is good for a day and not beyond a restart. The answer names the server, the scopes, methods, events and
limits of the connection. Without a number of the protocol in common, the error `protocol` has both ranges, and the connection is closed
with 1002; after any other error with 1008. A wrong token is answered after a second. `GET /healthz` needs no token.

**Calls.** Calls of one connection begin in their order and are answered as they end, at most {MAX_REQUESTS} at a time. Unknown fields of
a frame are ignored, those of `params` are refused. A message has at most 1 MiB (1009). A frame that is not a request is answered if it has
an `id`; the {MAX_BAD_FRAMES}th in a row closes the connection (1007). If a client leaves, its looks are cancelled; its changes go on.

**Changes.** A method that changes something needs an `idempotencyKey` of 1 to 128 characters, a new one for each change. The answer is on
record before it is sent: the same call with the same key within a day, also after a break or a restart, has the same answer, with
`cached: true` in the frame; while it is being done the answer is `{{"status": "in_flight"}}`. Other parameters with the same key are a
`conflict`. A call that failed may be repeated with its key. 10,000 keys of a token are remembered.

**Events.** Ask for them with `events.subscribe`. `seq` counts the events of this connection, without holes. Texts that a slow client has
not taken yet are merged. If more than {MAX_EVENTS} events or 1 MiB wait, a connection loses texts first, then other events, and gets one
`gap` that names what to read anew. A client that takes nothing for 30 s is closed (1013). After a break, connect, subscribe, and read the
history: a `final` message always has the whole text.

**Versions.** Methods, events and fields are only added to a protocol; ignore those that you do not know.

"""


def rows(kind: type[Any], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Yield a row for each field of a class, and of the classes in it."""
    docs, kinds = field_docs(kind), get_type_hints(kind, include_extras=True)
    for field in sorted(attrs.fields(kind), key=lambda field: field.name == "idempotency_key"):
        name, wanted = f"{prefix}{key_of(field.name)}", kinds[field.name]
        found = below(wanted)
        more = "" if found is None else ELSEWHERE.get(found[0], "")
        meaning = docs.get(field.name, "") if not more else f"{docs[field.name].rstrip('.')}; {more}."
        yield f"`{name}`", in_words(wanted).replace("|", "\\|"), _default(field.default), meaning
        if found is not None and not more:
            yield from rows(found[0], f"{name}.")


def _default(value: Any) -> str:
    if value is attrs.NOTHING:
        return "required"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if value not in {None, ""} else ""


def method(name: str, scope: str, about: str, kind: type[Any]) -> str:
    """Return the section of a method."""
    found = list(rows(kind))
    head = f"### {name}\n\n{f'Scope `{scope}`. ' if scope else ''}{about}"
    return f"{head}\n\n{table(('field', 'takes', 'default', 'meaning'), found)}" if found else head


def page() -> str:
    """Return the page."""
    scopes = [(f"`{scope}`", docs) for scope, docs in zip(RpcScope, member_docs(RpcScope), strict=True)]
    codes = [(f"`{code}`", docs) for code, docs in zip(ErrorCode, member_docs(ErrorCode), strict=True)]
    parts = [
        "## Scopes\n\n" + table(("scope", "for"), scopes),
        "## Errors\n\n" + table(("code", "when"), codes),
        "## Events\n\n" + table(("event", "payload"), [(f"`{name}`", text) for name, text in EVENTS.items()]),
        "## Methods",
        method("connect", "", "The first call.", ConnectParams),
        *(method(spec.name, spec.scope, spec.about, spec.params) for spec in (*METHODS, *OWN_METHODS)),
    ]
    return HEAD + "\n\n".join(part.rstrip() for part in parts) + "\n"


def member_docs(owner: type[Any]) -> list[str]:
    """Return the docstring under each member."""
    docs = field_docs(owner)
    return [docs.get(name, "") for name in owner.__members__]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
