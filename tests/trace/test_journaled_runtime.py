"""A runtime with a journal in one call: what is on record of plain actors, and what of their turns is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

import greenroom as gr
from greenroom.actors import EVENTS
from greenroom.core import Recorder, UsageError
from greenroom.mailbox import EVENTS as MESSAGES
from greenroom.mailbox import MailboxPolicy
from greenroom.trace import CHECKS, JOURNAL, check_journal, read_journal, read_recent

KNOWN = (*MESSAGES, *EVENTS)


class Busy(gr.Behavior[int]):
    """An actor with room for one message, which never finishes with its first one."""

    mailbox = MailboxPolicy(capacity=1)

    async def on_message(self, message: int, ctx: gr.Context) -> None:
        await trio.sleep_forever()


class Quick(gr.Behavior[int]):
    """An actor that does nothing with its messages."""

    def on_message(self, message: int, ctx: gr.Context) -> None:
        """Do nothing."""


def refused(folder: Path) -> list[tuple[str, str]]:
    """Return the refused messages on record, as type and reason."""
    entries = read_journal(folder / JOURNAL, KNOWN).entries
    return [
        (entry["type"], entry["reason"]) for entry in entries if entry.kind == "message.died" and not entry["was_put"]
    ]


async def test_one_argument_writes_a_journal_that_is_sound_and_continued(tmp_path: Path) -> None:
    for _ in range(2):
        async with gr.open_runtime(journal=str(tmp_path / "run")) as runtime:
            await runtime.spawn(Quick, name="quick")

    entries = read_journal(tmp_path / "run" / JOURNAL, KNOWN).entries
    assert [entry["path"] for entry in entries if entry.kind == "actor.new"] == ["", "quick"] * 2
    assert list(check_journal(entries, folds=(), checks=CHECKS)) == []


async def test_refused_messages_are_on_record_and_thinned_out(tmp_path: Path) -> None:
    async with gr.open_runtime(journal=tmp_path / "run", spec=gr.SupervisorSpec(stop_budget_s=0)) as runtime:
        busy = await runtime.spawn(Busy)
        for number in range(41):
            busy.tell(number)
        busy.kill()
        await busy.wait_ended()
        for _ in range(30):
            busy.tell(0)

    assert refused(tmp_path / "run") == [("int", "full")] * 6 + [("int", "ended")]


async def test_the_recent_past_is_kept_on_request_though_nothing_failed(tmp_path: Path) -> None:
    for name, keeps_recent in (("asked", True), ("not", False)):
        async with gr.open_runtime(journal=tmp_path / name, keeps_recent=keeps_recent) as runtime:
            quick = await runtime.spawn(Quick)
            quick.tell(1)
            quick.drain()
            await quick.wait_ended()

    (moment,) = read_recent(tmp_path / "asked", KNOWN)
    assert moment.why == "its runtime has ended"
    assert "turn.noted" in {entry.kind for entry in moment.entries}
    assert read_recent(tmp_path / "not", KNOWN) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"keeps_recent": True}, "journal="),
        ({"journal": "run", "recorder": Recorder(lambda: 0.0)}, "recorder"),
        ({"journal": "run", "check_open": lambda: None}, "check_open"),
    ],
)
async def test_arguments_that_do_not_go_together_are_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        async with gr.open_runtime(**arguments):  # type: ignore[arg-type]
            pass


def test_outside_of_trio_it_says_so() -> None:
    with pytest.raises(UsageError, match="open_runtime"):
        gr.open_runtime(journal="run").__aenter__().send(None)
