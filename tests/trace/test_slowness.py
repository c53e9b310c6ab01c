"""Kills and aborts that outlast their grace, and steps that hold up the loop: on record, and found in a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import AbortRequested, Behavior, Context, TurnEnded
from greenroom.actors._events import KillOverran
from greenroom.agents.events import ToolBegan, ToolEnded
from greenroom.cli import main
from greenroom.core import Cause, Event, Record, Recorder, event_of
from greenroom.models import Call, PlaybookModel
from greenroom.patterns import StepBlocked
from greenroom.session import EVENTS, open_session
from greenroom.supervisor import ChildSpec, open_runtime
from greenroom.testing import virtual_ports
from greenroom.tools import tool
from greenroom.trace import JOURNAL, check_journal, entries_of, find_slowness, read_journal
from tests.trace.planting import Entries, run

WHO: Final[dict[str, Any]] = {"actor": "a1", "inc": 1, "turn": 1}
FLAGS: Final[dict[str, Any]] = {"late_cancel": False, "during_kill": False, "cleanup_cut": False}
CALL: Final[dict[str, Any]] = {**WHO, "round": 1, "call": "c", "tool": "Crunch"}


class Deaf(Behavior[float]):
    """Does not stop for so many seconds when it is cancelled."""

    async def on_message(self, message: float, ctx: Context) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(message)


@pytest.mark.parametrize(
    ("deaf_s", "grace_s", "is_late"), [(0.0, 2.0, False), (1.9, 2.0, False), (6.7, 2.0, True), (0.3, 0.1, True)]
)
@pytest.mark.parametrize("verb", ["kill", "stop"])
async def test_a_kill_beyond_its_grace_is_an_event_and_a_finding(
    verb: str, deaf_s: float, grace_s: float, is_late: bool, autojump_clock: MockClock
) -> None:
    records: list[Record] = []
    ports = virtual_ports()
    recorder = Recorder(ports.clock.bind())
    recorder.listen(records.append)
    async with open_runtime(ports=ports, recorder=recorder) as runtime:
        ref = await runtime.spawn(Deaf, name="deaf", spec=ChildSpec(kill_grace_s=grace_s, grace_s=0.0))
        ref.tell(deaf_s)
        await trio.sleep(1)
        if verb == "kill":
            ref.kill("enough")
        else:
            ref.stop(grace_s=0.0)
        await ref.wait_ended()

    found = [one for record in records if isinstance(one := event_of(record), KillOverran)]
    slow = [one.text for one in find_slowness(entries_of(records)) if one.text.startswith("deaf ended")]
    if verb == "kill":
        assert [(round(one.seconds, 2), one.grace_s) for one in found] == ([(deaf_s, grace_s)] if is_late else [])
        assert [f"{deaf_s:g} s after the kill" in one for one in slow] == ([True] if is_late else [])
    assert {finding.id for finding in check_journal(entries_of(records))} <= {"I-26"}, (
        "without turns on record that counts all"
    )


@pytest.mark.parametrize("took_s", [0.5, 6.7])
@pytest.mark.parametrize("stops_at_once", [True, False])
def test_the_call_that_did_not_stop_is_named(took_s: float, stops_at_once: bool) -> None:
    asked = AbortRequested(**WHO, cause=Cause("host", "enough"))
    ended: list[Event] = [ToolEnded(**CALL, state="killed", output_chars=0, error="")]
    end = TurnEnded(**WHO, msg=1, state="killed", by="own", cause=Cause("host", "enough"), error="", **FLAGS)
    events = [ToolBegan(**CALL, summary=""), *(ended if stops_at_once else []), asked, end]
    entries: Entries = run(*events)
    entries[-1] = type(entries[-1])(entries[-1].seq, entries[-2].t + took_s, "turn.end", end)

    found = [one.text for one in find_slowness(entries)]

    named = "" if stops_at_once else "; Crunch did not stop"
    assert found == ([f"a1 ended 6.7 s after the abort of its turn, with a grace of 2 s{named}"] if took_s > 2 else [])


def test_what_has_not_ended_is_found_too() -> None:
    entries = run(
        AbortRequested(**WHO, cause=Cause("host", "enough")), StepBlocked(who="", task="t", seconds=0.1, where="")
    )
    entries[-1] = type(entries[-1])(2, 9.1, entries[-1].kind, entries[-1].event)

    first, second = find_slowness(entries)

    assert first.text == "a1 has not ended 9 s after the abort of its turn, with a grace of 2 s"
    assert second.text == "the event loop was blocked for 0.1 s by a step of t"


def test_a_session_puts_a_blocked_loop_on_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the machine's clock, which alone goes on while a step blocks; here it is told to leap."""
    leaps = [0.0]
    monkeypatch.setattr("greenroom.patterns._watchdog.time.monotonic", lambda: leaps[0])
    monkeypatch.setitem(open_session_defaults(), "clock", lambda: leaps[0])

    @tool(name="Crunch")
    async def crunch() -> str:
        """Block the loop."""
        leaps[0] += 2.5
        return "done"

    async def go() -> None:
        model = PlaybookModel({"main": lambda request: "Done." if len(request.messages) > 1 else Call("Crunch", {})})
        async with open_session(
            model=model, cwd=tmp_path, runs=tmp_path / "r", tools=[crunch], permission_mode="bypassPermissions"
        ) as session:
            await session.run("go")

    trio.run(go)
    (folder,) = [path for path in (tmp_path / "r").iterdir() if path.is_dir()]
    entries = read_journal(folder / JOURNAL, EVENTS).entries
    (blocked,) = [entry for entry in entries if entry.kind == "step.blocked"]
    main_agent = next(
        entry.event.actor for entry in entries if entry.kind == "actor.new" and entry["path"] == "session/main"
    )
    assert (blocked["seconds"], blocked["who"]) == (2.5, main_agent)

    assert main(["replay", str(folder), "--check"]) == 0
    assert "slow: the event loop was blocked for 2.5 s by a step of session/main" in capsys.readouterr().out


def open_session_defaults() -> dict[str, Any]:
    from greenroom.patterns import watch_steps

    defaults: dict[str, Any] = watch_steps.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]
    return defaults
