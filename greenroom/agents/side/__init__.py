"""Requests to an agent's model beside its turns: side questions, suggestions, summaries, notes."""

from greenroom.agents._beside import Beside, beside, quietly
from greenroom.agents.side._notes import MemoryChanges, NoteKeeper
from greenroom.agents.side._question import ask_aside
from greenroom.agents.side._suggestion import suggest_prompt
from greenroom.agents.side._summary import summaries, summarize

__all__ = [
    "Beside",
    "MemoryChanges",
    "NoteKeeper",
    "ask_aside",
    "beside",
    "quietly",
    "suggest_prompt",
    "summaries",
    "summarize",
]
