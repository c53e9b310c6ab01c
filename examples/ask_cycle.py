"""Two actors ask each other. The second ask would deadlock, so it raises `AskCycle`, which names the circle."""

import trio

import greenroom as gr
from greenroom.core import AskCycle


class Opinion(gr.Request[str]):
    """Asks for an opinion."""


class Reviewer(gr.Behavior[Opinion]):
    """Has no opinion of its own until it has heard a colleague's."""

    def __init__(self, runtime: gr.Runtime, colleague: str) -> None:
        self._runtime = runtime
        self._colleague = colleague

    async def on_message(self, message: Opinion, ctx: gr.Context) -> None:
        colleague = self._runtime.find(self._colleague)
        assert colleague is not None
        try:
            opinion = await colleague.ask(Opinion())
        except AskCycle as refused:
            print("refused:", " -> ".join(refused.path))
            opinion = "it looks fine to me"
        ctx.reply(f"{ctx.path}: {opinion}")


async def main() -> None:
    async with gr.open_runtime() as runtime:
        names = ("ada", "ben", "cleo")
        for name, colleague in zip(names, (*names[1:], names[0]), strict=True):
            await runtime.spawn(Reviewer, runtime, colleague, name=name)
        ada = runtime.find("ada")
        assert ada is not None
        print(await ada.ask(Opinion()))


if __name__ == "__main__":
    trio.run(main)
