"""Conformance kit for stores of boxes: one rule a function, to be run over each store.

    @pytest.mark.parametrize("rule", INBOX_RULES, ids=lambda rule: rule.__name__)
    def test_our_store(rule, tmp_path):
        trio.run(rule, InboxKit(lambda wall: open_ours(tmp_path, wall)))

A rule raises `AssertionError` where the store breaks it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.core import UsageError
from greenroom.inbox import (
    KNOWN_S,
    MAX_ATTEMPTS,
    MAX_BYTES,
    MAX_HELD,
    MAX_ITEMS,
    MAX_LETTERS,
    BoxFull,
    InboxStore,
    LetterPolicy,
    StoredItem,
    channel,
    peer,
)
from greenroom.mailbox import Lane

Opener: TypeAlias = Callable[[Callable[[], datetime]], Awaitable[InboxStore]]
BOX: Final = "main"


@final
@attrs.define(eq=False)
class InboxKit:
    """Opens the store under test, at a time that the rules set.

    Args:
        opener: Opens the store, or the one that was opened before, given the date and time.
    """

    opener: Opener
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    async def open(self) -> InboxStore:
        """Return a store; the second time with what was put into the first."""
        return await self.opener(lambda: self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def item(self, key: str, **changes: Any) -> StoredItem:
        """Return an item of box `main`."""
        values: dict[str, Any] = {"text": f"text of {key}", "created_at": self.now.timestamp()}
        return StoredItem(**{"id": key, "box": BOX, **values, **changes})


Rule: TypeAlias = Callable[[InboxKit], Awaitable[None]]


async def ids_of(store: InboxStore, box: str = BOX) -> list[str]:
    """Take from a box and return the ids."""
    return [item.id for item in (await store.take(box)).items]


async def put_and_take(kit: InboxKit) -> None:
    """What was put is taken once, as it was, in order; each box has its own."""
    store = await kit.open()
    whole = kit.item(
        "a", origin=channel("ci"), lane=Lane.NEXT, route={"to": [1, {"x": None}]}, is_meta=True, expires_at=4e9
    )
    places = await store.put([whole, kit.item("b"), kit.item("a", box="other")])
    assert [place.is_new for place in places] == [True] * 3
    assert places[0].seq < places[1].seq
    taken = await store.take(BOX)
    assert taken.items == (whole, kit.item("b"))
    assert [item.seq for item in taken.items] == [places[0].seq, places[1].seq]
    assert await ids_of(store) == []
    assert await ids_of(store, "other") == ["a"]


async def limits_of_a_take(kit: InboxKit) -> None:
    """A take with a limit leaves the rest for the next."""
    store = await kit.open()
    await store.put([kit.item(f"i{number}") for number in range(5)])
    assert [item.id for item in (await store.take(BOX, 3)).items] == ["i0", "i1", "i2"]
    assert await ids_of(store) == ["i3", "i4"]


async def known_ids(kit: InboxKit) -> None:
    """A second put of an id changes nothing and answers as the first, while it waits and for seven days after."""
    store = await kit.open()
    first = (await store.put([kit.item("a")]))[0]
    again = attrs.evolve(first, is_new=False)
    for _ in range(4):
        assert await store.put([kit.item("a", text="another")]) == (again,)
    assert [item.text for item in (await store.take(BOX)).items] == ["text of a"]
    await store.ack(BOX, ["a"])
    kit.wait(KNOWN_S - 10)
    assert (await store.put([kit.item("a")]))[0] == again
    kit.wait(KNOWN_S)
    assert (await store.put([kit.item("a")]))[0].is_new


async def acknowledged(kit: InboxKit) -> None:
    """What was taken is given again to the next taker, until it is acknowledged."""
    store = await kit.open()
    await store.put([kit.item("a"), kit.item("b")])
    assert await ids_of(store) == ["a", "b"]
    await store.ack(BOX, ["a", "unknown"])
    await store.reopen(BOX)
    assert await ids_of(store) == ["b"]
    await store.put([kit.item("c")])
    assert await ids_of(store) == ["c"]


async def withdrawn(kit: InboxKit) -> None:
    """An item is withdrawn once, and given to nobody then."""
    store = await kit.open()
    await store.put([kit.item("a"), kit.item("b")])
    assert await store.withdraw(BOX, "a")
    assert not await store.withdraw(BOX, "a")
    assert not await store.withdraw(BOX, "unknown")
    assert await ids_of(store) == ["b"]


async def full_boxes(kit: InboxKit) -> None:
    """A box that is full refuses, drops nothing, and answers for what it knows; others have room."""
    store = await kit.open()
    await store.put([kit.item(f"i{number}") for number in range(MAX_ITEMS)])
    try:
        await store.put([kit.item("more")])
        raise AssertionError("a full box took an item")
    except BoxFull:
        pass
    assert not (await store.put([kit.item("i7")]))[0].is_new
    await store.put([kit.item("more", box="other")])
    assert (await store.statistics(BOX)).waiting == MAX_ITEMS
    await store.ack(BOX, ["i0"])
    assert (await store.put([kit.item("more")]))[0].is_new


async def full_of_bytes(kit: InboxKit) -> None:
    """The texts of a box have a limit together."""
    store = await kit.open()
    large = "x" * 1_048_576
    await store.put([kit.item(f"i{number}", text=large) for number in range(MAX_BYTES // len(large))])
    try:
        await store.put([kit.item("more")])
        raise AssertionError("a full box took an item")
    except BoxFull:
        assert "more" not in await ids_of(store)


async def letters_have_fewer_places(kit: InboxKit) -> None:
    """Peers fill only a part of a box."""
    store = await kit.open()
    await store.put([kit.item(f"l{number}", origin=peer("session:b")) for number in range(MAX_LETTERS)])
    try:
        await store.put([kit.item("l", origin=peer("session:b"))])
        raise AssertionError("a letter too many was taken")
    except BoxFull:
        pass
    assert (await store.put([kit.item("a")]))[0].is_new
    assert (await store.statistics(BOX)).letters == MAX_LETTERS


async def all_or_none(kit: InboxKit) -> None:
    """Of items that are put together all are in, or none."""
    store = await kit.open()
    await store.put([kit.item(f"l{number}", origin=peer("b")) for number in range(MAX_LETTERS - 1)])
    before = await store.statistics(BOX)
    try:
        await store.put([kit.item("x", origin=peer("b")), kit.item("y", origin=peer("b"))])
        raise AssertionError("a letter too many was taken")
    except BoxFull:
        assert await store.statistics(BOX) == before
        assert (await store.put([kit.item("x")]))[0].is_new


async def bad_items(kit: InboxKit) -> None:
    """What cannot be stored is refused before anything changes."""
    store = await kit.open()
    for bad in (
        kit.item(" "),
        kit.item("a" * 201),
        kit.item("a", text=" "),
        kit.item("a", text="x" * 1_048_577),
        kit.item("a", route={"x": float("nan")}),
        kit.item("a", route={"x": "y" * 5000}),
        kit.item("a", box=""),
        kit.item("a", text="\ud800"),
    ):
        try:
            await store.put([kit.item("good"), bad])
            raise AssertionError(f"it took {bad.id!r}")
        except UsageError:
            pass
    assert (await store.statistics(BOX)).waiting == 0


async def held_items(kit: InboxKit) -> None:
    """What is held is given to nobody before it is released, and then behind what came in before."""
    store = await kit.open()
    await store.put([kit.item("h", is_held=True), kit.item("a")])
    assert await ids_of(store) == ["a"]
    assert [item.id for item in await store.held(BOX)] == ["h"]
    await store.put([kit.item("b")])
    await store.release(BOX, ["h", "unknown"])
    taken = (await store.take(BOX)).items
    assert [(item.id, item.is_held) for item in taken] == [("b", False), ("h", False)]
    assert await store.held(BOX) == ()
    assert (await store.statistics(BOX)).waiting == 3


async def held_items_make_room(kit: InboxKit) -> None:
    """The oldest held item is refused for the newest, and that is told once."""
    store = await kit.open()
    for number in range(MAX_HELD + 2):
        await store.put([kit.item(f"h{number}", is_held=True)])
    assert len(await store.held(BOX)) == MAX_HELD
    assert [item.id for item in (await store.take(BOX)).refused] == ["h0", "h1"]
    assert (await store.take(BOX)).refused == ()
    assert not (await store.put([kit.item("h0", is_held=True)]))[0].is_new


async def expiry(kit: InboxKit) -> None:
    """What has expired is given to nobody, held or not, and told once."""
    store = await kit.open()
    soon = kit.now.timestamp() + 300
    await store.put([kit.item("a", expires_at=soon), kit.item("h", is_held=True, expires_at=soon), kit.item("b")])
    kit.wait(300)
    assert await store.held(BOX) == ()
    taken = await store.take(BOX)
    assert ([item.id for item in taken.items], sorted(item.id for item in taken.expired)) == (["b"], ["a", "h"])
    assert (await store.take(BOX)).expired == ()
    assert (await store.statistics(BOX)).waiting == 1


async def poison(kit: InboxKit) -> None:
    """An item with which three turns began is kept, told once, and given to nobody any more."""
    store = await kit.open()
    await store.put([kit.item("a"), kit.item("b")])
    for attempt in range(MAX_ATTEMPTS):
        await store.reopen(BOX)
        assert [(item.id, item.attempts) for item in (await store.take(BOX)).items] == [("a", attempt), ("b", 0)]
        await store.begin(BOX, ["a"])
    await store.reopen(BOX)
    taken = await store.take(BOX)
    assert ([item.id for item in taken.items], [item.id for item in taken.poisoned]) == (["b"], ["a"])
    await store.reopen(BOX)
    assert (await store.take(BOX)).poisoned == ()
    assert (await store.statistics(BOX)).poisoned == 1
    assert not (await store.put([kit.item("a")]))[0].is_new


async def policies(kit: InboxKit) -> None:
    """A box that was never told refuses letters; what it was told holds."""
    store = await kit.open()
    assert await store.policy(BOX) is LetterPolicy.REFUSE
    for policy in LetterPolicy:
        await store.set_policy(BOX, policy)
        assert await store.policy(BOX) is policy
    assert await store.policy("other") is LetterPolicy.REFUSE


async def names_of_boxes(kit: InboxKit) -> None:
    """The boxes that hold items are named, in order; the one that was emptied is not."""
    store = await kit.open()
    await store.put([kit.item("a", box="y"), kit.item("b", box="x", is_held=True), kit.item("c", box="z")])
    await store.ack("z", ["c"])
    assert await store.boxes() == ("x", "y")
    await store.withdraw("x", "b")
    assert await store.boxes() == ("y",)


async def news(kit: InboxKit) -> None:
    """Who waits for news is woken by a put into that box, also by one from before it waited."""
    store = await kit.open()
    await ids_of(store)
    await store.put([kit.item("a")])
    with trio.fail_after(5):
        await store.wait_news(BOX)
    assert await ids_of(store) == ["a"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(store.put, [kit.item("b")])
        with trio.fail_after(5):
            await store.wait_news(BOX)
            while "b" not in await ids_of(store):
                await store.wait_news(BOX)


async def side_by_side(kit: InboxKit) -> None:
    """Puts that run at once are all in, each once; a cancelled one is in whole, or not at all."""
    store = await kit.open()

    async def put(number: int) -> None:
        with trio.CancelScope() as scope:
            if number % 5 == 0:
                scope.cancel()
            await store.put([kit.item(f"x{number}"), kit.item(f"y{number}")])

    async with trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(put, number)
    ids = await ids_of(store)
    assert len(ids) == len(set(ids))
    for number in range(40):
        there = {f"x{number}" in ids, f"y{number}" in ids}
        assert there == {True} if number % 5 else len(there) == 1


async def opened_again(kit: InboxKit) -> None:
    """A store that is opened again has what was put, and its policies."""
    store = await kit.open()
    await store.put([kit.item("a"), kit.item("b"), kit.item("c")])
    await store.set_policy(BOX, LetterPolicy.HOLD)
    assert await ids_of(store) == ["a", "b", "c"]
    await store.ack(BOX, ["b"])
    await store.aclose()
    store = await kit.open()
    await store.reopen(BOX)
    assert await ids_of(store) == ["a", "c"]
    assert await store.policy(BOX) is LetterPolicy.HOLD
    assert not (await store.put([kit.item("b")]))[0].is_new
    await store.aclose()


INBOX_RULES: Final[tuple[Rule, ...]] = (
    put_and_take,
    limits_of_a_take,
    known_ids,
    acknowledged,
    withdrawn,
    full_boxes,
    full_of_bytes,
    letters_have_fewer_places,
    all_or_none,
    bad_items,
    held_items,
    held_items_make_room,
    expiry,
    poison,
    policies,
    names_of_boxes,
    news,
    side_by_side,
    opened_again,
)
"""What every store of boxes does."""
