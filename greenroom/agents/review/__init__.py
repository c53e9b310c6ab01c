"""Auto mode: what a reviewer of calls is shown, how its answer is read, and when a person is asked after all."""

from greenroom.agents.review._auto import AutoMode, AutoModeEnded, AutoModeStatistics
from greenroom.agents.review._counting import Outcome
from greenroom.agents.review._notes import ReviewNotes
from greenroom.agents.review._settings import AutoModeSettings
from greenroom.agents.review._words import (
    History,
    Review,
    Unreviewable,
    call_lines,
    call_system,
    call_text,
    handoff_system,
    handoff_text,
    read_review,
)

__all__ = [
    "AutoMode",
    "AutoModeEnded",
    "AutoModeSettings",
    "AutoModeStatistics",
    "History",
    "Outcome",
    "Review",
    "ReviewNotes",
    "Unreviewable",
    "call_lines",
    "call_system",
    "call_text",
    "handoff_system",
    "handoff_text",
    "read_review",
]
