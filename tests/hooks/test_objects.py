"""The output of a command, byte for byte, and whether its refusal is heard: never is one passed over because of how it is written."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.hooks import HookEvent, Permission
from greenroom.hooks._answer_parser import read_command, read_http
from greenroom.hooks._command import decoded
from greenroom.hooks._outcomes import HookAnswer

BLOCK: Final = '{"decision": "block", "reason": "not now"}'
DENY: Final = json.dumps(
    {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "not now",
        }
    }
)
ALLOW: Final = '{"decision": "approve"}'
HEARD: Final = {
    "as it is": "{}",
    "byte order mark": "\ufeff{}",
    "two marks": "\ufeff\ufeff{}",
    "carriage returns": "\r\n{}\r\n",
    "nul in front": "\0{}",
    "nul behind": "{}\0",
    "form feed": "\f{}",
    "text behind": "{}\nall done",
    "text in front": "Welcome to bash\n{}",
    "text around": "Welcome\n{}\nbye",
    "brackets in text around": "[info] {starting}\n{}\n{bye",
    "fence": "```json\n{}\n```",
    "list": "[{}]",
    "twice": "{}\n{}",
    "twice on a line": "{}{}",
    "after one that allows": ALLOW + "\n{}",
    "before one that allows": "{}\n" + ALLOW,
    "after an empty one": "{{}}\n{}",
    "after the word for the background": '{"async": true}\n{}',
}
REFUSED: Final[dict[str, Callable[[str], str]]] = {
    "cut off": lambda said: said[:-1],
    "comma at the end": lambda said: said[:-1] + ",}",
    "quotes of python": lambda said: said.replace('"', "'"),
    "comment": lambda said: said.replace("{", "{ // no\n", 1),
    "too deep": lambda said: said[:-1] + ', "a": ' + "[" * 200 + "]" * 200 + "}",
    "written twice as json": json.dumps,
    "list that is cut off": lambda said: "[" + said,
    "fence that is cut off": lambda said: "```json\n" + said[:-1],
}


def is_refused(answer: HookAnswer) -> bool:
    return answer.blocks or answer.permission is Permission.DENY


def put(frame: str, said: str) -> str:
    """Return a frame with an answer for each `{}` in it."""
    return frame.replace("{{}}", "\1").replace("{}", said).replace("\1", "{}")


@pytest.mark.parametrize("frame", HEARD)
@pytest.mark.parametrize("said", [BLOCK, DENY], ids=["block", "deny"])
def test_a_refusal_is_heard_whatever_stands_around_it(frame: str, said: str) -> None:
    answer = read_command(HookEvent.PRE_TOOL_USE, 0, put(HEARD[frame], said), "")

    assert is_refused(answer)
    assert answer.permission_reason == "not now"


@pytest.mark.parametrize("event", [HookEvent.STOP, HookEvent.USER_PROMPT_SUBMIT, HookEvent.POST_TOOL_USE])
@pytest.mark.parametrize("frame", HEARD)
def test_a_block_is_heard_at_every_event_that_knows_it(frame: str, event: HookEvent) -> None:
    assert read_command(event, 0, put(HEARD[frame], BLOCK), "").block_reason == "not now"


@pytest.mark.parametrize("shape", REFUSED)
@pytest.mark.parametrize("said", [BLOCK, DENY], ids=["block", "deny"])
def test_a_refusal_that_cannot_be_read_refuses_with_a_notice(shape: str, said: str) -> None:
    answer = read_command(HookEvent.PRE_TOOL_USE, 0, REFUSED[shape](said), "")

    assert is_refused(answer)
    assert len(answer.problems) == 1


@pytest.mark.parametrize("shape", REFUSED)
def test_broken_json_that_refuses_nothing_is_a_notice_alone(shape: str) -> None:
    answer = read_command(HookEvent.PRE_TOOL_USE, 0, REFUSED[shape]('{"systemMessage": "deny all"}'), "")

    assert not is_refused(answer)


@pytest.mark.parametrize("text", ["say {} to block", "use\n{a: 1}", 'Print "decision" to decide.', "[1, 2]", "`{}`"])
def test_text_that_only_speaks_of_json_decides_nothing(text: str) -> None:
    answer = read_command(HookEvent.USER_PROMPT_SUBMIT, 0, text, "")

    assert (answer.blocks, answer.context, answer.problems) == (False, text, ())


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("behind", [b"", b"\xff\xfe\xff"])
def test_a_refusal_is_heard_in_every_encoding_that_a_shell_has(mark: bytes, behind: bytes) -> None:
    name = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}.get(mark, "utf-8")

    assert is_refused(read_command(HookEvent.PRE_TOOL_USE, 0, decoded(mark + BLOCK.encode(name) + behind), ""))


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_sixteen_bits_without_a_mark_are_read(name: str) -> None:
    assert decoded(BLOCK.encode(name)) == BLOCK


def test_a_reply_behind_a_mark_is_read() -> None:
    assert is_refused(read_http(HookEvent.PRE_TOOL_USE, 200, "\ufeff" + BLOCK))


@given(st.text(), st.text(), st.sampled_from([BLOCK, DENY]))
def test_no_lines_around_a_refusal_hide_it(before: str, after: str, said: str) -> None:
    """Whatever lines stand around it, save those that are JSON themselves and allow the call."""
    answer = read_command(HookEvent.PRE_TOOL_USE, 0, f"{before}\n{said}\n{after}", "")

    assert is_refused(answer)


@given(st.binary())
def test_no_bytes_are_too_odd_to_be_read(printed: bytes) -> None:
    read_command(HookEvent.PRE_TOOL_USE, 0, decoded(printed), "")
