"""A provider over a real socket that misbehaves in every way: one line, the right result, and the next prompt is answered."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import pytest

from greenroom.agents.events import ModelBegan, ModelEnded, ModelRetried
from greenroom.headless._silence import Silences
from greenroom.models import Call, Say, Think, WrittenAnswer
from greenroom.testing import ErrorReply, HangUp, RawReply, ReceivedRequest, StreamReply
from greenroom.testing._messages_script import ReplyLike, encode_event, events_of
from tests.api_rules import violations
from tests.cli.place import Done, Place
from tests.cli.served import served

SETTINGS = json.dumps(
    {"models": {"retries": {"attempts": 2, "first_wait_s": 0.01}, "deadlines": {"first_token_s": 0.3}}}
)
FAST = ("--settings", SETTINGS)
PATIENT = json.dumps({"models": {"retries": {"attempts": 2, "first_wait_s": 0.01}}})
"""For answers that come: on a busy machine they may take longer than those that never do are waited for."""
CLASS_NAME = re.compile(r"\b[A-Z][a-z]+[A-Z]\w*(Error|Exception|Timeout)?\b")
"""The name of a class, such as `RemoteProtocolError`."""


@attrs.frozen(kw_only=True)
class Case:
    """One way to misbehave, and what a run makes of it."""

    replies: tuple[ReplyLike, ...]
    """In order; the last one is repeated."""
    requests: int = 1
    """The number of requests that the prompt leads to."""
    text: str | None = None
    """The answer; None for an error."""
    error: str = ""
    """A part of the error."""
    reason: str = "api_error"
    """The `terminal_reason`."""
    stop_reason: str | None = None


def said(text: str, stop_reason: str, *more: Call | Think) -> WrittenAnswer:
    return WrittenAnswer([*([Say(text)] if text else []), *more], stop_reason=stop_reason)


def refused(status: int, kind: str, message: str = "scripted", **headers: str) -> ErrorReply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ErrorReply(status=status, type=kind, message=message, headers=named)


def stream(*events: Mapping[str, Any] | bytes) -> RawReply:
    body = b"".join(
        event if isinstance(event, bytes) else encode_event(event["type"], json.dumps(event)) for event in events
    )
    return RawReply(body=body)


WHOLE = list(events_of(StreamReply(answer="It is 42.")))
HEAD, TAIL = WHOLE[0], WHOLE[-2:]
ALIEN = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}


def with_usage(usage: object) -> RawReply:
    head = {**HEAD, "message": {**HEAD["message"], "usage": usage}}
    return stream(head, *WHOLE[1:])


def with_reason(reason: object) -> RawReply:
    return stream(*WHOLE[:-2], {**TAIL[0], "delta": {"stop_reason": reason}}, TAIL[1])


def block(index: int, start: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


READ = Call("Read", {"file_path": "a.txt"}, id="t")
LONG = "prompt is too long: 215000 tokens > 200000 maximum"
OVER = "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"

ENDS: dict[str, Case] = {
    "pause": Case(replies=(said("It is ", "pause_turn"), "42."), requests=2, text="It is 42."),
    "pause-nothing": Case(replies=(said("", "pause_turn"), "42."), requests=2, text="42."),
    "pause-always": Case(
        replies=(said("more ", "pause_turn"),),
        requests=11,
        error="paused",
        reason="model_error",
        stop_reason="pause_turn",
    ),
    "refusal": Case(
        replies=(said("", "refusal"),), error="the model refused", reason="model_error", stop_reason="refusal"
    ),
    "refusal-call": Case(
        replies=(said("I will", "refusal", Call("Write", {"file_path": "no.txt", "content": ""}, id="w")),),
        error="the model refused",
        reason="model_error",
        stop_reason="refusal",
    ),
    "cut": Case(replies=(said("It is ", "max_tokens"), "42."), requests=2, text="It is 42."),
    "cut-always": Case(
        replies=(said("more ", "max_tokens"),),
        requests=4,
        error="cut off at its length limit",
        reason="model_error",
        stop_reason="max_tokens",
    ),
    "unknown": Case(
        replies=(said("It is", "time_to_rest"),),
        error="'time_to_rest'",
        reason="model_error",
        stop_reason="time_to_rest",
    ),
    "unknown-call": Case(
        replies=(said("", "time_to_rest", READ),),
        error="'time_to_rest'",
        reason="model_error",
        stop_reason="time_to_rest",
    ),
    "no-call": Case(
        replies=(said("Let me look.", "tool_use"),), error="has no call", reason="model_error", stop_reason="tool_use"
    ),
    "null": Case(replies=(with_reason(None),), requests=2, error="before it was complete"),
    "no-text": Case(replies=(with_reason({"a": 1}),), requests=2, error="malformed"),
    "empty": Case(replies=(said("", "end_turn"), "Sorry: 42."), requests=2, text="Sorry: 42."),
    "empty-always": Case(replies=(said("", "end_turn"),), requests=2, text="", stop_reason="end_turn"),
    "blank": Case(replies=(said(" \n", "end_turn"),), requests=2, text="", stop_reason="end_turn"),
    "thinking": Case(replies=(said("", "end_turn", Think("hm")), "42."), requests=2, text="42."),
    "same-ids": Case(
        replies=(
            said("", "tool_use", READ, Call("Read", {"file_path": "b.txt"}, id="t")),
            said("", "tool_use", Call("Read", {"file_path": "a.txt"}, id="t")),
            "Both.",
        ),
        requests=3,
        text="Both.",
    ),
    "odd-ids": Case(
        replies=(said("", "tool_use", Call("Look at: it", {}, id="call 1/2"), Call("", {}, id="ü")), "No tool."),
        requests=2,
        text="No tool.",
    ),
    "server-tool": Case(
        replies=(
            stream(
                HEAD,
                *block(0, ALIEN, {"type": "input_json_delta", "partial_json": "{}"}),
                *block(1, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
                {**TAIL[0], "delta": {"stop_reason": "pause_turn"}},
                TAIL[1],
            ),
            "42.",
        ),
        requests=2,
        text="42.",
    ),
}

REFUSALS: dict[str, Case] = {
    **{
        f"{status}": Case(replies=(refused(status, kind, "No. "),), requests=requests, error=f"HTTP {status}: No")
        for status, kind, requests in (
            (400, "invalid_request_error", 1),
            (401, "authentication_error", 1),
            (403, "permission_error", 1),
            (404, "not_found_error", 1),
            (418, "teapot_error", 1),
            (500, "api_error", 2),
            (503, "api_error", 2),
            (504, "timeout_error", 2),
            (529, "overloaded_error", 2),
        )
    },
    "413": Case(
        replies=(refused(413, "request_too_large", "Request exceeds the maximum size"),),
        error="/compact",
        reason="prompt_too_long",
    ),
    "long": Case(replies=(refused(400, "invalid_request_error", LONG),), error=LONG, reason="prompt_too_long"),
    "over": Case(replies=(refused(400, "invalid_request_error", OVER),), error="/compact", reason="prompt_too_long"),
    "429-seconds": Case(replies=(refused(429, "rate_limit_error", retry_after="0"), "42."), requests=2, text="42."),
    "429-date": Case(
        replies=(
            refused(
                429,
                "rate_limit_error",
                date="Sun, 22 Nov 2026 10:00:00 GMT",
                retry_after="Sun, 22 Nov 2026 09:59:00 GMT",
            ),
            "42.",
        ),
        requests=2,
        text="42.",
    ),
    "429-absurd": Case(replies=(refused(429, "rate_limit_error", "Wait", retry_after="1e12"),), error="HTTP 429: Wait"),
    "429-negative": Case(replies=(refused(429, "rate_limit_error", retry_after="-5"), "42."), requests=2, text="42."),
    "html": Case(
        replies=(
            RawReply(status=502, headers={"content-type": "text/html"}, body=b"<html><title>Bad &amp; gone</title>"),
        ),
        requests=2,
        error="HTTP 502: an HTML page (Bad & gone)",
    ),
    "nothing": Case(
        replies=(RawReply(status=500, headers={}, body=b""),), requests=2, error="HTTP 500: Internal Server Error"
    ),
    "redirect": Case(
        replies=(RawReply(status=302, headers={"location": "http://127.0.0.1:1/"}),),
        error="redirected to http://127.0.0.1:1/",
    ),
}

BROKEN: dict[str, Case] = {
    "plain": Case(
        replies=(RawReply(headers={"content-type": "application/json"}, body=b"{}"),), error="expected an event stream"
    ),
    "untyped": Case(replies=(RawReply(headers={}, body=b"hello"),), error="expected an event stream"),
    "hang-up": Case(replies=(HangUp(),), requests=2, error="closed the connection"),
    "error-event": Case(
        replies=(StreamReply(answer="It", ending="overloaded", events=4),), requests=2, error="Overloaded"
    ),
    "long-event": Case(
        replies=(stream(HEAD, {"type": "error", "error": {"type": "invalid_request_error", "message": LONG}}),),
        error="/compact",
        reason="prompt_too_long",
    ),
    "early": Case(replies=(StreamReply(answer="It", ending="early", events=4),), requests=2, error="complete"),
    "torn": Case(replies=(StreamReply(answer="It", ending="cut", events=4),), requests=2, error="the connection broke"),
    "json": Case(replies=(StreamReply(answer="It", ending="garbage", events=4),), requests=2, error="malformed"),
    "utf-8": Case(replies=(stream(HEAD, b"data: \xff\xfe\n\n"),), requests=2, error="malformed"),
    "twice": Case(replies=(stream(HEAD, HEAD, *WHOLE[1:]),), text="It is 42."),
    "no-stop": Case(replies=(stream(*WHOLE[:-1]),), text="It is 42."),
    "no-start": Case(replies=(stream(*WHOLE[1:]),), text="It is 42."),
    "no-usage": Case(replies=(with_usage(None),), text="It is 42."),
    "negative-usage": Case(replies=(with_usage({"input_tokens": -5, "output_tokens": -1}),), text="It is 42."),
    "odd-usage": Case(replies=(with_usage({"input_tokens": "many"}),), requests=2, error="malformed"),
    "odd-events": Case(
        replies=(
            stream(
                {"type": "weather"},
                HEAD,
                *block(0, {"type": "hologram", "x": 1}, {"type": "hologram_delta", "x": 2}),
                *block(1, {"type": "text", "text": ""}, {"type": "smell_delta"}, {"type": "text_delta", "text": "42."}),
                *TAIL,
            ),
        ),
        text="42.",
    ),
    "huge": Case(replies=("x" * 1_000_000,), text="x" * 1_000_000),
    "half-call": Case(
        replies=(
            stream(
                HEAD,
                *block(
                    0,
                    {"type": "tool_use", "id": "t", "name": "Read"},
                    {"type": "input_json_delta", "partial_json": "{"},
                ),
                {**TAIL[0], "delta": {"stop_reason": "tool_use"}},
                TAIL[1],
            ),
        ),
        requests=2,
        error="JSON object",
    ),
    "silent": Case(replies=(StreamReply(ending="stall", events=1),), requests=2, error="stalled for 1 s"),
}
CASES = {**ENDS, **REFUSALS, **BROKEN}
SILENT = "silent"


class Provider:
    """Answers `case NAME` as the case says, and any other prompt as it should; it judges every request."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.found: list[str] = []

    def __call__(self, request: ReceivedRequest) -> ReplyLike:
        self.found += violations(request.body)
        texts = [
            block["text"]
            for message in request.body["messages"]
            if message["role"] == "user"
            for block in message["content"]
            if block["type"] == "text" and block["text"].startswith(("case ", "after "))
        ]
        kind, _, name = texts[-1].partition(" ")
        if kind == "after":
            return f"fine after {name}"
        number = self.asked[name] = self.asked.get(name, 0) + 1
        replies = CASES[name].replies
        return replies[min(number, len(replies)) - 1]


