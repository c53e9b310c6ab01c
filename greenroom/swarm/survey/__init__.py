"""The survey playbook: rules by which a lead and its mates go through a folder and write a report, no model needed."""

from greenroom.swarm.survey._changes import look_at_changes
from greenroom.swarm.survey._keywords import keywords_of
from greenroom.swarm.survey._lead import play_lead
from greenroom.swarm.survey._mate import play_mate
from greenroom.swarm.survey._prompts import CLOSING, LEAD_SYSTEM, MATE_SYSTEM, REVIEW_TASK, REVIEWER_SYSTEM, SURVEY_TASK

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
