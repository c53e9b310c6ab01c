"""A survey whose items are worked on by agents on hosts: the same report, also when a host dies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from greenroom.cli import main
from greenroom.hosting._ray_host import serve_seat
from greenroom.models import AnswerLike, Message, ModelRequest, TextBlock, ToolResultBlock, ToolUseBlock
from greenroom.remote import LinkPeer
from greenroom.remote.hosts import PlacedHosts
from greenroom.remote.ray import GuestSeat, RayHostPlan, RayHosts
from greenroom.serving import UnixSocket
from greenroom.swarm import SwarmOptions, run_swarm
from greenroom.swarm.survey import play_far_mate, play_reader
from tests.session.conftest import short
from tests.swarm.small_repo import make_small_repo

__all__ = ["short"]
TOKEN = b"0123456789abcdef0123456789abcdef"
ITEM = "Your item is item 7 of the board.\n\n- shop/prices.py (11 lines)"


def report_in(runs: Path) -> str:
    [report] = runs.glob("2*/report.md")
    return report.read_text(encoding="utf-8")


@pytest.mark.promise("R8-b")
def test_a_survey_on_hosts_of_which_one_dies_has_the_same_report(
    tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = make_small_repo(tmp_path / "small")
    placed: list[PlacedHosts] = []

    @asynccontextmanager
    async def open_hosts(plan: RayHostPlan) -> AsyncIterator[RayHosts]:
        async with AsyncExitStack() as stack:
            peers = {}
            for name in ("ray-1", "ray-2"):
                folder = short / name
                folder.mkdir()
                seat = GuestSeat(
                    name=name,
                    token=TOKEN,
                    folder=folder,
                    listen=UnixSocket(folder / "host"),
                    arguments=attrs.asdict(plan),
                )
                peers[name] = LinkPeer(token=TOKEN, address=await stack.enter_async_context(serve_seat(seat)))
            placed.append(PlacedHosts(peers))
            yield RayHosts(placed=placed[0], nodes={}, processes={})

    def read(request: ModelRequest) -> AnswerLike:
        placed[0].note_death("ray-1", "it died in the middle")
        return play_reader(request)

    monkeypatch.setattr("greenroom.swarm._swarm_hosts.play_reader", read)

    assert main(["swarm", str(repo), "--runs", str(tmp_path / "here"), "--model", "playbook"]) == 0
    assert run_swarm(SwarmOptions(path=repo, runs=tmp_path / "there", model="playbook", open_hosts=open_hosts)) == 0

    assert report_in(tmp_path / "there") == report_in(tmp_path / "here")
    assert placed[0].living == ("ray-2",)
    assert dict(placed[0].dead) == {"ray-1": "it died in the middle"}
    assert "Done: 5 of 5 items by 4 mates" in capsys.readouterr().out


def step(*answers: tuple[str, str]) -> Any:
    """Return the next step of a teammate, after these tools gave these answers."""
    messages = [Message(role="user", content=(TextBlock(text=ITEM),))]
    for at, (name, answer) in enumerate(answers):
        call = {"task_id": "r00000001"} if name == "AgentFindings" else {}
        messages += [
            Message(role="assistant", content=(ToolUseBlock(id=f"call-{at}", name=name, input=call),)),
            Message(role="user", content=(ToolResultBlock(tool_use_id=f"call-{at}", content=answer),)),
        ]
    answered = play_far_mate(ModelRequest(definition="mate", messages=tuple(messages)))
    return answered[-1] if isinstance(answered, list) else answered


LAUNCHED = ("Agent", "Remote agent launched.\ntaskId: r00000001\nsessionUrl: greenroom://ray-1/run#r00000001")
LOST = ("AgentFindings", "<status>failed</status>\n<error>the host died</error>\n<output></output>")


def test_a_teammate_starts_an_agent_waits_for_it_and_starts_another_one() -> None:
    first = step()
    assert (first.name, first.input["isolation"], first.input["prompt"]) == ("Agent", "remote", ITEM)
    waits = step(LAUNCHED)
    assert (waits.name, waits.input) == ("AgentFindings", {"task_id": "r00000001"})
    assert step(LAUNCHED, ("AgentFindings", "<status>running</status>")).name == "AgentFindings"
    assert step(LAUNCHED, LOST).name == "Agent"


def test_an_item_whose_agents_are_lost_three_times_says_that_it_was_not_read() -> None:
    last = step(*[LAUNCHED, LOST] * 3)

    assert last.name == "TaskUpdate"
    assert "shop/prices.py" in last.input["findings"]
    assert "the host died" in last.input["findings"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--hosts", "4"], "hosts must be given as ray:NUMBER"),
        (["--hosts", "ray:2", "--recipe", "review"], "--hosts is for the recipe 'survey', got 'review'"),
        (["--hosts", "ray:2", "--max-budget-usd", "1"], "--max-budget-usd cannot be combined with --hosts"),
        (["--hosts", "ray:2"], "need the extra 'ray': pip install 'greenroom[ray]'"),
    ],
)
def test_hosts_that_cannot_be_had_are_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("greenroom.remote.ray._ray_hosts.find_spec", lambda _: None)
    repo = make_small_repo(tmp_path / "small")

    assert main(["swarm", str(repo), "--runs", str(tmp_path / "runs"), "--model", "playbook", *arguments]) == 2

    shown = capsys.readouterr()
    assert said in shown.err
    assert (shown.out, shown.err.count("\n")) == ("", 1)
