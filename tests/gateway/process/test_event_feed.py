"""What clients are told while a session works."""

from __future__ import annotations

from typing import Any

from greenroom.agents import Appended
from greenroom.gateway.process._event_feed import EventFeed
from greenroom.gateway.record._gateway_events import ApprovalAsked
from greenroom.gateway.trust._approval_desk import ToolQuestion
from greenroom.models import Message, ModelResponse, TextBlock, ToolUseBlock, Usage
from greenroom.session import AnswerPiece, MessageAppended
from tests.gateway.keepers.standins import AGENT

KEY = "agent:main:main"


def piece(text: str) -> AnswerPiece:
    delta = {"type": "text_delta", "text": text}
    return AnswerPiece(actor=AGENT, piece={"type": "content_block_delta", "index": 0, "delta": delta})


def appended(*content: TextBlock | ToolUseBlock) -> MessageAppended:
    message = Message(role="assistant", content=content)
    response = ModelResponse(content, "end_turn", Usage(), "m")
    return MessageAppended(
        actor=AGENT, appended=Appended(agent=AGENT, message=message, uuid="line", is_hidden=False, response=response)
    )


class Told(list[tuple[str, dict[str, Any]]]):
    """A hub that keeps what is published."""

    def publish(self, name: str, session: str, payload: dict[str, Any], delta_of: str = "") -> None:
        self.append((name, payload))


def test_texts_of_two_messages_of_a_turn_are_told_apart() -> None:
    told = Told()
    feed = EventFeed(None, told, str, None)  # type: ignore[arg-type]

    feed.hear_session(KEY, piece("Let me look."))
    feed.hear_session(KEY, appended(TextBlock("Let me look."), ToolUseBlock("c1", "Read", {"file_path": "a.py"})))
    feed.hear_session(KEY, piece("It is "))
    feed.hear_session(KEY, piece("red."))
    feed.hear_session(KEY, appended(TextBlock("It is red.")))
    feed.end_of_turn(KEY, {"state": "final", "message": "It is red."})
    feed.hear_session(KEY, piece("Next turn."))

    texts = [(payload["message"], payload["at"]) for name, payload in told if payload.get("state") == "delta"]
    assert texts == [("Let me look.", 0), ("\n\nIt is ", 12), ("red.", 20), ("Next turn.", 0)]
    assert [payload["tool"] for name, payload in told if name == "agent"] == ["Read"]


class Desk:
    """A desk with one question."""

    def open_questions(self) -> tuple[ToolQuestion, ...]:
        return (ToolQuestion(id="7", session=KEY, tool="Bash", summary="rm key", call="c1", asker="", deadline_s=0.0),)


def test_a_question_says_the_call_without_its_secrets() -> None:
    told = Told()
    feed = EventFeed(None, told, lambda text: text.replace("key", "[secret]"), Desk())  # type: ignore[arg-type]

    feed.tell(ApprovalAsked(at_s=1.0, approval="7", session=KEY, tool="Bash", expires_s=2.0))

    assert [(name, payload["tool"], payload["summary"]) for name, payload in told] == [
        ("approval", "Bash", "rm [secret]")
    ]
