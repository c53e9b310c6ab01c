"""A coordinator: a main agent that only leads workers. Two do research side by side, and one of them then writes."""

import os
import re
import tempfile

import trio

import greenroom as gr
from greenroom.agents import Appended
from greenroom.models import AnswerLike, Call, Model, ModelRequest
from greenroom.tools.builtin import STANDARD_TOOLS

TOOLS, SETTINGS = (*STANDARD_TOOLS, *gr.AGENT_TOOLS), {"delegation": {"coordinator": True}}


def lead(request: ModelRequest) -> AnswerLike:
    """Hand out two questions; when both reports are in, have the first worker write them down."""
    if len(request.messages) == 1:
        return [
            Call("Agent", {"description": name, "prompt": f"Find every {name}.", "subagent_type": "worker"})
            for name in ("test", "example")
        ]
    ids = re.findall(r"<task-id>(\w+)</task-id>", str(request.messages))
    if len(ids) == 2 and request.messages[-1].text:
        return Call("SendMessage", {"to": ids[0], "message": "Write what both of you found into found.txt."})
    return "It is written." if len(ids) == 3 else f"{len(ids)} of 2 reports are in."


def worker(request: ModelRequest) -> AnswerLike:
    asked = request.messages[-1].text
    if "Write" in asked:
        return Call("Write", {"file_path": "found.txt", "content": "nothing yet\n"})
    return Call("Glob", {"pattern": "*"}) if asked else f"Done, in {len(request.messages)} messages."


def show(appended: Appended) -> None:
    if appended.message.role == "assistant" and appended.message.text:
        print(appended.message.text)


def model() -> Model:
    if "ANTHROPIC_API_KEY" in os.environ:
        return gr.retrying(gr.AnthropicModel("claude-sonnet-5"))
    return gr.PlaybookModel({"main": lead, "worker": worker}, wait_s=0.05)


async def main() -> None:
    with tempfile.TemporaryDirectory() as cwd:
        async with gr.open_session(
            model=model(), cwd=cwd, runs=f"{cwd}/runs", tools=TOOLS, settings=SETTINGS, on_message=show
        ) as session:
            await session.run("Find the tests and the examples, and write what there is into found.txt.")
            await session.wait_quiet()
            print(", ".join(f"{task.description}: run {task.run} {task.state.value}" for task in session.tasks.all()))


if __name__ == "__main__":
    trio.run(main)
