"""Answers that come late, twice or to nothing: what each of them ends."""

from __future__ import annotations

import mcp_types
import pytest

from greenroom.mcp._pending_requests import Answers


def request(number: int | str, method: str = "tools/call") -> mcp_types.JSONRPCRequest:
    return mcp_types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method)


def answer(number: int | str) -> mcp_types.JSONRPCResponse:
    return mcp_types.JSONRPCResponse(jsonrpc="2.0", id=number, result={})


def error(number: int | str) -> mcp_types.JSONRPCError:
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=mcp_types.ErrorData(code=-32000, message="closed"))


def cancel(number: int | str) -> mcp_types.JSONRPCNotification:
    return mcp_types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params={"requestId": number})


@pytest.mark.parametrize("late", [answer, error])
@pytest.mark.parametrize("is_cancelled", [True, False], ids=["cancelled", "answered"])
@pytest.mark.parametrize("number", [1, "listen-1"])
def test_answer_to_a_request_that_is_over_ends_no_other(number: int | str, is_cancelled: bool, late: object) -> None:
    answers = Answers()
    answers.note_sent(request(number))
    answers.note_sent(request(2))
    if is_cancelled:
        answers.note_sent(cancel(number))
    else:
        answers.take(answer(number))

    passed, back = answers.take(late(number))  # type: ignore[operator]

    assert [getattr(message, "id", None) for message in passed] in ([], [number])
    assert back == []
    assert answers.take(answer(2)) == ([answer(2)], []), "the other request is still pending"


@pytest.mark.parametrize("number", [3, 0, -1, "listen-2", "x"])
def test_answer_to_a_request_that_never_was_ends_all(number: int | str) -> None:
    answers = Answers()
    answers.note_sent(request(1))
    answers.note_sent(request("listen-1"))

    passed, _ = answers.take(answer(number))

    assert sorted(str(message.id) for message in passed) == ["1", "listen-1"]  # type: ignore[attr-defined]
    assert all("belongs to no request" in message.error.message for message in passed)  # type: ignore[attr-defined]
