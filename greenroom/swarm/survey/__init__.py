"""The survey playbook: rules by which a lead and its teammates examine a folder and write a report, without a model."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.swarm.survey._changes import look_at_changes
    from greenroom.swarm.survey._facts_tool import facts_tool, findings_in_short
    from greenroom.swarm.survey._far_mate import READER, WAIT, play_far_mate
    from greenroom.swarm.survey._folder_look import FolderLook, ItemSize, look_at_folder, size_of
    from greenroom.swarm.survey._keywords import play_search
    from greenroom.swarm.survey._lead import play_lead
    from greenroom.swarm.survey._mate import play_mate, play_reader
    from greenroom.swarm.survey._prompts import (
        CLOSING,
        FAR_MATE_SYSTEM,
        LEAD_SYSTEM,
        MATE_SYSTEM,
        READER_SYSTEM,
        REVIEW_TASK,
        REVIEWER_SYSTEM,
        SURVEY_TASK,
    )
    from greenroom.swarm.survey._tree_tool import tree_facts_tool
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.swarm.survey._changes": ("look_at_changes",),
            "greenroom.swarm.survey._facts_tool": ("facts_tool", "findings_in_short"),
            "greenroom.swarm.survey._far_mate": ("READER", "WAIT", "play_far_mate"),
            "greenroom.swarm.survey._folder_look": ("FolderLook", "ItemSize", "look_at_folder", "size_of"),
            "greenroom.swarm.survey._keywords": ("play_search",),
            "greenroom.swarm.survey._lead": ("play_lead",),
            "greenroom.swarm.survey._mate": ("play_mate", "play_reader"),
            "greenroom.swarm.survey._prompts": (
                "CLOSING",
                "FAR_MATE_SYSTEM",
                "LEAD_SYSTEM",
                "MATE_SYSTEM",
                "READER_SYSTEM",
                "REVIEWER_SYSTEM",
                "REVIEW_TASK",
                "SURVEY_TASK",
            ),
            "greenroom.swarm.survey._tree_tool": ("tree_facts_tool",),
        },
    )

__all__ = [
    "CLOSING",
    "FAR_MATE_SYSTEM",
    "LEAD_SYSTEM",
    "MATE_SYSTEM",
    "READER",
    "READER_SYSTEM",
    "REVIEWER_SYSTEM",
    "REVIEW_TASK",
    "SURVEY_TASK",
    "WAIT",
    "FolderLook",
    "ItemSize",
    "facts_tool",
    "findings_in_short",
    "look_at_changes",
    "look_at_folder",
    "play_far_mate",
    "play_lead",
    "play_mate",
    "play_reader",
    "play_search",
    "size_of",
    "tree_facts_tool",
]
