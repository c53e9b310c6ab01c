"""A session that the clock wakes: a prompt in two seconds, and one each morning that is deleted again."""

import os
import tempfile
from datetime import UTC, datetime, timedelta

import trio

import greenroom as gr
from greenroom.agents import Appended
from greenroom.models import AnswerLike, Model, ModelRequest
from greenroom.session import SCHEDULE_TOOLS
from greenroom.tools.builtin import STANDARD_TOOLS


def watcher(request: ModelRequest) -> AnswerLike:
    is_scheduled = "<scheduled-prompt" in request.messages[-1].text
    return "The build is green." if is_scheduled else "I wait to be woken."


def show(appended: Appended) -> None:
    """Print what the main agent says."""
    if appended.message.role == "assistant" and appended.message.text:
        print(appended.message.text)


def model() -> Model:
    if "ANTHROPIC_API_KEY" in os.environ:
        return gr.retrying(gr.AnthropicModel("claude-sonnet-5"))
    return gr.PlaybookModel({"main": watcher})


async def main() -> None:
    tools = (*STANDARD_TOOLS, *SCHEDULE_TOOLS)
    with tempfile.TemporaryDirectory() as runs:
        async with gr.open_session(model=model(), cwd=".", runs=runs, tools=tools, on_message=show) as session:
            await session.run("You watch the build of this project.")
            soon = datetime.now(UTC) + timedelta(seconds=2)
            await session.schedules.add("Look at the build.", at=soon, tz="UTC")
            later = await session.schedules.add("Look again.", cron="0 9 * * MON-FRI", tz="UTC")
            async for event in session.events(from_start=True):
                if event.kind == "schedule.fired":
                    break
            await session.schedules.delete(later.id)
            await session.wait_quiet()
            print([how for _, how in session.schedules.ended()])


if __name__ == "__main__":
    trio.run(main)
