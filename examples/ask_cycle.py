"""Two actors that ask each other: the second ask is refused at once, with the way around the circle."""

import attrs
import trio

from greenroom import Behavior, Context, Ref, Request, open_runtime
from greenroom.core import AskCycle


@attrs.frozen
class Review(Request[str]):
    """Asks for a verdict."""

    author: Ref[object]


@attrs.frozen
class Explain(Request[str]):
    """Asks whoever wrote it to explain it."""


class Reviewer(Behavior[Review]):
    """Asks the author before it answers, although the author waits for the answer."""

    async def on_message(self, message: Review, ctx: Context) -> None:
        try:
            verdict = await message.author.ask(Explain())
        except AskCycle as error:
            verdict = f"no explanation: {error}"
        ctx.reply(verdict)


class Author(Behavior[object]):
    """Asks for a review and waits for it."""

    def __init__(self, reviewer: Ref[Review]) -> None:
        self._reviewer = reviewer

    async def on_message(self, message: object, ctx: Context) -> None:
        if isinstance(message, Explain):
            ctx.reply("because")
        else:
            ctx.reply(await self._reviewer.ask(Review(ctx.ref)))


@attrs.frozen
class Publish(Request[str]):
    """Asks the author to get on with it."""


async def main() -> None:
    async with open_runtime() as runtime:
        reviewer = await runtime.spawn(Reviewer, name="reviewer")
        author = await runtime.spawn(Author, reviewer, name="author")
        print(await author.ask(Publish()))


if __name__ == "__main__":
    trio.run(main)
