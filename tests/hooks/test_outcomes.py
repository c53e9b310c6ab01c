"""Answers of handlers, and the outcome of many answers. All of it is pure."""

from __future__ import annotations

import itertools
import json
from typing import Any, Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.hooks import ElicitationReply, HookEvent, HookOutcome, Permission, StopGuard
from greenroom.hooks._answer_parser import NON_BLOCKING, read_command, read_http, read_verdict
from greenroom.hooks._outcomes import Extras, HookAnswer, PermissionDecision, ReplyAction, fold_answers

PRE: Final = HookEvent.PRE_TOOL_USE
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS: Final = (
    *("continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"),
    *("hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"),
    *("updatedToolOutput", "retry", "watchPaths", "behavior", "interrupt", "ok", "impossible"),
    *("action", "content", "displayContent"),
)
WORDS: Final = st.sampled_from(["allow", "deny", "ask", "block", "approve", *ReplyAction, *HookEvent])
NEARLY: Final = st.recursive(
    JSON | WORDS,
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=10,
).map(json.dumps)


def specific(event: HookEvent = PRE, **values: Any) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event.value, **values}})


def read(stdout: str, event: HookEvent = PRE, exit_code: int = 0, stderr: str = "") -> HookAnswer:
    return read_command(event, exit_code, stdout, stderr)


# --- exit codes ------------------------------------------------------------------------------------------------------


def test_exit_2_denies_a_call_with_what_stands_on_stderr() -> None:
    answer = read("", exit_code=2, stderr="not on a Friday\n")

    assert (answer.permission, answer.permission_reason) == (Permission.DENY, "not on a Friday")


def test_exit_2_blocks_whatever_was_printed() -> None:
    """CL-37: JSON that allows, JSON that is broken, text; a blocking JSON gives the reason."""
    for stdout in (specific(permissionDecision="allow", updatedInput={"a": 1}), "{broken", "fine", ""):
        answer = read(stdout, exit_code=2, stderr="no")
        assert (answer.permission, answer.permission_reason, answer.updated_input) == (Permission.DENY, "no", None)

    denied = read(specific(permissionDecision="deny", permissionDecisionReason="because"), exit_code=2, stderr="no")
    assert denied.permission_reason == "because"


def test_other_exit_codes_block_nothing_and_say_so() -> None:
    """Behaviours (3), line 1: exit 1 lets the call run."""
    answer = read("some text", exit_code=1, stderr="broken\n")

    assert fold_answers(PRE, [answer]).permission is None
    assert answer.problems == (f"{NON_BLOCKING} 1 broken",)


def test_other_exit_codes_with_json_are_decided_by_the_json() -> None:
    answer = read(specific(permissionDecision="deny"), exit_code=1)

    assert answer.permission is Permission.DENY
    assert answer.problems == ()


@pytest.mark.parametrize("event", HookEvent)
def test_what_exit_2_does_to_each_event(event: HookEvent) -> None:
    answer = read("", event, exit_code=2, stderr="why")

    noted = {"SessionStart", "Setup", "PermissionRequest", "PermissionDenied", "Notification", "SubagentStart"}
    noted |= {"StopFailure", "PostCompact", "SessionEnd", "WorktreeRemove", "CwdChanged", "DirectoryAdded"}
    noted |= {"FileChanged", "InstructionsLoaded", "MessageDisplay"}
    if event in noted:
        assert answer == HookAnswer(problems=(f"{NON_BLOCKING} 2 why",))
    elif event is PRE:
        assert answer.permission is Permission.DENY
    else:
        assert (answer.blocks, answer.block_reason) == (True, "why")


def test_a_worktree_hook_has_to_succeed_and_says_the_path_on_its_last_line() -> None:
    event = HookEvent.WORKTREE_CREATE

    assert read("made it\n/tree/a\n\n", event).extras.worktree_path == "/tree/a"
    assert read("/tree/a", event, exit_code=1).blocks
    assert read_http(event, 200, specific(event, worktreePath="/tree/b")).extras.worktree_path == "/tree/b"


@pytest.mark.parametrize("event", HookEvent)
def test_text_is_context_where_a_prompt_or_a_session_begins(event: HookEvent) -> None:
    takes = {HookEvent.USER_PROMPT_SUBMIT, HookEvent.USER_PROMPT_EXPANSION, HookEvent.SESSION_START}

    assert read(" today is Friday\n", event).context == ("today is Friday" if event in takes else "")


