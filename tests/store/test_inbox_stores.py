"""The stores of boxes keep the rules of the conformance kit; a file that cannot be used is refused in one line."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from greenroom.core import JournalError
from greenroom.core.ports import InlineBlocking
from greenroom.inbox import HUMAN, InboxStore, StoredItem
from greenroom.store import INBOX, MemoryInboxStore, open_inbox_store
from greenroom.store._sqlite_inbox import SqliteInboxStore
from greenroom.testing import INBOX_RULES, InboxKit

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def kits(tmp_path: Path) -> dict[str, InboxKit]:
    kept: list[MemoryInboxStore] = []

    async def in_memory(wall: Callable[[], datetime]) -> InboxStore:
        kept.append(kept[-1] if kept else MemoryInboxStore(wall))
        return kept[-1]

    async def on_disk(wall: Callable[[], datetime]) -> InboxStore:
        return await open_inbox_store(tmp_path / INBOX, blocking=InlineBlocking(), wall=wall)

    return {"memory": InboxKit(in_memory), "sqlite": InboxKit(on_disk)}


@pytest.mark.parametrize("rule", INBOX_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.promise("I-57", "R6-d")
async def test_a_store_keeps_the_rules_of_the_kit(
    store: str, rule: Callable[[InboxKit], object], tmp_path: Path
) -> None:
    await rule(kits(tmp_path)[store])  # type: ignore[misc]


def opened(path: Path) -> SqliteInboxStore:
    return SqliteInboxStore(path, blocking=InlineBlocking(), wall=lambda: NOW)


def item(key: str, box: str = "main") -> StoredItem:
    return StoredItem(id=key, box=box, text="hello", origin=HUMAN)


async def test_reading_makes_no_file(tmp_path: Path) -> None:
    store = opened(tmp_path / INBOX)
    assert (await store.take("main")).items == ()
    await store.ack("main", ["x"])
    assert not (tmp_path / INBOX).exists()


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in [*folder.iterdir()]}


class SlowToStart:
    """Threads that are all busy for a second: a call may be cancelled before it begins."""

    async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        await trio.sleep(1.0)
        return function(*args, **kwargs)


@pytest.mark.promise("I-57")
async def test_a_put_that_is_cancelled_before_it_begins_takes_no_other_with_it(
    tmp_path: Path, autojump_clock: object
) -> None:
    store = SqliteInboxStore(tmp_path / INBOX, blocking=SlowToStart(), wall=lambda: NOW)
    scopes = [trio.CancelScope() for _ in range(4)]

    async def put(number: int) -> None:
        await trio.sleep(number / 10)
        with scopes[number]:
            assert (await store.put([item(f"i{number}")]))[0].is_new

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(put, number)
        await trio.sleep(1.5)
        scopes[1].cancel()  # the others of its transaction wait with it
    found = [each.id for each in (await store.take("main")).items]
    assert {"i0", "i2", "i3"} <= set(found)
    await store.aclose()


async def test_the_file_is_for_its_user_alone(tmp_path: Path) -> None:
    store = opened(tmp_path / INBOX)
    before = os.umask(0)
    try:
        await store.put([item("a")])
    finally:
        os.umask(before)
    assert modes(tmp_path) == {0o600}
    await store.aclose()


async def test_another_store_of_the_file_sees_what_was_put_and_counts_it(tmp_path: Path) -> None:
    ours, theirs = opened(tmp_path / INBOX), opened(tmp_path / INBOX)
    await ours.put([item("a")])
    await theirs.put([item("b")])
    assert [each.id for each in (await ours.take("main")).items] == ["a", "b"]
    assert (await ours.statistics("main")).waiting == 2
    await theirs.aclose()
    await ours.aclose()


async def test_what_another_store_put_is_news_within_a_second(tmp_path: Path, autojump_clock: object) -> None:
    ours, theirs = opened(tmp_path / INBOX), opened(tmp_path / INBOX)
    await ours.put([item("a")])
    await ours.take("main")
    await theirs.put([item("b")])
    await ours.wait_news("main")
    assert [each.id for each in (await ours.take("main")).items] == ["b"]
    await theirs.aclose()
    await ours.aclose()


async def test_one_of_many_that_wait_looks_at_the_file_for_all(tmp_path: Path, autojump_clock: object) -> None:
    """A hundred idle sessions share a store: they look as often as one of them would."""
    looks, boxes = 0, [f"box {number}" for number in range(9)]
    told: list[str] = []
    begin = SqliteInboxStore._transact

    def counted(store: SqliteInboxStore, batch: Any) -> None:
        nonlocal looks
        looks += store is ours
        begin(store, batch)

    async def follow(box: str) -> None:
        await ours.wait_news(box)
        told.append(box)

    ours, theirs = opened(tmp_path / INBOX), opened(tmp_path / INBOX)
    await ours.put([item("a", box) for box in boxes])
    for box in boxes:
        await ours.take(box)
    with pytest.MonkeyPatch.context() as patched, trio.fail_after(60):
        patched.setattr(SqliteInboxStore, "_transact", counted)
        async with trio.open_nursery() as nursery:
            first = trio.CancelScope()
            nursery.start_soon(cancellable, first, follow, boxes[0])
            await trio.testing.wait_all_tasks_blocked()
            for box in boxes[1:]:
                nursery.start_soon(follow, box)
            await trio.sleep(10.5)
            before, looks = looks, 0
            first.cancel()  # the one that looked
            await ours.put([item("b", boxes[1])])
            await trio.sleep(1.5)
            assert (before, told) == (10, [boxes[1]])
            await ours.take(boxes[2])
            await theirs.put([item("c", boxes[2])])
            await trio.sleep(1.5)
    assert sorted(told) == boxes[1:]
    await theirs.aclose()
    await ours.aclose()


async def cancellable(scope: trio.CancelScope, wait: Callable[[str], Awaitable[None]], box: str) -> None:
    with scope:
        await wait(box)


def damage(path: Path) -> None:
    path.write_bytes(b"this is no database, however long it may be" * 40)


def become_newer(path: Path) -> None:
    with sqlite3.connect(path) as on:
        on.execute("PRAGMA user_version = 7")
    on.close()


@pytest.mark.parametrize(("spoil", "words"), [(damage, "is damaged"), (become_newer, "newer greenroom")])
async def test_a_file_that_cannot_be_used_is_refused_and_left_as_it_is(
    spoil: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    path = tmp_path / INBOX
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(JournalError, match=words) as caught:
        await open_inbox_store(path, blocking=InlineBlocking(), wall=lambda: NOW)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


async def test_a_store_that_cannot_be_written_refuses_and_goes_on_when_it_can(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    store = opened(folder / INBOX)
    with pytest.raises(JournalError, match="cannot be read or written"):
        await store.put([item("a")])
    folder.mkdir()
    assert (await store.put([item("a")]))[0].is_new
    await store.aclose()


async def test_a_damaged_store_names_what_it_refused_in_each_of_many_puts(tmp_path: Path) -> None:
    damage(tmp_path / INBOX)
    store = opened(tmp_path / INBOX)
    for put in [partial(store.put, [item(key)]) for key in "abc"]:
        with pytest.raises(JournalError, match=INBOX):
            await put()
