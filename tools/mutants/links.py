"""Mutants of links: numbers, windows, proofs, and what is told when a link is lost."""

from __future__ import annotations

from typing import Final

from tools.mutants.catalogue import Mutant

_CALLS: Final = "greenroom.remote.links._remote_calls"
_CHANNEL: Final = "greenroom.remote.wire._numbered_channel"
_CODEC: Final = "greenroom.remote.wire._message_codec"
_HELLO: Final = "greenroom.remote.wire._hello"
_LINK: Final = "greenroom.remote.links._link"
_NODE: Final = "greenroom.remote.links._node"
_REF: Final = "greenroom.remote.links._remote_ref"
_WIRE: Final = "greenroom.remote.wire._wire"
_CODEC_TESTS: Final = ("tests/remote/wire/test_codec.py",)
_HELLO_TESTS: Final = ("tests/remote/wire/test_hello.py",)
_LINK_TESTS: Final = ("tests/remote/links/test_link.py",)
_NODE_TESTS: Final = ("tests/remote/links/test_node.py",)
_PERMITS: Final = "greenroom.remote.links._link_permits"
_PERMITS_TESTS: Final = ("tests/remote/links/test_permits.py",)
_SERVED: Final = "greenroom.remote.links._served_actors"
_HOSTILE_TESTS: Final = ("tests/remote/links/test_hostile_peers.py",)
_TLS_TESTS: Final = ("tests/remote/links/test_tls.py",)
_WIRE_TESTS: Final = ("tests/remote/wire/test_wire.py",)

