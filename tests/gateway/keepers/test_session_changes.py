"""Reset, settings and archive of sessions."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from greenroom.core import UsageError
from greenroom.gateway._gateway_errors import Conflict, NotFound
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.models import PlaybookModel
from greenroom.tasks import TaskState
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
    "settings", [{"model": ""}, {"model": 5}, {"queue": "later"}, {"permission_mode": "god"}, {"unknown": "x"}]
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
