"""Plans of teammates, and leads that answer them."""

from __future__ import annotations

import re
from typing import Any

from greenroom.models import AnswerLike, Call, ModelRequest
from tests.agents.pages import Page, last_texts, mail

PLAN = "# Plan\n\nWrite one file."


def write(name: str) -> Call:
    """Return a call that changes something."""
    return Call("Write", {"file_path": name, "content": "x"})


def plan_in(request: ModelRequest) -> str:
    """Return the id of the plan that a lead has just read of; empty for none."""
    found = re.findall(r"plan-\d+-\d+@[\w-]+", last_texts(request))
    return found[-1] if found else ""


def deciding(*words: bool) -> Page:
    """Return a lead that answers one plan after the other."""
    left = list(words)

    def page(request: ModelRequest) -> AnswerLike:
        plan = plan_in(request)
        if not plan or "plan_approval_request" not in last_texts(request):
            return "I wait."
        approve = left.pop(0)
        said: dict[str, Any] = {"type": "plan_approval_response", "request_id": plan, "approve": approve}
        return mail("ann", said if approve else {**said, "feedback": "Two files."})

    return page
