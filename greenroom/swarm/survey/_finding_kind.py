"""A kind of finding: its weight, how sure it is, why it matters and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

WEIGHTS: Final[Mapping[int, str]] = {3: "Mend first", 2: "Likely mistakes and risks", 1: "Tidiness"}
"""Names of the weights, heaviest first."""
_SURE: Final[Mapping[int, str]] = {3: "certain", 2: "likely", 1: "certain"}


@attrs.frozen
class FindingKind:
    """One kind of finding."""

    title: str
    weight: int
    """3: wrong as it stands; 2: a mistake or a risk, unless somebody has thought of it; 1: tidiness."""
    why: str
    fix: str
    sure: str = attrs.field(default=attrs.Factory(lambda kind: _SURE[kind.weight], takes_self=True))
    """`certain`: the text shows it; `likely`: a few of them are meant; `possible`: it has to be looked at."""
