"""Lets an agent read what holds where it works, in the step in which it works there: instructions and skills."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from greenroom.agents import AgentState, latest_hooking
from greenroom.agents.memory import InstructionFile, Instructions, InstructionsByFile, render_instructions
from greenroom.core.ports import Blocking
from greenroom.core.sources import Places
from greenroom.models import ToolUseBlock
from greenroom.permissions import ToolKind, traits_of
from greenroom.session.equipment._session_hooks import tell_of_instructions
from greenroom.skills import SkillSource, listing


def follow_files(
    home: AgentState,
    places: Places,
    told: Instructions,
    skills: SkillSource,
    blocking: Blocking,
    problems: list[str],
) -> Callable[[Sequence[ToolUseBlock]], Awaitable[list[str]]]:
    """Return what is asked after each batch of an agent's calls, and answers with what the model is to read of it.

    Args:
        home: The agent's.
        places: Of the session.
        told: What is in its prompt.
        skills: Of the session.
        blocking: Where files are read.
        problems: Takes what could not be read, a line each.
    """
    by_file = InstructionsByFile(places, told)

    async def follow(calls: Sequence[ToolUseBlock]) -> list[str]:
        paths = [path for call in calls if (path := _file_of(call, home, places)) is not None and by_file.is_new(path)]
        if not paths:
            return []
        files: list[InstructionFile] = []
        for trigger, found, notes in await blocking.run(lambda: [(path, *by_file.take([path])) for path in paths]):
            files += found
            problems.extend(str(note) for note in notes if note.is_problem)
            tell_of_instructions(latest_hooking(home), [(entry, by_file.globs_of(entry)) for entry in found], trigger)
        texts = [render_instructions(files)] if files else []
        return texts + await _new_skills(home, skills, paths)

    return follow


async def _new_skills(home: AgentState, skills: SkillSource, paths: Sequence[Path]) -> list[str]:
    """Return what is said of skills that count now because of these files; nothing to an agent that can call none."""
    if not sum(skills.touch(path) for path in paths):  # all of them, not up to the first
        return []
    before = set(skills.current)
    found = await skills.refresh()
    lines = listing(one for name, one in found.items() if name not in before)
    return [f"These skills are here as well:\n{lines}"] if lines and home.profile.skill_tool is not None else []


def _file_of(call: ToolUseBlock, home: AgentState, places: Places) -> Path | None:
    """Return the file that a call reads or changes; what lies in a worktree counts as what it is a copy of."""
    traits = traits_of(call.name)
    said = call.input.get(traits.subject) if traits.kind in (ToolKind.READ, ToolKind.EDIT) else None
    if not isinstance(said, str) or traits.searches or "\0" in said:
        return None
    path = Path(os.path.normpath(home.cwd / said))
    if home.profile.place is not None and path.is_relative_to(home.profile.place):
        return places.cwd / path.relative_to(home.profile.place)
    return path
