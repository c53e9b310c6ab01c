"""One kit for `Ref` and `RemoteRef`: the same verbs mean the same, except for what one table says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
import trio

import greenroom as gr
from greenroom.core import GreenroomError
from greenroom.mailbox import Delivery, MailboxPolicy
from greenroom.remote.links._remote_calls import RemoteError
from greenroom.remote.links._remote_ref import RemoteRef
from tests.remote.links.linked import Counter, Fail, Linked, Sum, Wait, linked

pytestmark = pytest.mark.usefixtures("virtual_time")

NOT_OFFERED: Final = {
    # These need the answer of the actor's own runtime in the same step.
    *("get_state", "statistics", "suspend", "resume", "withdraw", "notify", "pinned", "drain"),
    *("state", "is_busy", "is_gone", "is_suspended", "still_waiting"),
    # These are of the runtime.
    *("cell", "id"),
}
"""Names that a `Ref` has and a `RemoteRef` has not."""
ADDED: Final = {"node", "number_on", "wait_room"}
"""Names that only a `RemoteRef` has."""
DIFFERENCES: Final = {
    # case: (of a Ref, of a RemoteRef)
    "an ask that fails": ("TurnFailed", "RemoteError: TurnFailed"),
    "an ask of an actor that has ended": ("ActorEnded", "RemoteError: ActorEnded"),
    "an ask that lasts too long": ("AskTimedOut", "AskTimedOut"),
    "a tell to an actor that has ended": (Delivery.CLOSED, Delivery.ACCEPTED),  # a dead letter here, later
    "a tell to a full mailbox": (Delivery.FULL, Delivery.FULL),
    "the end of an actor that is killed": ("killed", "killed"),
    "the end of an actor that is stopped": ("completed", "completed"),
    "a watch of an actor that has ended": ("killed", "killed"),
}


class Small(Counter):
    """A counter with few places, which takes its time."""

    mailbox = MailboxPolicy(capacity=10)

    async def on_message(self, message: Any, ctx: gr.Context) -> None:
        await trio.sleep(1)
        await super().on_message(message, ctx)


AnyRef = gr.Ref[Any] | RemoteRef[Any]


async def asked(ref: AnyRef, request: Any, timeout_s: float = 5) -> str:
    """Return the error of an ask: the class, and for one of another node the class over there."""
    try:
        await ref.ask(request, timeout_s=timeout_s)
    except RemoteError as error:
        return f"RemoteError: {error.kind}"
    except GreenroomError as error:
        return type(error).__name__
    return "answered"


async def an_end(ref: AnyRef, end: Callable[[AnyRef], object]) -> str:
    downs: list[gr.Down] = []
    ref.watch(downs.append)
    cancelled = ref.watch(downs.append)
    cancelled.cancel()
    assert not cancelled.is_open
    end(ref)
    state = (await ref.wait_ended()).state.value
    await trio.sleep(1)
    assert [down.state.value for down in downs] == [state]
    return state


async def case_of(name: str, ref: AnyRef) -> Any:
    match name:
        case "an ask that fails":
            return await asked(ref, Fail())
        case "an ask that lasts too long":
            return await asked(ref, Wait(10), timeout_s=1)
        case "a tell to a full mailbox":
            return next(told for told in (ref.tell(n) for n in range(10_000)) if told is not Delivery.ACCEPTED)
        case "the end of an actor that is killed":
            return await an_end(ref, lambda each: each.kill())
        case "the end of an actor that is stopped":
            return await an_end(ref, lambda each: each.stop())
    ref.kill()
    await trio.sleep(1)
    match name:
        case "an ask of an actor that has ended":
            return await asked(ref, Sum())
        case "a tell to an actor that has ended":
            return ref.tell(1)
    return (await ref.wait_ended()).state.value


async def both_kinds(both: Linked, behavior: Any) -> list[AnyRef]:
    """Return a reference of this node, and one of the other one."""
    return [await both.here.spawn(behavior), (await both.publish(behavior))[0]]


@pytest.mark.promise("R3-a")
@pytest.mark.parametrize("name", DIFFERENCES)
async def test_a_remote_reference_does_what_a_local_one_does_but_for_one_table(name: str) -> None:
    async with linked() as both:
        refs = await both_kinds(both, Small if "full" in name else Counter)
        assert tuple([await case_of(name, ref) for ref in refs]) == DIFFERENCES[name]


async def in_order(ref: AnyRef) -> object:
    for number in range(50):
        assert ref.tell(number) is Delivery.ACCEPTED
    return await ref.ask(Sum())


async def cancelled(ref: AnyRef) -> object:
    """Cancel an ask that waits for its turn: it is withdrawn, so the sum comes at once behind the first."""
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ref.ask, Wait(3))
        await trio.sleep(1)
        with trio.move_on_after(1):
            await ref.ask(Wait(1_000), timeout_s=5_000)
    await ref.ask(Sum())
    return trio.current_time() - began < 10


@pytest.mark.promise("R3-a")
@pytest.mark.parametrize(("use", "result"), [(in_order, sum(range(50))), (cancelled, True)])
async def test_both_references_carry_messages_in_order_and_withdraw_asks(
    use: Callable[[AnyRef], Awaitable[object]], result: object
) -> None:
    async with linked() as both:
        assert [await use(ref) for ref in await both_kinds(both, Counter)] == [result, result]


@pytest.mark.promise("R3-a")
async def test_the_verbs_of_a_remote_reference_are_those_that_need_no_answer_in_the_same_step() -> None:
    local, remote = ({name for name in dir(kind) if not name.startswith("_")} for kind in (gr.Ref, RemoteRef))
    assert local - remote == NOT_OFFERED
    assert remote - local == ADDED
