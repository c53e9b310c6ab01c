"""Reset, settings and archive of sessions."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from greenroom.actors import TurnBegan, TurnEnded
from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import ProviderError, UsageError
from greenroom.gateway._gateway_errors import Conflict, NotFound
from greenroom.gateway.config._agents import AgentsConfig, DefaultAgent
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._sections import ToolsConfig
from greenroom.gateway.config._values import ModelSetting
from greenroom.gateway.keepers._session_models import TurnWish
from greenroom.gateway.record._machines import EndCause, SessionState
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.models import Call, Model, ModelRequest, PlaybookModel, Say, ScriptedModel, Usage, WrittenAnswer
from greenroom.tasks import TaskState
from greenroom.tools import tool
from tests.gateway.keepers.keeping import MAIN, Gateway, opened, uuid

CHILD = SessionKey.parse(f"agent:main:subagent:{uuid(99)}")


def transcripts(gateway: Gateway) -> list[str]:
    return sorted(path.name for path in gateway.state.glob("agents/main/sessions/*/transcripts/*"))


async def test_a_reset_waits_for_the_turn_and_begins_an_empty_conversation(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, lambda request: f"{len(request.messages)} messages", wait_s=10) as gateway:
        await gateway.say("First.", uuid(1))
        await gateway.watcher.wait_began(1)
        former = gateway.record.registry.sessions[str(MAIN)].session_id

        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(gateway.keepers.reset, str(MAIN), who="ada"))
            await trio.testing.wait_all_tasks_blocked()
            await gateway.say("Second.", uuid(2))
        await gateway.watcher.wait_ends(2)

        row = gateway.record.registry.sessions[str(MAIN)]
        assert row.session_id != former
        assert [(end.session_id, end.reply) for end in gateway.watcher.ends] == [
            (former, "1 messages"),
            (row.session_id, "1 messages"),
        ]
        assert transcripts(gateway) == ["main.jsonl", "main.jsonl.deleted.2026-01-01T00-00-10.000Z"]


async def test_a_fallback_answers_a_turn_and_is_named(tmp_path: Path, autojump_clock: MockClock) -> None:
    missing = ProviderError("no such model", kind="not_found", is_retryable=False)

    def open_model(_: str, reference: str) -> Model:
        return ScriptedModel([missing, "Me again."] if reference == "sonnet" else ["I stand in."], name=reference)

    model = ModelSetting(primary="sonnet", fallbacks=("unknown/model", "haiku"))
    config = GatewayConfig(agents=AgentsConfig(defaults=DefaultAgent(model=model)))
    async with opened(tmp_path, open_model=open_model, config=config) as gateway:
        await gateway.say("First.", uuid(1))
        await gateway.watcher.wait_ends(1)
        await gateway.say("Second.", uuid(2))
        await gateway.watcher.wait_ends(2)

        assert [end.reply for end in gateway.watcher.ends] == ["I stand in.", "Me again."]
        assert [[(each.model, each.is_fallback) for each in end.requests] for end in gateway.watcher.ends] == [
            [("claude-haiku-5-5", True)],
            [("sonnet", False)],
        ]


async def test_a_turn_may_ask_another_model_and_the_next_one_does_not(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    seen: list[tuple[str, str | None, str | None]] = []

    def open_model(_: str, reference: str) -> Model:
        def play(request: ModelRequest) -> str:
            seen.append((reference, None if request.thinking is None else request.thinking.mode, request.effort))
            return f"{reference}: {len(request.messages)}"

        return PlaybookModel({"main": play}, wait_s=10)

    async with opened(tmp_path, open_model=open_model) as gateway:
        await gateway.say("First.", uuid(1), wish=TurnWish(model="opus", thinking="high"))
        await gateway.watcher.wait_began(1)
        await gateway.say("Second.", uuid(2))  # of another model: no part of that turn
        await gateway.watcher.wait_ends(2)
        await gateway.say("Third.", uuid(3), wish=TurnWish(thinking="off"))
        await gateway.watcher.wait_ends(3)

        assert [end.reply for end in gateway.watcher.ends] == ["opus: 1", "sonnet: 3", "sonnet: 5"]
        assert seen == [("opus", "adaptive", "high"), ("sonnet", None, None), ("sonnet", "disabled", None)]
        assert gateway.record.registry.sessions[str(MAIN)].settings == {}


async def test_a_reset_is_finished_by_the_next_process_and_changes_nothing_twice(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, lambda _: "Said.") as gateway:
        await gateway.say("First.", uuid(1))
        await gateway.watcher.wait_ends(1)
        id_ = await gateway.keepers.reset(str(MAIN), who="ada")
        assert await gateway.keepers.reset(str(MAIN), who="ada") == id_
    (place,) = gateway.state.glob("agents/main/sessions/*/transcripts/main.jsonl.deleted.*")
    place.rename(place.with_name("main.jsonl"))  # as a kill before the renaming would leave it

    async with opened(tmp_path) as gateway:
        await gateway.keepers.recover()
        assert await gateway.keepers.reset(str(MAIN), who="ada") == id_
        assert transcripts(gateway) == [place.name]


async def test_a_patch_counts_from_the_next_turn_and_survives_a_restart(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    asked: list[str] = []

    def open_model(_: str, reference: str) -> PlaybookModel:
        asked.append(reference)
        return PlaybookModel({"main": lambda request: f"{reference}: {len(request.messages)}"}, wait_s=10)

    async with opened(tmp_path, open_model=open_model) as gateway:
        await gateway.say("First.", uuid(1))
        await gateway.watcher.wait_began(1)
        await gateway.keepers.patch(str(MAIN), {"model": "haiku"}, label=" mine ")
        await gateway.say("Second.", uuid(2))
        await gateway.watcher.wait_ends(2)
        assert [end.reply for end in gateway.watcher.ends] == ["sonnet: 1", "haiku: 3"]

    async with opened(tmp_path, open_model=open_model) as gateway:
        await gateway.keepers.recover()
        await gateway.say("Third.", uuid(3))
        await gateway.watcher.wait_ends(1)
        assert gateway.watcher.ends[0].reply == "haiku: 5"
        assert gateway.record.registry.sessions[str(MAIN)].label == "mine"


@pytest.mark.parametrize(
    "settings",
    [{"model": ""}, {"model": 5}, {"model": "gpt"}, {"queue": "later"}, {"permission_mode": "god"}, {"unknown": "x"}],
)
async def test_a_wrong_setting_is_refused_by_name(
    tmp_path: Path, autojump_clock: MockClock, settings: dict[str, object]
) -> None:
    async with opened(tmp_path) as gateway:
        await gateway.keepers.make(MAIN)
        with pytest.raises(UsageError):
            await gateway.keepers.patch(str(MAIN), settings)
        assert gateway.record.registry.sessions[str(MAIN)].settings == {}


async def test_an_archived_session_is_kept_under_another_name_and_takes_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, lambda _: "Done.") as gateway:
        await gateway.say("Work.", uuid(1), CHILD)
        await gateway.watcher.wait_ends(1)

        name = await gateway.keepers.archive(str(CHILD), why="an hour has passed")

        assert name == "main.jsonl.deleted.2026-01-01T00-00-00.000Z"
        assert transcripts(gateway) == [name]
        row = gateway.record.registry.sessions[str(CHILD)]
        assert (row.state, row.transcript) == (SessionState.ARCHIVED, name)
        with pytest.raises(Conflict):
            await gateway.say("More.", uuid(2), CHILD)
        with pytest.raises(Conflict):
            await gateway.keepers.archive(str(CHILD), why="again")
        with pytest.raises(NotFound):
            await gateway.keepers.archive(f"agent:main:subagent:{uuid(98)}", why="unknown")


async def test_an_archive_is_refused_for_main_sessions_and_for_those_that_work(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(tmp_path, lambda _: "Done.", wait_s=10) as gateway:
        await gateway.keepers.make(MAIN)
        with pytest.raises(Conflict):
            await gateway.keepers.archive(str(MAIN), why="cleanup", is_forced=True)
        await gateway.say("Work.", uuid(1), CHILD)
        await gateway.watcher.wait_began(1)
        with pytest.raises(Conflict):
            await gateway.keepers.archive(str(CHILD), why="cleanup")
        await gateway.say("More.", uuid(2), CHILD, queue="followup")
        await gateway.keepers.archive(str(CHILD), why="cleanup", is_forced=True)

        assert [(end.items, end.state) for end in gateway.watcher.ends] == [
            ((uuid(1),), TaskState.COMPLETED),
            ((uuid(2),), TaskState.KILLED),
        ]
        assert gateway.record.registry.inbound == {}
        assert await gateway.store.boxes() == ()


async def test_names_of_archives_do_not_collide(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(tmp_path, lambda _: "Done.") as gateway:
        await gateway.say("Work.", uuid(1), CHILD)
        await gateway.watcher.wait_ends(1)
        row = gateway.record.registry.sessions[str(CHILD)]
        folder = gateway.state / "agents" / "main" / "sessions" / row.session_id / "transcripts"
        (folder / "main.jsonl.deleted.2026-01-01T00-00-00.000Z").write_text("other")

        name = await gateway.keepers.archive(str(CHILD), why="cleanup")

        assert name == "main.jsonl.deleted.2026-01-01T00-00-00.000Z-2"
        assert (folder / "main.jsonl.deleted.2026-01-01T00-00-00.000Z").read_text() == "other"
        assert (folder / name).exists()


# --- turns of one session -----------------------------------------------------------------------------------------------


@pytest.mark.promise("A10-e", "A7-f")
async def test_turns_of_a_session_never_run_together_and_each_request_is_counted_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    asked: list[str] = []

    def play(request: ModelRequest) -> WrittenAnswer:
        asked.append(request.agent)
        return WrittenAnswer((Say("Done."),), usage=Usage(10, len(asked)))

    async with opened(tmp_path, play, wait_s=10) as gateway:
        for number, session in enumerate((MAIN, MAIN, CHILD, MAIN), 1):
            await gateway.say("Work.", uuid(number), session, queue="followup")
        await gateway.watcher.wait_ends(4)

        spent = [request.usage for end in gateway.watcher.ends for request in end.requests]
        assert sorted(usage.output_tokens for usage in spent if usage is not None) == [1, 2, 3, 4]
        mine = [end.session for end in gateway.watcher.ends if end.session == str(MAIN)]
        assert len(mine) == 3
        open_turns = 0
        for key, event in gateway.events:
            if key == str(MAIN) and isinstance(event, TurnBegan | TurnEnded):
                open_turns += 1 if isinstance(event, TurnBegan) else -1
                assert open_turns <= 1


@pytest.mark.promise("A11-e")
async def test_a_timeout_in_a_call_cancels_it_and_leaves_a_valid_conversation(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    ends: list[str] = []

    @tool(name="linger")
    async def linger() -> str:
        """Take very long."""
        try:
            await trio.sleep_forever()
        finally:
            ends.append("cancelled")

    async with opened(tmp_path, [[Call("linger", {})], "Back again."], tools=[linger]) as gateway:
        await gateway.say("Work.", uuid(1), CHILD)
        await trio.sleep(5)
        assert await gateway.keepers.stop_turn(str(CHILD), who="gateway", cause=EndCause.TIMEOUT)
        assert ends == ["cancelled"]
        await gateway.say("And now?", uuid(2), CHILD)
        await gateway.watcher.wait_ends(2)

        assert [(end.cause, end.reply) for end in gateway.watcher.ends] == [
            (EndCause.TIMEOUT, ""),
            (EndCause.ITSELF, "Back again."),
        ]
        (path,) = gateway.state.glob("agents/main/sessions/*/transcripts/main.jsonl")
        assert faults_of(load_conversation(path).messages) == []


@pytest.mark.promise("A17-h")
async def test_a_letter_to_another_session_is_refused_and_kept_nowhere(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    said = "a word for another chat"

    def play(request: ModelRequest) -> object:
        if request.messages[-1].text != "Write.":
            results.append(str(request.messages[-1].content))
            return "Done."
        to = f"session:{gateway.record.registry.sessions[str(CHILD)].session_id}"
        return Call("SendMessage", {"to": to, "message": said, "summary": "a word"})

    results: list[str] = []
    config = GatewayConfig(tools=ToolsConfig(vocabulary="agent"))
    async with opened(tmp_path, play, config=config, tools=AGENT_TOOLS) as gateway:
        await gateway.say("Hello.", uuid(1), CHILD)
        await gateway.watcher.wait_ends(1)
        await gateway.say("Write.", uuid(2))
        await gateway.watcher.wait_ends(2)

        assert "takes no letters" in results[-1]
        assert await gateway.store.boxes() == ()
        other = gateway.record.registry.sessions[str(CHILD)].session_id
        kept = [path for path in gateway.state.glob(f"agents/main/sessions/{other}/**/*") if path.is_file()]
        assert all(said.encode() not in path.read_bytes() for path in kept)
