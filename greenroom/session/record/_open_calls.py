"""The calls that an earlier process left open: those that somebody was asked about, and one that a hook put off."""

from __future__ import annotations

from pathlib import Path

from greenroom.agents import Loaded, open_calls
from greenroom.agents.events import CallDeferred, PermissionAnswered, PermissionAsked, ToolBegan
from greenroom.core.ports import Blocking
from greenroom.models import ToolUseBlock
from greenroom.session.record._json_lines import objects_of
from greenroom.trace import JOURNAL


async def find_unanswered(run_folder: Path, loaded: Loaded | None, blocking: Blocking) -> tuple[ToolUseBlock, ...]:
    """Return the calls that a conversation ends with about which somebody was asked, and has not answered.

    A call that was answered may have begun to run, so it is not among them: it never runs twice.
    """
    calls = () if loaded is None else open_calls(loaded.messages)
    if not calls:
        return ()
    asked = await blocking.run(_read_asked, run_folder / JOURNAL)
    return tuple(call for call in calls if call.id in asked)


async def find_deferred(run_folder: Path, loaded: Loaded | None, blocking: Blocking) -> ToolUseBlock | None:
    """Return the call that a conversation ends with and that was put off, if it has not begun to run since."""
    calls = () if loaded is None else open_calls(loaded.messages)
    if len(calls) != 1:
        return None
    return calls[0] if await blocking.run(_is_put_off, run_folder / JOURNAL, calls[0].id) else None


def _is_put_off(journal: Path, call: str) -> bool:
    is_put_off = False
    for values in objects_of(journal, b'"tool.'):
        if values.get("call") == call and values.get("ev") in {ToolBegan.kind, CallDeferred.kind}:
            is_put_off = values["ev"] == CallDeferred.kind
    return is_put_off


def _read_asked(journal: Path) -> set[str]:
    asked: set[str] = set()
    for values in objects_of(journal, b'"permission.'):
        call = str(values.get("call"))
        if values.get("ev") == PermissionAsked.kind:
            asked.add(call)
        elif values.get("ev") == PermissionAnswered.kind and values.get("answer") != "withdrawn":
            asked.discard(call)
    return asked
