"""Sessions and their sub-agents in a whole gateway: isolation, follow-ups, archives, resets, and models of one run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from greenroom.gateway._gateway import Gateway
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.record._rows import Run
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import SessionKey, main_key
from greenroom.gateway.runs._spawn_plan import SpawnRequest
from greenroom.gateway.trust._reception import CommandCaller
from greenroom.gateway.trust._senders import SenderKind
from greenroom.inbox import HUMAN
from greenroom.models import ModelRequest
from greenroom.store import read_transcript
from tests.gateway.process.day import last_text
from tests.gateway.process.town import ChatService, Town, living

CONFIG: Final = """{
  agents: {defaults: {model: 'sonnet', workspace: 'workspace', subagents: {archiveAfterMinutes: 20}}},
  channels: {plugins: {plain: {accounts: {default: {dmPolicy: 'allowlist', allowFrom: ['ann']}}}}},
  commands: {ownerAllowFrom: ['plain:ann']},
}"""
MAIN: Final = main_key("main")
CHAT: Final = ChatRoute(channel="plain", peer="ann")


def play(request: ModelRequest) -> Any:
    text = last_text(request)
    if "Your run has ended" in text:
        return "the summary"
    if "A sub-agent that you started" in text:
        return f"heard of {len(re.findall('Status: success', text))}"
    return f"{len(request.messages)}: {text.splitlines()[-1]}"


@pytest.fixture
def town(tmp_path: Path) -> Town:
    (tmp_path / "gateway.json5").write_text(CONFIG)
    return Town(tmp_path, {"plain": ChatService("plain", takes_keys=False, can_say=False)}, [], play)


async def spawned(gateway: Gateway, task: str, **more: Any) -> Run:
    """Start a sub-agent of the main session, and return its run."""
    answer = await gateway.parts.runs.spawn(MAIN, SpawnRequest(task=task, **more), CHAT)
    assert answer.status == "accepted", answer
    return gateway.parts.registry.runs[answer.run]


async def said(gateway: Gateway, key: SessionKey, text: str) -> str:
    """Say something in a session, and return the reply."""
    runs = gateway.parts.runs
    run = await runs.begin(key, text, HUMAN)
    assert (await runs.wait(run, 600)).is_ended
    return await runs.reply_of(run)


async def texts_of(gateway: Gateway, key: str) -> list[str]:
    """Return the texts of a session, as the session tools read them."""
    page = await gateway.parts.view.read_page(gateway.parts.registry.sessions[key], limit=100)
    return [shown["text"] for message in page.messages for shown in message.as_texts()]


@pytest.mark.promise("A1-e", "A14-f", "A21-b", "A21-e")
async def test_a_child_is_a_session_of_its_own_and_is_read_when_it_is_archived(
    town: Town, autojump_clock: MockClock
) -> None:
    async with living(town) as gateway:
        registry = gateway.parts.registry
        await said(gateway, MAIN, "a word of the requester")
        kept, gone = [await spawned(gateway, f"count {what}", cleanup=what) for what in ("keep", "delete")]
        await trio.sleep(60)
        assert await said(gateway, SessionKey.parse(kept.session), "and the lines") == "5: and the lines"
        assert await texts_of(gateway, kept.session) == [
            "count keep",
            "1: count keep",
            "the summary",
            "and the lines",
            "5: and the lines",
        ]

        posts = [part.text for part in town.services["plain"].shown]
        (named,) = [re.search(r"transcript (\S+)", text) for text in posts if gone.session in text]
        assert named is not None
        lines = str(list(read_transcript(Path(named[1]))))
        assert "count delete" in lines
        assert "a word of the requester" not in lines
        assert "count delete" in await texts_of(gateway, gone.session)

        answer = await gateway.parts.commands.run(
            MAIN, "/status", CommandCaller(kind=SenderKind.OWNER, who="plain:ann")
        )
        assert re.search(r"^Tokens: [1-9]\S* in, [1-9]\S* out$", answer, re.MULTILINE)

        await trio.sleep(25 * 60)
        rows = [registry.sessions[run.session] for run in (kept, gone)]
        assert [row.state for row in rows] == [SessionState.ARCHIVED] * 2
        assert all(re.fullmatch(r"main\.jsonl\.deleted\.[0-9TZ.-]+", row.transcript) for row in rows)
        assert {event["ev"] for event in town.events() if event.get("transcript")} == {"session.archived"}
        assert "count keep" in await texts_of(gateway, kept.session)


@pytest.mark.promise("A24-d")
async def test_children_of_a_session_that_is_reset_announce_to_its_successor_once(
    town: Town, autojump_clock: MockClock
) -> None:
    async with living(town) as gateway:
        await said(gateway, MAIN, "hello")
        children = [await spawned(gateway, f"task {number}") for number in range(3)]
        former = gateway.parts.registry.sessions[str(MAIN)].session_id
        fresh = await gateway.parts.keepers.reset(str(MAIN), who="ann")
        await trio.sleep(120)

        posts = [part.text for part in town.services["plain"].shown]
        assert [sum(f'"task {number}"' in text for text in posts) for number in range(3)] == [1, 1, 1]
        told = "\n".join(text for _, text in town.conversation(fresh))
        assert [told.count(f'"task {number}"') for number in range(3)] == [1, 1, 1]
        assert "task" not in "\n".join(text for _, text in town.conversation(former))
        assert len({child.session for child in children}) == 3


@pytest.mark.promise("A8-g")
@pytest.mark.parametrize(
    ("vocabulary", "own"), [("sessions", {"sessions_spawn", "sessions_send"}), ("agent", {"Agent", "SendMessage"})]
)
async def test_a_session_speaks_one_vocabulary_and_its_child_none(
    town: Town, autojump_clock: MockClock, vocabulary: str, own: set[str]
) -> None:
    offered: list[set[str]] = []

    def look(request: ModelRequest) -> Any:
        offered.append({tool.name for tool in request.tools})
        return play(request)

    town.play = look
    (town.folder / "gateway.json5").write_text(CONFIG.replace("{", f"{{ tools: {{vocabulary: '{vocabulary}'}},", 1))
    every = {"sessions_spawn", "sessions_send", "Agent", "SendMessage"}
    async with living(town) as gateway:
        await said(gateway, MAIN, "hello")
        run = await spawned(gateway, "look around")
        await gateway.parts.runs.wait(run.id, 60)

    assert offered[0] & every == own
    assert offered[1] & every == set()
