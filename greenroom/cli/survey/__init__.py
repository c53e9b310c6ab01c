"""The survey playbook: rules by which a lead and its mates go through a folder and write a report, no model needed."""

from greenroom.cli.survey._changes import look_at_changes
from greenroom.cli.survey._keywords import keywords_of
from greenroom.cli.survey._lead import play_lead
from greenroom.cli.survey._mate import play_mate
from greenroom.cli.survey._prompts import CLOSING, LEAD_SYSTEM, MATE_SYSTEM, REVIEW_TASK, REVIEWER_SYSTEM, SURVEY_TASK

__all__ = [
    "CLOSING",
    "LEAD_SYSTEM",
    "MATE_SYSTEM",
    "REVIEWER_SYSTEM",
    "REVIEW_TASK",
    "SURVEY_TASK",
    "keywords_of",
    "look_at_changes",
    "play_lead",
    "play_mate",
]
