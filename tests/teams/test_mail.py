"""Mail between the members of a team: whom it reaches, that it is on record first, and that it is read exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.agents.subagents import SendRefused
from greenroom.hooks import HookEvent
from greenroom.mailbox import Lane
from greenroom.models import AnswerLike, Call, ModelRequest
from greenroom.store._transcript_reader import read_transcript
from greenroom.teams import FOLDS, LEAD, MailQuarantined, MailRead, MailReturned, MailSent
from greenroom.teams._mail_events import unread
from greenroom.teams._protocol_json import write_text
from greenroom.teams._team_protocol import ShutdownRequest
from greenroom.trace import Entry, World
from tests.agents.crews import ScriptedHooks, told, violations
from tests.agents.pages import answers_in, in_order, kind, mail, texts_of
from tests.teams.crews import (
    mail_texts,
    member,
    notices_of,
    open_lead,
    open_on_filling_disk,
    open_team,
    play_by_choices,
    send_as,
)


async def test_members_write_to_each_other_and_to_the_lead_by_all_its_names(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """The sender, its color and what it is about are in the tag; the result says where it went."""
    pages = {name: in_order() for name in ("ann", "bob")}
    async with open_lead(tmp_path, in_order(), pages=pages) as crew, open_team(crew, "t") as team:
        for name in ("ann", "bob"):
            await team.spawn(name, definition=kind(name))
        result = await send_as(member(team, "ann"), "bob", "The parser is done.\nAll of it.", summary="parser")
        for to in ("team-lead", "lead", "main", "Lead@t"):
            await send_as(member(team, "bob"), to, f"by {to}")
        await send_as(member(team, LEAD), "ann@t", "Look at the lexer.")
        await crew.wait_quiet()
        heard = {name: mail_texts(team, name) for name in ("ann", "bob", LEAD)}
        idle = [text for text in notices_of(team, LEAD) if "idle_notification" in text]
        sent, read = told(crew, MailSent), told(crew, MailRead)
        assert not team.mail.waiting

    assert result == {
        "success": True,
        "message": "Message sent to bob.",
        "routing": {"sender": "ann", "target": "bob", "summary": "parser"},
    }
    assert heard["bob"] == [
        '<teammate-message teammate_id="ann" color="blue" summary="parser">\nThe parser is done.\nAll of it.\n</teammate-message>'
    ]
    assert heard["ann"] == ['<teammate-message teammate_id="team-lead">\nLook at the lexer.\n</teammate-message>']
    assert [text.splitlines()[1] for text in heard[LEAD]] == ["by team-lead", "by lead", "by main", "by Lead@t"]
    assert any('summary": "to bob: parser"' in text for text in idle), "what mates told each other (7.49)"
    assert [line.mail for line in sent] == [1, 2, 3, 4, 5, 6]
    assert sorted(one.mail for one in read) == [1, 2, 3, 4, 5, 6]
    assert violations(crew) == []


async def test_one_tool_reaches_members_and_other_agents(tmp_path: Path, autojump_clock: MockClock) -> None:
    """A mate writes to an agent that the lead started, and that one writes back to the mate."""

    def scout(request: ModelRequest) -> AnswerLike:
        return mail("ann", "Seen it.") if "Look here." in request.messages[-1].text else "Waiting."

    launch = Call("Agent", {"description": "look", "prompt": "go", "name": "scout", "run_in_background": True})
    pages = {"general-purpose": scout, "ann": in_order()}
    async with (
        open_lead(tmp_path, in_order(launch, "Waiting."), pages=pages, wait_s=5.0) as crew,
        open_team(crew, "t") as team,
    ):
        await team.spawn("ann", definition=kind("ann"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crew.run, "go")
            await trio.sleep(7)
            await send_as(member(team, "ann"), "scout", "Look here.")
        await crew.wait_quiet()
        heard = mail_texts(team, "ann")

    assert heard == ['<teammate-message teammate_id="scout">\nSeen it.\n</teammate-message>']
    assert violations(crew) == []


async def test_a_message_to_nobody_is_refused_with_the_names_that_are_near(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-44: and nothing is made of it."""
    async with open_lead(tmp_path, in_order()) as crew, open_team(crew, "t") as team:
        await team.spawn("tester", definition=kind("ann"))
        await team.spawn("ann", definition=kind("ann"))
        caught = []
        for to in ("testre", "tset@t", "ann", "session:x"):
            with pytest.raises(SendRefused) as refused:
                await send_as(member(team, "ann"), to, "hello")
            caught.append(refused.value)
        assert told(crew, MailSent) == []

    assert [one.kind for one in caught] == ["unknown_recipient", "unknown_recipient", "yourself", "other_session"]
    assert caught[0].near == ("tester",)
    assert "did you mean tester?" in str(caught[0])


