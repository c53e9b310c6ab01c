"""Everyday commands run unasked: what a stricter list costs the people who use it."""

from __future__ import annotations

from tests.permissions.everyday import RULES, everyday
from tests.permissions.policies import policy

MAX_ANEW = 6


def test_everyday_commands_are_decided_as_listed() -> None:
    held = policy(allow=RULES)

    assert [(row.command, row.decided(held)) for row in everyday()] == [
        (row.command, row.expected) for row in everyday()
    ]


def test_everyday_commands_asked_anew_are_few_and_explained() -> None:
    anew = [row for row in everyday() if row.before == "allow" and row.expected != "allow"]

    assert len(everyday()) == 300
    assert len(anew) <= MAX_ANEW
    assert all(row.reason for row in anew)