def test_json_that_is_broken_is_no_context() -> None:
    answer = read("  {broken", HookEvent.SESSION_START)

    assert answer.context == ""
    assert answer.problems[0].startswith("it printed malformed JSON")


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_everything_that_a_call_can_be_told() -> None:
    answer = read(
        specific(
            permissionDecision="ask",
            permissionDecisionReason="look twice",
            updatedInput={"command": "ls -l"},
            additionalContext="it is Friday",
        )
    )

    assert answer == HookAnswer(
        permission=Permission.ASK,
        permission_reason="look twice",
        updated_input={"command": "ls -l"},
        context="it is Friday",
    )


def test_the_old_words_for_calls_still_hold() -> None:
    assert read('{"decision": "approve", "reason": "ok"}').permission is Permission.ALLOW
    denied = read('{"decision": "block", "reason": "no"}')
    assert (denied.permission, denied.permission_reason, denied.blocks) == (Permission.DENY, "no", False)


def test_what_ends_everything_and_what_is_for_people() -> None:
    answer = read('{"continue": false, "stopReason": "enough", "systemMessage": "hello", "suppressOutput": true}')

    assert (answer.stops, answer.stop_reason, answer.system_message) == (True, "enough", "hello")


def test_continue_false_means_nothing_for_a_new_item() -> None:
    assert not read('{"continue": false}', HookEvent.TASK_CREATED).stops


def test_a_decision_for_another_event_is_left_out() -> None:
    answer = read(specific(HookEvent.POST_TOOL_USE, permissionDecision="allow"))

    assert answer.permission is None
    assert "hookEventName" in answer.problems[0]
    assert "hookEventName" in read('{"hookSpecificOutput": {"permissionDecision": "deny"}}').problems[0]


def test_an_allow_whose_rewritten_input_cannot_be_used_is_no_allow() -> None:
    answer = read(specific(permissionDecision="allow", updatedInput="rm"))

    assert (answer.permission, answer.updated_input) == (None, None)
    assert answer.problems


def test_half_characters_do_not_get_into_a_conversation() -> None:
    answer = read(r'{"systemMessage": "a\ud800b"}')

    assert answer.system_message == "a?b"


def test_a_permission_request_is_answered_in_the_place_of_a_person() -> None:
    event = HookEvent.PERMISSION_REQUEST
    allowed = read(specific(event, decision={"behavior": "allow", "updatedInput": {"a": 1}}), event)
    denied = read(specific(event, decision={"behavior": "deny", "message": "no", "interrupt": True}), event)

    assert allowed.decision == PermissionDecision(is_allowed=True, updated_input={"a": 1})
    assert fold_answers(event, [allowed, denied]).decision == PermissionDecision(
        is_allowed=False, message="no", interrupt=True
    )
    assert read(specific(event, decision={"behavior": "maybe"}), event).decision is None
    assert read(specific(event, decision={"behavior": "allow", "updatedInput": "rm"}), event).decision is None


def test_what_single_events_know() -> None:
    post = read(specific(HookEvent.POST_TOOL_USE, updatedToolOutput={"x": 1}), HookEvent.POST_TOOL_USE)
    start = read(
        specific(HookEvent.SESSION_START, sessionTitle="t", initialUserMessage="hi", watchPaths=["a", 1]),
        HookEvent.SESSION_START,
    )
    denied = read(specific(HookEvent.PERMISSION_DENIED, retry=True), HookEvent.PERMISSION_DENIED)

    assert post.extras.updated_tool_output == {"x": 1}
    assert start.extras == Extras(session_title="t", initial_user_message="hi", watch_paths=("a",))
    assert denied.extras.retry is True


@pytest.mark.parametrize("event", [HookEvent.ELICITATION, HookEvent.ELICITATION_RESULT])
def test_a_question_of_a_server_is_answered_by_an_action_and_the_fields_of_its_form(event: HookEvent) -> None:
    form = {"name": "Ann"}

    accepted = read(specific(event, action="accept", content=form), event)
    assert accepted.extras.reply == ElicitationReply(action=ReplyAction.ACCEPT, content=form)
    assert read(specific(event, action="accept"), event).extras.reply == ElicitationReply(action=ReplyAction.ACCEPT)
    assert read(specific(event, action="cancel", content=form), event).extras.reply == ElicitationReply(
        action=ReplyAction.CANCEL
    )
    assert read("", event, exit_code=2, stderr="no").block_reason == "no"
    both = read(specific(event, action="accept", content=form), event, exit_code=2, stderr="no")
    assert (both.blocks, both.extras.reply) == (True, None)


@pytest.mark.parametrize(
    "values", [{"action": "yes"}, {"action": 1}, {"content": {}}, {"action": "accept", "content": "x"}]
)
def test_an_answer_to_a_server_that_cannot_be_used_is_none_and_a_problem(values: dict[str, Any]) -> None:
    answer = read(specific(HookEvent.ELICITATION, **values), HookEvent.ELICITATION)

    assert answer.extras.reply is None
    assert len(answer.problems) == 1