async def test_a_message_to_one_who_has_ended_is_a_dead_letter_and_its_sender_is_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-48, CL-25: whoever has the name with a number is somebody else."""
    pages = {"ann": in_order(), "bob": in_order()}
    async with open_lead(tmp_path, in_order(), pages=pages) as crew, open_team(crew, "t") as team:
        mate = await team.spawn("ann", definition=kind("ann"))
        await team.spawn("bob", definition=kind("bob"))
        mate.kill()
        await mate.wait_ended()
        other = await team.spawn("ann", definition=kind("ann"))
        with pytest.raises(SendRefused) as caught:
            await send_as(member(team, "bob"), "ann", "Are you there?")
        await crew.wait_quiet()
        heard, returned = mail_texts(team, other.name), told(crew, MailReturned)

    assert other.name == "ann-2"
    assert caught.value.kind == "ended"
    assert "ann-2" in str(caught.value)
    assert heard == []
    assert [(one.sender, one.to, one.why) for one in returned] == [("bob", "ann", "ann had ended")]
    assert violations(crew) == []


async def test_what_a_member_has_not_read_when_it_ends_goes_back_to_those_who_wrote_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-48: nothing vanishes."""
    pages = {"ann": in_order("Busy."), "bob": in_order()}
    async with open_lead(tmp_path, in_order(), pages=pages, wait_s=10.0) as crew, open_team(crew, "t") as team:
        mate = await team.spawn("ann", definition=kind("ann"), prompt="Work.")
        await team.spawn("bob", definition=kind("bob"))
        await trio.sleep(1)
        await send_as(member(team, "bob"), "ann", "first", summary="about one")
        await send_as(member(team, "bob"), "ann", "second")
        assert len(team.mail.waiting) == 2
        mate.kill()
        await mate.wait_ended()
        await crew.wait_quiet()
        heard, returned = texts_of(member(team, "bob").home), told(crew, MailReturned)
        assert not team.mail.waiting

    assert [one.why for one in returned] == ["ann ended before it read it"] * 2
    assert any(text == "ann has ended, and has not read what you sent it: about one; second" for text in heard)
    assert violations(crew) == []


@pytest.mark.promise("R7-a")
async def test_mail_to_a_lead_that_has_ended_waits(tmp_path: Path, autojump_clock: MockClock) -> None:
    """R7-a: a lead ends with its session only, and reads when the session is resumed; mail sent before and after its end waits."""
    pages = {"ann": in_order()}
    async with open_lead(tmp_path, in_order("Busy."), pages=pages, wait_s=10.0) as crew, open_team(crew, "t") as team:
        await team.spawn("ann", definition=kind("ann"))
        await crew.wait_quiet()
        crew.send("Work.")
        await trio.sleep(1)
        await send_as(member(team, "ann"), LEAD, "before")
        member(team, LEAD).ref.kill()
        await member(team, LEAD).ref.wait_ended()
        await send_as(member(team, "ann"), LEAD, "after")
        waiting = [mail.text for mail in team.mail.waiting]
        returned = told(crew, MailReturned)

    assert waiting == ["before", "after"]
    assert returned == []


