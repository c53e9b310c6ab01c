"""The playbook of a lead: look at the folder, put items on the board, read the findings there, write the report.

Between two messages it waits by ending its turn. The report is written when every item is completed, or when it is told that
nothing more will come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

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
from greenroom.swarm.survey._searches import CONFLICTS, LEFTOVERS, MARKERS, TREE
from greenroom.swarm.survey._survey import Survey
from greenroom.swarm.survey._survey_conversation import SurveyConversation, ToolCall, read_conversation
from greenroom.swarm.survey._tool_answers import parse_full_item, parse_items

MAX_DOCUMENTS: Final = 400
WANTED_DOCUMENT_ITEMS: Final = 3
_LIST: Final = Call("TaskList", {"status": "all"})
_PROGRESS: Final = re.compile(r"\d+ of \d+ tasks on the board are completed")
_TREE_AND_CONFLICTS: Final = SurveyItem(
    subject="Look across the tree, and for merge conflicts", searches=(TREE, CONFLICTS)
)


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
    items = () if created else plan_items(assignment, listing)
    has_items = bool(created)
    if items and (len(assigned) > 1 or conversation.cut_at >= 0):  # this is resumed: some items may be there
        lists = conversation.calls_of("TaskList", since=since)
        if not lists:
            return _LIST
        there = {item.subject for item in parse_items(lists[-1].result or "")}
        items, has_items = tuple(item for item in items if item.subject not in there), bool(there)
    if items:
        return [
            Say(f"{listing.total:,} files. I put {_count(len(items), 'item')} on the board."),
            *(Call("TaskCreate", {"subject": item.subject, "description": describe(item)}) for item in items),
        ]
    return _go_on(conversation, assignment, listing, has_items=has_items)


def plan_items(assignment: Assignment, listing: Listing) -> tuple[SurveyItem, ...]:
    """Return the items that the rules put on the board."""
    has_text = bool(listing.python or listing.others)
    if assignment.changes is not None:
        return (*plan_review(assignment.changes, listing), *((_TREE_AND_CONFLICTS,) if has_text else ()))
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
        items.append(
            SurveyItem(
                subject="Look across the whole tree: keys, unused code, imports, documentation", searches=(TREE,)
            )
        )
    return tuple(items)


def _go_on(
    conversation: SurveyConversation, assignment: Assignment, listing: Listing, *, has_items: bool
) -> AnswerLike:
    last, reports = conversation.received[-1], conversation.calls_of("WriteReport")
    if reports and (reports[-1].at > last.at or not has_items):
        return "The report could not be written." if reports[-1].is_error else "The report is written."
    left: tuple[str, ...] = ()
    if has_items:
        created = conversation.calls_of("TaskCreate")
        if created and last.at < created[-1].at:
            return _after_planning(created)
        if (progress := _PROGRESS.search(last.text)) is not None:
            return f"{progress[0]}."
        lists = conversation.calls_of("TaskList", since=last.at)
        if not lists:
            return _LIST
        items = parse_items(lists[-1].result or "")
        left = tuple(item.id for item in items if item.status != "completed")
        since = reports[-1].at if reports else -1
        if left and not any(CLOSING in one.text for one in conversation.received if one.at > since):
            return f"{_count(len(left), 'item')} still open ({', '.join(left)})."
        read = {str(call.input.get("taskId")) for call in conversation.calls_of("TaskGet") if not call.is_error}
        unread = [item.id for item in items if item.status == "completed" and item.id not in read]
        if unread:
            return [Call("TaskGet", {"taskId": number}) for number in unread]
        if reports and not conversation.calls_of("TaskGet", since=since):
            return "The report is written."
        left += tuple(item.id for item in items if item.id in read and item.id not in _findings(conversation))
    content = _write(assignment, listing, _findings(conversation), left)
    return [Say("All findings are here; I write the report."), Call("WriteReport", {"content": content})]


def _after_planning(created: Sequence[ToolCall]) -> str:
    refused = [call for call in created if call.is_error]
    text = f"{_count(len(created) - len(refused), 'item')} on the board. The mates take it from here."
    if refused:
        text += f" {_count(len(refused), 'item')} could not be put there: {shortened(refused[0].result or '')}"
    return text


def _findings(conversation: SurveyConversation) -> dict[str, tuple[Facts, ...]]:
    """Return the facts by item, as the board keeps them."""
    items = (parse_full_item(call.result or "") for call in conversation.calls_of("TaskGet"))
    return {item.id: finding.facts for item in items if item for finding in parse_findings(item.findings)}


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