def test_of_several_answers_to_a_server_the_last_counts() -> None:
    answers = [
        read(specific(HookEvent.ELICITATION, **values), HookEvent.ELICITATION)
        for values in ({"action": "accept", "content": {"a": 1}}, {"action": "decline"}, {})
    ]

    assert fold_answers(HookEvent.ELICITATION, answers).extras.reply == ElicitationReply(action=ReplyAction.DECLINE)


def test_what_is_shown_in_the_place_of_a_message_is_text_and_ends_nothing() -> None:
    event = HookEvent.MESSAGE_DISPLAY
    shown = read(specific(event, displayContent=""), event)
    assert shown.extras.display_content == ""  # hidden, not left as it is
    assert read(specific(event, displayContent=5), event).extras.display_content is None
    assert not read(json.dumps({"continue": False}), event).stops
    assert read("", event, exit_code=2, stderr="no").problems == (f"{NON_BLOCKING} 2 no",)


def test_only_a_reply_of_2xx_with_json_decides() -> None:
    deny = specific(permissionDecision="deny")

    assert read_http(PRE, 201, deny).permission is Permission.DENY
    assert read_http(PRE, 500, deny) == HookAnswer(problems=(f"{NON_BLOCKING} 500",))
    assert read_http(PRE, 302, deny).permission is None
    assert read_http(PRE, 204, "") == HookAnswer()
    assert read_http(PRE, 200, "no!").problems


# --- a model's verdict -----------------------------------------------------------------------------------------------

NO: Final = '```json\n{"ok": false, "reason": "not done"}\n```'


@pytest.mark.parametrize("event", [HookEvent.STOP, HookEvent.SUBAGENT_STOP, HookEvent.TASK_CREATED])
def test_a_no_is_fed_back(event: HookEvent) -> None:
    answer = read_verdict(event, NO, continue_on_block=False)

    assert (answer.blocks, answer.block_reason, answer.stops) == (True, "not done", False)


def test_a_no_to_a_call_denies_it_and_ends_the_turn_unless_it_is_to_go_on() -> None:
    ends, goes_on = (read_verdict(PRE, NO, continue_on_block=on) for on in (False, True))

    assert (ends.permission, ends.stops) == (Permission.DENY, True)
    assert (goes_on.permission, goes_on.stops, goes_on.permission_reason) == (Permission.DENY, False, "not done")


def test_a_no_after_a_call_ends_the_turn_or_is_fed_back() -> None:
    assert read_verdict(HookEvent.POST_TOOL_USE, NO, continue_on_block=False).stops
    assert read_verdict(HookEvent.POST_TOOL_USE, NO, continue_on_block=True).blocks


def test_a_no_to_a_completed_item_depends_on_who_completes_it() -> None:
    event = HookEvent.TASK_COMPLETED

    assert read_verdict(event, NO, continue_on_block=False, on_idle=True).stops
    assert read_verdict(event, NO, continue_on_block=False).blocks


def test_what_is_impossible_lets_the_turn_end() -> None:
    answer = read_verdict(
        HookEvent.STOP, '{"ok": false, "reason": "no network", "impossible": true}', continue_on_block=False
    )

    assert answer == HookAnswer(system_message="no network")


def test_a_yes_and_a_no_where_it_means_nothing_say_nothing() -> None:
    assert read_verdict(PRE, '{"ok": true}', continue_on_block=False) == HookAnswer()
    assert read_verdict(HookEvent.PERMISSION_REQUEST, NO, continue_on_block=False) == HookAnswer()
    assert read_verdict(PRE, "Well, it depends.", continue_on_block=False).problems


# --- many answers ----------------------------------------------------------------------------------------------------

TEXTS: Final = st.sampled_from(["", "one", "two"])
ANSWERS: Final = st.lists(
    st.builds(
        HookAnswer,
        hook=st.sampled_from(["a", "b"]),
        stops=st.booleans(),
        stop_reason=TEXTS,
        blocks=st.booleans(),
        block_reason=TEXTS,
        permission=st.none() | st.sampled_from(Permission),
        permission_reason=TEXTS,
        context=TEXTS,
        updated_input=st.none() | st.fixed_dictionaries({"n": st.integers(0, 9)}),
        decision=st.none() | st.builds(PermissionDecision, is_allowed=st.booleans(), interrupt=st.booleans()),
        problems=st.lists(TEXTS, max_size=1).map(tuple),
    ),
    max_size=6,
)


