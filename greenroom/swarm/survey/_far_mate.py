"""The playbook of a teammate whose items are worked on by agents on hosts: it starts one, waits for it, and completes the item.

An agent that was lost with its host is started again, on another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from greenroom.models import AnswerLike, Call, ModelRequest, Say
from greenroom.swarm.survey._facts import parse_facts, write_findings
from greenroom.swarm.survey._mate import amount_of, complete, item_in_work, unread_facts
from greenroom.swarm.survey._python import shortened
from greenroom.swarm.survey._survey_conversation import ToolCall

READER: Final = "reader"
"""The definition of agents that work on items on hosts."""
MAX_LAUNCHES: Final = 3
"""Agents that are started for one item, one after the other."""
WAIT: Final = "AgentFindings"
"""The tool that waits for such an agent."""
_TASK: Final = re.compile(r"^taskId: (\S+)$", re.MULTILINE)
_STATUS: Final = re.compile(r"^<status>(\w+)</status>$", re.MULTILINE)


def play_far_mate(request: ModelRequest) -> AnswerLike:
    """Return the next step of a teammate with hosts."""
    found = item_in_work(request)
    if isinstance(found, str):
        return found
    received, number, item, calls = found
    launches = [call for call in calls if call.name == "Agent"]
    task = _TASK.search(launches[-1].result or "") if launches else None
    waits = [call for call in calls if task is not None and call.input.get("task_id") == task[1]]
    status, answer = _end_of(waits)
    if status == "completed" and (facts := parse_facts(answer)):
        return complete(number, write_findings(number, amount_of(item), facts))
    if task is not None and status in {"", "pending", "running"}:
        return Call(WAIT, {"task_id": task[1]})
    if len(launches) < MAX_LAUNCHES:
        launch = {
            "description": f"Item {number}",
            "prompt": received.text,
            "subagent_type": READER,
            "isolation": "remote",
        }
        return [Say(f"Item {number} goes to a host."), Call("Agent", launch)]
    why = shortened(answer or launches[-1].result or "it was not read")
    return complete(number, write_findings(number, amount_of(item), unread_facts(item, why)))


def _end_of(waits: Sequence[ToolCall]) -> tuple[str, str]:
    """Return the status that the last wait for an agent found, and the whole answer; empty without a wait."""
    answer = waits[-1].result or "" if waits else ""
    if waits and waits[-1].is_error:
        return "failed", answer
    found = _STATUS.search(answer)
    return (found[1] if found else ""), answer
