"""Scheduled prompts of a session, in virtual time: what the main agent is told and when, and what is left after a process."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from greenroom.agents import CONTINUE
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.cli import main
from greenroom.core import JournalError, SettingsError, UsageError
from greenroom.core.ports import Ports
from greenroom.core.validation import read_settings
from greenroom.hooks import HookSource, SourceKind, parse_callbacks
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, ToolResultBlock
from greenroom.session import EVENTS, FOLDS, SCHEDULE_TOOLS, Session, SessionSettings, open_session
from greenroom.session.parts._session_schedules import MAX_SCHEDULES
from greenroom.session.schedules._schedule_settings import machine_zone
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools import tool
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, fold, read_journal
from tests.session.clocks import START, ShiftedClock
from tests.session.scripted import results

UTC_ZONE = {"schedules": {"tz": "UTC"}}


@attrs.define
class Scene:
    """A folder in which one session after the other is opened, with what the main agent was told."""

    folder: Path
    clock: ShiftedClock = attrs.field(factory=ShiftedClock)
    told: list[str] = attrs.field(factory=list)
    answer: Callable[[ModelRequest], AnswerLike] = lambda _: "Done."
    run: str = ""

    def main(self, request: ModelRequest) -> AnswerLike:
        self.told.append(request.messages[-1].text)
        return self.answer(request)

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncIterator[Session]:
        ports: Ports = attrs.evolve(virtual_ports(seed=len(self.told)), clock=self.clock)
        options = {"settings": UTC_ZONE, "tools": (*STANDARD_TOOLS, *SCHEDULE_TOOLS)} | options
        async with open_session(
            model=PlaybookModel({"main": self.main}),
            cwd=self.folder,
            runs=self.folder / "runs",
            ports=ports,
            resume=self.run or None,
            **options,
        ) as session:
            self.run = session.id
            yield session

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        lines = (self.folder / "runs" / self.run / JOURNAL).read_text().splitlines()
        found = [json.loads(line) for line in lines if '"schedule.' in line]
        return [event for event in found if not kinds or event["ev"].removeprefix("schedule.") in kinds]

    def due(self) -> list[str]:
        tags = [tag for text in self.told for tag in text.split("<scheduled-prompt")[1:]]
        return [tag.split('due="')[1].split(" ")[0][11:16] for tag in tags]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def begin(session: Session) -> None:
    """Give the run a conversation, so that it can be resumed."""
    await session.run("hello")


# --- while the session is open --------------------------------------------------------------------------------------------


def test_prompt_comes_at_each_time_and_is_nobodys_consent(scene: Scene) -> None:
    async def go() -> None:
        async with scene.open() as session:
            made = await session.schedules.add("Look at the build.", cron="*/15 * * * *")
            await trio.sleep(46 * 60)
            (status,) = session.schedules.all()
            home = session.agents.main.home
            assert home is not None
            assert (made.next, status.fired, status.missed) == (START + timedelta(minutes=15), 3, 0)
            assert home.origin.to_json() == {"kind": "auto-continuation", "subkind": "schedule"}
            assert not home.origin.is_consent

    run_virtual(go)

    assert scene.due() == ["00:15", "00:30", "00:45"]
    assert "Look at the build." in scene.told[0]


def test_one_shot_comes_once_and_has_ended(scene: Scene) -> None:
    async def go() -> None:
        async with scene.open() as session:
            await session.schedules.add("Now.", at="2026-01-01T00:20")
            await session.schedules.add("Then.", cron="40 * * * *", recurring=False)
            await trio.sleep(7_200)
            assert session.schedules.all() == ()
            assert [how for _, how in session.schedules.ended()] == ["fired", "fired"]

    run_virtual(go)

    assert scene.due() == ["00:20", "00:40"]


@pytest.mark.promise("RM-05")
def test_prompt_waits_for_the_turn_and_is_replaced_by_the_next(scene: Scene) -> None:
    """RM-05. Mechanism: a prompt that nobody has read is withdrawn when the next one is due, which counts it."""

    @tool
    async def build() -> str:
        """Build for 50 minutes."""
        await trio.sleep(50 * 60)
        return "built"

    def answer(request: ModelRequest) -> AnswerLike:
        return Call("Build", {}) if request.messages[-1].text == "go" else "Done."

    scene.answer = answer

    async def go() -> None:
        async with scene.open(
            tools=(build, *SCHEDULE_TOOLS), permission_mode="bypassPermissions", settings=UTC_ZONE
        ) as session:
            await session.schedules.add("Look.", cron="*/15 * * * *")
            assert (await session.run("go")).text == "Done."
            await trio.sleep(60)
            (status,) = session.schedules.all()
            assert (status.fired, status.replaced, status.is_waiting) == (3, 2, False)

    run_virtual(go)

    (text,) = [text for text in scene.told if "<scheduled-prompt" in text]
    assert 'replaces="2 earlier prompts that were not read"' in text
    assert [event["item"][-10:] for event in scene.events("replaced")] == ["T00:15:00Z", "T00:30:00Z"]


def test_recurring_schedule_ends_after_seven_days_and_says_so(scene: Scene) -> None:
    async def go() -> None:
        async with scene.open() as session:
            await session.schedules.add("Daily.", cron="0 9 * * *")
            kept = await session.schedules.add("Daily.", cron="0 9 * * *", durable=True)
            await trio.sleep(600)
            scene.clock.shift_s = 6 * 86_400
            await trio.sleep(2 * 86_400)
            assert [status.id for status in session.schedules.all()] == [kept.id]
            assert [how for _, how in session.schedules.ended()] == ["expired"]

    run_virtual(go)

    assert scene.due() == ["09:00"] * 5
    assert len(scene.events("expired")) == 1


def test_sleep_of_the_machine_is_noticed_within_a_minute(scene: Scene) -> None:
    """The wall clock leaps while Trio's does not: one prompt for what has passed."""

    async def go() -> None:
        async with scene.open() as session:
            await session.schedules.add("Hourly.", cron="0 * * * *")
            await trio.sleep(600)
            scene.clock.shift_s = 5 * 3_600
            await trio.sleep(60)
            assert scene.due() == ["05:00"]

    run_virtual(go)

    (missed,) = scene.events("missed")
    assert missed["count"] == 5
    assert 'missed="2026-01-01T01:00:00+00:00 UTC, ' in scene.told[0]


