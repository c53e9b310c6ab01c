"""The names of Claude models known to this version; any other name is passed on unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

DEFAULT_CLAUDE_MODEL: Final = "claude-sonnet-5"

SMALL_CLAUDE_MODEL: Final = "claude-haiku-4-5"
"""For much work of a kind that a small model does well, such as the items of a survey."""

CLAUDE_MODELS: Final = (
    DEFAULT_CLAUDE_MODEL,
    "claude-sonnet-5-5",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-haiku-5-5",
    SMALL_CLAUDE_MODEL,
    "claude-fable-5",
    "claude-fable-5-1",
    "claude-fable-5-2",
)
"""For help texts and completion."""

FAMILIES: Final = ("sonnet", "opus", "haiku", "fable")
"""Families of models; the name of a family is an alias for one of its models."""

_LONGEST_VERSION: Final = 2
"""Digits; a longer number in a name is a date."""


def family_of(name: str) -> str | None:
    """Return the family of a model's name, or an alias; None if it is unknown.

    Names of other platforms count as well: `us.anthropic.claude-sonnet-4-5-v1:0` is of the family `sonnet`.
    """
    words = re.split(r"[^a-z0-9]+", name.lower())
    return next((family for family in FAMILIES if family in words), None)


def newest(names: Iterable[str], family: str) -> str | None:
    """Return the newest model of a family among `names`, by version and then by date; None if there is none."""
    members = [name for name in names if name != family and family_of(name) == family]
    return max(members, key=_version, default=None)


def _version(name: str) -> tuple[list[int], int]:
    # The platform's own suffix, `-v1:0`, is not a version of the model.
    numbers = re.findall(r"(?<![a-z0-9])\d+", re.sub(r"-v\d+(:\d+)?$", "", name.lower()))
    version = [int(number) for number in numbers if len(number) <= _LONGEST_VERSION]
    return version, max((int(number) for number in numbers if len(number) > _LONGEST_VERSION), default=0)
