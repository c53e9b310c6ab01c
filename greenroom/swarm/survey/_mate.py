"""The playbook of a teammate: read and search what the item names, then report.

What has been done is what the conversation shows since the item came in. The item is completed first and reported right
after, in one answer: the lead looks at the board when the message arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import attrs

from greenroom.models import AnswerLike, Call, ModelRequest, Say
from greenroom.swarm.survey._documents import is_document, survey_document
from greenroom.swarm.survey._facts import Facts, FileFacts, Hit, SearchFacts, TextFacts, write_findings
from greenroom.swarm.survey._items import FileToRead, SurveyItem, SurveySearch, item_number, parse_item
from greenroom.swarm.survey._python import shortened, survey_python
from greenroom.swarm.survey._searches import KEYS, may_be_key
from greenroom.swarm.survey._survey_conversation import Received, SurveyConversation, ToolCall, read_conversation
from greenroom.swarm.survey._tool_answers import next_offset_of, parse_matches, parse_page

SIDE_BY_SIDE: Final = 6
"""Tool calls in one answer."""
MAX_PAGES: Final = 12
"""Parts in which one file is read, or one search goes on."""
MAX_HITS: Final = 400
LEAD: Final = "lead"


def play_mate(request: ModelRequest) -> AnswerLike:
    """Return a teammate's next step."""
    conversation = read_conversation(request.messages)
    found = _current_item(conversation)
    if found is None:
        return "Ready. I take items from the board as they come."
    received, number, item = found
    calls = [call for call in conversation.calls if call.at > received.at]
    reported = [call for call in calls if call.name == "SendMessage"]
    if reported:
        went_wrong = reported[-1].is_error
        return f"Item {number} is done, but the lead could not be told." if went_wrong else f"Item {number} is done."
    steps = list(_next_steps(item, calls))[:SIDE_BY_SIDE]
    if steps:
        return steps
    return _report(number, item, calls)


def _current_item(conversation: SurveyConversation) -> tuple[Received, str, SurveyItem] | None:
    for received in reversed(conversation.received):
        item = parse_item(received.text)
        number = item_number(received.text)
        if item is not None and number is not None:
            return received, number, item
    return None


def _report(number: str, item: SurveyItem, calls: Sequence[ToolCall]) -> AnswerLike:
    facts = _facts(item, calls)
    summary = f"item {number}: {_amount(item)}"
    message = write_findings(number, _amount(item), facts)
    return [
        Say(f"That was all of item {number}; my findings go to the lead."),
        Call("TaskUpdate", {"taskId": number, "status": "completed"}),
        Call("SendMessage", {"to": LEAD, "message": message, "summary": summary}),
    ]


def _amount(item: SurveyItem) -> str:
    if item.searches:
        return "1 search" if len(item.searches) == 1 else f"{len(item.searches)} searches"
    return "1 file" if len(item.files) == 1 else f"{len(item.files)} files"


# --- what to call next ------------------------------------------------------------------------------------------------


def _next_steps(item: SurveyItem, calls: Sequence[ToolCall]) -> Iterator[Call]:
    for file in item.files:
        step = _next_page(file, _calls_for(calls, "Read", file_path=file.path))
        if step is not None:
            yield step
    for search in item.searches:
        step = _next_search(search, _calls_for(calls, "Grep", **_search_input(search)))
        if step is not None:
            yield step


def _calls_for(calls: Sequence[ToolCall], name: str, **wanted: Any) -> list[ToolCall]:
    return [call for call in calls if call.name == name and wanted.items() <= dict(call.input).items()]


def _next_page(file: FileToRead, pages: Sequence[ToolCall]) -> Call | None:
    if not pages:
        return Call("Read", {"file_path": file.path})
    last = pages[-1]
    if last.is_error or last.result is None or len(pages) >= MAX_PAGES:
        return None
    offset = parse_page(last.result).next_offset
    if offset is not None:
        return Call("Read", {"file_path": file.path, "offset": offset})
    # Read to its end: look at it now, a few files in each answer, so that no single answer takes long.
    file_facts(file.path, pages)
    return None


