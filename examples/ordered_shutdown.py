"""An ordered shutdown: the last actor started ends first, and each gets time to finish its turn."""

import trio

import greenroom as gr


class Worker(gr.Behavior[float]):
    """Takes as long as its message says, and cleans up at its end."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def on_message(self, seconds: float, ctx: gr.Context) -> None:
        await trio.sleep(seconds)
        print(f"{self._name} has finished its turn")

    async def on_stop(self, ctx: gr.Context) -> None:
        print(f"{self._name} tidies up")


async def main() -> None:
    async with gr.open_runtime() as runtime:
        for name in ("database", "cache", "front end"):
            worker = await runtime.spawn(Worker, name, name=name)
            worker.tell(0.05)
        await trio.sleep(0.01)
        print("leaving")
    print("everything has ended")


if __name__ == "__main__":
    trio.run(main)
