"""Lines of a chat, from the events of the gateway."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.gateway.chat._chat_screen import cells_of, wrapped
from greenroom.gateway.chat._chat_view import ChatView

KEY = "agent:main:main"
CHILD = "agent:main:subagent:6b1d8f2a-0000-4000-8000-000000000001"


def chat(view: ChatView, state: str, message: str, **more: Any) -> list[str]:
    return view.fold("chat", {"sessionKey": KEY, "state": state, "message": message, **more})


def agent(view: ChatView, phase: str, session: str = KEY, **more: Any) -> list[str]:
    return view.fold("agent", {"sessionKey": session, "phase": phase, "runId": "r", **more})


def test_reply_is_shown_line_by_line_while_it_is_written() -> None:
    view = ChatView(KEY)

    assert chat(view, "delta", "one\ntw", at=0) == ["one"]
    assert view.partial == "tw"
    assert chat(view, "delta", "o", at=6) == []
    assert chat(view, "final", "one\ntwo\nthree") == ["two", "three"]
    assert view.partial == ""


def test_reply_behind_other_texts_of_its_turn_is_shown_once() -> None:
    view = ChatView(KEY)
    chat(view, "delta", "Let me look. ", at=0)
    chat(view, "delta", "It is red.", at=13)

    assert chat(view, "final", "It is red.") == ["Let me look. It is red."]


def test_text_before_a_call_stands_above_its_line() -> None:
    view = ChatView(KEY)
    chat(view, "delta", "Let me look.", at=0)

    assert agent(view, "tool", tool="Read", summary="a.py") == ["Let me look.", "· Read a.py"]
    assert chat(view, "delta", "\n\nIt is red.", at=12) == []
    assert chat(view, "final", "It is red.") == ["It is red."]


@given(st.text(alphabet="ab 漢", max_size=60), st.integers(20, 40))
def test_wrapped_line_keeps_its_words_and_fits(text: str, columns: int) -> None:
    lines = wrapped(text, columns)

    assert " ".join(lines).split() == text.split()
    assert all(cells_of(line) <= columns or " " not in line.strip() for line in lines)
    assert len(lines) == 1 or cells_of(text.rstrip()) > columns


def test_reply_without_pieces_is_shown_whole() -> None:
    assert chat(ChatView(KEY), "final", "one\ntwo") == ["one", "two"]


def test_text_with_a_hole_is_shown_when_it_is_whole() -> None:
    view = ChatView(KEY)
    chat(view, "delta", "one\ntw", at=0)

    assert chat(view, "delta", "ree", at=9) == []
    assert chat(view, "final", "one\ntwo\nthree")[1:] == ["one", "two", "three"]
    assert chat(view, "delta", "new", at=0) == []
    assert view.partial == "new"


def test_replies_that_were_missed_are_shown_once() -> None:
    view = ChatView(KEY)
    said = [{"role": "assistant", "text": "first"}, {"role": "user", "text": "and?"}]
    assert view.read_anew(said, []) == [], "what was there before the chat is not repeated"
    chat(view, "final", "second")
    said += [{"role": "assistant", "text": "second"}, {"role": "assistant", "text": "third\nfourth"}]

    assert view.read_anew(said, []) == ["third", "fourth"]
    assert view.read_anew(said, []) == []


def test_status_names_waiting_work_and_sub_agents() -> None:
    view = ChatView(KEY)
    seen = [view.status]
    agent(view, "queued")
    seen.append(view.status)
    agent(view, "start")
    seen.append(view.status)
    began = agent(view, "accepted", CHILD, requester=KEY, label="look")
    agent(view, "start", CHILD, requester=KEY, label="look")
    seen.append(view.status)
    agent(view, "end")
    seen.append(view.status)
    ended = agent(view, "end", CHILD, requester=KEY, label="look", status="ok")

    assert seen == ["", "waiting for a place", "working", "working, 1 sub-agent", "1 sub-agent"]
    assert (began, ended) == (["· sub-agent look started"], ["· sub-agent look ended: ok"])
    assert agent(view, "tool", tool="Bash", summary="ls") == ["· Bash ls"]
    assert not view.is_busy


def test_other_sessions_are_not_shown() -> None:
    view = ChatView(KEY)

    assert view.fold("chat", {"sessionKey": CHILD, "state": "final", "message": "x"}) == []
    assert agent(view, "start", CHILD, requester="agent:main:dm:x") == []
    assert view.status == ""


def test_question_waits_until_it_is_answered() -> None:
    view = ChatView(KEY)
    asked = {"approvalId": "7", "sessionKey": KEY, "tool": "Bash", "summary": "rm x", "state": "asked"}

    assert view.fold("approval", asked) == ["· approve 7? Bash rm x"]
    assert view.fold("approval", asked) == []
    assert "1 to approve" in view.status
    view.fold("approval", {"approvalId": "7", "state": "answered"})
    assert view.questions == {}
    assert view.read_anew([], [asked | {"sessionKey": CHILD}]) == [f"· approve 7? Bash rm x (of {CHILD})"]


@pytest.mark.parametrize(("state", "last"), [("aborted", "· aborted"), ("error", "· error: broken")])
def test_end_without_a_reply_keeps_what_was_said(state: str, last: str) -> None:
    view = ChatView(KEY)
    chat(view, "delta", "half", at=0)

    assert chat(view, state, "broken") == ["half", last]


@given(st.text(st.characters(blacklist_categories=["Cs"])), st.lists(st.integers(0, 9), max_size=20))
def test_reply_in_any_pieces_is_shown_whole_without_controls(text: str, sizes: list[int]) -> None:
    view, at, lines = ChatView(KEY), 0, list[str]()
    for size in sizes:
        lines += chat(view, "delta", text[at : at + size], at=at)
        at = min(len(text), at + size)
    lines += chat(view, "final", text)

    assert lines == ChatView(KEY).fold("chat", {"sessionKey": KEY, "state": "final", "message": text})
    assert not any(char in line for line in lines for char in "\x1b\r\x07\x9b")
