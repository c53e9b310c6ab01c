"""A supervised counter: it crashes and restarts, and neither its address nor its mail is lost."""

import trio

import greenroom as gr


class Get(gr.Request[int]):
    """Asks for the total."""


class Counter(gr.Behavior[int | Get]):
    """Counts what it is told, and cannot bear negative numbers."""

    def __init__(self, start: int) -> None:
        self.total = start

    def on_message(self, message: int | Get, ctx: gr.Context) -> None:
        match message:
            case int() if message < 0:
                raise ValueError(message)
            case int():
                self.total += message
            case Get():
                ctx.reply(self.total)


async def main() -> None:
    async with gr.open_runtime() as runtime:
        counter = await runtime.spawn(Counter, 10, name="counter")
        for number in (1, 2, -1, 4):
            counter.tell(number)
        print("total:", await counter.ask(Get()))
        for letter in runtime.dead_letters.latest():
            print("dead letter:", letter.message, letter.reason)


if __name__ == "__main__":
    trio.run(main)
