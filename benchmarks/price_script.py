"""The scripted lead and teammates of the benchmark of prices: answers made of what came over the wire, and of nothing else.

They work in whichever way the tools of the request allow: with CodeFacts the files of an item are looked at by it, and only ranges in
doubt are read; without it whole files are read, and findings go to the lead by mail.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from typing import Final

import attrs

from greenroom.agents._blocks import decode_known
from greenroom.models import AnswerLike, Call, Message, ModelRequest, Say, TextBlock, Usage, as_answer
from greenroom.models._written_answers import estimate_usage
from greenroom.swarm.survey import play_lead
from greenroom.swarm.survey._items import SurveyItem, item_number, parse_item
from greenroom.swarm.survey._survey_conversation import ToolCall, read_conversation
from greenroom.swarm.survey._tool_answers import parse_items
from greenroom.testing import ReceivedRequest, StreamReply

LEAD, MATE = "lead", "mate"
FINDINGS_CHARS: Final = 800
REPORT_CHARS: Final = 8_000
SUMMARY: Final = "What was done in this conversation"
SUMMARY_CHARS: Final = 2_000
WHOLE_FILES: Final = 16
"""Files that a teammate without facts reads of an item."""
RANGES, RANGE_LINES = 8, 120
"""Ranges of an item that facts leave in doubt, and their length."""
_PLACE: Final = re.compile(r"^\s*:(\d+) ", re.MULTILINE)


@attrs.frozen
class Said:
    """An answer that was given."""

    role: str
    output_tokens: int


class Script:
    """Answers requests of a survey; `said` has each answer, in order."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self._ids = itertools.count(1)

    def __call__(self, received: ReceivedRequest) -> StreamReply:
        body = received.body
        role = LEAD if "You lead a small team" in json.dumps(body["system"]) else MATE
        messages = [message for message, _ in map(decode_known, body["messages"]) if message is not None]
        keeps_findings = "findings" in json.dumps([tool for tool in body["tools"] if tool["name"] == "TaskUpdate"])
        if "about to be replaced by a summary" in messages[-1].text:
            answer = as_answer(f"<summary>{_text(SUMMARY, SUMMARY_CHARS)}</summary>")
        else:
            answer = as_answer((_lead if role == LEAD else _mate)(messages, keeps_findings=keeps_findings))
        parts = [
            attrs.evolve(part, id=f"toolu_{next(self._ids)}") if isinstance(part, Call) else part
            for part in answer.parts
        ]
        answer = attrs.evolve(answer, parts=parts)
        written = estimate_usage(ModelRequest(()), answer).output_tokens
        self.said.append(Said(role, written))
        return StreamReply(answer=answer, usage=Usage(0, written), is_joined=True, pieces=1)


def _lead(messages: Sequence[Message], *, keeps_findings: bool) -> AnswerLike:
    conversation = read_conversation(messages)
    if not (conversation.calls_of("TaskCreate") or any(SUMMARY in message.text for message in conversation.received)):
        return play_lead(ModelRequest(tuple(messages)))
    last = messages[-1].content[-1]
    call = conversation.calls[-1] if conversation.calls else None
    if call is None or isinstance(last, TextBlock):  # it is woken
        if conversation.calls_of("WriteReport"):
            return "The report is written."
        if not keeps_findings:
            return Call("TaskList")
        text = messages[-1].text
        is_done = "tasks on the board are completed" in text and "All " in text
        return Call("TaskList", {"status": "completed", "findings": True}) if is_done else "Noted."
    if call.name == "TaskList":
        return _after_list(call)
    return "The report is written." if call.name == "WriteReport" else "The items are on the board."


def _after_list(call: ToolCall) -> AnswerLike:
    more = re.search(r'"next":"(\d+)"\}$', call.result or "")
    if more:
        return Call("TaskList", {**dict(call.input), "after": more[1]})
    left = sum(item.status != "completed" for item in parse_items(call.result or ""))
    if left:
        return f"{left} items are still open."
    return Call("WriteReport", {"content": _text("# Survey", REPORT_CHARS)})


def _mate(messages: Sequence[Message], *, keeps_findings: bool) -> AnswerLike:
    conversation = read_conversation(messages)
    found = next((message for message in reversed(conversation.received) if parse_item(message.text)), None)
    if found is None:
        return "Ready."
    item, number = parse_item(found.text), item_number(found.text)
    assert item is not None
    assert number is not None
    calls = [call for call in conversation.calls if call.at > found.at]
    if any(call.name == "TaskUpdate" for call in calls):
        return f"Item {number} is done."
    steps = (_facts_first if keeps_findings else _whole_files)(item, calls)
    if steps:
        return steps
    findings = _text(f"Findings on item {number}:", FINDINGS_CHARS)
    if keeps_findings:
        return Call("TaskUpdate", {"taskId": number, "status": "completed", "findings": findings})
    mail = {"to": "lead", "message": findings, "summary": f"item {number}"}
    return [
        Say("That was all of it."),
        Call("TaskUpdate", {"taskId": number, "status": "completed"}),
        Call("SendMessage", mail),
    ]


def _facts_first(item: SurveyItem, calls: Sequence[ToolCall]) -> list[Call]:
    if item.searches:
        return _searches(item) if not calls else []
    if not calls:
        return [Call("CodeFacts", {"files": [file.path for file in item.files]})]
    if any(call.name == "Read" for call in calls):
        return []
    return [
        Call("Read", {"file_path": path, "offset": max(1, line - RANGE_LINES // 2), "limit": RANGE_LINES})
        for path, line in _in_doubt(calls[0].result or "")
    ]


def _in_doubt(facts: str) -> list[tuple[str, int]]:
    """Return places that facts name, spread over the files: each file's first ones first."""
    by_file = [
        [(block.partition(": ")[0], int(line)) for line in _PLACE.findall(block)]
        for block in re.split(r"^(?=\S)", facts, flags=re.MULTILINE)
    ]
    rows = itertools.zip_longest(*by_file)
    return [place for row in rows for place in row if place is not None][:RANGES]


def _whole_files(item: SurveyItem, calls: Sequence[ToolCall]) -> list[Call]:
    if item.searches:
        return _searches(item) if not calls else []
    read = {call.input.get("file_path") for call in calls}
    left = [file.path for file in item.files[:WHOLE_FILES] if file.path not in read]
    return [Call("Read", {"file_path": path}) for path in left[:6]]


def _searches(item: SurveyItem) -> list[Call]:
    return [
        Call("Grep", {"pattern": search.pattern, "output_mode": "content", "head_limit": 100})
        if search.pattern
        else Call("TreeFacts", {})
        for search in item.searches
    ]


def _text(head: str, characters: int) -> str:
    line = "\n- src/some/module.py:120 an error is swallowed where its caller counts on it; raise it, or say why not"
    return (head + line * (characters // len(line) + 1))[:characters]
