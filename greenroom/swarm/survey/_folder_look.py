"""The first look at a folder without a lead: the items that the rules would make of it, and how much there is to read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from greenroom.swarm.survey._items import SurveyItem, parse_item
from greenroom.swarm.survey._lead import plan_items
from greenroom.swarm.survey._listing import next_looks, read_listing
from greenroom.swarm.survey._prompts import SURVEY_TASK, Assignment, parse_assignment
from greenroom.swarm.survey._survey_conversation import SurveyConversation, ToolCall
from greenroom.tools import ToolError


@attrs.frozen
class ItemSize:
    """The size of an item."""

    files: int
    """0 for a search."""
    lines: int


@attrs.frozen(kw_only=True)
class FolderLook:
    """The folder as a lead sees it."""

    characters: int
    """The length of the answers to its looks."""
    items: tuple[ItemSize, ...]


async def look_at_folder(prompt: str, call: Callable[[str, Mapping[str, Any]], Awaitable[str]]) -> FolderLook:
    """Look at a folder as a lead does that is told to survey it, or to review its changes.

    Args:
        prompt: The lead's first prompt.
        call: Calls a tool by its name.
    """
    calls: list[ToolCall] = []
    while looks := next_looks(SurveyConversation(tuple(calls), ())):
        for look in looks:
            try:
                result, is_error = await call(look.name, look.input), False
            except ToolError as error:
                result, is_error = str(error), True
            calls.append(ToolCall(len(calls), look.name, look.input, result, is_error))
    listing = read_listing(SurveyConversation(tuple(calls), ()))
    told = parse_assignment(prompt)
    items = plan_items(Assignment(SURVEY_TASK, "", None if told is None else told.changes), listing)
    return FolderLook(
        characters=sum(len(one.result or "") for one in calls), items=tuple(_size_of(item) for item in items)
    )


def size_of(description: str) -> ItemSize:
    """Return the size of an item of the board; one in other words counts as a search."""
    item = parse_item(description)
    return ItemSize(0, 0) if item is None else _size_of(item)


def _size_of(item: SurveyItem) -> ItemSize:
    return ItemSize(len(item.files), sum(file.lines or 0 for file in item.files))
