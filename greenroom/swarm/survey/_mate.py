"""The playbook of a teammate: look at the files and make the searches that the item names, then leave the findings on the board.

What has been done is what the conversation shows since the item came in. The call that completes the item carries its findings, and
ends the turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from greenroom.models import AnswerLike, Call, ModelRequest, Say
from greenroom.swarm.survey._facts import Facts, FileFacts, Hit, SearchFacts, TextFacts, parse_facts, write_findings
from greenroom.swarm.survey._facts_tool import NAME as CODE_FACTS
from greenroom.swarm.survey._facts_tool import facts_without
from greenroom.swarm.survey._items import FileToRead, SurveyItem, SurveySearch, item_number, parse_item
from greenroom.swarm.survey._python import shortened
from greenroom.swarm.survey._survey_conversation import Received, SurveyConversation, ToolCall, read_conversation
from greenroom.swarm.survey._tool_answers import next_offset_of, parse_matches

SIDE_BY_SIDE: Final = 6
"""Tool calls in one answer."""
MAX_PAGES: Final = 12
"""Parts in which one search goes on."""
MAX_HITS: Final = 400


def play_mate(request: ModelRequest) -> AnswerLike:
    """Return a teammate's next step."""
    found = item_in_work(request)
    if isinstance(found, str):
        return found
    _, number, item, calls = found
    steps = list(_next_steps(item, calls))[:SIDE_BY_SIDE]
    return steps or complete(number, write_findings(number, amount_of(item), _facts(item, calls)))


def play_reader(request: ModelRequest) -> AnswerLike:
    """Return the next step of an agent that reads for a teammate: its last words are the findings."""
    conversation = read_conversation(request.messages)
    found = current_item(conversation)
    if found is None:
        return "I was given no item that I know."
    received, number, item = found
    calls = [call for call in conversation.calls if call.at > received.at]
    steps = list(_next_steps(item, calls))[:SIDE_BY_SIDE]
    return steps or write_findings(number, amount_of(item), _facts(item, calls))


def item_in_work(request: ModelRequest) -> tuple[Received, str, SurveyItem, Sequence[ToolCall]] | str:
    """Return the item that a teammate works on, with its number and the calls since it came; its words if there is nothing to do."""
    conversation = read_conversation(request.messages)
    found = current_item(conversation)
    if found is None:
        return "Ready. I take items from the board as they come."
    received, number, item = found
    calls = [call for call in conversation.calls if call.at > received.at]
    completed = [call for call in calls if call.name == "TaskUpdate"]
    if completed:
        went_wrong = completed[-1].is_error
        return f"Item {number} could not be completed." if went_wrong else f"Item {number} is done."
    return received, number, item, calls


def complete(number: str, findings: str) -> AnswerLike:
    """Return the step that completes an item."""
    return [
        Say(f"That was all of item {number}; my findings go to the board."),
        Call("TaskUpdate", {"taskId": number, "status": "completed", "findings": findings}),
    ]


def unread_facts(item: SurveyItem, why: str) -> Iterator[Facts]:
    """Yield the facts of an item that nobody could work on."""
    for file in item.files:
        yield facts_without(file.path, why)
    for search in item.searches:
        yield SearchFacts(label=search.label, problem=why)


def current_item(conversation: SurveyConversation) -> tuple[Received, str, SurveyItem] | None:
    """Return the latest item that came in, with its number."""
    for received in reversed(conversation.received):
        item = parse_item(received.text)
        number = item_number(received.text)
        if item is not None and number is not None:
            return received, number, item
    return None


def amount_of(item: SurveyItem) -> str:
    """Return the size of an item in words."""
    if item.searches:
        return "1 search" if len(item.searches) == 1 else f"{len(item.searches)} searches"
    return "1 file" if len(item.files) == 1 else f"{len(item.files)} files"


# --- what to call next ------------------------------------------------------------------------------------------------


