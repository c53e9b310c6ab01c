"""Pages of agents whose work is reviewed when it is handed over, and of their reviewers."""

from __future__ import annotations

from collections.abc import Callable

from greenroom.models import AnswerLike, Call, ModelRequest
from tests.agents.pages import Page, asked

ALLOW = '{"verdict": "allow"}'
BLOCK = '{"verdict": "block", "reason": "it looked for keys"}'
WARNING = "SECURITY WARNING: the review of what this agent did found: it looked for keys."
UNREVIEWED = "what this agent did was not reviewed"
PENDING = "is still being reviewed"


def worker(request: ModelRequest) -> AnswerLike:
    """Look around once, and report."""
    if not any(message.role == "assistant" for message in request.messages):
        return Call("Glob", {"pattern": "*.pem"})
    return f"Report on: {asked(request)}"


def pages(
    handoff: str | Callable[[ModelRequest], AnswerLike], *, call: str = ALLOW, child: Page = worker
) -> dict[str, Page]:
    """Return pages in which an agent looks around, and a reviewer answers so."""
    answer = handoff if callable(handoff) else lambda _: handoff
    return {"general-purpose": child, "call-review": lambda _: call, "handoff-review": answer}
