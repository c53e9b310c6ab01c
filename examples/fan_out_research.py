"""Fan-out research: one agent per question, side by side; the main agent combines their reports."""

import os
import tempfile

import trio

import greenroom as gr
from greenroom.models import AnswerLike, Call, Model, ModelRequest, ToolResultBlock

QUESTIONS = ("How are the limits of a mailbox set?", "What ends a supervisor?", "Who reads settings files?")


def searcher(request: ModelRequest) -> AnswerLike:
    """Search once, and report how many files it found."""
    found = [block.content for block in request.messages[-1].content if isinstance(block, ToolResultBlock)]
    if found:
        return f"{len(found[0].splitlines())} files may say so."
    return Call("Glob", {"pattern": f"**/*{request.messages[0].text.rstrip('?').split()[-1]}*"})


def lead(request: ModelRequest) -> AnswerLike:
    return f"Three reports in, and in order:\n{request.messages[-1].text.split(':', 1)[1]}"


def model() -> Model:
    if "ANTHROPIC_API_KEY" in os.environ:
        return gr.retrying(gr.AnthropicModel("claude-sonnet-5"))
    return gr.PlaybookModel({"main": lead, "Explore": searcher}, wait_s=0.1)


async def main() -> None:
    with tempfile.TemporaryDirectory() as runs:
        async with gr.open_session(model=model(), cwd=".", runs=runs) as session:
            began_s = trio.current_time()
            agents = [await session.spawn("Explore", question, background=True) for question in QUESTIONS]
            results = [await agent.wait_finished() for agent in agents]  # all of them run while the first is awaited
            reports = "\n".join(
                f"- {question} {result.text if result.state == 'completed' else f'Nobody knows: {result.error}'}"
                for question, result in zip(QUESTIONS, results, strict=True)
            )
            answer = await session.run(f"Combine these reports:\n{reports}")
            print(answer.text)
            print(f"{len(agents)} agents, {session.usage.total} tokens, {trio.current_time() - began_s:.1f} s")


if __name__ == "__main__":
    trio.run(main)