async def test_a_broadcast_is_a_text_for_all_but_the_sender(tmp_path: Path, autojump_clock: MockClock) -> None:
    pages = {name: in_order() for name in ("ann", "bob", "cid")}
    async with open_lead(tmp_path, in_order(), pages=pages) as crew, open_team(crew, "t") as team:
        for name in pages:
            await team.spawn(name, definition=kind(name))
        result = await send_as(member(team, "ann"), "*", "All is well.")
        with pytest.raises(SendRefused) as caught:
            await send_as(member(team, LEAD), "*", {"type": "shutdown_request"})
        await crew.wait_quiet()
        heard = {name: len(mail_texts(team, name)) for name in ("ann", "bob", "cid", LEAD)}
        sent = told(crew, MailSent)

    assert [(line.text, line.text_of) for line in sent] == [("All is well.", 0), ("", 1), ("", 1)], "the text once"
    world = World(FOLDS)
    for event in sent:
        world.apply(Entry(seq=1, t=0.0, kind=event.kind, event=event))
    assert [one.text for one in unread(world.section("mail"), "t")] == ["All is well."] * 3
    assert heard == {"ann": 0, "bob": 1, "cid": 1, LEAD: 1}
    assert result["routing"] == {"sender": "ann", "target": "*", "summary": "All is well."}
    assert caught.value.kind == "broadcast"


async def test_what_cannot_be_put_on_record_is_not_sent(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-24. Behaviours (7), line 5: in the words that others know."""
    async with open_on_filling_disk(tmp_path) as (_, team, disk):
        await team.spawn("ann", definition=kind("ann"))
        disk.is_full = True
        for _ in range(2):  # the first is refused by the disk, the second before anybody asks the disk
            with pytest.raises(SendRefused) as caught:
                await send_as(member(team, LEAD), "ann", "hello")
            assert (
                str(caught.value)
                == "Failed to write to ann's inbox — nothing was sent. Try again, or message the lead."
            )
            await trio.sleep(5)
        assert mail_texts(team, "ann") == []
        assert not team.mail.waiting


async def test_what_is_too_long_is_cut_and_not_refused(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-27."""
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": in_order()}) as crew,
        open_team(crew, "t") as team,
    ):
        await team.spawn("ann", definition=kind("ann"))
        result = await send_as(member(team, LEAD), "ann", "x" * 101_424, summary="s" * 500)
        await crew.wait_quiet()
        (text,) = mail_texts(team, "ann")

    assert len(result["routing"]["summary"]) == 80
    assert text.endswith("[cut: 1424 characters more]\n</teammate-message>")


async def test_bad_entries_of_an_inbox_are_put_aside_and_reported_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """CL-26. Behaviours (7), line 4."""
    entries = [
        {"from": "old-mate", "text": "first", "timestamp": "2026-01-01T00:00:00Z", "read": False},
        {"from": "old-mate", "text": 7},
        "nonsense",
        {"from": "old-mate", "text": "read before", "read": True},
        {"from": "old-mate", "text": "second"},
    ]
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": in_order()}) as crew,
        open_team(crew, "t") as team,
    ):
        await team.spawn("ann", definition=kind("ann"))
        problems = await team.mail.take_entries("ann", entries)
        await crew.wait_quiet()
        heard, aside = mail_texts(team, "ann"), told(crew, MailQuarantined)

    assert [text.splitlines()[1] for text in heard] == ["first", "second"]
    assert [problem.text for problem in problems] == [one.problem for one in aside]
    assert [one.problem for one in aside] == ["entry 1: text is not text", "entry 2: 'nonsense' is not an object"]
    assert violations(crew) == []


async def test_what_is_unread_when_the_team_is_closed_waits(tmp_path: Path, autojump_clock: MockClock) -> None:
    """The next time that the team is open, it is handed over, under its old number and once."""
    pages = {"ann": in_order("Busy.")}
    async with open_lead(tmp_path, in_order(), pages=pages, wait_s=50.0) as crew:
        async with open_team(crew, "t") as team:
            await team.spawn("ann", definition=kind("ann"), prompt="Work.")
            await trio.sleep(1)
            await send_as(member(team, LEAD), "ann", "read me")
        world = World(FOLDS)
        for event in told(crew, MailSent):
            world.apply(Entry(seq=1, t=0.0, kind=event.kind, event=event))
        mails: Any = world.section("mail")
        left = unread(mails, "t")
        assert told(crew, MailReturned) == []
        async with open_team(crew, "u") as again:
            await again.spawn("ann", definition=kind("ann"))
            again.mail.take_up(left)
            again.mail.take_up([attrs.evolve(left[0], mail=9, to="nobody")])
            request = ShutdownRequest(sender=LEAD, request_id="s")
            again.mail.take_up([attrs.evolve(left[0], mail=8, text=write_text(request))])
            await crew.wait_quiet()
            heard, read = mail_texts(again, "ann"), told(crew, MailRead)
            lost = told(crew, MailReturned)
            await send_as(member(again, LEAD), "ann", "new")
            assert told(crew, MailSent)[-1].mail == 10

    assert [one.text for one in left] == ["read me"]
    assert unread(mails, "t", told={left[0].mark}) == []
    assert len(heard) == 1
    assert [(one.team, one.mail) for one in read] == [("t", 1)]
    assert [(one.mail, one.to) for one in lost] == [(9, "nobody"), (8, "ann")]


