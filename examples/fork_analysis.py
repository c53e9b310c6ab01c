"""Forks for parallel analysis: workers that start with the whole conversation and share one cached prefix."""

import os
import tempfile

import trio

import greenroom as gr
from greenroom.models import AnswerLike, Call, Model, ModelRequest
from greenroom.tools.builtin import READ_ONLY_TOOLS

REPORT = "Orders fell by a third on Monday. The new checkout went live on Sunday. The mail campaign ended on Friday."
ANGLES = ("the new checkout", "the mail campaign")


def lead(request: ModelRequest) -> AnswerLike:
    said = sum(message.role == "assistant" for message in request.messages)
    if said == 0:
        return Call("Read", {"file_path": "report.txt"})
    if said == 1:
        return [
            Call("Agent", {"description": angle, "prompt": f"Argue for {angle}.", "subagent_type": "fork"})
            for angle in ANGLES
        ]
    heard = str(request.messages).count("<task-notification>")
    return "Both angles are in: the checkout comes first." if heard == len(ANGLES) else "I wait for the others."


def fork(request: ModelRequest) -> AnswerLike:
    knows = "the file that my parent read" if "Orders fell" in str(request.messages[:-1]) else "nothing"
    return f"{request.messages[-1].text.splitlines()[-1]} I know {knows}."


def model() -> Model:
    if "ANTHROPIC_API_KEY" in os.environ:
        return gr.retrying(gr.AnthropicModel("claude-sonnet-5"))
    return gr.PlaybookModel({"main": lead, "fork": fork})


async def main() -> None:
    tools, settings = (*READ_ONLY_TOOLS, *gr.AGENT_TOOLS), {"delegation": {"fork": "explicit"}}
    with tempfile.TemporaryDirectory() as folder:
        await trio.Path(folder, "report.txt").write_text(REPORT)
        async with gr.open_session(model=model(), cwd=folder, runs=folder, tools=tools, settings=settings) as session:
            await session.run(f"Read report.txt. Then let a fork argue for each of {', '.join(ANGLES)}.")
            await session.wait_quiet()
            for task in session.tasks.all():
                print(
                    task.agent_type, task.state.value, (await trio.Path(task.output_file).read_text()).splitlines()[0]
                )
            print((await session.run("Which angle is it?")).text)


if __name__ == "__main__":
    trio.run(main)
