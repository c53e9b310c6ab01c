"""Requests to an agent's model beside its turns: side questions, suggestions, summaries, notes."""

from greenroom.agents._side_run import SideRun, open_side_run, quietly
from greenroom.agents.side._note_keeper import MemoryChanges, NoteKeeper
from greenroom.agents.side._side_answers import ask_aside, suggest_prompt
from greenroom.agents.side._summary import summaries, summarize

__all__ = [
    "MemoryChanges",
    "NoteKeeper",
    "SideRun",
    "ask_aside",
    "open_side_run",
    "quietly",
    "suggest_prompt",
    "summaries",
    "summarize",
]
