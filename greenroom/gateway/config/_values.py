"""Kinds of values in a configuration: bounded numbers, durations, words, choices that may be shortened, secrets.

A kind is an annotation (`Annotated[int, Range(1, 5)]`), so a value that does not fit is reported at its own path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, final

import attrs

from greenroom.core.sources import shown


class Unfit(ValueError):
    """A value that is not of its kind; the text is the problem."""


@final
class Expanded(str):
    """A text with variables of the environment in it; it is shown as it was written."""

    __slots__ = ("written",)
    written: str

    def __repr__(self) -> str:
        return repr(self.written)


@final
@attrs.frozen
class Range:
    """Bounds of a number, both included."""

    least: float
    most: float | None = None

    def read(self, value: Any) -> Any:
        """Return the value if it lies within the bounds."""
        if value < self.least or (self.most is not None and value > self.most):
            raise Unfit(f"must be {self.in_words}, got {value}")
        return value

    @property
    def in_words(self) -> str:
        """The bounds, for people."""
        return f"{self.least:g} or more" if self.most is None else f"from {self.least:g} to {self.most:g}"


@final
@attrs.frozen
class Shaped:
    """Texts of one form."""

    form: re.Pattern[str] = attrs.field(converter=re.compile)
    in_words: str

    def read(self, value: str) -> str:
        """Return the text if it has the form."""
        if not self.form.fullmatch(value):
            raise Unfit(f"must be {self.in_words}, got {shown(value)}")
        return value


_UNITS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"([0-9]{1,6})([smhd])")


@final
@attrs.frozen
class Seconds:
    """Durations such as `30m`; the value is the number of seconds."""

    in_words: str = "a duration such as 45s, 30m, 12h or 30d"

    def read(self, value: Any) -> int:
        """Return the number of seconds."""
        found = _DURATION.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise Unfit(f"must be {self.in_words}, got {shown(value)}")
        return int(found[1]) * _UNITS[found[2]]


@final
@attrs.frozen
class Short:
    """Objects that may be written as the one text that is their most important key."""

    key: str

    def read(self, value: Any) -> Any:
        """Return the long form."""
        return {self.key: value} if isinstance(value, str) else value


Rule: TypeAlias = Range | Shaped | Seconds | Short
PositiveInt: TypeAlias = Annotated[int, Range(1)]
Count: TypeAlias = Annotated[int, Range(0)]
Port: TypeAlias = Annotated[int, Range(0, 65535)]
Hour: TypeAlias = Annotated[int, Range(0, 23)]
Money: TypeAlias = Annotated[Decimal, Range(0)]
Number: TypeAlias = Annotated[float, Range(0)]
Duration: TypeAlias = Annotated[int, Seconds()]
Text: TypeAlias = Annotated[str, Shaped(r"(?s).*\S.*", in_words="a text that is not empty")]
Name: TypeAlias = Annotated[
    str, Shaped(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", in_words="a name of at most 64 letters, digits, `_`, `-` or `.`")
]
TimeOfDay: TypeAlias = Annotated[str, Shaped(r"(?:[01][0-9]|2[0-4]):[0-5][0-9]", in_words="a time such as 08:30")]
PeerName: TypeAlias = Annotated[
    str, Shaped(r"(?s)\*|[a-z0-9][a-z0-9_-]*:.+", in_words='a person as "channel:id", or "*"')
]


# --- models -----------------------------------------------------------------------------------------------------------

Thinking: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Levels of thinking: `off` sends none, each other one thinking with an effort."""


@final
@attrs.frozen(kw_only=True)
class ModelSetting:
    """A model and what to use instead of it."""

    primary: Text
    """The model: `provider/name`, a bare name, an alias or a family."""
    fallbacks: tuple[Text, ...] = ()
    """Models to try in this order when the first request of a turn fails for good."""


Model: TypeAlias = Annotated[ModelSetting, Short("primary")]


# --- secrets ----------------------------------------------------------------------------------------------------------

SecretKind: TypeAlias = Literal["text", "env", "file", "exec"]


@final
@attrs.frozen(repr=False)
class Secret:
    """A secret, or the place where it is; it is never shown."""

    kind: SecretKind
    reference: tuple[str, ...] = attrs.field(repr=False)
    """The text itself, the name of a variable, the path of a file, or a command with its arguments."""

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    @property
    def place(self) -> str:
        """Where the secret is, for people."""
        match self.kind:
            case "text":
                return "***"
            case "exec":
                return f"exec {Path(self.reference[0]).name}"
        return f"{self.kind} {self.reference[0]}"


def read_secret(value: Any, _: Any = None) -> Secret:
    """Return a secret; no problem shows the value, which may be the secret itself."""
    if isinstance(value, Secret):
        return value
    if isinstance(value, str):
        if not value:
            raise Unfit("must be a text that is not empty, or a reference")
        return Secret("text", (value,))
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, said),) = value.items()
        if kind in {"env", "file"} and isinstance(said, str) and said:
            return Secret(kind, (said,))
        if (
            kind == "exec"
            and isinstance(said, list)
            and said
            and all(isinstance(word, str) for word in said)
            and said[0]
        ):
            return Secret("exec", tuple(said))
    raise Unfit('must be a text, {env: "NAME"}, {file: "PATH"} or {exec: ["PROGRAM", ...]}')
