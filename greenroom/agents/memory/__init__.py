"""The memory of agents: the project's instruction files, and folders of notes that an agent keeps itself."""

from greenroom.agents.memory._by_file import InstructionsByFile
from greenroom.agents.memory._folders import (
    MEMORY_FILE,
    MEMORY_TOOLS,
    MemoryFolder,
    agent_memory,
    is_memory_on,
    main_memory,
    tools_with_memory,
)
from greenroom.agents.memory._imports import HOPS, imports_of
from greenroom.agents.memory._instructions import (
    InstructionFile,
    Instructions,
    Rule,
    instructions_below,
    load_instructions,
    reads_added,
    render_instructions,
)
from greenroom.agents.memory._lock import NotesUnavailable, hold_notes
from greenroom.agents.memory._notes import NOTES_BYTES, NOTES_LINES, Notes, cut_notes, read_notes, render_memory

__all__ = [
    "HOPS",
    "MEMORY_FILE",
    "MEMORY_TOOLS",
    "NOTES_BYTES",
    "NOTES_LINES",
    "InstructionFile",
    "Instructions",
    "InstructionsByFile",
    "MemoryFolder",
    "Notes",
    "NotesUnavailable",
    "Rule",
    "agent_memory",
    "cut_notes",
    "hold_notes",
    "imports_of",
    "instructions_below",
    "is_memory_on",
    "load_instructions",
    "main_memory",
    "read_notes",
    "reads_added",
    "render_instructions",
    "render_memory",
    "tools_with_memory",
]
