"""The answer to a letter and the place of the letter, for each state of the receiver, by each kind of address."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.remote import Letter, open_letterbox
from greenroom.session import Session
from greenroom.store import INBOX, open_inbox_store
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from tests.session.letters import heard, open_one, told, unbalanced

TEXT: Final = "Hello from there."


@attrs.define
class Receiver:
    """A session that is written to, in one state, until the stack is left."""

    folder: Path
    socket: Path
    stack: AsyncExitStack
    nursery: trio.Nursery
    inbound: str = "accept"
    run: Path = Path()

    async def open(self, **options: Any) -> Session:
        settings = {"peers": {"inbound": self.inbound, "socket": str(self.socket)}}
        session = await self.stack.enter_async_context(open_one(self.folder, settings, **options))
        self.run = session.run_folder
        return session


State: TypeAlias = Callable[[Receiver], Awaitable[None]]


async def idle(receiver: Receiver) -> None:
    await (await receiver.open()).run("begin")


async def busy(receiver: Receiver) -> None:
    (await receiver.open(wait_s=0.5)).send("begin")


@tool
async def slow() -> str:
    """Takes its time, and some more to end."""
    try:
        await trio.sleep_forever()
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(3.0)


async def closing(receiver: Receiver) -> None:
    """The session ends, and waits for a call that takes three seconds to end."""

    def main(request: ModelRequest) -> AnswerLike:
        return Call("Slow", {}) if len(request.messages) == 1 else "Done."

    async def live(task_status: trio.TaskStatus[Path]) -> None:
        async with AsyncExitStack() as stack:
            session = await attrs.evolve(receiver, stack=stack).open(main=main, more=(slow,))
            session.send("begin")
            await trio.sleep(1.0)
            task_status.started(session.run_folder)

    receiver.run = await receiver.nursery.start(live)
    await trio.sleep(1.0)


async def ended(receiver: Receiver) -> None:
    async with AsyncExitStack() as stack:
        session = await attrs.evolve(receiver, stack=stack).open()
        receiver.run = session.run_folder
        await session.run("begin")


async def gone(receiver: Receiver) -> None:
    await ended(receiver)
    shutil.rmtree(receiver.run)


async def refusing(receiver: Receiver) -> None:
    receiver.inbound = "refuse"
    await idle(receiver)


async def holding(receiver: Receiver) -> None:
    receiver.inbound = "hold"
    await idle(receiver)


async def silent(receiver: Receiver) -> None:
    """The process that listens takes the letter and does not answer."""

    async def take(_: Letter) -> str:
        await trio.sleep_forever()

    await receiver.stack.enter_async_context(open_letterbox(take, path=receiver.socket))


NOWHERE, WAITS, HELD = "nowhere", "waits", "held"
MATRIX: Final[dict[tuple[str, State], tuple[str, str]]] = {
    ("session", idle): ("delivered", WAITS),
    ("session", busy): ("delivered", WAITS),
    ("session", closing): ("delivered", WAITS),
    ("session", ended): ("stored", WAITS),
    ("session", gone): ("not_there", NOWHERE),
    ("session", refusing): ("refused", NOWHERE),
    ("session", holding): ("held", HELD),
    ("uds", idle): ("delivered", WAITS),
    ("uds", busy): ("delivered", WAITS),
    ("uds", closing): ("refused", NOWHERE),
    ("uds", ended): ("refused", NOWHERE),
    ("uds", gone): ("refused", NOWHERE),
    ("uds", refusing): ("refused", NOWHERE),
    ("uds", holding): ("held", HELD),
    ("uds", silent): ("unknown", NOWHERE),
}
"""The answer, and where the letter is: in the store until it was read, with a person, or nowhere."""


@pytest.mark.promise("I-61", "R10-a", "RM-01")
@pytest.mark.parametrize(("kind", "state"), MATRIX, ids=lambda part: part if isinstance(part, str) else part.__name__)
async def test_each_state_of_a_receiver_gets_its_answer_and_the_letter_its_place(
    tmp_path: Path, short: Path, autojump_clock: MockClock, kind: str, state: State
) -> None:
    """RM-01. Mechanism: the answer follows from the store of the receiver after the put."""
    expected, place = MATRIX[kind, state]
    async with open_one(tmp_path) as session, trio.open_nursery() as nursery:
        async with AsyncExitStack() as stack:
            receiver = Receiver(tmp_path, short / "s", stack, nursery)
            await state(receiver)
            to = f"session:{receiver.run.name}" if kind == "session" else f"uds:{receiver.socket}"
            assert await told(session, to, TEXT) == expected
            assert await where_is(receiver.run) == place
    if place != WAITS:
        assert heard(receiver.run, TEXT) == []
        return
    async with open_one(tmp_path, resume=receiver.run) as again:
        await again.wait_quiet()
    assert len(heard(receiver.run, TEXT)) == 1
    assert await in_store(receiver.run) == ([], [])
    assert unbalanced(receiver.run) == []


async def where_is(run: Path) -> str:
    """Return where the letter is: in the store of a run or read already, with a person, or nowhere."""
    waiting, held = await in_store(run)
    assert not (TEXT in waiting and heard(run, TEXT))
    return HELD if TEXT in held else WAITS if TEXT in waiting or heard(run, TEXT) else NOWHERE


async def in_store(run: Path) -> tuple[list[str], list[str]]:
    if not run.name or not (run / INBOX).exists():
        return [], []
    ports = virtual_ports(1)
    store = await open_inbox_store(run / INBOX, blocking=ports.blocking, wall=ports.clock.wall)
    try:
        waiting = (await store.take("main")).items
        return [item.text for item in waiting], [item.text for item in await store.held("main")]
    finally:
        await store.aclose()
