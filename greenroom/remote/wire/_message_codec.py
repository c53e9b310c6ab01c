"""Values to JSON and back: plain JSON as it is, and objects of registered attrs classes with the name of their class.

    codec = MessageCodec([Job, Done])
    codec.read(codec.write(Job(name="a"))) == Job(name="a")      # {"$": "Job", "name": "a"}

Rule 1: only a registered class is ever made, and only through its fields; nothing is imported by name. Rule 2: what comes back is
equal to what was sent, or the sender is told that it cannot be sent. This module must not know of frames or connections.
"""

from __future__ import annotations

import base64
import binascii
import math
from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import NoneType, UnionType
from typing import Any, Final, Protocol, Union, final, get_args, get_origin

import attrs
import cattrs
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from greenroom.core import UsageError
from greenroom.core.validation import make_converter

TAG: Final = "$"
"""The key that names the class of an object."""
_BYTES: Final = "bytes"
_TUPLE: Final = "tuple"
_NUMBER: Final = "number"
_OBJECT: Final = "object"
_REFERENCE: Final = "ref"
_BUILT_IN: Final = frozenset((_BYTES, _TUPLE, _NUMBER, _OBJECT, _REFERENCE))
_INT64: Final = 2**63
_PLAIN: Final = (str, bool, NoneType)


@final
class UnreadableValue(ValueError):
    """A value cannot be read: it fits no registered class. The text names the field."""


class ActorReference(ABC):  # noqa: B024 - it is a mark: classes of a higher layer are registered with it
    """A reference to an actor. Its classes are registered; a codec carries their objects only over a link."""


class ReferenceCodec(Protocol):
    """Writes and reads references to actors, for one link."""

    def write_reference(self, reference: Any) -> dict[str, int]:
        """Return a reference as JSON can express it. Raises `UsageError`."""

    def read_reference(self, written: Any) -> Any:
        """Return a reference. Raises `UnreadableValue`."""


