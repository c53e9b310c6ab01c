"""A lead whose process ended while it put items on the board puts the missing ones there, and none twice."""

from __future__ import annotations

import json

import pytest

from greenroom.agents import INTERRUPTED, LOST_RESULT
from greenroom.models import Call, Message, ModelRequest, TextBlock, ToolResultBlock, ToolUseBlock, as_answer
from greenroom.swarm.survey import SURVEY_TASK, play_lead

NAMES = "README.md\nshop/prices.py\nshop/stock.py\nnotes.txt"
LOOKS = {"Glob": NAMES, "py": "shop/prices.py:10\nshop/stock.py:6", "others": "README.md:3\nnotes.txt:3"}


class Lead:
    """The lead's conversation, and the board as its calls have made it."""

    def __init__(self) -> None:
        self.messages = [Message.user(f"Task: {SURVEY_TASK}\n\nFolder: /project\nMates: mate-1, mate-2")]
        self.board: list[str] = []
        self.used = 0

    def answer(self) -> list[Call]:
        """Have the lead answer, and return its calls."""
        parts = as_answer(play_lead(ModelRequest(tuple(self.messages)))).parts
        calls = [part for part in parts if isinstance(part, Call)]
        blocks = [ToolUseBlock(f"c{self.used + number}", call.name, call.input) for number, call in enumerate(calls)]
        self.messages.append(Message("assistant", tuple(blocks) or (TextBlock("."),)))
        return calls

    def settle(self, results: list[tuple[str, bool]]) -> None:
        """Append the results of the calls."""
        blocks = [
            ToolResultBlock(f"c{self.used + number}", text, is_error=is_error)
            for number, (text, is_error) in enumerate(results)
        ]
        self.used += len(results)
        self.messages.append(Message("user", tuple(blocks)))

    def run(self, call: Call) -> str:
        """Carry a call out and return its result."""
        if call.name == "TaskCreate":
            self.board.append(call.input["subject"])
            return f"Task #{len(self.board)} created"
        if call.name == "TaskList":
            common: dict[str, object] = {"status": "pending", "owner": None, "blockedBy": []}
            tasks = [{"id": str(n), "subject": subject, **common} for n, subject in enumerate(self.board, 1)]
            return json.dumps({"tasks": tasks})
        return LOOKS[call.name if call.name == "Glob" else "py" if call.input.get("type") == "py" else "others"]

    def go_on(self) -> None:
        """Answer until no call is left."""
        while calls := self.answer():
            self.settle([(self.run(call), False) for call in calls])


@pytest.mark.parametrize("lost", [INTERRUPTED, LOST_RESULT], ids=["interrupted", "killed"])
@pytest.mark.parametrize("told", range(5))
@pytest.mark.parametrize("made", range(5))
def test_items_that_a_cut_left_out_are_made_and_none_twice(lost: str, told: int, made: int) -> None:
    whole = Lead()
    whole.go_on()
    lead = Lead()
    while (calls := lead.answer())[0].name != "TaskCreate":
        lead.settle([(lead.run(call), False) for call in calls])
    results = [lead.run(call) for call in calls[: max(made, told)]]
    lead.settle([(results[n], False) if n < told else (lost, True) for n in range(len(calls))])
    lead.messages.append(Message.user("Continue from where you left off."))

    lead.go_on()

    assert len(whole.board) == 5
    assert sorted(lead.board) == sorted(whole.board)
