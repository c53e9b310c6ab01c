"""Ids of agents: one form, in which they are compared and stand in session keys."""

from __future__ import annotations

import re
from typing import Final

from greenroom.gateway.config._agents import MAIN_AGENT

_FORM: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_OTHERS: Final = re.compile(r"[^a-z0-9_-]+")
_MOST: Final = 64


def normal_agent_id(text: str) -> str:
    """Return an agent id in the form `[a-z0-9][a-z0-9_-]{0,63}`: trimmed, in lower case, other characters as `-`.

    An id that has the form is unchanged. A text of which nothing is left becomes `main`.
    """
    lower = text.strip().lower()
    if _FORM.fullmatch(lower):
        return lower
    return _OTHERS.sub("-", lower).lstrip("-_").rstrip("-")[:_MOST] or MAIN_AGENT
