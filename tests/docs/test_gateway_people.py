"""The page about people in chats shows the commands of the code."""

from __future__ import annotations

from tests.docs.gateway_people import PAGE, insert


def test_the_commands_are_those_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert insert(page) == page, "run `python -m tests.docs`"
