"""A session with its page: open the address in a browser while it works, and watch what every agent does."""

import os
import sys
import tempfile

import trio

import greenroom as gr
from greenroom.models import AnswerLike, Call, Model, ModelRequest
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.web import open_page


def lister(request: ModelRequest) -> AnswerLike:
    if len(request.messages) > 1:
        return "There are Python files here."
    return Call("Glob", {"pattern": "*.py"})


def model() -> Model:
    if "ANTHROPIC_API_KEY" in os.environ:
        return gr.retrying(gr.AnthropicModel("claude-sonnet-5"))
    return gr.PlaybookModel({"main": lister})


async def main() -> None:
    with tempfile.TemporaryDirectory() as runs:
        async with (
            gr.open_session(model=model(), cwd=".", runs=runs, tools=STANDARD_TOOLS) as session,
            open_page(session) as page,
        ):
            print(f"Look at it: {page.url}", file=sys.stderr)
            answer = await session.run("Which Python files are in this folder?")
            print(answer.text)
            print(f"{page.viewers} browsers, {page.statistics().accepted} connections so far")


if __name__ == "__main__":
    trio.run(main)
