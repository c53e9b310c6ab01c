from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from greenroom.core import UsageError
from greenroom.core.ports import InlineBlocking
from greenroom.tools import AskUser, InvalidInput, QuestionAnswers, QuestionRequest, ToolContext, ToolError
from greenroom.tools._workspace import Todo
from greenroom.tools.builtin import ask_user_question_tool, todo_write_tool
from tests.tools.calls import context


def todo(content: str, status: str = "pending") -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": f"Doing {content}"}


async def test_the_list_is_kept_and_shown_back(tmp_path: Path) -> None:
    ctx = context(tmp_path)

    todos = [todo("a", "completed"), todo("b", "in_progress"), todo("c\nd")]
    answer = await todo_write_tool.call({"todos": todos}, ctx)
    kept = ctx.for_call("next").workspace.todos

    assert answer == "The list is noted: 1 of 3 completed\n[x] a\n[>] b\n[ ] c\\nd"
    assert kept[0] == Todo(content="a", status="completed", activeForm="Doing a")
    assert await todo_write_tool.call({"todos": []}, ctx) == "The list is empty"
    assert ctx.workspace.todos == ()


@pytest.mark.parametrize(
    ("todos", "reason"),
    [
        ([todo(" ")], r"todos\[0\].content is empty"),
        ([todo("a", "in_progress"), todo("b"), todo("c", "in_progress")], "not those at 0, 2"),
        ([todo("a")] * 201, "at most 200"),
        ([todo("a", "done")], r"todos\[0\].status: expected"),
        ([{"status": "pending"}], "content"),
    ],
)
async def test_a_bad_list_is_refused_and_the_old_one_kept(tmp_path: Path, todos: list[Any], reason: str) -> None:
    ctx = context(tmp_path)
    await todo_write_tool.call({"todos": [todo("old")]}, ctx)

    with pytest.raises(ToolError, match=reason):
        await todo_write_tool.call({"todos": todos}, ctx)

    assert [each_todo.content for each_todo in ctx.workspace.todos] == ["old"]


# --- questions -------------------------------------------------------------------------------------------------------


def question(text: str = "Which one?", *labels: str, header: str = "Choice", several: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"takes {label}"} for label in labels or ("a", "b")]
    return {"question": text, "header": header, "options": options, "multiSelect": several}


def asking(ask_user: AskUser | None) -> ToolContext:
    home = Path("/")
    return ToolContext(
        cwd=home, roots=(home,), actor="a1", tool_use_id="t1", blocking=InlineBlocking(), ask_user=ask_user
    )


async def ask(questions: list[dict[str, Any]], *answers: tuple[str, ...]) -> tuple[str, list[QuestionRequest]]:
    requests: list[QuestionRequest] = []

    async def host(request: QuestionRequest) -> QuestionAnswers:
        requests.append(request)
        return QuestionAnswers(answers=answers)

    return await ask_user_question_tool.call({"questions": questions}, asking(host)), requests


async def test_a_question_reaches_the_host_typed_and_the_answer_the_model() -> None:
    answer, (request,) = await ask([question(), question("And?", several=True)], ("a",), ("a", "something else"))

    assert answer == (
        'User has answered your questions: "Which one?"="a", "And?"="a, something else". '
        "You can now continue with the user's answers in mind."
    )
    assert (request.actor, request.tool_use_id) == ("a1", "t1")
    assert [option.label for option in request.questions[0].options] == ["a", "b"]
    assert [each_question.multiSelect for each_question in request.questions] == [False, True]


@pytest.mark.parametrize(
    ("questions", "reason"),
    [
        ([], "one to 4"),
        ([question(str(n)) for n in range(5)], "one to 4"),
        ([question(" ")], "question is empty"),
        ([question(header="much too long")], "header has 13 characters"),
        ([question("?", "a")], "1 options"),
        ([question("?", *"abcde")], "5 options"),
        ([question("?", "a", "a")], "the same label"),
        ([question(), question()], "two questions are the same"),
    ],
)
async def test_a_question_that_cannot_be_shown_is_refused(questions: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        await ask(questions, ("a",))


async def test_an_unknown_shape_is_refused_by_the_schema() -> None:
    with pytest.raises(InvalidInput):
        await ask([{"question": "x"}])


async def test_nobody_to_ask_and_nobody_who_answers_are_told_to_the_model() -> None:
    with pytest.raises(ToolError, match="there is nobody to ask in this session"):
        await ask_user_question_tool.call({"questions": [question()]}, asking(None))
    with pytest.raises(ToolError, match="did not want to answer"):
        await ask([question()])


@pytest.mark.parametrize("answers", [[("a",), ("b",)], [("a", "b")], [()]])
async def test_a_host_that_answers_something_else_is_at_fault(answers: list[tuple[str, ...]]) -> None:
    with pytest.raises(UsageError, match="the host gave"):
        await ask([question()], *answers)