def verdicts(outcome: HookOutcome) -> tuple[object, ...]:
    decision = outcome.decision
    denied = decision is not None and not decision.is_allowed
    return outcome.stops, outcome.is_blocked, outcome.permission, denied, sorted(outcome.block_reasons)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_no_verdict_depends_on_the_order(answers: list[HookAnswer], random: Any) -> None:
    shuffled = list(answers)
    random.shuffle(shuffled)

    assert verdicts(fold_answers(PRE, answers)) == verdicts(fold_answers(PRE, shuffled))


@given(ANSWERS)
def test_deny_beats_defer_beats_ask_beats_allow(answers: list[HookAnswer]) -> None:
    """Behaviours (3), line 3, between hooks: allow and deny is deny."""
    said = {answer.permission for answer in answers}
    strongest = next((text for text in ("deny", "defer", "ask", "allow") if text in said), None)

    assert fold_answers(PRE, answers).permission == strongest


@pytest.mark.parametrize("order", list(itertools.permutations(Permission)))
def test_of_all_four_deny_is_taken_and_of_the_rest_the_strongest(order: tuple[Permission, ...]) -> None:
    for strongest in ("deny", "defer", "ask", "allow"):
        answers = [HookAnswer(permission=one, permission_reason=f"r-{one}") for one in order]
        outcome = fold_answers(PRE, answers)
        assert (outcome.permission, outcome.permission_reason) == (strongest, f"r-{strongest}")
        order = tuple(one for one in order if one != strongest)


@given(ANSWERS)
def test_texts_keep_the_order_of_the_configuration(answers: list[HookAnswer]) -> None:
    outcome = fold_answers(PRE, answers)

    assert outcome.contexts == tuple(answer.context for answer in answers if answer.context)
    assert outcome.updated_input == ([None, *(answer.updated_input for answer in answers if answer.updated_input)])[-1]
    assert len(outcome.block_reasons) == sum(answer.blocks for answer in answers)
    assert all(outcome.block_reasons)


def test_no_answers_are_an_outcome_that_says_nothing() -> None:
    assert fold_answers(PRE, []) == HookOutcome(event=PRE)


@given(st.sampled_from(HookEvent), st.sampled_from([0, 1, 2, 3, -9]), st.text() | NEARLY, st.text(max_size=20))
def test_no_output_raises_and_only_exit_2_or_json_decides(
    event: HookEvent, exit_code: int, stdout: str, stderr: str
) -> None:
    answers = [
        read_command(event, exit_code, stdout, stderr),
        read_http(event, 200, stdout),
        read_verdict(event, stdout, continue_on_block=False),
    ]
    outcome = fold_answers(event, answers)

    for text in (*outcome.contexts, *outcome.block_reasons, *outcome.system_messages):
        assert text.encode()
    must_succeed = event is HookEvent.WORKTREE_CREATE
    if exit_code not in {0, 2} and not must_succeed and not stdout.lstrip().startswith("{"):
        assert attrs.evolve(answers[0], problems=()) == HookAnswer()


@given(NEARLY)
def test_deep_or_odd_json_is_at_most_a_problem(text: str) -> None:
    for nested in ("[" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000, '{"continue": ' + "9" * 5_000 + "}", text):
        assert isinstance(read("{" + nested if nested.startswith("[") else nested), HookAnswer)


# --- the end of a turn -----------------------------------------------------------------------------------------------

BLOCKED: Final = HookOutcome(event=HookEvent.STOP, block_reasons=("go on",))


def test_a_stop_that_is_always_blocked_ends_after_eight_rounds() -> None:
    """Behaviours (3), line 4, and CL-49: eight blocks hold, the ninth is ignored with a warning."""
    guard = StopGuard()
    was_active = []
    for _ in range(8):
        was_active.append(guard.is_active)
        assert guard.decide(BLOCKED).goes_on

    last = guard.decide(BLOCKED)

    assert was_active == [False, *[True] * 7]
    assert not last.goes_on
    assert "8 times" in last.warning


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 9))
def test_no_turn_is_kept_going_more_often_in_a_row_than_the_cap(blocks: list[bool], cap: int) -> None:
    guard = StopGuard(cap)
    in_a_row = 0
    for block in blocks:
        goes_on = guard.decide(BLOCKED if block else HookOutcome(event=HookEvent.STOP)).goes_on
        in_a_row = in_a_row + 1 if goes_on else 0
        assert in_a_row <= cap
        assert guard.is_active is goes_on


def test_without_a_cap_a_stop_may_be_blocked_forever() -> None:
    guard = StopGuard(0)

    assert all(guard.decide(BLOCKED).goes_on for _ in range(50))


def test_context_keeps_a_turn_going_and_continue_false_ends_it() -> None:
    guard = StopGuard()

    assert guard.decide(HookOutcome(event=HookEvent.STOP, contexts=("by the way",))).said == ("by the way",)
    assert not guard.decide(attrs.evolve(BLOCKED, stops=True)).goes_on
