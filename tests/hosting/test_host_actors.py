"""The actors of a host in virtual time: start, follow, stop, results, and the same message once more."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import trio

from greenroom.hosting._hosted_agent import HostedAgent
from greenroom.models import Call, Say
from greenroom.remote.hosts import DescribeHost, LaunchAnswer, ReleaseAgent, StopAgent, follower_name, owner_of
from greenroom.session import TaskHandle
from greenroom.tools import tool
from tests.hosting.host_kit import DEFINITION, KEY, OWNER, RUN, opened_host, order, plan_of

pytestmark = pytest.mark.usefixtures("virtual_time")


@tool
async def look(at: str) -> str:
    """Look at it.

    Args:
        at: What to look at.
    """
    return f"{at} is blue"


@pytest.mark.promise("R5-a")
async def test_an_agent_is_followed_from_its_start_to_its_end(tmp_path: Path) -> None:
    script = [[Say("I look."), Call("look", {"at": "the sky"})], "It is blue."]
    async with opened_host(plan_of(tmp_path, script, tools=(look,))) as desk:
        assert await desk.ask(order()) == LaunchAnswer()
        first = await desk.follow()
        assert (first.state, first.output) == ("running", b"")
        end, output = await desk.follow_to_end()
        assert (end.state, end.result, end.tool_uses, end.duration_ms) == ("completed", "It is blue.", 1, 2000)
        [file] = (tmp_path / "runs").glob("*/tasks/*.output")
        assert output == file.read_bytes()
        text = output.decode()
        assert text.index("I look.") < text.index("It is blue.")
        assert await desk.follow(offset=5, version=end.version) == await desk.follow(offset=5, version=end.version)
        nothing_new = await desk.follow(offset=len(output), version=end.version, wait_s=3)
        assert (nothing_new.output, nothing_new.state) == (b"", "completed")


@pytest.mark.promise("R5-c")
async def test_the_same_order_again_starts_nothing(tmp_path: Path) -> None:
    async with opened_host(plan_of(tmp_path, ["once"])) as desk:
        assert [await desk.ask(order()) for _ in range(3)] == [LaunchAnswer()] * 3
        assert (await desk.follow_to_end())[0].result == "once"
        assert await desk.ask(order()) == LaunchAnswer()


async def test_a_stop_ends_an_agent_and_its_end_says_who(tmp_path: Path) -> None:
    async with opened_host(plan_of(tmp_path, ["never said"], wait_s=1000)) as desk:
        await desk.ask(order())
        stop = StopAgent(run=RUN, key=KEY, task="r00000001", why="no longer needed")
        assert await desk.ask(stop) is True
        assert await desk.ask(stop) is True
        end, _ = await desk.follow_to_end()
        assert (end.state, end.end_reason) == ("killed", "no longer needed")
        assert await desk.ask(StopAgent(run=RUN, key=KEY, task="r00000009", why="")) is False


@pytest.mark.promise("R5-owner")
async def test_an_agent_of_another_run_does_not_exist(tmp_path: Path) -> None:
    """A peer with the token of the host may name the id of that run, and does not know its key."""
    other = "f" * 32
    async with opened_host(plan_of(tmp_path, ["mine", "theirs"], wait_s=100)) as desk:
        await desk.ask(order())
        for message in (StopAgent, ReleaseAgent):
            more = {"why": ""} if message is StopAgent else {}
            assert await desk.ask(message(run=RUN, key=other, task="r00000001", **more)) is False
        assert desk.published.find(follower_name(owner_of(RUN, other), "r00000001")) is None
        assert await desk.ask(order(key=other)) == LaunchAnswer()  # the same names are another agent
        assert len(list((tmp_path / "runs").glob("*/journal.jsonl"))) == 2
        assert (await desk.follow_to_end())[0].result == "mine"


async def test_a_release_ends_an_agent_that_runs(tmp_path: Path) -> None:
    async with opened_host(plan_of(tmp_path, ["never said"], wait_s=1000)) as desk:
        await desk.ask(order())
        assert await desk.ask(ReleaseAgent(run=RUN, key=KEY, task="r00000001")) is True
        await trio.sleep(1)
        assert desk.agents.describe().running == 0
        assert list((tmp_path / "agents" / OWNER).iterdir()) == []
        assert await desk.ask(ReleaseAgent(run=RUN, key=KEY, task="r00000001")) is False


async def test_a_host_that_drains_waits_for_its_agents(tmp_path: Path) -> None:
    async with opened_host(plan_of(tmp_path, ["said", "never said"], wait_s=10)) as desk:
        await desk.ask(order())
        await desk.agents.drain(100)
        assert (desk.agents.running, trio.current_time() < 20) == (0, True)
        assert "starts no more agents" in (await desk.ask(order("r00000002"))).refused
        assert (await desk.follow_to_end())[0].result == "said"


async def test_an_end_is_kept_for_seven_days(tmp_path: Path) -> None:
    async with opened_host(plan_of(tmp_path, ["said"])) as desk:
        await desk.ask(order())
        await desk.follow_to_end()
    record = tmp_path / "agents" / OWNER / "r00000001.json"
    known = json.loads(record.read_text())
    for days, is_kept in ((6, True), (7, False)):
        record.write_text(json.dumps({**known, "ended": known["ended"] - days * 86_400}))
        async with opened_host(plan_of(tmp_path, [])) as desk:
            await trio.sleep(10)
            assert record.exists() == is_kept
            assert (desk.published.find(follower_name(OWNER, "r00000001")) is not None) == is_kept


async def test_agents_of_one_run_share_a_session_until_they_are_released(tmp_path: Path) -> None:
    async with opened_host(plan_of(tmp_path, ["a", "b"])) as desk:
        for task in ("r00000001", "r00000002"):
            await desk.ask(order(task))
        for task in ("r00000001", "r00000002"):
            await desk.follow_to_end(task)
        assert len(list((tmp_path / "runs").glob("*/journal.jsonl"))) == 1
        for task in ("r00000001", "r00000002"):
            assert await desk.ask(ReleaseAgent(run=RUN, key=KEY, task=task)) is True
        assert list((tmp_path / "agents" / OWNER).iterdir()) == []
        assert desk.published.find(follower_name(OWNER, "r00000001")) is None


async def test_an_order_that_cannot_be_carried_out_says_why(tmp_path: Path) -> None:
    async with opened_host(plan_of(tmp_path, ["said"], workspaces={"shop": tmp_path}, max_running=1)) as desk:
        refusals = {
            "no workspace 'attic'; it has: shop": order(workspace="attic"),
            "the definition cannot be used": order(definition={"name": "x y", "description": ""}),
            "the permission mode 'bypassPermissions'": order(
                definition={**DEFINITION, "permissionMode": "bypassPermissions"}
            ),
        }
        for why, refused in refusals.items():
            assert why in (await desk.ask(refused)).refused
        assert await desk.ask(order(workspace="shop")) == LaunchAnswer()
        assert "runs 1 agents" in (await desk.ask(order("r00000002"))).refused
        assert (await desk.ask(DescribeHost())).running == 1
        await desk.follow_to_end()
    assert not list((tmp_path / "agents" / OWNER).glob("r00000002*"))


@pytest.mark.promise("R5-b")
async def test_a_host_that_starts_anew_knows_what_ended_and_what_is_lost(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, ["said"])
    async with opened_host(plan) as desk:
        await desk.ask(order())
        _, output = await desk.follow_to_end()
    lost = tmp_path / "agents" / OWNER / "r00000002.json"
    lost.write_text((lost.with_name("r00000001.json")).read_text().replace("r00000001", "r00000002"))
    lost.write_text(lost.read_text().partition(', "end"')[0] + ', "end": null}')
    async with opened_host(plan_of(tmp_path, [])) as desk:
        end, again = await desk.follow_to_end()
        assert (end.state, end.result, again) == ("completed", "said", output)
        end, _ = await desk.follow_to_end("r00000002")
        assert (end.state, end.ended_by) == ("failed", "lost")
        assert await desk.ask(order("r00000002")) == LaunchAnswer()  # it is not run once more


async def test_an_end_that_the_disk_refuses_is_told_all_the_same(tmp_path: Path) -> None:
    """And the host works on."""
    async with opened_host(plan_of(tmp_path, ["said", "said, too"], wait_s=10)) as desk:
        await desk.ask(order())
        records = tmp_path / "agents" / OWNER
        shutil.rmtree(records)
        records.write_text("in the way")
        assert (await desk.follow_to_end())[0].result == "said"
        answer = await desk.ask(order("r00000002"))
        assert "in the way" in answer.refused or str(records) in answer.refused
        records.unlink()
        assert await desk.ask(order("r00000002")) == LaunchAnswer()
        assert (await desk.follow_to_end("r00000002"))[0].result == "said, too"


@pytest.mark.promise("R5-a")
async def test_an_end_is_news_when_the_whole_output_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[str] = []
    wait_recorded = TaskHandle.wait_recorded

    async def note_wait(handle: TaskHandle) -> None:
        await wait_recorded(handle)
        waited.append(handle.state.value)

    monkeypatch.setattr(TaskHandle, "wait_recorded", note_wait)
    async with opened_host(plan_of(tmp_path, ["said"])) as desk:
        await desk.ask(order())
        await trio.sleep(10)  # nobody follows it
        await desk.follow_to_end()
    assert waited == ["completed"]


@pytest.mark.promise("R5-c")
async def test_an_end_is_news_when_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the file of an agent that is released meanwhile comes back."""
    save = HostedAgent.save

    async def save_slowly(agent: HostedAgent, *args: Any) -> None:
        await trio.sleep(5)
        await save(agent, *args)

    monkeypatch.setattr(HostedAgent, "save", save_slowly)
    record = tmp_path / "agents" / OWNER / "r00000001.json"
    async with opened_host(plan_of(tmp_path, ["said"])) as desk:
        await desk.ask(order())
        while (await desk.follow()).state != "completed":  # noqa: ASYNC110 - it is virtual time
            await trio.sleep(1)
        assert "said" in record.read_text()
        assert await desk.ask(ReleaseAgent(run=RUN, key=KEY, task="r00000001"))
        await trio.sleep(100)
        assert not record.exists()


async def test_an_agent_whose_run_is_gone_is_stopped(tmp_path: Path) -> None:
    async with opened_host(plan_of(tmp_path, ["never said"], wait_s=1000)) as desk:
        await desk.ask(order())
        for _ in range(10):  # as long as its run asks, it works
            news = await desk.follow(version=(await desk.follow()).version)
            assert news.state == "running"
        await trio.sleep(70)
        end, _ = await desk.follow_to_end()
        assert (end.state, end.end_reason) == ("killed", "its run has not asked for it for 60 s")
