"""The items of one session that wait: which of them a turn may read."""

from __future__ import annotations

import pytest

from greenroom.gateway.announce._queue_plan import Overflow, QueueMode, QueueSettings
from greenroom.gateway.keepers._waiting_items import WaitingItem, WaitingItems

ADA, ROOM = {"channel": "irc", "peer": "ada"}, {"channel": "matrix", "peer": "!room"}
SETTINGS = QueueSettings(mode=QueueMode.STEER, quiet_s=0.0, cap=20, overflow=Overflow.OLD)


def item(id_: str, route: dict[str, str], mode: QueueMode = QueueMode.STEER) -> WaitingItem:
    return WaitingItem(id=id_, route=route, text="text", at_s=0.0, mode=mode)


@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.INTERRUPT, QueueMode.FOLLOWUP])
def test_inputs_of_two_chats_never_share_a_turn(mode: QueueMode) -> None:
    items = WaitingItems()
    assert not items.add(item("a", ADA, mode))
    assert items.add(item("b", ROOM, mode))
    items.mark_taken("a")
    items.remove("a")

    assert items.plan(SETTINGS, is_busy=False, now_s=1.0).release == ("b",)


def test_inputs_of_one_chat_are_read_by_the_turn_that_runs() -> None:
    items = WaitingItems()

    assert [items.add(item(id_, ADA)) for id_ in "abc"] == [False, False, False]
    assert items.unread == ["a", "b", "c"]