WAYS = st.lists(
    st.tuples(st.sampled_from(["bob", LEAD, "host", "abort", "wait"]), st.integers(0, 3)), min_size=1, max_size=9
)


@settings(max_examples=25)
@given(ways=WAYS, choices=st.lists(st.integers(0, 5), max_size=40), wait_s=st.sampled_from([0.0, 1.0]))
def test_in_any_order_of_what_happens_each_message_is_read_exactly_once_and_only_in_the_conversation(
    ways: list[tuple[str, int]], choices: list[int], wait_s: float
) -> None:
    """RC-43: messages, the end of a turn, an abort and a note of the host in one tick, under any schedule."""

    play_by_choices(lambda folder: _race(folder, ways, wait_s), choices)


async def _race(folder: Path, ways: list[tuple[str, int]], wait_s: float) -> None:
    def ann(request: ModelRequest) -> AnswerLike:
        said = answers_in(request)
        return "Idle." if said % 2 else Call("Glob", {"pattern": "*"})

    sent: list[str] = []
    pages = {"ann": ann, "bob": in_order()}
    async with open_lead(folder, in_order(), pages=pages, wait_s=wait_s) as crew, open_team(crew, "t") as team:
        mate = await team.spawn("ann", definition=kind("ann"))
        await team.spawn("bob", definition=kind("bob"))
        async with trio.open_nursery() as nursery:
            for number, (way, many) in enumerate(ways):
                match way:
                    case "wait":
                        await trio.sleep(many * 0.5)
                    case "abort":
                        mate.abort_turn()
                    case "host":
                        mate.tell(f"host {number}")
                    case _:
                        for copy in range(many):
                            text = f"message {number}.{copy}."
                            sent.append(text)
                            nursery.start_soon(send_as, member(team, way), "ann", text)
        await crew.wait_quiet()
        heard = mail_texts(team, "ann")
        read = [event.mail for event in told(crew, MailRead)]
        by_number = {event.mail: event.text for event in told(crew, MailSent)}
        path = member(team, "ann").home.conversation.path

    lines = list(read_transcript(path)) if path.exists() else []
    assert sorted(text.splitlines()[1] for text in heard) == sorted(sent)
    assert sorted(by_number[one] for one in read) == sorted(sent)
    marks = [mark for line in lines for mark in line.get("notices", ())]
    assert [int(mark.rpartition(".")[2]) for mark in marks] == read, "in the step in which the transcript has it"
    assert violations(crew) == []


async def test_an_interrupt_while_hooks_look_at_the_users_words_loses_no_mail_that_came_before_them(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-43: what a turn began with stands in the conversation before anything is waited for."""
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": in_order()}) as crew,
        open_team(crew, "t") as team,
    ):
        await team.spawn("ann", definition=kind("ann"))
        home = member(team, LEAD).home
        home.replace(hooks=ScriptedHooks(HookEvent.USER_PROMPT_SUBMIT, [{}], wait_s=10))
        crew.main.ref.suspend()
        await team.mail.hand_over("ann", [member(team, LEAD)], "I go on.", "refused", lane=Lane.NEXT)
        crew.send("The user's words.")
        await trio.sleep(1)
        crew.main.ref.resume()
        await trio.sleep(5)
        crew.interrupt()
        await crew.wait_quiet()
        said = texts_of(home)
        read = told(crew, MailRead)

    assert sum("I go on." in text for text in said) == 1
    assert sum("The user's words." in text for text in said) == 1
    assert len(read) == 1
    assert violations(crew) == []


async def test_an_interrupted_send_reaches_nobody(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Until it is on record it is on no way: who is cut off there has sent nothing, and that is on record."""
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": in_order()}) as crew,
        open_team(crew, "t") as team,
    ):
        await team.spawn("ann", definition=kind("ann"))
        durable = team.roster.wait_durable

        async def slowly() -> None:
            await trio.sleep(5)
            await durable()

        team.roster.wait_durable = slowly
        with trio.move_on_after(1) as scope:
            await send_as(member(team, LEAD), "ann", "first")
        await send_as(member(team, LEAD), "ann", "second")
        await crew.wait_quiet()
        heard = mail_texts(team, "ann")

    assert scope.cancelled_caught
    assert [text.splitlines()[1] for text in heard] == ["second"]
    assert [(event.mail, event.why) for event in told(crew, MailReturned)] == [(1, "its sender was interrupted")]
    assert violations(crew) == []


