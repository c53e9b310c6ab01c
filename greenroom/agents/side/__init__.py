"""Requests to an agent's model beside its turns: side questions, suggestions, summaries, notes."""

from greenroom.agents._beside import Beside, beside, quietly
from greenroom.agents.side._notes import MemoryChanges, NoteKeeper
from greenroom.agents.side._question import ask_aside, question_directive
from greenroom.agents.side._suggestion import read_suggestion, suggest_prompt
from greenroom.agents.side._summary import read_summary, summaries, summarize

__all__ = [
    "Beside",
    "MemoryChanges",
    "NoteKeeper",
    "ask_aside",
    "beside",
    "question_directive",
    "quietly",
    "read_suggestion",
    "read_summary",
    "suggest_prompt",
    "summaries",
    "summarize",
]
