"""The tool AskUserQuestion: one to four questions to the person, as a typed request to the host."""

from __future__ import annotations

from collections.abc import Sequence

from greenroom.core import UsageError
from greenroom.tools import Question, QuestionRequest, ToolContext, ToolError, tool

MAX_QUESTIONS = 4
OPTIONS = (2, 4)
HEADER_CHARACTERS = 12


@tool(name="AskUserQuestion")
async def ask_user_question_tool(questions: list[Question], *, ctx: ToolContext) -> str:
    """Ask the user one to four questions, each with two to four answers to choose from; they may also write another.
    For decisions that are theirs and that nothing at hand answers.

    Args:
        questions: The questions, in order.
    """
    _check(questions)
    ctx.progress(f"Asking the user: {questions[0].question}")
    request = QuestionRequest(actor=ctx.actor, tool_use_id=ctx.tool_use_id, questions=tuple(questions))
    answers = (await ctx.ask_user(request)).answers
    if not answers:
        raise ToolError("the user did not want to answer; go on without, or ask what they want instead")
    _check_answers(questions, answers)
    pairs = [f'"{question.question}"="{", ".join(given)}"' for question, given in zip(questions, answers, strict=True)]
    return (
        f"User has answered your questions: {', '.join(pairs)}. You can now continue with the user's answers in mind."
    )


def _check(questions: list[Question]) -> None:
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise ToolError(f"one to {MAX_QUESTIONS} questions are asked at once, not {len(questions)}")
    for number, question in enumerate(questions):
        where = f"questions[{number}]"
        labels = [option.label for option in question.options]
        if not question.question.strip():
            raise ToolError(f"{where}.question is empty")
        if not 1 <= len(question.header) <= HEADER_CHARACTERS:
            raise ToolError(f"{where}.header has {len(question.header)} characters, and 1 to {HEADER_CHARACTERS} fit")
        if not OPTIONS[0] <= len(labels) <= OPTIONS[1]:
            raise ToolError(f"{where} has {len(labels)} options, and {OPTIONS[0]} to {OPTIONS[1]} can be shown")
        if len(set(labels)) < len(labels) or not all(label.strip() for label in labels):
            raise ToolError(f"{where}: two options have the same label, or one has none")
    if len({question.question for question in questions}) < len(questions):
        raise ToolError("two questions are the same")


def _check_answers(questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> None:
    if len(answers) != len(questions):
        raise UsageError(f"the host gave {len(answers)} answers to {len(questions)} questions; give one to each")
    for question, given in zip(questions, answers, strict=True):
        if not given or (len(given) > 1 and not question.multiSelect):
            wanted = "one or more answers" if question.multiSelect else "one answer"
            raise UsageError(f"the host gave {list(given)!r} to {question.question!r}; give {wanted}")
