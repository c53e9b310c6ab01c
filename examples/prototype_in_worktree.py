"""A prototype away from your checkout: an agent in a git worktree, and how its work is kept."""

import os
import subprocess
import tempfile
from pathlib import Path

import trio

import greenroom as gr
from greenroom.models import AnswerLike, Call, Model, ModelRequest
from greenroom.session import TaskResult
from greenroom.tools.builtin import STANDARD_TOOLS

TASK = "Write a file greet.py that prints `Good morning`."


def prototyper(request: ModelRequest) -> AnswerLike:
    if len(request.messages) == 1:
        return Call("Write", {"file_path": "greet.py", "content": 'print("Good morning")\n'})
    return "greet.py greets."


def git(folder: str | Path, *arguments: str) -> str:
    who = ("-c", "user.name=Example", "-c", "user.email=example@example.com")
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def model() -> Model:
    if "ANTHROPIC_API_KEY" in os.environ:
        return gr.retrying(gr.AnthropicModel("claude-sonnet-5"))
    return gr.PlaybookModel({"general-purpose": prototyper})


def take_over(folder: str, result: TaskResult) -> None:
    print("in the checkout:", sorted(path.name for path in Path(folder).glob("[!.]*")))
    if not result.worktree:
        return  # there was nothing in it, so it is gone
    print("in the worktree:", git(result.worktree, "status", "--short").strip())
    git(result.worktree, "add", "-A")
    git(result.worktree, "commit", "-q", "-m", "Greet")
    git(folder, "merge", "-q", "--ff-only", result.worktree_branch)
    git(folder, "worktree", "remove", result.worktree)
    print("merged:", sorted(path.name for path in Path(folder).glob("[!.]*")))


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as runs:
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", "first")
        async with gr.open_session(model=model(), cwd=folder, runs=runs, tools=STANDARD_TOOLS) as session:
            agent = await session.spawn("general-purpose", TASK, isolation="worktree")
            result = await agent.wait_finished()  # at once: the call above has waited, since it was no background
        print(result.text)
        take_over(folder, result)


if __name__ == "__main__":
    trio.run(main)
