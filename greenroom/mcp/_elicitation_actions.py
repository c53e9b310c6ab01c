"""Reactions of people to questions of servers."""

from __future__ import annotations

from enum import StrEnum


class ElicitationAction(StrEnum):
    """A person's reaction to a question."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"
    """It was dismissed without an answer."""
