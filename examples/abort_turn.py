"""Abort the current turn of an actor; the actor continues with its next message."""

import trio
import trio.testing

import greenroom as gr


class Cook(gr.Behavior[str]):
    """Cooks one order after the other; some never finish."""

    async def on_message(self, order: str, ctx: gr.Context) -> None:
        print("cooking", order)
        await trio.sleep(1_000_000 if order == "a stone" else 0)
        print("served", order)


async def main() -> None:
    async with gr.open_runtime() as runtime:
        cook = await runtime.spawn(Cook, name="cook")
        cook.tell("a stone")
        cook.tell("an egg")
        await trio.testing.wait_all_tasks_blocked()
        outcome = await cook.abort_turn(why="the guest has left").wait_ended()
        print("the turn was", outcome.state, "because", outcome.cause.why if outcome.cause else "")
        print("an idle cook:", cook.abort_turn().status)
        await trio.testing.wait_all_tasks_blocked()


if __name__ == "__main__":
    trio.run(main)