def prompts(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield f"case {name}"
        yield f"after {name}"


def conversation(place: Place, names: Sequence[str]) -> tuple[Provider, dict[str, dict[str, Any]], str]:
    """Hold one conversation with a real `greenroom run`; return the results by prompt."""
    provider, results = Provider(), {}
    flags = ("--input-format", "stream-json", "--output-format", "stream-json")
    settings = json.loads(PATIENT)
    if SILENT in names:
        settings["models"]["deadlines"] = {"first_token_s": 1.0}
    without_compaction = ("--settings", json.dumps({**settings, "compaction": {"auto": False}}))
    with (
        served(provider) as server,
        place.started(server.url, *without_compaction, *flags, stdin=subprocess.PIPE) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        for prompt in prompts(names):
            process.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                read = json.loads(line)
                if read["type"] == "result":
                    results[prompt] = read
                    break
        process.stdin.close()
        process.stdin = None
        _, err = process.communicate(timeout=50)
    return provider, results, err


@pytest.mark.parametrize("names", [[name for name in CASES if name != SILENT], [SILENT]], ids=["answering", "silent"])
def test_one_session_survives_every_way_in_which_a_provider_misbehaves(place: Place, names: list[str]) -> None:
    (place.folder / "b.txt").write_text("the question is 6 times 7\n", encoding="utf-8")

    provider, results, err = conversation(place, names)

    assert provider.found == []
    assert err == ""
    wrong: dict[str, Any] = {}
    for name in names:
        case = CASES[name]
        result, after = results[f"case {name}"], results[f"after {name}"]
        got = (result["is_error"], result.get("result"), result.get("terminal_reason"), provider.asked[name])
        reason = "completed" if case.text is not None else case.reason
        if got != (case.text is None, case.text, reason, case.requests):
            wrong[name] = (got, result.get("errors"))
        error = "".join(result.get("errors", ()))
        if case.error not in error or CLASS_NAME.search(error) or re.search(r"[.;]\s*[.;]|\n", error):
            wrong[name] = error
        if case.text is None and result["stop_reason"] != case.stop_reason:
            wrong[f"stop reason of {name}"] = result["stop_reason"]
        if after.get("result") != f"fine after {name}":
            wrong[f"after {name}"] = after
    assert wrong == {}
    assert not (place.folder / "no.txt").exists()


@pytest.mark.parametrize(
    ("name", "code", "out", "lines"),
    [
        ("refusal", 1, "", ["the model refused to answer; change the prompt or start a new conversation"]),
        (
            "cut-always",
            1,
            "more more more more \n",
            ["the answer was cut off at its length limit; ask for less"],
        ),
        ("blank", 0, "", ["note: the model ended its turn without an answer"]),
        ("pause", 0, "It is 42.\n", []),
        (
            "529",
            1,
            "",
            [
                "note: the provider is overloaded (HTTP 529); attempt 2 of 2 in 0.0 s",
                "HTTP 529: No (tried 2 times)",
            ],
        ),
        ("401", 1, "", ["HTTP 401: No; check the key in ANTHROPIC_API_KEY"]),
        ("long", 1, "", [f"{LONG}; the prompt /compact shortens"]),
    ],
)
def test_a_script_reads_one_line_and_the_exit_code(
    name: str, code: int, out: str, lines: list[str], place: Place
) -> None:
    done, _ = place.run(Provider(), f"case {name}", *FAST)

    assert (done.code, done.out) == (code, out)
    errors = done.err.splitlines()
    assert len(errors) == len(lines), done.err
    for error, line in zip(errors, lines, strict=True):
        assert error.startswith("greenroom: ")
        assert line in error


def test_calls_with_one_id_get_their_own_results(place: Place) -> None:
    (place.folder / "b.txt").write_text("the question is 6 times 7\n", encoding="utf-8")

    done, requests = place.run(Provider(), "case same-ids")

    assert (done.code, done.out) == (0, "Both.\n")
    results = [block for block in requests[2].body["messages"][2]["content"] if block["type"] == "tool_result"]
    assert ["42" in str(result["content"]) for result in results] == [True, False]
    assert ["6 times 7" in str(result["content"]) for result in results] == [False, True]
    assert not any(violations(request.body) for request in requests)


def test_a_conversation_that_is_too_long_is_compacted_and_continued(place: Place) -> None:
    """The summary of all of it is too long as well, so that of its newer part has to do."""
    summaries = 0

    def answer(request: ReceivedRequest) -> ReplyLike:
        nonlocal summaries
        if "<summary>" in json.dumps(request.body["messages"][-1]):
            summaries += 1
            is_long = len(request.body["messages"]) > 5
            return refused(400, "invalid_request_error", OVER) if is_long else "<summary>All was read.</summary>"
        if "All was read." in json.dumps(request.body["messages"][0]):
            return "It is 42."
        if len(request.body["messages"]) >= 7:
            return refused(400, "invalid_request_error", LONG)
        return WrittenAnswer([Call("Read", {"file_path": "a.txt"})])

    done, requests = place.run(answer, "Go.", *FAST)

    assert (done.code, done.out, done.err) == (0, "It is 42.\n", "")
    assert summaries == 2
    assert not any(violations(request.body) for request in requests)


def test_a_window_that_is_full_is_compacted_and_the_answer_begun_anew(place: Place) -> None:
    def answer(request: ReceivedRequest) -> ReplyLike:
        if "<summary>" in json.dumps(request.body["messages"][-1]):
            return "<summary>All was read.</summary>"
        if "All was read." in json.dumps(request.body["messages"][0]):
            return "It is 42."
        return said("It is", "model_context_window_exceeded")

    done, _ = place.run(answer, "Go.", *FAST)

    assert done == Done(0, "It is 42.\n", "")


def test_a_failed_sub_agent_is_named_with_what_it_was_started_for(place: Place) -> None:
    def answer(request: ReceivedRequest) -> ReplyLike:
        text = json.dumps(request.body["messages"])
        if '"tool_result"' in text:
            return "It failed."
        if "look around" in text:
            return refused(401, "authentication_error", "invalid x-api-key.")
        return Call("Agent", {"prompt": "look around", "description": "Survey", "subagent_type": "Explore"})

    done, _ = place.run(answer, "Go.")

    assert (done.code, done.out) == (0, "It failed.\n")
    failed, freer = done.err.splitlines()
    assert re.fullmatch(r'greenroom: note: agent a\w+ "Survey" \(Explore\) failed: HTTP 401: invalid x-api-key', failed)
    assert "--child-permission clamped" in freer


def test_attempts_are_the_total_of_a_run_also_after_a_timeout(place: Place) -> None:
    done, requests = place.run(lambda _: StreamReply(ending="stall", events=1), "Go.", *FAST)

    assert done.code == 1
    assert len(requests) == 2
    assert "stalled for 0.3 s (first token) (tried 2 times)" in done.err


def test_a_silent_connection_ends_at_its_own_limit(place: Place) -> None:
    settings = {"models": {"retries": {"attempts": 1}, "deadlines": {"silence_s": 0.3}}}

    done, requests = place.run(
        lambda _: StreamReply(ending="stall", events=1), "Go.", "--settings", json.dumps(settings)
    )

    assert (done.code, len(requests)) == (1, 1)
    assert done.err.startswith("greenroom: the answer stalled")


def test_a_silence_is_told_after_a_minute_and_each_time_it_doubles() -> None:
    place: dict[str, Any] = {"actor": "a", "inc": 1, "turn": 1, "round": 1, "parent": 0}
    silences = Silences()
    assert silences.due_s == float("inf")

    silences.see(ModelBegan(**place, messages=1), now_s=0)
    told = [(now_s, silences.due(now_s)) for now_s in range(0, 300, 10)]
    assert [now_s for now_s, one in told if one] == [60, 120, 240]

    silences.moved("a", now_s=300)
    assert silences.due_s == 360
    retried = ModelRetried(**place, attempt=2, attempts=3, delay_s=30.0, status=None, error="cut")
    silences.see(retried, now_s=350)
    assert silences.due_s == 440
    ended = ModelEnded(
        **place,
        state="completed",
        stop_reason="end_turn",
        input_tokens=0,
        output_tokens=0,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        error="",
    )
    silences.see(ended, now_s=400)
    assert silences.due_s == float("inf")
