"""Names of worktrees: one path component and one branch, safe as both.

A name given by a user is used unchanged or refused. A generated name is safe whatever it is made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from greenroom.core import UsageError

BRANCH_PREFIX: Final = "worktree-"
LONGEST: Final = 64
ID_CHARACTERS: Final = 8

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_UNSAFE: Final = re.compile(r"[^a-z0-9_-]+")
_ADJECTIVES: Final = (
    "amber",
    "brisk",
    "calm",
    "deep",
    "fair",
    "glad",
    "keen",
    "mild",
    "neat",
    "quiet",
    "swift",
    "tidy",
    "vivid",
    "warm",
)
_NOUNS: Final = (
    "ash",
    "brook",
    "cliff",
    "dune",
    "elm",
    "fern",
    "grove",
    "heron",
    "isle",
    "lake",
    "moss",
    "oak",
    "pine",
    "reed",
    "tern",
)


def is_name(name: str) -> bool:
    """Return True if git accepts it as part of a branch, and every file system as a folder."""
    return (
        len(name) <= LONGEST
        and _NAME.fullmatch(name) is not None
        and ".." not in name
        and not name.endswith((".", ".lock"))
    )


def check_name(name: str) -> str:
    """Return a name that can be used unchanged.

    Raises:
        UsageError: It cannot be used; the message offers a valid one.
    """
    if is_name(name):
        return name
    raise UsageError(
        f"cannot name a worktree {name!r}: use letters, digits, '.', '_' and '-', at most {LONGEST}, beginning with a "
        f"letter or digit; for example {slug_of(name)!r}"
    )


def slug_of(text: str) -> str:
    """Return the valid name nearest to a text; `worktree` if nothing of it is usable."""
    return _UNSAFE.sub("-", text.lower())[:LONGEST].strip("-_") or "worktree"


def agent_name(agent_id: str) -> str:
    """Return the name of an agent's worktree: `agent-` and the first 8 characters of its id."""
    return f"agent-{slug_of(agent_id[:ID_CHARACTERS])}"


def random_name(chance: Callable[[], float]) -> str:
    """Return a name of two words for a session's worktree.

    Args:
        chance: Returns a number in [0, 1).
    """
    return "-".join(words[int(chance() * len(words))] for words in (_ADJECTIVES, _NOUNS))


def nth_name(name: str, number: int) -> str:
    """Return the name for the given attempt: `name`, `name-2`, `name-3`."""
    if number == 1:
        return name
    suffix = f"-{number}"
    return name[: LONGEST - len(suffix)].rstrip(".") + suffix


def branch_of(name: str) -> str:
    """Return the branch of the worktree of this name."""
    return BRANCH_PREFIX + name
