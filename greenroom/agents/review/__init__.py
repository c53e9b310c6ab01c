"""Auto mode: what a reviewer of calls is shown, how its answer is read, and when a person is asked after all."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.agents.review._auto import AutoMode, AutoModeEnded, AutoModeStatistics
    from greenroom.agents.review._block_count import ReviewOutcome
    from greenroom.agents.review._review_settings import AutoModeSettings
    from greenroom.agents.review._words import (
        Review,
        ReviewedHistory,
        ReviewNotes,
        Unreviewable,
        call_lines,
        call_system,
        call_text,
        handoff_system,
        handoff_text,
        read_review,
    )
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.agents.review._auto": ("AutoMode", "AutoModeEnded", "AutoModeStatistics"),
            "greenroom.agents.review._block_count": ("ReviewOutcome",),
            "greenroom.agents.review._review_settings": ("AutoModeSettings",),
            "greenroom.agents.review._words": (
                "Review",
                "ReviewedHistory",
                "ReviewNotes",
                "Unreviewable",
                "call_lines",
                "call_system",
                "call_text",
                "handoff_system",
                "handoff_text",
                "read_review",
            ),
        },
    )

__all__ = [
    "AutoMode",
    "AutoModeEnded",
    "AutoModeSettings",
    "AutoModeStatistics",
    "Review",
    "ReviewNotes",
    "ReviewOutcome",
    "ReviewedHistory",
    "Unreviewable",
    "call_lines",
    "call_system",
    "call_text",
    "handoff_system",
    "handoff_text",
    "read_review",
]