LINKS: Final = (
    Mutant(
        "a new connection goes on behind what the old one was given",
        ("R2-a",),
        _CHANNEL,
        "        self._ahead = 0\n        self._sent_bytes = 0\n        self._told",
        "        self._told",
        tests=_WIRE_TESTS,
    ),
    Mutant(
        "a gap passes",
        ("R2-b",),
        _CHANNEL,
        "if number == self.got + 1:",
        "if number > self.got:",
        tests=_WIRE_TESTS,
    ),
    Mutant(
        "a new connection repeats what the other side has",
        ("R2-c", "RM-08"),
        _CHANNEL,
        "        self.acknowledge(got)\n        self._ahead = 0",
        "        self._ahead = 0",
        tests=_LINK_TESTS,
    ),
    Mutant(
        "silence is not noticed",
        ("R2-d", "RM-11"),
        _LINK,
        "silence_s = SILENT_TICKS * tick_s",
        "silence_s = 100 * tick_s",
        tests=_LINK_TESTS,
    ),
    Mutant(
        "versions without a common one agree",
        ("R2-e",),
        _HELLO,
        "if version < max(ours.v[0], theirs.v[0]):",
        "if version < 1:",
        tests=_HELLO_TESTS,
    ),
    Mutant(
        "an object of any registered class fits anywhere",
        ("R2-f",),
        _CODEC,
        "if kind is None or not issubclass(kind, get_origin(wanted) or wanted):",
        "if kind is None:",
        tests=_CODEC_TESTS,
    ),
    Mutant(
        "all data that waits is given to the connection at once",
        ("R2-g",),
        _WIRE,
        "_IN_FLIGHT_FRAMES: Final = 512",
        "_IN_FLIGHT_FRAMES: Final = 5_120",
        tests=_WIRE_TESTS,
    ),
    Mutant(
        "a message takes no place",
        ("R3-b",),
        _REF,
        "        target.places -= 1\n",
        "",
        tests=_LINK_TESTS,
    ),
    Mutant(
        "a request that may have been run counts as not sent",
        ("R3-c",),
        _CALLS,
        '"unknown" if was_sent else "not_sent"',
        '"not_sent"',
        tests=_LINK_TESTS,
    ),
    Mutant(
        "a node that was started anew is taken for the one before",
        ("R3-d", "RM-03"),
        _NODE,
        'if each.node == theirs.node and each.boot not in ("", theirs.boot):',
        "if not each.node:",
        tests=_NODE_TESTS,
    ),
    Mutant(
        "the request of a cancelled asker is run",
        ("R3-e",),
        _CALLS,
        "                self.put(CancelFrame(ask=number))",
        "                pass",
        tests=_LINK_TESTS,
    ),
    Mutant(
        "a lost link tells no watcher",
        ("R4-a",),
        _CALLS,
        "        for subscription in watches.values():\n            subscription.settle(self._lost_down(subscription.path))\n",
        "",
        tests=_LINK_TESTS,
    ),
    Mutant(
        "a proof holds for every connection",
        ("R13-a",),
        _HELLO,
        "said = [role, dialler.nonce, listener.nonce, ",
        "said = [role, ",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "a refused connection is not recorded",
        ("R13-a",),
        "greenroom.remote.links._node",
        "        self._refused.note(incident)\n",
        "",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "an answer to nothing passes",
        ("R13-a",),
        _CALLS,
        "if not 0 < number <= self._last:",
        "if False:",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "what nobody acknowledges is kept without a bound",
        ("R13-a",),
        _WIRE,
        "if unacknowledged > self._max_unacknowledged:",
        "if False:",
        tests=_HOSTILE_TESTS,
    ),
    Mutant(
        "a reference to an actor of a third node passes",
        ("R3-f",),
        _REF,
        "return self._target.number if calls is self._calls else None",
        "return self._target.number",
        tests=("tests/remote/links/test_references.py",),
    ),
    Mutant(
        "a node gets a remote reference to its own actor",
        ("R3-f",),
        "greenroom.remote.links._link_references",
        'case {"there": int(number)} if (ref := self._served.ref(number)) is not None:',
        'case {"there": int(number)} if (ref := self._calls.target(number)) is not None:',
        tests=("tests/remote/links/test_references.py",),
    ),
    Mutant(
        "a message from another node has no cause",
        ("R4-d",),
        "greenroom.remote.links._link_record",
        "cause=cause)) if cause else 0",
        "cause=cause)) and 0",
        tests=("tests/remote/links/test_causes.py",),
    ),
    Mutant(
        "a watch that is cancelled stays open",
        ("R3-a",),
        _CALLS,
        "        if self._callback is not None:\n            self._callback = None\n",
        "        if self._callback is not None:\n",
        tests=("tests/remote/links/test_ref_conformance.py",),
    ),
    Mutant(
        "a proof holds for every node",
        ("R13-b",),
        _HELLO,
        "dialler.node, listener.node, dialler.link]",
        "dialler.link]",
        tests=_HELLO_TESTS,
    ),
    Mutant(
        "every peer may do everything",
        ("R13-c",),
        _SERVED,
        "        if verb in self._permit.may:\n            return True\n",
        "        return True\n",
        tests=_PERMITS_TESTS,
    ),
    Mutant(
        "a peer finds every name",
        ("R13-c",),
        _PERMITS,
        "any(fnmatchcase(name, pattern) for pattern in self.names)",
        "True",
        tests=_PERMITS_TESTS,
    ),
    Mutant(
        "a port without TLS is open to other machines",
        ("R13-d",),
        "greenroom.serving._listeners",
        "if place.tls is None and not address.is_loopback:",
        "if False:",
        tests=_TLS_TESTS,
    ),
    Mutant(
        "every certificate is accepted",
        ("R13-d",),
        "greenroom.serving._client_connection",
        "ssl_context=tls or ssl.create_default_context()",
        "ssl_context=ssl._create_unverified_context()",
        tests=_TLS_TESTS,
    ),
    Mutant(
        "a close does not wait for what was sent",
        (),
        _LINK,
        "while self.state is LinkState.UP and not self._wire.is_acknowledged:",
        "while False:",
        tests=_PERMITS_TESTS,
    ),
    Mutant(
        "large answers are kept without a bound",
        (),
        _WIRE,
        "            and len(text) > _SMALL_BYTES\n",
        "            and False\n",
        tests=_PERMITS_TESTS,
    ),
)