@final
class MessageCodec:
    """Writes and reads the values of messages.

    Args:
        types: attrs classes whose objects may cross, both ways. Both nodes name the same ones. Fields may hold plain JSON values,
            bytes, tuples, enums, references to actors and objects of registered classes.

    Raises:
        UsageError: One of them is not an attrs class, or two have the same name.
    """

    def __init__(self, types: Iterable[type[Any]] = ()) -> None:
        self._classes: dict[str, type[Any]] = {}
        for each in types:
            if not attrs.has(each):
                raise UsageError(f"a codec takes attrs classes, got {each!r}")
            if self._classes.setdefault(each.__name__, each) is not each or each.__name__ in _BUILT_IN:
                raise UsageError(f"two classes of a codec must not have one name: {each.__name__}")
        self._references: ReferenceCodec | None = None
        self._converter = _converter(self)
        self._writers: dict[type[Any], Callable[[Any], dict[str, Any]]] = {}
        self._readers: dict[type[Any], Callable[[Any, Any], Any]] = {}

    def write(self, value: Any, references: ReferenceCodec | None = None) -> Any:
        """Return a value as JSON can express it.

        Args:
            value: The value.
            references: Writes the references in it; without it there must be none.

        Raises:
            UsageError: It holds something that is neither plain nor of a registered class; the text says what.
        """
        self._references = references
        try:
            return self.write_part(value)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - a field of a registered class does not hold what its annotation says
            raise UsageError(
                f"cannot send a {type(value).__name__}: {type(error).__name__}: {str(error)[:200]}"
            ) from None

    def write_part(self, value: Any) -> Any:
        """Return a part of a value."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is int:
            if -_INT64 <= value < _INT64:
                return value
            raise UsageError(f"cannot send the integer {value}: it has more than 64 bits")
        if kind is float:
            return _write_float(value)
        if kind is list:
            return [self.write_part(each) for each in value]
        if kind is dict:
            return self._write_object(value)
        if kind is bytes:
            return _write_bytes(value)
        if kind is tuple:
            return {TAG: _TUPLE, "of": [self.write_part(each) for each in value]}
        return self.write_object(value)

    def _write_object(self, value: dict[Any, Any]) -> dict[str, Any]:
        for key in value:
            if type(key) is not str:
                raise UsageError(f"cannot send an object with the key {key!r}: keys must be text")
        written = {key: self.write_part(each) for key, each in value.items()}
        return {TAG: _OBJECT, "of": written} if TAG in value else written

    def write_object(self, value: Any) -> dict[str, Any]:
        """Return an object of a registered class as JSON can express it.

        Raises:
            UsageError: Its class is not registered.
        """
        kind = type(value)
        writer = self._writers.get(kind)
        if writer is None:
            if issubclass(kind, ActorReference):
                return self.write_reference(value)
            if self._classes.get(kind.__name__) is not kind:
                raise UsageError(f"cannot send a {kind.__name__}: its class is not registered with the codec")
            writer = self._writers[kind] = make_dict_unstructure_fn(kind, self._converter)
        return {TAG: kind.__name__, **writer(value)}

    def write_reference(self, value: Any) -> dict[str, Any]:
        """Return a reference as JSON can express it.

        Raises:
            UsageError: It cannot cross.
        """
        if self._references is None:
            raise UsageError(f"cannot send a {type(value).__name__}: references cross links only")
        return {TAG: _REFERENCE, "of": self._references.write_reference(value)}

    def read(self, value: Any, references: ReferenceCodec | None = None) -> Any:
        """Return the value that was written.

        Args:
            value: What was written.
            references: Reads the references in it; without it there must be none.

        Raises:
            UnreadableValue: It is not what `write` makes.
        """
        self._references = references
        try:
            return self.read_part(value)
        except BaseValidationError as error:
            problems = cattrs.transform_error(error, format_exception=lambda each, _: str(each)[:200])
            raise UnreadableValue(problems[0]) from None
        except UnreadableValue:
            raise
        except Exception as error:  # noqa: BLE001 - a validator's or converter's of a registered class
            raise UnreadableValue(f"{type(error).__name__}: {str(error)[:200]}") from None

    def read_part(self, value: Any) -> Any:
        """Return a part of a value."""
        if isinstance(value, list):
            return [self.read_part(each) for each in value]
        if not isinstance(value, dict):
            return value
        if TAG not in value:
            return {key: self.read_part(each) for key, each in value.items()}
        name = value[TAG]
        if isinstance(name, str) and name in _READERS:
            return _READERS[name](self, value.get("of"))
        return self.read_object(value, object)

    def read_object(self, value: Any, wanted: Any) -> Any:
        """Return an object of a registered class.

        Args:
            value: What was written.
            wanted: The class of which it must be, or a base class.

        Raises:
            UnreadableValue: It is of another one, or of one that is not registered.
        """
        name = value.get(TAG) if isinstance(value, Mapping) else None
        kind = self._classes.get(name) if isinstance(name, str) else None
        if kind is None or not issubclass(kind, get_origin(wanted) or wanted):
            raise UnreadableValue(f"no registered class: {str(name)[:80]!r}")
        reader = self._readers.get(kind)
        if reader is None:
            reader = self._readers[kind] = make_dict_structure_fn(kind, self._converter, _cattrs_forbid_extra_keys=True)
        return reader({key: each for key, each in value.items() if key != TAG}, kind)

    def read_reference(self, value: Any) -> Any:
        """Return a reference.

        Raises:
            UnreadableValue: It is none, or the link knows no such actor.
        """
        if self._references is None:
            raise UnreadableValue("references cross links only")
        return self._references.read_reference(value)

    def is_registered(self, kind: Any) -> bool:
        """Return True if objects of this class may cross."""
        return isinstance(kind, type) and self._classes.get(kind.__name__) is kind


def _write_bytes(value: bytes) -> dict[str, str]:
    return {TAG: _BYTES, "of": base64.b64encode(value).decode()}


def _write_float(value: float) -> float | dict[str, str]:
    return value if math.isfinite(value) else {TAG: _NUMBER, "of": str(value)}


def _read_bytes(_codec: MessageCodec, value: Any) -> bytes:
    if not isinstance(value, str):
        raise UnreadableValue("bytes must be base64")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise UnreadableValue("bytes must be base64") from None


def _read_tuple(codec: MessageCodec, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise UnreadableValue("a tuple must be a list")
    return tuple(codec.read_part(each) for each in value)


def _read_number(_codec: MessageCodec, value: Any) -> float:
    if not isinstance(value, str) or value not in ("inf", "-inf", "nan"):
        raise UnreadableValue("no number")
    return float(value)


def _read_object(codec: MessageCodec, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnreadableValue("no object")
    return {key: codec.read_part(each) for key, each in value.items()}


_READERS: Final[Mapping[str, Callable[[MessageCodec, Any], Any]]] = {
    _BYTES: _read_bytes,
    _TUPLE: _read_tuple,
    _NUMBER: _read_number,
    _OBJECT: _read_object,
    _REFERENCE: MessageCodec.read_reference,
}


def _converter(codec: MessageCodec) -> cattrs.Converter:
    """Return a strict converter whose plain fields are written as their annotations say, and all others with their tags."""
    converter = make_converter()
    converter.register_structure_hook_func(attrs.has, codec.read_object)
    converter.register_unstructure_hook_func(attrs.has, codec.write_object)
    converter.register_structure_hook(bytes, partial(_read_typed, codec, _BYTES))
    converter.register_unstructure_hook(bytes, _write_bytes)
    read_number = converter.get_structure_hook(float)
    converter.register_structure_hook(
        float,
        lambda value, kind: (
            _read_typed(codec, _NUMBER, value, kind) if isinstance(value, dict) else read_number(value, kind)
        ),
    )
    converter.register_unstructure_hook(float, _write_float)
    converter.register_structure_hook_func(_is_reference, partial(_read_typed, codec, _REFERENCE))
    converter.register_unstructure_hook_func(_is_reference, codec.write_reference)
    for is_free in (_is_anything, partial(_is_mixed, codec)):
        converter.register_structure_hook_func(is_free, partial(_read_free, codec))
        converter.register_unstructure_hook_func(is_free, codec.write_part)
    return converter


def _read_typed(codec: MessageCodec, name: str, value: Any, _kind: Any) -> Any:
    if not isinstance(value, dict) or value.get(TAG) != name:
        raise UnreadableValue(f"no {name}")
    return _READERS[name](codec, value.get("of"))


def _is_anything(kind: Any) -> bool:
    return kind is Any or kind is object


def _is_mixed(codec: MessageCodec, kind: Any) -> bool:
    """Return True for a union in which a tag has to say what is meant."""
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    return any(codec.is_registered(each) or _is_reference(each) for each in members)


def _is_reference(kind: Any) -> bool:
    """Return True for a class of references, with or without the class of their messages."""
    bare = get_origin(kind) or kind
    return isinstance(bare, type) and issubclass(bare, ActorReference)


def _read_free(codec: MessageCodec, value: Any, kind: Any) -> Any:
    read = codec.read_part(value)
    if _is_anything(kind):
        return read
    members = get_args(kind)
    known = tuple(get_origin(each) or each for each in members)
    if any(map(_is_reference, members)):
        known += (ActorReference,)  # an actor of this node for its owner is one of another node for everybody else
    if not isinstance(read, known):
        raise UnreadableValue(f"a {type(read).__name__} is none of {kind}")
    return read
