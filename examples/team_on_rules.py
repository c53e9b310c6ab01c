"""A team without a network: a lead puts items on the board, two teammates claim them; the model is a pure function."""

import tempfile

import trio

import greenroom as gr
from greenroom.models import AnswerLike, Call, ModelRequest


def lead(request: ModelRequest) -> AnswerLike:
    if len(request.messages) == 1:
        return [
            Call("TaskCreate", {"subject": name, "description": "Count its lines."}) for name in ("one", "two", "three")
        ]
    return "Thank you."


def mate(request: ModelRequest) -> AnswerLike:
    text = request.messages[-1].text
    if text.startswith("Task #"):
        return Call("TaskUpdate", {"taskId": text.split()[1].strip("#"), "status": "completed"})
    return "Done."


async def main() -> None:
    model = gr.PlaybookModel({"lead": lead, "mate": mate})
    with tempfile.TemporaryDirectory() as runs:
        async with gr.open_session(model=model, cwd=".", runs=runs, main=gr.AgentDefinition(name="lead")) as session:
            async with session.open_team("demo") as team:
                for name in ("ann", "bob"):
                    await team.spawn(name, definition=gr.AgentDefinition(name="mate"))
                await session.run("Have everything counted.")
                await session.wait_quiet()
                for item in team.board.items():
                    print(item.id, item.subject, item.status, item.owner)


if __name__ == "__main__":
    trio.run(main)
