"""The playbook of a lead: look at the folder, put items on the board, gather the findings, write the report.

Between two messages it waits by ending its turn. The report is written when every item is completed and every finding is
here, or when it is told that nothing more will come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from greenroom.models import AnswerLike, Call, ModelRequest, Say
from greenroom.swarm.survey._documents import is_document
from greenroom.swarm.survey._facts import Facts, parse_findings
from greenroom.swarm.survey._items import SurveyItem, describe
from greenroom.swarm.survey._keywords import plan_keywords, write_keyword_report
from greenroom.swarm.survey._listing import Listing, next_looks, read_listing
from greenroom.swarm.survey._partition import plan_reading
from greenroom.swarm.survey._prompts import CLOSING, Assignment, parse_assignment
from greenroom.swarm.survey._python import shortened
from greenroom.swarm.survey._report import write_report
from greenroom.swarm.survey._review import plan_review, write_review
from greenroom.swarm.survey._searches import CONFLICTS, KEYS, LEFTOVERS, MARKERS
from greenroom.swarm.survey._survey import Survey
from greenroom.swarm.survey._survey_conversation import SurveyConversation, ToolCall, read_conversation
from greenroom.swarm.survey._tool_answers import parse_items

MAX_DOCUMENTS: Final = 400
WANTED_DOCUMENT_ITEMS: Final = 3
_KEYS_AND_CONFLICTS: Final = SurveyItem(subject="Search for keys and merge conflicts", searches=(KEYS, CONFLICTS))


@attrs.frozen
class _Board:
    open: tuple[str, ...]
    unreported: tuple[str, ...]


def play_lead(request: ModelRequest) -> AnswerLike:
    """Return what the lead does next."""
    conversation = read_conversation(request.messages)
    told = [(message.at, parse_assignment(message.text)) for message in conversation.received]
    assigned = [(at, one) for at, one in told if one is not None]
    if not assigned:
        return "I am rule-based and was given no task that I know: a task, a folder and the names of the mates."
    at, assignment = assigned[-1]
    looks = next_looks(conversation)
    if looks:
        return [Say("First a look at the folder."), *looks] if len(looks) > 1 else looks
    listing = read_listing(conversation)
    since = max(at, conversation.cut_at)  # of the items before a cut, only the board knows which are there
    created = conversation.calls_of("TaskCreate", since=since)
    items = () if created else _plan(assignment, listing)
    has_items = bool(created)
    if items and (len(assigned) > 1 or conversation.cut_at >= 0):  # this is resumed: some items may be there
        lists = conversation.calls_of("TaskList", since=since)
        if not lists:
            return Call("TaskList")
        there = {item.subject for item in parse_items(lists[-1].result or "")}
        items, has_items = tuple(item for item in items if item.subject not in there), bool(there)
    if items:
        return [
            Say(f"{listing.total:,} files. I put {_count(len(items), 'item')} on the board."),
            *(Call("TaskCreate", {"subject": item.subject, "description": describe(item)}) for item in items),
        ]
    return _go_on(conversation, assignment, listing, has_items=has_items)


def _plan(assignment: Assignment, listing: Listing) -> tuple[SurveyItem, ...]:
    has_text = bool(listing.python or listing.others)
    if assignment.changes is not None:
        return (*plan_review(assignment.changes, listing), *((_KEYS_AND_CONFLICTS,) if has_text else ()))
    if not assignment.is_survey:
        return plan_keywords(assignment.task) if has_text else ()
    items = list(plan_reading(listing.python))
    documents = {path: lines for path, lines in listing.others.items() if is_document(path)}
    items += plan_reading(dict(sorted(documents.items())[:MAX_DOCUMENTS]), wanted_items=WANTED_DOCUMENT_ITEMS)
    if listing.others:
        items.append(SurveyItem(subject="Search for to-do markers outside Python", searches=(MARKERS,)))
    if has_text:
        items.append(
            SurveyItem(subject="Search for merge conflicts and debugging leftovers", searches=(CONFLICTS, LEFTOVERS))
        )
        items.append(SurveyItem(subject="Search for keys and passwords", searches=(KEYS,)))
    return tuple(items)


def _go_on(
    conversation: SurveyConversation, assignment: Assignment, listing: Listing, *, has_items: bool
) -> AnswerLike:
    reports = conversation.calls_of("WriteReport")
    news = [message for message in conversation.received if not reports or message.at > reports[-1].at]
    if reports and not any(parse_findings(message.text) for message in news):
        return "The report could not be written." if reports[-1].is_error else "The report is written."
    created = conversation.calls_of("TaskCreate")
    if has_items:
        last = conversation.received[-1].at
        if created and last < created[-1].at:
            return _after_planning(created)
        lists = conversation.calls_of("TaskList", since=last)
        if not lists:
            return Call("TaskList")
        board = _board(lists[-1].result or "", _findings(conversation))
        is_closing = any(CLOSING in new.text for new in news)
        if (board.open or board.unreported) and not is_closing:
            return _waiting(board)
        left = board.open + board.unreported
    else:
        left = ()
    content = _write(assignment, listing, _findings(conversation), left)
    return [Say("All findings are here; I write the report."), Call("WriteReport", {"content": content})]


def _after_planning(created: Sequence[ToolCall]) -> str:
    refused = [call for call in created if call.is_error]
    text = f"{_count(len(created) - len(refused), 'item')} on the board. The mates take it from here."
    if refused:
        text += f" {_count(len(refused), 'item')} could not be put there: {shortened(refused[0].result or '')}"
    return text


def _board(listed: str, findings: Mapping[str, tuple[Facts, ...]]) -> _Board:
    items = parse_items(listed)
    return _Board(
        tuple(item.id for item in items if item.status != "completed"),
        tuple(item.id for item in items if item.status == "completed" and item.id not in findings),
    )


def _waiting(board: _Board) -> str:
    parts = []
    if board.open:
        parts.append(f"{_count(len(board.open), 'item')} still open ({', '.join(board.open)})")
    if board.unreported:
        parts.append(f"findings on {', '.join(board.unreported)} are still on their way")
    return "; ".join(parts) + "."


def _findings(conversation: SurveyConversation) -> dict[str, tuple[Facts, ...]]:
    """Return the facts by item; who reports twice replaces what came first."""
    return {
        finding.item: finding.facts for received in conversation.received for finding in parse_findings(received.text)
    }


def _write(
    assignment: Assignment, listing: Listing, findings: Mapping[str, tuple[Facts, ...]], left: tuple[str, ...]
) -> str:
    # By number, so that the report does not depend on who was faster.
    facts = [
        finding for item in sorted(findings, key=lambda number: (len(number), number)) for finding in findings[item]
    ]
    survey = Survey.gather(assignment.folder, listing, facts, left)
    if assignment.changes is not None:
        return write_review(survey, assignment.changes)
    if assignment.is_survey:
        return write_report(survey)
    return write_keyword_report(assignment.task, survey)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
