"""The survey playbook: rules by which a lead and its mates go through a folder and write a report, no model needed."""

from greenroom.cli.survey._keywords import keywords_of
from greenroom.cli.survey._lead import play_lead
from greenroom.cli.survey._mate import play_mate
from greenroom.cli.survey._prompts import CLOSING, LEAD_SYSTEM, MATE_SYSTEM, SURVEY_TASK, lead_prompt

__all__ = [
    "CLOSING",
    "LEAD_SYSTEM",
    "MATE_SYSTEM",
    "SURVEY_TASK",
    "keywords_of",
    "lead_prompt",
    "play_lead",
    "play_mate",
]