def test_clock_that_is_set_back_repeats_nothing_and_is_recorded(scene: Scene) -> None:
    async def go() -> None:
        async with scene.open() as session:
            await session.schedules.add("Hourly.", cron="0 * * * *")
            await trio.sleep(3_700)
            scene.clock.shift_s = -3_600.0
            await trio.sleep(3_500)
            assert scene.due() == ["01:00"]
            scene.clock.shift_s = -86_400.0
            await trio.sleep(3_700)
            assert scene.due() == ["01:00", "03:00"]

    run_virtual(go)

    assert len(scene.events("set_back")) == 1


def test_turn_of_a_prompt_exceeds_no_mode_it_was_made_under(scene: Scene) -> None:
    """The session was freed since: the prompt's turn is not; the user's next turn is free again."""

    def answer(request: ModelRequest) -> AnswerLike:
        is_asked = not any(isinstance(block, ToolResultBlock) for block in request.messages[-1].content)
        return Call("Write", {"file_path": "made.txt", "content": "x"}) if is_asked else "Done."

    scene.answer = answer

    async def go() -> None:
        async with scene.open(permission_mode="dontAsk") as session:
            await session.schedules.add("Write it.", at="2026-01-01T00:20")
            await session.permissions.set_mode("bypassPermissions")
            await trio.sleep(1_300)
            assert not (scene.folder / "made.txt").exists()
            await session.run("Write it yourself.")
            assert (scene.folder / "made.txt").exists()

    run_virtual(go)


