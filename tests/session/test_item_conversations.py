"""Items in conversations of their own, findings on the board: what a model is sent, and when the lead is woken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.core import UsageError
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.session import Session
from greenroom.teams import Team
from greenroom.teams._board_messages import CreateItem
from greenroom.testing import virtual_ports
from tests.agents.pages import in_order
from tests.session.crashes import RecordingDisk, recording_ports
from tests.session.teamwork import main_messages, open_teamwork, violations

MATE = AgentDefinition(name="Explore", system_prompt="You help.")


class Finder:
    """Looks once for each item, and completes it with its findings; keeps what it was sent."""

    def __init__(self, *, findings: str = "a.txt:1 is empty") -> None:
        self.requests: list[ModelRequest] = []
        self.findings = findings

    def __call__(self, request: ModelRequest) -> AnswerLike:
        self.requests.append(request)
        number = re.findall(r"Task #(\d+) is ", "\n".join(message.text for message in request.messages))[-1]
        if not request.messages[-1].content or request.messages[-1].text:
            return Call("Glob", {"pattern": "*"})
        return Call("TaskUpdate", {"taskId": number, "status": "completed", "findings": self.findings})

    @property
    def items(self) -> list[list[str]]:
        """The numbers of the items that each request knows of."""
        return [re.findall(r"Task #(\d+) is ", "\n".join(one.text for one in sent.messages)) for sent in self.requests]


async def put(team: Team, count: int) -> None:
    for number in range(count):
        await team.board.ref.ask(CreateItem(subject=f"item {number}", description="", by="host"))


async def work(session: Session, finder: Finder, *, items: int, conversations: str = "fresh") -> list[str]:
    """Have one teammate do items; return what the lead has read."""
    async with session.open_team("crew", conversations=conversations) as team:
        await session.run("You lead.")
        await put(team, items)
        await team.spawn("ann", definition=MATE)
        await session.wait_quiet()
        assert [item.findings for item in team.board.items()] == [finder.findings] * items
    return main_messages(session)


@pytest.mark.promise("S-item", "S-findings")
@pytest.mark.parametrize(
    ("conversations", "known"),
    [
        ("fresh", [["1"], ["1"], ["2"], ["2"], ["3"], ["3"]]),
        ("keep", [["1"], ["1"], ["1", "2"], ["1", "2"], ["1", "2", "3"], ["1", "2", "3"]]),
    ],
)
async def test_an_item_ends_with_its_findings_and_the_next_knows_of_it_or_not(
    conversations: str, known: list[list[str]], tmp_path: Path, autojump_clock: MockClock
) -> None:
    """No request follows the call that completes an item."""
    finder = Finder()
    async with open_teamwork(tmp_path, in_order(otherwise="Noted."), pages={"Explore": finder}) as session:
        await work(session, finder, items=3, conversations=conversations)

    assert finder.items == known
    assert violations(session) == []


@pytest.mark.promise("S-woken")
async def test_a_lead_is_woken_at_quarters_and_at_the_end_and_by_no_idle_teammate(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    finder = Finder()
    async with open_teamwork(tmp_path, in_order(otherwise="Noted."), pages={"Explore": finder}) as session:
        read = await work(session, finder, items=8)

    told = [re.findall(r"[\w ]+ tasks on the board are completed", text) for text in read]
    assert [words for words in told if words] == [
        ["2 of 8 tasks on the board are completed"],
        ["4 of 8 tasks on the board are completed"],
        ["6 of 8 tasks on the board are completed"],
        ["All 8 tasks on the board are completed"],
    ]
    assert not any("idle_notification" in text for text in read)
    assert not any(finder.findings in text for text in read)


async def test_a_call_that_fails_beside_the_findings_is_shown_to_the_model(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    done = Call("TaskUpdate", {"taskId": "1", "status": "completed", "findings": "one"})
    page = in_order([done, Call("Read", {"file_path": "missing"})], "I could not read it.")
    async with (
        open_teamwork(tmp_path, in_order(otherwise="Noted."), pages={"Explore": page}) as session,
        session.open_team("crew", conversations="fresh") as team,
    ):
        await put(team, 1)
        ann = await team.spawn("ann", definition=MATE)
        await session.wait_quiet()
        assert session.agents is not None
        assert ann.usage.output_tokens > 20  # of two answers


async def test_a_word_that_is_no_mode_is_refused(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_teamwork(tmp_path, in_order()) as session:
        with pytest.raises(UsageError, match="conversations must be 'keep' or 'fresh', got 'new'"):
            async with session.open_team("crew", conversations="new"):
                pass


async def test_a_killed_teammate_resumes_the_conversation_of_its_item_alone(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Killed at each line on disk: what a teammate is sent afterwards is about one item, and each item is done once."""
    disk, finder = RecordingDisk(), Finder()
    async with open_teamwork(
        tmp_path, in_order(otherwise="Noted."), pages={"Explore": finder}, ports=recording_ports(disk)
    ) as session:
        await work(session, finder, items=3)
        run = session.run_folder
    places = [place for place, (path, line, _) in enumerate(disk.writes) if b'"item.' in line or "agent-" in path.name]

    for place in places[3::4]:
        again = disk.restore(place, run, tmp_path / "killed")
        if not (again / "transcripts/main.jsonl").is_file():
            continue
        later = Finder()
        async with open_teamwork(
            tmp_path,
            in_order(otherwise="Noted."),
            pages={"Explore": later},
            ports=virtual_ports(place),
            resume=again,
            settings={"recovery": {"cut_turns": "leave"}},
        ) as session:
            async with session.open_team("crew", conversations="fresh") as team:
                if not team.teammates:
                    await team.spawn("ann", definition=MATE)
                await session.wait_quiet()
                assert all(item.findings or item.status != "completed" for item in team.board.items())
                assert all(item.status == "completed" for item in team.board.items())
            assert all(len({*known}) == 1 for known in later.items), (place, later.items)