def _next_search(search: SurveySearch, pages: Sequence[ToolCall]) -> Call | None:
    if not pages:
        return Call("Grep", _search_input(search))
    last = pages[-1]
    if last.is_error or last.result is None or len(pages) >= MAX_PAGES:
        return None
    offset = next_offset_of(last.result)
    if offset is None or sum(len(parse_matches(page.result or "")) for page in pages) >= MAX_HITS:
        return None
    return Call("Grep", {**_search_input(search), "offset": offset})


def _search_input(search: SurveySearch) -> dict[str, Any]:
    wanted: dict[str, Any] = {"pattern": search.pattern, "output_mode": "content", "head_limit": 0}
    if search.glob != "*":
        wanted["glob"] = search.glob
    if search.ignores_case:
        wanted["-i"] = True
    return wanted


# --- what it all says -------------------------------------------------------------------------------------------------


def _facts(item: SurveyItem, calls: Sequence[ToolCall]) -> Iterator[Facts]:
    for file in item.files:
        yield file_facts(file.path, _calls_for(calls, "Read", file_path=file.path))
    for search in item.searches:
        yield search_facts(search, _calls_for(calls, "Grep", **_search_input(search)))


def file_facts(path: str, pages: Sequence[ToolCall]) -> FileFacts | TextFacts:
    """Return the facts of a file from the answers of Read."""
    last = pages[-1] if pages else None
    if last is None or last.result is None:
        return _facts_class(path)(path=path, problem="it was not read")
    if last.is_error:
        problem = shortened(last.result.removeprefix(f"{path} "))
        if "\\" in path and problem.startswith("does not exist"):  # the search wrote the name as it cannot be asked for
            problem = "not read: its name holds a line break or another character that is shown as an escape"
        return _facts_class(path)(path=path, problem=problem)
    return _analysed(path, tuple(page.result or "" for page in pages))


def _facts_class(path: str) -> type[FileFacts | TextFacts]:
    return TextFacts if is_document(path) else FileFacts


# The same pages come again in every request of a turn; the function stays pure.
@lru_cache(maxsize=512)
def _analysed(path: str, answers: tuple[str, ...]) -> FileFacts | TextFacts:
    pages = [parse_page(answer) for answer in answers]
    lines = [line for page in pages for line in page.lines]
    cut = [number for page in pages for number in page.cut_lines]
    problem = ""
    if pages[-1].next_offset is not None:
        problem = f"only the first {len(lines):,} lines were read"
    elif cut:
        problem = f"line {cut[0]} is too long to be read whole"
    if is_document(path):
        return survey_document(path, lines, problem)
    facts = survey_python(path, lines, problem)
    if not all(page.is_utf8 for page in pages) and not facts.problem:
        facts = attrs.evolve(facts, problem="not UTF-8: the bytes that are not were replaced")
    return facts


def search_facts(search: SurveySearch, pages: Sequence[ToolCall]) -> SearchFacts:
    """Return the facts of a search from the answers of Grep; of a possible secret only the place is passed on."""
    last = pages[-1] if pages else None
    if last is None or last.result is None:
        return SearchFacts(label=search.label, problem="it was not searched")
    if last.is_error:
        return SearchFacts(label=search.label, problem=shortened(last.result))
    matches = [match for page in pages for match in parse_matches(page.result or "")]
    if search.label == KEYS.label:
        # Keys that a manual shows say so themselves.
        hits = [Hit(match_.path, match_.line, "") for match_ in matches if may_be_key(match_.path, match_.text)]
    else:
        hits = [Hit(match_.path, match_.line, shortened(match_.text)) for match_ in matches]
    return SearchFacts(
        label=search.label,
        hits=tuple(hits[:MAX_HITS]),
        files=len({hit.path for hit in hits}),
        is_cut=next_offset_of(last.result) is not None or len(hits) > MAX_HITS,
    )