def test_turn_of_a_prompt_exceeds_no_mode_of_the_session(scene: Scene) -> None:
    """The session was restricted since: the stricter mode of the two holds."""

    def answer(request: ModelRequest) -> AnswerLike:
        is_asked = not any(isinstance(block, ToolResultBlock) for block in request.messages[-1].content)
        return Call("Write", {"file_path": "made.txt", "content": "x"}) if is_asked else "Done."

    scene.answer = answer

    async def go() -> None:
        async with scene.open(permission_mode="bypassPermissions") as session:
            await session.schedules.add("Write it.", at="2026-01-01T00:20")
            await session.permissions.set_mode("dontAsk")
            await trio.sleep(1_300)

    run_virtual(go)

    assert scene.due() == ["00:20"]
    assert not (scene.folder / "made.txt").exists()


@pytest.mark.parametrize("kind", ["worker", "fork"])
def test_agents_of_a_prompts_turn_stay_in_its_mode(tmp_path: Path, kind: str) -> None:
    """The session was freed since: what the prompt's turn starts is held to the prompt's mode, a fork as well."""
    order = {"description": "write", "prompt": "job: write", "subagent_type": kind if kind == "fork" else "worker"}

    def child(request: ModelRequest) -> AnswerLike:
        last = request.messages[-1]
        is_asked = "job: write" in last.text
        return Call("Write", {"file_path": "made.txt", "content": "x"}) if is_asked else "Done."

    def main(request: ModelRequest) -> AnswerLike:
        return Call("Agent", order) if "<scheduled-prompt" in request.messages[-1].text else "Done."

    async def go() -> None:
        async with open_session(
            model=PlaybookModel({"main": main, "worker": child, "fork": child}),
            cwd=tmp_path,
            runs=tmp_path / "runs",
            ports=virtual_ports(),
            tools=(*STANDARD_TOOLS, *AGENT_TOOLS, *SCHEDULE_TOOLS),
            agents={"worker": {"description": "Works.", "prompt": "Work."}},
            settings={"child_permission": "inherit", "delegation": {"fork": "explicit"}, **UTC_ZONE},
            permission_mode="dontAsk",
        ) as session:
            await session.run("hello")
            await session.schedules.add("Have it written.", at="2026-01-01T00:20")
            await session.permissions.set_mode("bypassPermissions")
            await trio.sleep(1_300)
            assert [task.agent_type for task in session.tasks.all()] == [order["subagent_type"]]
            assert not (tmp_path / "made.txt").exists()

    run_virtual(go)


def test_spent_budget_pauses_prompts_and_says_so(scene: Scene) -> None:
    """No turn is begun that would fail; it is recorded once, and the schedule is still there."""

    async def go() -> None:
        settings = {"models": {"budget": {"calls": 1}}, **UTC_ZONE}
        async with scene.open(settings=settings) as session:
            await session.schedules.add("Look.", cron="*/5 * * * *")
            await trio.sleep(3_600)
            assert len(session.schedules.all()) == 1

    run_virtual(go)

    assert len(scene.told) == 1
    assert len(scene.events("paused")) == 1
    assert len(scene.events("fired")) <= 2


# --- from one process to the next -----------------------------------------------------------------------------------------


@pytest.mark.promise("RM-04", "RM-05")
def test_durable_schedule_catches_up_once_and_names_its_misses(scene: Scene) -> None:
    """RM-04, RM-05. Mechanism: the planner makes one item for the latest of the times that passed, which names the others."""

    async def before() -> None:
        async with scene.open() as session:
            await begin(session)
            await session.schedules.add("Daily.", cron="0 9 * * *", durable=True)

    async def after() -> None:
        async with scene.open() as session:
            await trio.sleep(86_400)
            (status,) = session.schedules.all()
            assert (status.fired, status.missed) == (2, 3)

    run_virtual(before)
    scene.clock.shift_s = 3 * 86_400
    run_virtual(after)

    late, next_day = scene.told[-2:]
    assert 'due="2026-01-03T09:00:00+00:00 UTC"' in late
    assert all(f"2026-01-0{day}T09:00:00+00:00 UTC" in late.split('missed="')[1] for day in (1, 2, 3))
    assert 'due="2026-01-04T09:00:00+00:00 UTC">' in next_day


