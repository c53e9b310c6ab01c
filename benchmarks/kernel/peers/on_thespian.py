"""Thespian, as a peer: its simple system, where one thread runs all actors."""

from __future__ import annotations

from typing import Any, Final

from thespian.actors import Actor, ActorSystem

from benchmarks.kernel.peers.serving import Bench, Stopwatch, serve


class Player(Actor):
    """Gets (count, other) to begin with, plays so many round trips, and tells whoever began."""

    def receiveMessage(self, message: Any, sender: Any) -> None:  # noqa: N802 - Thespian's name
        if isinstance(message, tuple):
            self._left, self._other = message
            self._began = sender
            self.send(self._other, self._left)
        elif isinstance(message, int):
            self._left -= 1
            if self._left:
                self.send(self._other, self._left)
            else:
                self.send(self._began, "done")


class Echo(Actor):
    def receiveMessage(self, message: Any, sender: Any) -> None:  # noqa: N802 - Thespian's name
        if isinstance(message, int):
            self.send(sender, message)


def ping_pong(count: int) -> Stopwatch:
    system = ActorSystem("simpleSystemBase")
    try:
        player, echo = system.createActor(Player), system.createActor(Echo)
        with Stopwatch() as took:
            assert system.ask(player, (count, echo), 600) == "done"
        return took
    finally:
        system.shutdown()


BENCHES: Final[dict[str, Bench]] = {"ping-pong": ping_pong}

if __name__ == "__main__":
    serve(BENCHES, "thespian")
