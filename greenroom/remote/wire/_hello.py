"""The first two messages of each side of a connection: who it is, what it speaks, what it has; and the proof that it knows the token.

Rule 1: the token itself never crosses, and a proof is good for this connection only: it is made over the role, both nonces, both names and
the link. Rule 2: the higher version that both speak counts. Rule 3: fields of a hello that are not known are ignored, so that later versions
may add some. This module must not know of connections or actors.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

import attrs
import orjson

from greenroom.core import PeerError
from greenroom.core.ports import Ids
from greenroom.core.texts import single_error
from greenroom.core.validation import make_converter
from greenroom.remote.wire._numbered_channel import UNREADABLE, WireError
from greenroom.remote.wire._wire import MAX_MESSAGE

if TYPE_CHECKING:
    import cattrs

PROTOCOL_VERSIONS: Final = (1, 1)
"""Lowest and highest version of the protocol that this build speaks."""
SUBPROTOCOL: Final = "greenroom.link.1"
MAX_HELLO: Final = 65_536
"""Maximum size of a hello, in bytes."""
TICK_S: Final = 5.0
"""Default interval of keepalives, in seconds."""
NO_COMMON_VERSION: Final = 4001
REPLACED: Final = 4003
LINK_CLOSED: Final = 4005
"""Close code of the last connection of a link: the other side does not dial again."""
_MIN_TOKEN: Final = 32
_HEX: Final = frozenset("0123456789abcdef")
_RANDOM_CHARACTERS: Final = 32
_MAX_NAME: Final = 64

Role: TypeAlias = Literal["dials", "listens"]


@final
class NoCommonVersion(PeerError):
    """Two builds of greenroom have no version of the protocol in common.

    Attributes:
        ours: Lowest and highest version of this side.
        theirs: Lowest and highest version of the other side.
    """

    def __init__(self, ours: tuple[int, int], theirs: tuple[int, int]) -> None:
        super().__init__(f"no common version: this side speaks {_range(ours)}, the other {_range(theirs)}")
        self.ours = ours
        self.theirs = theirs


def _range(versions: tuple[int, int]) -> str:
    return str(versions[0]) if versions[0] == versions[1] else f"{versions[0]} to {versions[1]}"


def new_id(ids: Ids) -> str:
    """Return the id of a boot or a link: 128 bits as text, which need not be secret."""
    return f"{ids.bits(4 * _RANDOM_CHARACTERS):0{_RANDOM_CHARACTERS}x}"


def new_random() -> str:
    """Return 128 random bits as text, for a nonce."""
    return secrets.token_hex(_RANDOM_CHARACTERS // 2)


def _random(_instance: object, attribute: attrs.Attribute[str], value: str) -> None:
    if len(value) != _RANDOM_CHARACTERS or not set(value) <= _HEX:
        raise ValueError(f"{attribute.name} must be {_RANDOM_CHARACTERS} hexadecimal digits")


def _random_or_empty(instance: object, attribute: attrs.Attribute[str], value: str) -> None:
    if value:
        _random(instance, attribute, value)


def check_node_name(name: str) -> None:
    """Validate the name of a node: 1 to 64 ASCII letters, digits, `.`, `_` and `-`.

    Raises:
        ValueError: The name is invalid.
    """
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    if not 0 < len(name) <= _MAX_NAME or not name.isascii() or not plain.isalnum():
        raise ValueError(
            f"the name of a node must be 1 to {_MAX_NAME} letters, digits, '.', '_' and '-', got {name[:80]!r}"
        )


def _node(_instance: object, _attribute: object, value: str) -> None:
    check_node_name(value)


def _versions(_instance: object, attribute: attrs.Attribute[tuple[int, int]], value: tuple[int, ...]) -> None:
    if len(value) != 2 or not 0 < value[0] <= value[1]:
        raise ValueError(f"{attribute.name} must be the lowest and the highest version")


def _numbers(_instance: object, attribute: attrs.Attribute[tuple[int, int]], value: tuple[int, ...]) -> None:
    if len(value) != 2 or min(value) < 0:
        raise ValueError(f"{attribute.name} must be two numbers from 0 on")


@final
@attrs.frozen(kw_only=True)
class Hello:
    """The first message of each side."""

    v: tuple[int, ...] = attrs.field(default=PROTOCOL_VERSIONS, validator=_versions)
    """Lowest and highest version of the protocol."""
    node: str = attrs.field(validator=_node)
    """Name of the node. It is believed only because its token proves it."""
    boot: str = attrs.field(validator=_random)
    """This start of the node."""
    link: str = attrs.field(validator=_random)
    """The link, named by the side that dialled first."""
    expects: str = attrs.field(default="", validator=_random_or_empty)
    """The start of the other node to which this link belongs; empty while there is none yet."""
    got: tuple[int, ...] = attrs.field(default=(0, 0), validator=_numbers)
    """Last control frame and last data frame of this link that this side has."""
    max_bytes: int = attrs.field(default=MAX_MESSAGE, validator=attrs.validators.ge(MAX_HELLO))
    """Largest message that it takes, in bytes; the lower one of both sides counts."""
    tick_s: float = attrs.field(default=TICK_S, validator=[attrs.validators.gt(0), attrs.validators.le(3_600)])
    """Maximum time between two of its messages, in seconds."""
    build: str = attrs.field(default="", validator=attrs.validators.max_len(_MAX_NAME))
    """Its version of greenroom, for people."""
    nonce: str = attrs.field(factory=new_random, validator=_random)

    def to_bytes(self) -> bytes:
        """Return it as a message."""
        return orjson.dumps({"hello": attrs.asdict(self)})


def read_hello(message: bytes | str) -> Hello:
    """Return the hello of a message.

    Raises:
        WireError: It is not a hello; the text names the field.
    """
    values = _object_of(message, "hello")
    known = {field.name for field in attrs.fields(Hello)}
    try:
        return _converter().structure({name: value for name, value in values.items() if name in known}, Hello)
    except Exception as error:  # noqa: BLE001 - a library's, about arbitrary input
        raise WireError(UNREADABLE, f"hello: {_cause(error)}") from None


def _cause(error: BaseException) -> str:
    error = single_error(error, or_first=True)
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error.args[0] if error.args else type(error).__name__)[:200]


@cache
def _converter() -> cattrs.Converter:
    return make_converter()


def _object_of(message: bytes | str, name: str) -> Mapping[str, Any]:
    if len(message) > MAX_HELLO:
        raise WireError(UNREADABLE, f"{name}: larger than {MAX_HELLO:,} bytes")
    try:
        values = orjson.loads(message)
    except ValueError:
        raise WireError(UNREADABLE, f"{name}: no JSON") from None
    found = values.get(name) if isinstance(values, dict) else None
    if not isinstance(found, dict):
        raise WireError(UNREADABLE, f"{name}: missing")
    return found


def agreed_version(ours: Hello, theirs: Hello) -> int:
    """Return the version that both sides speak.

    Raises:
        NoCommonVersion: There is none.
    """
    version = min(ours.v[1], theirs.v[1])
    if version < max(ours.v[0], theirs.v[0]):
        raise NoCommonVersion((ours.v[0], ours.v[1]), (theirs.v[0], theirs.v[1]))
    return version


def prove(token: bytes, role: Role, *, dialler: Hello, listener: Hello) -> str:
    """Return the proof that a side knows the token, valid for this connection only.

    Args:
        token: The secret that both sides have.
        role: The side that proves itself.
        dialler: Hello of the side that dialled.
        listener: Hello of the side that listens.
    """
    said = [role, dialler.nonce, listener.nonce, dialler.node, listener.node, dialler.link]
    return hmac.new(token, "\n".join(said).encode(), hashlib.sha256).hexdigest()


def proof_message(proof: str) -> bytes:
    """Return a proof as a message."""
    return orjson.dumps({"proof": {"hmac": proof}})


def read_proof(message: bytes | str) -> str:
    """Return what a message proves.

    Raises:
        WireError: The message holds no proof.
    """
    proof = _object_of(message, "proof").get("hmac")
    if not isinstance(proof, str):
        raise WireError(UNREADABLE, "proof: hmac is missing")
    return proof


def is_proof(proof: str, token: bytes, role: Role, *, dialler: Hello, listener: Hello) -> bool:
    """Return True if a proof is right, in a time that says nothing about it."""
    return hmac.compare_digest(proof.encode(), prove(token, role, dialler=dialler, listener=listener).encode())


def check_token(token: bytes) -> bytes:
    """Return a token that is long enough.

    Raises:
        ValueError: It has fewer than 32 bytes.
    """
    if len(token) < _MIN_TOKEN:
        raise ValueError(f"a token must have at least {_MIN_TOKEN} bytes, got {len(token)}")
    return token