def test_one_shot_that_was_missed_comes_late_with_its_time(scene: Scene) -> None:
    async def before() -> None:
        async with scene.open() as session:
            await begin(session)
            await session.schedules.add("Once.", at="2026-01-01T05:00", durable=True)

    async def after() -> None:
        async with scene.open():
            await trio.sleep(3_600)

    run_virtual(before)
    scene.clock.shift_s = 86_400
    run_virtual(after)
    run_virtual(after)

    assert scene.due() == ["05:00"]
    assert "run late" in scene.told[-1]


@pytest.mark.promise("RM-04")
def test_other_schedules_go_on_and_report_what_they_missed(scene: Scene) -> None:
    """RM-04. Mechanism: the first look after an opening reports what a schedule missed that is not durable, and hands nothing in."""

    async def before() -> None:
        async with scene.open() as session:
            await begin(session)
            await session.schedules.add("Daily.", cron="0 9 * * *")
            await session.schedules.add("Once.", at="2026-01-01T05:00")

    async def after() -> None:
        async with scene.open() as session:
            await trio.sleep(86_400)
            assert [(status.fired, status.missed) for status in session.schedules.all()] == [(1, 2)]
            assert [how for _, how in session.schedules.ended()] == ["expired"]

    run_virtual(before)
    scene.clock.shift_s = 2 * 86_400
    run_virtual(after)

    assert scene.due() == ["09:00"]
    assert sorted(event["count"] for event in scene.events("missed")) == [1, 2]


async def end_at_hand_in(scene: Scene, *, is_accepted: bool) -> None:
    """Run a process that ends while its first prompt is handed in: behind or before the step of the inbox."""
    async with scene.open() as session:
        await begin(session)
        await session.schedules.add("Look.", cron="*/15 * * * *", durable=True)
        accept, reached = session.inbox.accept, trio.Event()

        async def hang(*args: Any, **values: Any) -> bool:
            if is_accepted:
                await accept(*args, **values)
            reached.set()
            await trio.sleep_forever()
            raise AssertionError

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(session.inbox, "accept", hang)
            await reached.wait()
            await trio.sleep(5)


@pytest.mark.promise("R11-b", "RM-05")
@pytest.mark.parametrize("is_accepted", [False, True])
def test_process_that_ends_while_a_prompt_is_handed_in(scene: Scene, *, is_accepted: bool) -> None:
    """RM-05. Mechanism: due is on record before it is handed in, fired behind it; one without the other is handed in under its name."""

    async def after() -> None:
        async with scene.open() as session:
            await trio.sleep(60)
            assert [status.fired for status in session.schedules.all()] == [1]

    run_virtual(partial(end_at_hand_in, scene, is_accepted=is_accepted))
    assert (scene.events("fired"), len(scene.events("due"))) == ([], 1)
    assert scene.due() == (["00:15"] if is_accepted else [])
    scene.clock.shift_s = 16 * 60
    run_virtual(after)

    assert scene.due() == ["00:15"]
    assert [event["item"][-10:] for event in scene.events("fired")] == ["T00:15:00Z"]


@pytest.mark.promise("R11-b", "RM-04")
def test_prompt_that_was_due_gives_way_to_the_next_on_record(scene: Scene) -> None:
    """RM-04. Mechanism: a prompt that is due and was not handed in comes before new ones are planned, so that they replace it."""

    async def after() -> None:
        async with scene.open():
            await trio.sleep(30)

    run_virtual(partial(end_at_hand_in, scene, is_accepted=False))
    scene.clock.shift_s = 31 * 60
    run_virtual(after)

    assert scene.due() == ["00:30"]
    assert [event["item"][-10:] for event in scene.events("replaced")] == ["T00:15:00Z"]


@pytest.mark.promise("RM-04")
def test_schedule_that_can_be_planned_no_more_is_deleted_with_the_reason(scene: Scene) -> None:
    """RM-04. Mechanism: each schedule is checked when it is restored; one whose zone is gone is deleted with the reason."""

    async def before() -> None:
        async with scene.open() as session:
            await begin(session)
            await session.schedules.add("Bad.", cron="0 9 * * *", durable=True)
            await session.schedules.add("Good.", cron="0 9 * * *", durable=True, tz="Europe/Berlin")

    async def after() -> None:
        async with scene.open() as session:
            assert [status.prompt for status in session.schedules.all()] == ["Good."]
            (ended,) = session.schedules.ended()
            assert "unknown time zone 'UXC'" in ended[1]

    run_virtual(before)
    journal = scene.folder / "runs" / scene.run / JOURNAL
    journal.write_bytes(journal.read_bytes().replace(b'"tz":"UTC"', b'"tz":"UXC"'))
    run_virtual(after)

    assert len(scene.events("deleted")) == 1