def _next_steps(item: SurveyItem, calls: Sequence[ToolCall]) -> Iterator[Call]:
    left = _left(item.files, calls)
    if left:
        yield Call(CODE_FACTS, {"files": [file.path for file in left], "full": True})
    for search in item.searches:
        step = _next_search(search, _pages_of(search, calls))
        if step is not None:
            yield step


def _left(files: Sequence[FileToRead], calls: Sequence[ToolCall]) -> list[FileToRead]:
    """Return the files that are still to be looked at: an answer that shows none of them is not asked for again."""
    looks = _calls_for(calls, CODE_FACTS)
    if looks and (looks[-1].is_error or not _seen(looks[-1].result or "")):
        return []
    seen = {path for look in looks for path in _seen(look.result or "")}
    return [file for file in files if file.path not in seen]


def _calls_for(calls: Sequence[ToolCall], name: str, **wanted: Any) -> list[ToolCall]:
    return [call for call in calls if call.name == name and wanted.items() <= dict(call.input).items()]


# The same answer comes again in the next request of a turn; the function stays pure.
@lru_cache(maxsize=512)
def _seen(answer: str) -> dict[str, FileFacts | TextFacts]:
    return {fact.path: fact for fact in parse_facts(answer) if isinstance(fact, FileFacts | TextFacts)}


def _next_search(search: SurveySearch, pages: Sequence[ToolCall]) -> Call | None:
    if search.tool != "Grep":
        return None if pages else Call(search.tool, {"full": True})
    if not pages:
        return Call("Grep", _search_input(search))
    last = pages[-1]
    if last.is_error or last.result is None or len(pages) >= MAX_PAGES:
        return None
    offset = next_offset_of(last.result)
    if offset is None or sum(len(parse_matches(page.result or "")) for page in pages) >= MAX_HITS:
        return None
    return Call("Grep", {**_search_input(search), "offset": offset})


def _pages_of(search: SurveySearch, calls: Sequence[ToolCall]) -> list[ToolCall]:
    return _calls_for(calls, search.tool, **(_search_input(search) if search.tool == "Grep" else {}))


def _search_input(search: SurveySearch) -> dict[str, Any]:
    wanted: dict[str, Any] = {"pattern": search.pattern, "output_mode": "content", "head_limit": 0}
    if search.glob != "*":
        wanted["glob"] = search.glob
    if search.ignores_case:
        wanted["-i"] = True
    return wanted


# --- what it all says -------------------------------------------------------------------------------------------------


def _facts(item: SurveyItem, calls: Sequence[ToolCall]) -> Iterator[Facts]:
    looks = _calls_for(calls, CODE_FACTS)
    seen = {path: fact for look in looks for path, fact in _seen(look.result or "").items()}
    error = looks[-1].result if looks and looks[-1].is_error else ""
    for file in item.files:
        yield seen.get(file.path) or facts_without(file.path, shortened(error or "it was not read"))
    for search in item.searches:
        pages = _pages_of(search, calls)
        if search.tool == "Grep":
            yield search_facts(search, pages)
        elif pages and not pages[-1].is_error:
            yield from parse_facts(pages[-1].result or "")
        else:
            yield SearchFacts(
                label=search.label, problem=shortened(pages[-1].result or "") if pages else "not looked at"
            )


def search_facts(search: SurveySearch, pages: Sequence[ToolCall]) -> SearchFacts:
    """Return the facts of a search from the answers of Grep."""
    last = pages[-1] if pages else None
    if last is None or last.result is None:
        return SearchFacts(label=search.label, problem="it was not searched")
    if last.is_error:
        return SearchFacts(label=search.label, problem=shortened(last.result))
    matches = [match for page in pages for match in parse_matches(page.result or "")]
    hits = [Hit(match_.path, match_.line, shortened(match_.text)) for match_ in matches]
    return SearchFacts(
        label=search.label,
        hits=tuple(hits[:MAX_HITS]),
        files=len({hit.path for hit in hits}),
        is_cut=next_offset_of(last.result) is not None or len(hits) > MAX_HITS,
    )
