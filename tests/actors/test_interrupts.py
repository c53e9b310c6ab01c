"""A KeyboardInterrupt that arrives while actors run: it is heard by the host, and cuts nothing in two."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
import trio

from greenroom.mailbox import MessageAcked
from greenroom.supervisor import open_runtime
from greenroom.testing import run_virtual, virtual_ports
from tests.actors.invariants import violations
from tests.actors.situations import Do, Doer, PlainDoer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from greenroom.actors import Context
    from greenroom.core import Record
    from greenroom.supervisor import Runtime


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """A process that a shell started in the background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


async def reply(ctx: Context) -> None:
    signal.raise_signal(signal.SIGINT)
    ctx.reply("whole")


def reply_plainly(ctx: Context) -> None:
    signal.raise_signal(signal.SIGINT)
    ctx.reply("whole")


@pytest.mark.parametrize("where", ["handler", "commit"])
@pytest.mark.parametrize(("behavior", "job"), [(Doer, reply), (PlainDoer, reply_plainly)])
def test_a_commit_is_never_cut_in_two(where: str, behavior: Any, job: Any) -> None:
    kept: list[Runtime] = []
    answers: list[Any] = []

    async def scenario() -> None:
        async with open_runtime(ports=virtual_ports()) as opened:
            kept.append(opened)

            def interrupt(record: Record) -> None:
                if record[2] is MessageAcked:
                    signal.raise_signal(signal.SIGINT)

            if where == "commit":
                opened.recorder.listen(interrupt)
            actor = await opened.spawn(behavior)
            async with trio.open_nursery() as nursery:

                async def ask() -> None:
                    with trio.CancelScope(shield=True):
                        answers.append(await actor.ask(Do(job)))

                nursery.start_soon(ask)
                await trio.sleep(1)

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - alone, or in the group of the nursery above
        run_virtual(scenario)

    assert is_interrupt(caught.value)
    assert answers == ["whole"]
    assert violations(kept[0].recorder.latest()) == []


def is_interrupt(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_interrupt, error.exceptions))
    return isinstance(error, KeyboardInterrupt)