@pytest.mark.promise("RM-05")
def test_journal_without_the_latest_lines_repeats_no_prompt(scene: Scene) -> None:
    """RM-05. Mechanism: the item is named after the planned time, and the store takes a name once."""

    async def before() -> None:
        async with scene.open() as session:
            await begin(session)
            await session.schedules.add("Look.", cron="*/15 * * * *", durable=True)
            await trio.sleep(16 * 60)

    async def after() -> None:
        async with scene.open():
            await trio.sleep(60)

    run_virtual(before)
    journal = scene.folder / "runs" / scene.run / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    (cut,) = [number for number, line in enumerate(lines, 1) if b'"schedule.created"' in line]
    journal.write_bytes(b"".join(lines[:cut]))
    scene.clock.shift_s = 16 * 60
    run_virtual(after)

    assert scene.due() == ["00:15"]


def test_prompt_that_waited_in_the_store_is_read_after_a_restart(scene: Scene) -> None:
    """It was handed in before the process was killed, and comes behind the turn that is resumed."""

    @tool
    async def build() -> str:
        """Build without end."""
        await trio.sleep_forever()
        raise AssertionError

    scene.answer = lambda request: Call("Build", {}) if request.messages[-1].text == "go" else "Done."

    async def before() -> None:
        async with scene.open(tools=(build, *SCHEDULE_TOOLS), permission_mode="bypassPermissions") as session:
            await session.schedules.add("Look.", cron="*/15 * * * *", durable=True)
            with trio.move_on_after(16 * 60):
                await session.run("go")
            assert [status.is_waiting for status in session.schedules.all()] == [True]
            session.kill()

    async def after() -> None:
        async with scene.open():
            await trio.sleep(30)

    run_virtual(before)
    scene.clock.shift_s = 20 * 60
    run_virtual(after)

    assert scene.due() == ["00:15"]
    assert CONTINUE in scene.told[1]


def test_journal_folds_to_the_schedules_of_the_session(scene: Scene) -> None:
    """`replay` shows the schedules that the session has."""

    async def go() -> None:
        async with scene.open() as session:
            await begin(session)
            await session.schedules.add("Look.", cron="*/15 * * * *")
            gone = await session.schedules.add("Look.", cron="*/20 * * * *")
            await trio.sleep(3_000)
            await session.schedules.delete(gone.id, "no longer needed")
            (status,) = session.schedules.all()
            world = fold(read_journal(session.run_folder / JOURNAL, EVENTS).entries, FOLDS)
            (view,) = world.section("schedules").values()
            assert (view.id, view.fired, view.prompt) == (status.id, 3, "Look.")
            assert world.faults == []
            assert session.schedules.ended() == ((gone.id, "deleted: no longer needed"),)

    run_virtual(go)


