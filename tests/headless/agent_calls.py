"""Calls of agents, and replies to each agent by its prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from greenroom.models import Call, WrittenAnswer
from greenroom.testing import ReceivedRequest
from greenroom.testing._messages_script import ReplyLike


def said_first(request: ReceivedRequest) -> str:
    content = request.body["messages"][0]["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def spawn(prompt: str, *, call_id: str = "toolu_agent", **more: Any) -> WrittenAnswer:
    return WrittenAnswer(
        [Call("Agent", {"description": f"do {prompt}", "prompt": prompt, **more}, id=call_id)],
    )


def by_prompt(replies: Mapping[str, list[ReplyLike]]) -> Callable[[ReceivedRequest], ReplyLike]:
    """Give each conversation its own replies, by what it was told first."""
    left = {prompt: list(those) for prompt, those in replies.items()}
    return lambda request: left[said_first(request)].pop(0)


def result_of(request: ReceivedRequest) -> str:
    """Return what the model reads of the last call."""
    (block,) = [line for line in request.body["messages"][-1]["content"] if line["type"] == "tool_result"]
    content = block["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)
