"""A race condition: whether money is lost depends on the order of tasks, and each order can be repeated."""

import attrs

import greenroom as gr
from greenroom.testing import run_virtual, virtual_ports


class Get(gr.Request[int]):
    """Asks for the balance."""


@attrs.frozen
class Set:
    """Says what the balance is now."""

    balance: int


class Account(gr.Behavior[Get | Set]):
    """Keeps a balance; there is no way to add to it, and that is the mistake."""

    def __init__(self) -> None:
        self.balance = 0

    def on_message(self, message: Get | Set, ctx: gr.Context) -> None:
        if isinstance(message, Set):
            self.balance = message.balance
        else:
            ctx.reply(self.balance)


class Payer(gr.Behavior[str]):
    """Pays in 10."""

    def __init__(self, account: gr.Ref[Get | Set]) -> None:
        self._account = account

    async def on_message(self, message: str, ctx: gr.Context) -> None:
        self._account.tell(Set(await self._account.ask(Get()) + 10))


async def scenario() -> int:
    async with gr.open_runtime(ports=virtual_ports()) as runtime:
        account = await runtime.spawn(Account)
        for _ in range(2):
            payer = await runtime.spawn(Payer, account)
            payer.tell("pay in")
            await account.ask(Get())
        return await account.ask(Get())


if __name__ == "__main__":
    runs = [run_virtual(scenario, choices=seed) for seed in range(100)]
    wrong = [run for run in runs if run.result != 20]
    print(f"{len(wrong)} of {len(runs)} orders lose money")
    shortest = min(wrong, key=lambda run: len(run.choices))
    again = run_virtual(scenario, choices=shortest.choices)
    print(f"choices={list(shortest.choices)} gives {again.result} every time")
