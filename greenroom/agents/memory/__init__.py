"""The memory of agents: the project's instruction files, and folders of notes that an agent keeps itself."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.agents.memory._by_file import InstructionsByFile
    from greenroom.agents.memory._folders import (
        MEMORY_FILE,
        MemoryFolder,
        agent_memory,
        folder_name,
        is_memory_on,
        main_memory,
        tools_with_memory,
    )
    from greenroom.agents.memory._instructions import (
        InstructionFile,
        Instructions,
        load_instructions,
        reads_added,
        render_instructions,
    )
    from greenroom.agents.memory._lock import NotesUnavailable, hold_notes
    from greenroom.agents.memory._notes import NOTES_LINES, Notes, read_notes, render_memory
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.agents.memory._by_file": ("InstructionsByFile",),
            "greenroom.agents.memory._folders": (
                "MEMORY_FILE",
                "MemoryFolder",
                "agent_memory",
                "folder_name",
                "is_memory_on",
                "main_memory",
                "tools_with_memory",
            ),
            "greenroom.agents.memory._instructions": (
                "InstructionFile",
                "Instructions",
                "load_instructions",
                "reads_added",
                "render_instructions",
            ),
            "greenroom.agents.memory._lock": ("NotesUnavailable", "hold_notes"),
            "greenroom.agents.memory._notes": ("NOTES_LINES", "Notes", "read_notes", "render_memory"),
        },
    )

__all__ = [
    "MEMORY_FILE",
    "NOTES_LINES",
    "InstructionFile",
    "Instructions",
    "InstructionsByFile",
    "MemoryFolder",
    "Notes",
    "NotesUnavailable",
    "agent_memory",
    "folder_name",
    "hold_notes",
    "is_memory_on",
    "load_instructions",
    "main_memory",
    "read_notes",
    "reads_added",
    "render_instructions",
    "render_memory",
    "tools_with_memory",
]
