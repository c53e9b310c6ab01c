"""The folders of a recorded run, mapped to those of its re-run and back.

A path is a whole name: `/a` is not found in `/ab` or `/a.txt`. Answers and results are mapped to the folders of today before they are
served; requests and inputs are mapped back before they are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast, final

import attrs

from greenroom.models import Message, ModelRequest
from greenroom.models.recordings import ModelRecording

V = TypeVar("V")


@final
class FolderMap:
    """A mapping of folders.

    Args:
        folders: Pairs of the recorded folder and today's; the innermost first.
    """

    def __init__(self, folders: Sequence[tuple[str, str]]) -> None:
        pairs = [(old, new) for old, new in folders if old.strip("/") and new.strip("/")]
        self._forward = _replacer(pairs)
        self._back = _replacer([(new, old) for old, new in pairs])
        self._messages: dict[int, tuple[Message, Message]] = {}
        """Messages of requests by identity, and their mapped forms: each is mapped once, not with every request."""

    def to_now(self, values: V) -> V:
        """Return values with the folders of today."""
        return cast("V", _mapped(values, self._forward))

    def to_recorded(self, values: V) -> V:
        """Return values with the recorded folders."""
        return cast("V", _mapped(values, self._back))

    def normal(self, request: ModelRequest) -> ModelRequest:
        """Return a request with the recorded folders."""
        rest = self.to_recorded(attrs.evolve(request, messages=()))
        return attrs.evolve(rest, messages=tuple(map(self._message, request.messages)))

    def _message(self, message: Message) -> Message:
        known = self._messages.get(id(message))
        if known is None or known[0] is not message:
            known = self._messages[id(message)] = (message, self.to_recorded(message))
        return known[1]

    def mapped_answers(self, recording: ModelRecording) -> ModelRecording:
        """Return a recording whose answers have the folders of today."""
        exchanges = (
            attrs.evolve(exchange, said=self.to_now(exchange.said), response=self.to_now(exchange.response))
            for exchange in recording.exchanges
        )
        return attrs.evolve(recording, exchanges=tuple(exchanges))


def _replacer(folders: Sequence[tuple[str, str]]) -> Callable[[str], str]:
    if all(old == new for old, new in folders):
        return str
    names = dict(reversed(folders))  # of equal ones, the first
    pattern = re.compile("|".join(rf"{re.escape(old)}(?![\w-]|\.\w)" for old, _ in folders))
    return lambda text: pattern.sub(lambda found: names[found[0]], text)


def _mapped(value: Any, replace: Callable[[str], str]) -> Any:
    if replace is str or value is None:
        return value
    if type(value) is str:
        return replace(value)
    if isinstance(value, Mapping):
        return {name: _mapped(item, replace) for name, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_mapped(item, replace) for item in value]
        return (
            items if isinstance(value, list) else type(value)._make(items) if hasattr(value, "_make") else tuple(items)
        )
    if attrs.has(type(value)):
        fields = {field.alias: getattr(value, field.name) for field in attrs.fields(type(value)) if field.init}
        changes = {
            name: mapped
            for name, item in fields.items()
            if name is not None and (mapped := _mapped(item, replace)) is not item and mapped != item
        }
        return attrs.evolve(value, **changes) if changes else value
    return value