def test_zone_of_a_schedule_is_stored_by_name(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next process runs on a machine in another zone: times are those of the name, over a change of the clock."""

    async def before() -> None:
        async with scene.open(settings={}) as session:
            await begin(session)
            made = await session.schedules.add("Daily.", cron="30 9 * * *", durable=True)
            assert (made.tz, made.next) == ("Europe/Berlin", START + timedelta(hours=8.5))

    async def after() -> None:
        async with scene.open(settings={}) as session:
            await trio.sleep(30)
            (status,) = session.schedules.all()
            assert (status.tz, status.next) == ("Europe/Berlin", START + timedelta(days=89, hours=7.5))

    monkeypatch.setenv("TZ", "Europe/Berlin")
    run_virtual(before)
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    scene.clock.shift_s = 88 * 86_400 + 10 * 3_600  # past 2026-03-29, when summer time begins
    run_virtual(after)

    assert [event["tz"] for event in scene.events("created")] == ["Europe/Berlin"]
    assert 'due="2026-03-30T09:30:00+02:00 Europe/Berlin"' in scene.told[-1]


@pytest.mark.promise("RM-04")
def test_listing_and_replay_show_each_end_miss_and_replacement(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """RM-04. Mechanism: deletion, expiry, replacement and misses are events; the listing and `replay` are made of them."""
    seen: list[str] = []

    def answer(request: ModelRequest) -> AnswerLike:
        if isinstance(request.messages[-1].content[0], ToolResultBlock):
            seen.append(str(request.messages[-1].content[0].content))
            return "Done."
        return Call("CronList", {}) if request.messages[-1].text == "list" else "Done."

    async def go() -> None:
        async with scene.open() as session:
            await begin(session)
            gone = await session.schedules.add("Gone.", cron="0 9 * * *")
            old = await session.schedules.add("Old.", cron="0 9 * * *")
            once = await session.schedules.add("Once.", at="2026-01-01T00:20")
            kept = await session.schedules.add("Kept.", cron="*/15 * * * *", durable=True)
            session.main.suspend()
            await trio.sleep(46 * 60)
            session.main.resume()
            await session.schedules.delete(gone.id, "no longer needed")
            scene.clock.shift_s = 8 * 86_400
            await trio.sleep(120)
            scene.answer = answer
            await session.run("list")
            (text,) = seen
            assert f"{gone.id} has ended: deleted: no longer needed" in text
            assert f"{old.id} has ended: expired" in text
            assert f"{once.id} has ended: fired" in text
            assert re.search(rf"{kept.id} .*, fired 4, missed \d+, replaced unread 2: Kept\.", text)

    run_virtual(go)

    assert main(["replay", str(scene.folder / "runs" / scene.run), "--json"]) == 0
    shown = capsys.readouterr().out
    assert all(f'"schedule.{kind}"' in shown for kind in ("deleted", "expired", "fired", "missed", "replaced"))


# --- what is refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({}, "either cron or at, got neither"),
        ({"cron": "0 9 * * *", "at": "2026-01-02"}, "got both"),
        ({"cron": "0 9 * * * *"}, "5 fields"),
        ({"cron": "0 0 30 2 *"}, "never comes"),
        ({"cron": "0 9 * * *", "tz": "Mars"}, "unknown time zone 'Mars'"),
        ({"at": "2025-12-31T23:00"}, "in the future"),
        ({"at": "soon"}, "date and time"),
        ({"cron": "0 9 * * *", "permission_mode": "free"}, "unknown permission mode"),
    ],
)
def test_unusable_schedule_is_refused_and_none_is_made(scene: Scene, options: dict[str, Any], part: str) -> None:
    async def go() -> None:
        async with scene.open() as session:
            with pytest.raises(UsageError, match=part):
                await session.schedules.add("Look.", **options)
            assert len(session.schedules) == 0

    run_virtual(go)


def test_bounds_of_schedules_and_prompts(scene: Scene) -> None:
    async def go() -> None:
        async with scene.open() as session:
            for prompt in ("  ", "x" * 30_000):
                with pytest.raises(UsageError, match="prompt must"):
                    await session.schedules.add(prompt, cron="0 9 * * *")
            for _ in range(MAX_SCHEDULES):
                await session.schedules.add("Look.", cron="0 9 * * *")
            with pytest.raises(UsageError, match="at most 50 schedules"):
                await session.schedules.add("Look.", cron="0 9 * * *")
            with pytest.raises(UsageError, match="unknown schedule 's1'"):
                await session.schedules.delete("s1")

    run_virtual(go)


@pytest.mark.promise("RM-04")
@pytest.mark.parametrize(
    ("settings", "part"), [({"durable": False}, "durable must be false here"), ({"enabled": False}, "switched off")]
)
def test_durable_is_refused_where_it_cannot_be_kept(scene: Scene, settings: dict[str, Any], part: str) -> None:
    """RM-04. Mechanism: `add` refuses `durable` where the run is not kept; it is never turned into the other."""

    async def go() -> None:
        async with scene.open(settings={"schedules": settings}) as session:
            with pytest.raises(UsageError, match=part):
                await session.schedules.add("Look.", cron="0 9 * * *", durable=True)
            assert ("CronCreate" in session.tools) == settings.get("enabled", True)

    run_virtual(go)


@pytest.mark.promise("RM-04")
def test_schedule_that_cannot_be_recorded_is_not_made(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """RM-04. Mechanism: `add` waits for the commit, and drops the schedule if that fails: none is kept in memory alone."""

    async def refuse() -> None:
        raise JournalError("journal", "the disk is full")

    async def go() -> None:
        async with scene.open() as session:
            with monkeypatch.context() as patched:
                patched.setattr(session.schedules._services.journal, "commit", refuse)
                with pytest.raises(JournalError):
                    await session.schedules.add("Look.", cron="*/5 * * * *", durable=True)
            assert len(session.schedules) == 0
            await trio.sleep(1_200)

    run_virtual(go)

    assert scene.told == []


def test_setting_of_a_zone_is_checked() -> None:
    with pytest.raises(SettingsError, match="unknown time zone 'Mars'"):
        read_settings(SessionSettings, {"schedules": {"tz": "Mars"}}, source="settings.json")


def test_machine_zone_is_found_by_name(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    assert machine_zone({}, link) == "UTC"
    assert machine_zone({"TZ": ":Asia/Kathmandu"}, link) == "Asia/Kathmandu"
    link.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    assert machine_zone({}, link) == "Europe/Berlin"
    link.unlink()
    link.write_text("a copy has no name")
    with pytest.raises(UsageError, match=r"schedules\.tz"):
        machine_zone({}, link)


# --- the tools ----------------------------------------------------------------------------------------------------------


def test_model_schedules_lists_and_deletes(scene: Scene) -> None:
    def answer(request: ModelRequest) -> AnswerLike:
        said = sum(message.role == "assistant" for message in request.messages)
        first = re.search(r"Scheduled (\w+)", str(request.messages))
        calls: list[AnswerLike] = [
            Call("CronCreate", {"cron": "0 9 * * MON-FRI", "prompt": "Look at\nthe mail."}),
            Call("CronCreate", {"cron": "0 25 * * *", "prompt": "Never."}),
            Call("ScheduleWakeup", {"delaySeconds": 5, "prompt": "Go on.", "reason": "the build"}),
            Call("CronList", {}),
            Call("CronDelete", {"id": first[1] if first is not None else "?"}),
            Call("CronDelete", {"id": "s0"}),
        ]
        return calls[said] if said < len(calls) else "Done."

    scene.answer = answer

    async def go() -> None:
        async with scene.open() as session:
            await session.run("go")
            created, refused, woken, listed, deleted, unknown = [str(result.content) for result in results(session)]
            assert "recurring, next 2026-01-01T09:00:00+00:00 UTC, until 2026-01-08T00:00:00+00:00 UTC" in created
            assert "hour of cron must be 0-23" in refused
            assert "(60 seconds: the delay is from 60 to 3600)" in woken
            assert "Look at the mail." in listed
            assert "Go on." in listed
            assert deleted.startswith(f"Deleted {created.split()[1]} ")
            assert "unknown schedule 's0'" in unknown
            await trio.sleep(61)
            assert "Go on." in scene.told[-1]

    run_virtual(go)


def test_hooks_of_a_turns_end_are_told_of_the_schedules(scene: Scene) -> None:
    told: list[Any] = []
    groups = {"Stop": [{"hookCallbackIds": ["1"]}]}

    async def hear(_: str, given: Any, *__: Any) -> dict[str, Any]:
        told.append(given)
        return {}

    async def go() -> None:
        async with scene.open() as session:
            session.add_hooks(parse_callbacks(groups, HookSource("host", SourceKind.HOST), hear))
            made = await session.schedules.add("Look.", cron="0 9 * * *")
            await session.run("go")
            expected = {"id": made.id, "schedule": "0 9 * * *", "recurring": True, "prompt": "Look."}
            assert told[0]["session_crons"] == [expected]

    run_virtual(go)
