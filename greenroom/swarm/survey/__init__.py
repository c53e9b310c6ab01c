"""The survey playbook: rules by which a lead and its teammates examine a folder and write a report, without a model."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.swarm.survey._changes import look_at_changes
    from greenroom.swarm.survey._facts_tool import facts_tool, findings_in_short
    from greenroom.swarm.survey._folder_look import FolderLook, ItemSize, look_at_folder, size_of
    from greenroom.swarm.survey._keywords import play_search
    from greenroom.swarm.survey._lead import play_lead
    from greenroom.swarm.survey._mate import play_mate
    from greenroom.swarm.survey._prompts import (
        CLOSING,
        LEAD_SYSTEM,
        MATE_SYSTEM,
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
            "greenroom.swarm.survey._folder_look": ("FolderLook", "ItemSize", "look_at_folder", "size_of"),
            "greenroom.swarm.survey._keywords": ("play_search",),
            "greenroom.swarm.survey._lead": ("play_lead",),
            "greenroom.swarm.survey._mate": ("play_mate",),
            "greenroom.swarm.survey._prompts": (
                "CLOSING",
                "LEAD_SYSTEM",
                "MATE_SYSTEM",
                "REVIEWER_SYSTEM",
                "REVIEW_TASK",
                "SURVEY_TASK",
            ),
            "greenroom.swarm.survey._tree_tool": ("tree_facts_tool",),
        },
    )

__all__ = [
    "CLOSING",
    "LEAD_SYSTEM",
    "MATE_SYSTEM",
    "REVIEWER_SYSTEM",
    "REVIEW_TASK",
    "SURVEY_TASK",
    "FolderLook",
    "ItemSize",
    "facts_tool",
    "findings_in_short",
    "look_at_changes",
    "look_at_folder",
    "play_lead",
    "play_mate",
    "play_search",
    "size_of",
    "tree_facts_tool",
]