async def test_one_who_ends_while_a_message_is_put_on_record_gets_none_and_its_sender_is_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-48: the others get theirs."""
    pages = {"ann": in_order(), "bob": in_order()}
    async with open_lead(tmp_path, in_order(), pages=pages) as crew, open_team(crew, "t") as team:
        for name in pages:
            await team.spawn(name, definition=kind(name))
        durable = team.roster.wait_durable
        results: list[Any] = []

        async def slowly() -> None:
            await trio.sleep(5)
            await durable()

        async def send(to: str) -> None:
            try:
                results.append(await send_as(member(team, LEAD), to, "hello"))
            except SendRefused as error:
                results.append(error)

        team.roster.wait_durable = slowly
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, "*")
            nursery.start_soon(send, "ann")
            await trio.sleep(1)
            team.teammates["ann"].kill()
        await crew.wait_quiet()
        heard, returned = mail_texts(team, "bob"), told(crew, MailReturned)

    one = next(result for result in results if isinstance(result, SendRefused))
    other = next(result for result in results if not isinstance(result, SendRefused))
    assert one.kind == "ended"
    assert other["message"] == "Message sent to bob. Not to ann: it has ended and reads nothing any more."
    assert len(heard) == 1
    assert [one.to for one in returned] == ["ann", "ann"]
    assert violations(crew) == []


async def test_a_full_mailbox_refuses_and_says_so(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with (
        open_lead(tmp_path, in_order(), pages={"ann": in_order()}) as crew,
        open_team(crew, "t") as team,
    ):
        await team.spawn("ann", definition=kind("ann"))
        mate = team.teammates["ann"].ref
        mate.suspend()
        for _ in range(1_000):
            team.teammates["ann"].tell("More.")
        with pytest.raises(SendRefused) as caught:
            await send_as(member(team, LEAD), "ann", "hello")
        assert [event.to for event in told(crew, MailReturned)] == ["ann"]
        team.teammates["ann"].kill()

    assert caught.value.kind == "full"


async def test_two_messages_of_one_answer_arrive_in_their_order(tmp_path: Path, autojump_clock: MockClock) -> None:
    calls = [mail("ann", f"message {number}.") for number in range(5)]
    pages = {"ann": in_order(), "bob": in_order(calls, "Sent.")}
    async with open_lead(tmp_path, in_order(), pages=pages) as crew, open_team(crew, "t") as team:
        await team.spawn("ann", definition=kind("ann"))
        await team.spawn("bob", definition=kind("bob"), prompt="Go.")
        await crew.wait_quiet()
        heard = mail_texts(team, "ann")

    assert [text.splitlines()[1] for text in heard] == [f"message {number}." for number in range(5)]


@given(st.lists(st.sampled_from([MailRead, MailReturned]), max_size=4))
def test_a_message_comes_to_one_end_on_record(ends: list[type[MailRead | MailReturned]]) -> None:
    """CL-24: a journal that tells of two is not sound."""
    world = World(FOLDS)
    sent = MailSent(team="t", mail=1, sender="a", to="b", summary="", text="x")
    world.apply(Entry(seq=1, t=0.0, kind=sent.kind, event=sent))
    for number, end in enumerate(ends):
        event = end(team="t", mail=1, to="b") if end is MailRead else end(team="t", mail=1, sender="a", to="b", why="")
        world.apply(Entry(seq=2 + number, t=0.0, kind=event.kind, event=event))
    assert [fault.seq for fault in world.faults] == list(range(3, 2 + len(ends)))
    assert unread(world.section("mail"), "t") == ([] if ends else list(world.section("mail").values()))
