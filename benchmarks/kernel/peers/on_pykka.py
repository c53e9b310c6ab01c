"""Pykka, as a peer: a thread for each actor, so its wall time is what counts."""

from __future__ import annotations

import threading
from typing import Any, Final

import pykka

from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve

RING: Final = 100


class Player(pykka.ThreadingActor):
    """Passes a number on, one less each time; serves for ping-pong too, which is a ring of two."""

    def __init__(self, done: threading.Event) -> None:
        super().__init__()
        self._done = done
        self._next: Any = None

    def on_receive(self, message: Any) -> None:
        if not isinstance(message, int):
            self._next = message
        elif message:
            self._next.tell(message - 1)
        else:
            self._done.set()


class Echo(pykka.ThreadingActor):
    def on_receive(self, message: Any) -> Any:
        return message


def around(links: int, hops: int) -> Stopwatch:
    done = threading.Event()
    refs = [Player.start(done) for _ in range(links)]
    for number, ref in enumerate(refs):
        ref.tell(refs[(number + 1) % links])
    with Stopwatch() as took:
        refs[0].tell(hops)
        done.wait()
    pykka.ActorRegistry.stop_all()
    return took


def ask(count: int) -> Stopwatch:
    echo = Echo.start()
    with Stopwatch() as took:
        for number in range(count):
            echo.ask(number)
    pykka.ActorRegistry.stop_all()
    return took


BENCHES: Final[dict[str, Bench]] = {
    "ping-pong": lambda count: around(2, 2 * count),
    "ring": lambda count: around(RING, count),
    "ask": ask,
}

if __name__ == "__main__":
    serve(BENCHES, "pykka")
