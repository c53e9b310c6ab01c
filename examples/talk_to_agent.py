"""Messages to an agent: from the program and from the main agent while it runs, and more work after its end."""

import os
import tempfile

import trio

import greenroom as gr
from greenroom.models import AnswerLike, Call, Model, ModelRequest
from greenroom.tools.builtin import READ_ONLY_TOOLS

TELL = Call("SendMessage", {"to": "surveyor", "message": "Leave the tests out.", "summary": "a smaller survey"})


def surveyor(request: ModelRequest) -> AnswerLike:
    """Look around, again and again, until it is told what matters."""
    heard = [part for part in ("Only Python", "Leave the tests out", "And the docs") if part in str(request.messages)]
    wanted = 3 if "And the docs" in heard else 2
    return f"I heeded: {', '.join(heard)}." if len(heard) == wanted else Call("Glob", {"pattern": "*"})


def lead(request: ModelRequest) -> AnswerLike:
    return TELL if request.messages[-1].text else "I have told it."


def model() -> Model:
    if "ANTHROPIC_API_KEY" in os.environ:
        return gr.retrying(gr.AnthropicModel("claude-sonnet-5"))
    return gr.PlaybookModel({"main": lead, "general-purpose": surveyor}, wait_s=0.1)


async def main() -> None:
    tools = (*READ_ONLY_TOOLS, *gr.AGENT_TOOLS)
    with tempfile.TemporaryDirectory() as runs:
        async with gr.open_session(model=model(), cwd=".", runs=runs, tools=tools) as session:
            agent = await session.spawn("general-purpose", "Survey this folder.", name="surveyor", background=True)
            print(agent.tell("Only Python, please."))  # it reads this at its next step
            answer = await session.run("Send a message to the agent `surveyor`: leave the tests out.")
            print(answer.text)
            print((await agent.wait_finished()).text)

            print(agent.tell("And the docs."))  # too late for a word: that run has ended
            await agent.resume("And the docs.")  # the same agent, with all that it knew
            result = await agent.wait_finished()
            print(f"run {result.run}: {result.text}")


if __name__ == "__main__":
    trio.run(main)
