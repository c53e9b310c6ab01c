"""Changes by their keys: side by side, again, after a restart, and with other parameters."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from greenroom.gateway.record._service_state import ANSWER_S
from greenroom.gateway.rpc._answered_calls import MAX_RUNNING
from greenroom.gateway.rpc._methods import Answer, RpcCall
from greenroom.gateway.rpc._rpc_tokens import NamedToken
from greenroom.gateway.rpc._scopes import ALL_SCOPES
from tests.gateway.rpc.peers import KEY, open_house
from tests.trace.disks import MemoryDisk

pytestmark = pytest.mark.usefixtures("virtual_time")
CHANGE = {"message": "hello", "sessionKey": KEY, "idempotencyKey": "k"}
OTHER = NamedToken(name="other", token="o" * 32, scopes=ALL_SCOPES)


@pytest.mark.promise("A25-c")
async def test_hundred_same_calls_side_by_side_are_one_run() -> None:
    async def slow(call: RpcCall, _: Any) -> Answer:
        await trio.sleep(5)
        return {"runId": call.id}

    async with open_house(replaced={"agent": slow}) as house, house.connected() as one, house.connected() as two:
        first = await one.ask("agent", CHANGE)
        await trio.testing.wait_all_tasks_blocked()
        others = [(peer, await peer.ask("agent", CHANGE)) for peer in (one, two) for _ in range(50)]
        told = [await peer.answer(id_) for peer, id_ in others]
        answer = await one.answer(first)
        again = await two.call("agent", CHANGE)

    assert house.recorded.count("agent") == 1
    assert all(each["payload"] == {"status": "in_flight"} for each in told)
    assert again["payload"] == answer["payload"]
    assert (again["cached"], "cached" in answer) == (True, False)


@pytest.mark.promise("A25-c")
async def test_same_call_after_a_restart_has_the_same_answer() -> None:
    disk = MemoryDisk()
    async with open_house(disk) as house, house.connected() as peer:
        before = await peer.call("agent", CHANGE)
    async with open_house(disk) as house, house.connected() as peer:
        after = await peer.call("agent", CHANGE)
        other = await peer.call("agent", CHANGE | {"message": "goodbye"})
        another = await peer.call("chat.send", CHANGE)

    assert after["payload"] == before["payload"]
    assert house.recorded.calls == []
    assert (other["error"]["code"], other["error"]["details"]["path"]) == ("conflict", "idempotencyKey")
    assert another["error"]["code"] == "conflict"


@pytest.mark.promise("A25-c")
@pytest.mark.parametrize("lost", ["the answer was never sent", "the answer was not recorded"])
async def test_call_cut_by_a_crash_makes_the_same_run_again(lost: str) -> None:
    """The ids of all that the handler makes are made from the key, so a second try finds it."""
    disk, made = MemoryDisk(), set[str]()

    async def run(call: RpcCall, _: Any) -> Answer:
        await trio.lowlevel.checkpoint()
        made.add(call.id)
        return {"runId": call.id}

    async with open_house(disk, replaced={"agent": run}) as house, house.connected() as peer:
        await peer.call("agent", CHANGE)
    if lost == "the answer was not recorded":
        for path, content in disk.files.items():
            disk.files[path] = b"".join(line for line in content.splitlines(keepends=True) if b"rpc.done" not in line)
    async with open_house(disk, replaced={"agent": run}) as house, house.connected() as peer:
        answer = await peer.call("agent", CHANGE)

    assert {answer["payload"]["runId"]} == made
    assert house.recorded.count("agent") == (1 if lost == "the answer was not recorded" else 0)


async def test_answer_is_durable_before_it_is_sent() -> None:
    disk = MemoryDisk()
    async with open_house(disk) as house, house.connected() as peer:
        await peer.call("agent", CHANGE)
        assert any(b"rpc.done" in content for content in disk.files.values())


async def test_key_is_forgotten_after_a_day_and_is_its_owner_s_own() -> None:
    async with open_house(named=[OTHER]) as house:
        async with house.connected() as peer:
            await peer.call("agent", CHANGE)
        async with house.connected(OTHER.token) as peer:
            other = await peer.call("agent", CHANGE | {"message": "another"})
        await trio.sleep(ANSWER_S - 10)
        async with house.connected() as peer:
            within = await peer.call("agent", CHANGE)
            await trio.sleep(20)
            later = await peer.call("agent", CHANGE)

    assert other["ok"]
    assert within["cached"]
    assert "cached" not in later
    assert house.recorded.count("agent") == 3


async def test_other_parameters_conflict_while_the_call_is_being_done() -> None:
    async def never(_: RpcCall, __: Any) -> Answer:
        await trio.sleep_forever()
        raise AssertionError

    async with open_house(replaced={"agent": never}) as house, house.connected() as peer:
        await peer.ask("agent", CHANGE)
        other = await peer.call("agent", CHANGE | {"message": "another"})

    assert other["error"]["code"] == "conflict"


async def test_more_changes_than_the_limit_are_busy() -> None:
    async def never(_: RpcCall, __: Any) -> Answer:
        await trio.sleep_forever()
        raise AssertionError

    async with open_house(replaced={"agent": never}) as house:
        for lot in range(MAX_RUNNING // 64):
            async with house.connected() as peer:
                for number in range(64):
                    await peer.ask("agent", CHANGE | {"idempotencyKey": f"k{lot}.{number}"})
                await trio.testing.wait_all_tasks_blocked()
        async with house.connected() as peer:
            answer = await peer.call("agent", CHANGE)

    assert house.recorded.count("agent") == MAX_RUNNING
    assert (answer["error"]["code"], answer["error"]["retryAfterMs"]) == ("busy", 1_000)
