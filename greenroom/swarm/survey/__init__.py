"""The survey playbook: rules by which a lead and its teammates examine a folder and write a report, without a model."""

from greenroom.swarm.survey._changes import look_at_changes
from greenroom.swarm.survey._facts_tool import facts_tool
from greenroom.swarm.survey._keywords import play_search
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
    "facts_tool",
    "look_at_changes",
    "play_lead",
    "play_mate",
    "play_search",
]
