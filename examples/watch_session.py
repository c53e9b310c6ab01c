"""Watch a session: its state, and what each event changes; the model is a pure function, so it needs no network."""

import tempfile

import trio

import greenroom as gr
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.models import AnswerLike, Call, ModelRequest


def lead(request: ModelRequest) -> AnswerLike:
    if len(request.messages) == 1:
        return Call("Agent", {"description": "count", "prompt": "Count the files.", "subagent_type": "counter"})
    return "There are three."


def counter(request: ModelRequest) -> AnswerLike:
    return f"Three, as you asked in {len(request.messages)} message."


async def show(session: gr.Session, *, task_status: trio.TaskStatus[None]) -> None:
    async with session.watch() as view:
        task_status.started()
        async for change in view:
            if (
                change.event is None
            ):  # a snapshot: the beginning, or in place of events that this reader was too slow for
                print(len(view.state.section("agents")), "agent at the beginning")
                continue
            for section, actor in change.subjects:
                if section == "agents":
                    agent = view.state.section("agents")[actor]
                    print(change.event.kind, agent.definition, agent.requests, "requests")


async def main() -> None:
    model = gr.PlaybookModel({"lead": lead, "counter": counter})
    agents = {"counter": {"description": "Counts.", "prompt": "Count."}}
    with tempfile.TemporaryDirectory() as runs:
        async with (
            gr.open_session(
                model=model,
                cwd=".",
                runs=runs,
                main=gr.AgentDefinition(name="lead"),
                agents=agents,
                tools=AGENT_TOOLS,
            ) as session,
            trio.open_nursery() as nursery,
        ):
            await nursery.start(show, session)
            await session.run("How many files are there?")
            await session.wait_quiet()
            nursery.cancel_scope.cancel()  # without it, the reader would end with the session


if __name__ == "__main__":
    trio.run(main)
