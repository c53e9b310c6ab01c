"""A long test run in the background: the main agent continues, and is notified when they end."""

import os
import tempfile

import trio

import greenroom as gr
from greenroom.agents import Appended
from greenroom.models import AnswerLike, Call, Model, ModelRequest
from greenroom.tools.builtin import STANDARD_TOOLS

RUN = {"description": "Run the tests", "prompt": "Run `sleep 1; echo 3 passed` and report.", "run_in_background": True}
ALLOWED = {"permissions": {"allow": ["Bash(sleep *)"]}}


def lead(request: ModelRequest) -> AnswerLike:
    if "<task-notification>" in request.messages[-1].text:
        return f"The tests are through: {request.messages[-1].text.split('<result>')[1].split('<')[0]}"
    said = sum(message.role == "assistant" for message in request.messages)
    calls = [Call("Agent", RUN), Call("Glob", {"pattern": "docs/how-to/*.md"})]
    return calls[said] if said < len(calls) else "The tests run; I have read on."


def tester(request: ModelRequest) -> AnswerLike:
    if len(request.messages) == 1:
        return Call("Bash", {"command": "sleep 1; echo 3 passed"})
    return "3 passed." if "3 passed" in str(request.messages[-1]) else "They could not be run."


def show(appended: Appended) -> None:
    """Print what the main agent and its sub-agents say, as they say it."""
    if appended.message.role == "assistant" and appended.message.text:
        print(f"{appended.agent}: {appended.message.text}")


def model() -> Model:
    if "ANTHROPIC_API_KEY" in os.environ:
        return gr.retrying(gr.AnthropicModel("claude-sonnet-5"))
    return gr.PlaybookModel({"main": lead, "general-purpose": tester})


async def main() -> None:
    tools = (*STANDARD_TOOLS, *gr.AGENT_TOOLS)
    with tempfile.TemporaryDirectory() as runs:
        async with gr.open_session(
            model=model(), cwd=".", runs=runs, tools=tools, settings=ALLOWED, on_message=show
        ) as session:
            await session.run(
                "Let an agent run `sleep 1; echo 3 passed` in the background; list the how-tos meanwhile."
            )
            print([(task.description, task.state.value) for task in session.tasks.all() if task.agent_type])
            await session.wait_quiet()  # the notice has begun a turn of its own, and that has ended


if __name__ == "__main__":
    trio.run(main)
