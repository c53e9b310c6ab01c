"""Messages to a session while it works: when they are taken up, in which order, and what an interrupt does to them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.actors import AbortStatus, State
from greenroom.agents import Note, load_conversation
from greenroom.agents._blocks import LOST_RESULT
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import ActorEnded, TurnKilled, Undelivered, UsageError
from greenroom.inbox import COORDINATOR, SCHEDULE, TASK_NOTIFICATION, EntryKind, peer
from greenroom.inbox._origin import channel
from greenroom.mailbox import Lane
from greenroom.models import AnswerLike, Call, ModelRequest, PlaybookModel, ScriptedModel, ToolResultBlock
from greenroom.models._scripted import ScriptStep
from greenroom.permissions import Allow, Deny, Receipt
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.store._transcript_reader import read_transcript
from greenroom.tasks import TaskEnded
from greenroom.testing import virtual_ports
from greenroom.tools import ToolContext, tool
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.session.hook_commands import hook
from tests.session.scripted import deploy, results, said
from tests.session.skills import skill
from tests.session.small_team import MATE


@tool(name="Dig", read_only=True)
async def dig() -> str:
    """Dig for ten seconds."""
    await trio.sleep(10)
    return "dug"


DIG = Call("Dig")
LONG = ScriptStep(answer="Never heard.", wait_s=600.0)


@asynccontextmanager
async def working(tmp_path: Path, script: list[Any], **options: Any) -> AsyncIterator[tuple[Session, ScriptedModel]]:
    """Open a session whose main agent has begun a turn on `Go.` one second ago."""
    model = ScriptedModel(script, keeps_requests=True)
    options = {"runs": tmp_path / "runs", "tools": [dig], "ports": virtual_ports(), **options}
    async with open_session(model=model, cwd=tmp_path, **options) as session:
        session.send("Go.")
        await trio.sleep(1)
        assert session.main.is_busy
        yield session, model


def notify(session: Session, number: int) -> None:
    text = f"<task-notification>{number}</task-notification>"
    session.main.tell(Note(text, is_hidden=True, origin=TASK_NOTIFICATION), Lane.LATER)


def last_texts(request: ModelRequest) -> list[str]:
    """Return what the request tells last: results and texts, in order."""
    return [getattr(block, "content", "") or getattr(block, "text", "") for block in request.messages[-1].content]


def lines_of(session: Session) -> list[dict[str, Any]]:
    return list(read_transcript(session.run_folder / "transcripts" / "main.jsonl"))


def violations_of(session: Session) -> list[str]:
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    return [f"{finding.id}: {finding.text}" for finding in check_journal(journal.entries, folds=FOLDS)]


# --- in the middle of a turn ------------------------------------------------------------------------------------------


async def test_the_users_words_come_before_a_notice_that_waits_already(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Behaviours (9), lines 1 and 2; RC-22, RC-34. Mechanism: `plan_edge` takes lane by lane, and `next` as well."""
    async with working(tmp_path, [DIG, "Done."]) as (session, model):
        for number in range(5):
            notify(session, number)
        uuid = session.send("Mind the wall.")
        await session.wait_quiet()
        assert session.inbox.queued() == ()

    notices = [f"<task-notification>{number}</task-notification>" for number in range(5)]
    assert last_texts(model.requests[-1]) == ["dug", "Mind the wall.", *notices]
    (line,) = [line for line in lines_of(session) if line.get("uuid") == uuid]
    assert [block["text"] for block in line["message"]["content"]] == ["Mind the wall."]
    assert violations_of(session) == []


async def test_sixteen_notices_of_one_long_turn_are_all_heard_in_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-22."""
    async with working(tmp_path, [DIG, "Done."]) as (session, model):
        for number in range(16):
            notify(session, number)
        await session.wait_quiet()

    assert len(model.requests) == 2
    assert len(last_texts(model.requests[-1])) == 17


async def test_notices_of_an_idle_agent_share_a_turn(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with working(tmp_path, [DIG, "Done.", "Heard."]) as (session, model):
        await session.wait_quiet()
        for number in range(3):
            notify(session, number)
        await session.wait_quiet()

    assert len(last_texts(model.requests[-1])) == 3


async def test_a_user_is_heard_although_the_agent_is_busy_for_long(tmp_path: Path, autojump_clock: MockClock) -> None:
    """RC-31: ten minutes. Mechanism: `send` waits for nothing, and the queue for no turn."""
    async with working(tmp_path, [LONG, "Served."]) as (session, model):
        notify(session, 1)
        before = trio.current_time()
        session.send("Stop that.", priority="now")
        await session.wait_quiet()
        assert trio.current_time() - before < 1

    assert [text for text in last_texts(model.requests[-1]) if text == "Stop that."]


@pytest.mark.parametrize("priority", ["next", "later"])
async def test_nothing_else_ends_a_turn_that_runs(tmp_path: Path, autojump_clock: MockClock, priority: str) -> None:
    async with working(tmp_path, [DIG, "Done."]) as (session, model):
        session.send("By the way.", priority=priority)
        session.send("The build is red.", origin=channel("ci"))
        session.send("Time to look.", origin=SCHEDULE)
        await session.wait_quiet()

    assert last_texts(model.requests[-1]) == [
        "dug",
        "By the way.",
        '<channel source="ci">\nThe build is red.\n</channel>',
        "Time to look.",
    ]


async def test_what_others_say_is_no_command_and_cannot_be_urgent(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with working(tmp_path, [DIG, "Done."]) as (session, model):
        for origin in (peer("mate"), channel("ci"), COORDINATOR):
            with pytest.raises(UsageError, match="its highest is"):
                session.send("Stop!", priority="now", origin=origin)
        session.send("!rm -r /", origin=peer("<mate>"))
        await session.wait_quiet()

    assert last_texts(model.requests[-1])[-1] == (
        '<teammate-message teammate_id="&lt;mate&gt;">\n!rm -r /\n</teammate-message>'
    )


async def test_a_note_does_not_go_before_a_prompt_that_came_before_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with (
        working(tmp_path, [DIG, "One.", "Two."]) as (session, model),
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(session.run, "Prompt.")
        await trio.sleep(1)
        session.send("Note.")
        notify(session, 1)

    assert last_texts(model.requests[1]) == ["dug", "<task-notification>1</task-notification>"]
    assert last_texts(model.requests[2]) == ["Prompt.", "Note."]


async def test_a_prompt_goes_behind_what_was_sent_before_it(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mechanism: a prompt waits until the queue has passed on what it had."""
    model = ScriptedModel(["One.", "Two."], keeps_requests=True)
    async with open_session(model=model, cwd=tmp_path, runs=tmp_path, ports=virtual_ports()) as session:
        session.send("First.")
        assert (await session.run("Second.")).text == "Two."

    assert [last_texts(request) for request in model.requests] == [["First."], ["Second."]]


# --- commands -----------------------------------------------------------------------------------------------------------


async def test_two_commands_that_wait_are_two_turns(project: Path, autojump_clock: MockClock) -> None:
    """Behaviours (9), line 5. Mechanism: a command is alone, and holds its lane until the turn ends."""
    skill(project, "one", "", "Do one.")
    skill(project, "two", "", "Do two.")
    script = [DIG, "Done.", "First.", "Second.", "Third."]
    async with working(project, script, sources=["project"], is_trusted=True) as (session, model):
        session.send("/one")
        session.send("/two now")
        session.send("And then?")
        assert [item.is_command for item in session.inbox.queued()] == [True, True, False]
        await session.wait_quiet()

    assert last_texts(model.requests[1]) == ["dug"], "none of it is attached to the turn that runs"
    said_last = [last_texts(request) for request in model.requests[2:]]
    assert ["Do one." in said_last[0][0], "Do two." in said_last[1][0], said_last[2]] == [True, True, ["And then?"]]
    assert [len(texts) for texts in said_last] == [1, 1, 1]


async def test_a_command_that_fails_is_a_turn_that_failed_and_the_next_one_runs(
    project: Path, autojump_clock: MockClock
) -> None:
    skill(project, "aside", "context: fork\nagent: nobody\n")
    async with working(project, [DIG, "Done.", "Heard."], sources=["project"], is_trusted=True) as (session, model):
        session.send("/aside")
        session.send("Are you there?")
        await session.wait_quiet()
        assert session.inbox.queued() == ()

    assert last_texts(model.requests[-1]) == ["Are you there?"]


async def test_a_command_line_waits_for_the_end_of_the_turn_and_its_output_is_read_with_the_next(
    project: Path,
) -> None:
    """It asks no model; the user's own command needs no permission."""
    model = ScriptedModel(["Heard."], keeps_requests=True)
    async with open_session(model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS) as session:
        session.send("!echo '<b>'; exit 3")
        with trio.fail_after(30):
            await session.wait_quiet()
        assert model.requests == []
        await session.run("What did it say?")

    entry, question = last_texts(model.requests[-1])
    assert question == "What did it say?"
    assert entry.startswith("<bash-input>echo '<b>'; exit 3</bash-input><bash-stdout></bash-stdout><bash-stderr>")
    assert "<b>" in entry.partition("<bash-stderr>")[2]


async def test_what_nobody_is_to_answer_is_no_turn_to_go_on_with(project: Path) -> None:
    async with open_session(
        model=ScriptedModel([]), cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS
    ) as session:
        session.send("!true")
        with trio.fail_after(30):
            await session.wait_quiet()

    assert not load_conversation(session.run_folder / "transcripts" / "main.jsonl").was_cut


async def test_an_interrupt_reaches_a_command_line_that_runs(project: Path) -> None:
    async with open_session(
        model=ScriptedModel([]), cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS
    ) as session:
        session.send("!echo begun > begun; sleep 1000")
        with trio.fail_after(30):
            while not (project / "begun").exists():  # noqa: ASYNC110 - another process writes it
                await trio.sleep(0.01)
            outcome = await session.interrupt().wait_ended()
        assert outcome.state is State.KILLED
        assert "it was interrupted" in said(session)[-1].text


# --- interrupts ---------------------------------------------------------------------------------------------------------


async def test_an_interrupt_keeps_what_waits_and_sends_it_at_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (9), line 3; RC-01. Mechanism: the abort is of main's turn alone, and its inbox outlives it."""

    def main(request: ModelRequest) -> AnswerLike:
        return "Heard." if "Two." in last_texts(request) else Call("Dig")

    def mate(request: ModelRequest) -> AnswerLike:
        return "Done." if len(request.messages) > 1 else Call("Dig")

    model = PlaybookModel({"main": main, "mate": mate}, wait_s=1.0)
    async with (
        open_session(model=model, cwd=tmp_path, runs=tmp_path, tools=[dig], ports=virtual_ports()) as session,
        session.open_team("t") as team,
    ):
        mates = [await team.spawn(f"mate-{number}", definition=MATE, prompt="Dig.") for number in range(3)]
        session.send("Go.")
        await trio.sleep(3)
        sent = [session.send("One."), session.send("Two.")]
        await trio.sleep(1)

        receipt = session.interrupt()

        assert (receipt.status, receipt.still_queued, receipt.cancelled) == (AbortStatus.ABORTED, tuple(sent), ())
        assert (await receipt.wait_ended()).state is State.KILLED
        before = trio.current_time()
        await trio.sleep(0.5)
        assert session.inbox.queued() == ()
        assert session.main.is_busy
        assert all(mate.ref.is_busy for mate in mates), "what runs beside it goes on"
        await session.wait_quiet()
        assert trio.current_time() > before
        texts = [block.text for message in said(session) for block in message.content if hasattr(block, "text")]
        assert "Heard." in texts
        for each_mate in mates:
            assert each_mate.ref.statistics().died == 0


async def test_an_interrupt_may_take_back_what_waits(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Mechanism: what was forwarded is withdrawn from the main agent's inbox."""
    async with working(tmp_path, [LONG, "Fresh."]) as (session, model):
        forwarded = session.send("One.")
        await trio.sleep(1)
        handed_in = session.send("Two.")

        receipt = session.interrupt("enough", cancel_queued=True)

        assert (receipt.still_queued, receipt.cancelled) == ((), (forwarded, handed_in))
        await session.wait_quiet()
        assert session.inbox.queued() == ()
        await session.run("Again.")

    assert "One." not in last_texts(model.requests[-1])
    operations = [(line["operation"], line.get("content")) for line in lines_of(session) if "operation" in line]
    assert operations == [
        ("enqueue", "Go."),
        ("dequeue", None),
        ("enqueue", "One."),
        ("enqueue", "Two."),
        ("remove", None),
        ("remove", None),
    ]
    assert violations_of(session) == []


async def test_an_interrupt_of_an_idle_session_says_so(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(model=ScriptedModel([]), cwd=tmp_path, runs=tmp_path, ports=virtual_ports()) as session:
        receipt = session.interrupt()
        assert (receipt.status, receipt.still_queued, receipt.cancelled) == (AbortStatus.IDLE, (), ())


async def test_a_prompt_that_is_awaited_is_ended_by_what_cannot_wait(tmp_path: Path, autojump_clock: MockClock) -> None:
    model = ScriptedModel([LONG, "Served."], keeps_requests=True)
    async with open_session(model=model, cwd=tmp_path, runs=tmp_path, ports=virtual_ports()) as session:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                with pytest.raises(TurnKilled, match="could not wait"):
                    await session.run("Think long.")

            nursery.start_soon(run)
            await trio.sleep(1)
            session.send("This first.", priority="now")
        await session.wait_quiet()

    assert last_texts(model.requests[-1])[-1] == "This first."


# --- what is refused, what expires, what breaks -----------------------------------------------------------------------------


async def test_what_has_expired_is_not_said(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with working(tmp_path, [DIG, "Done."]) as (session, model):
        session.send("Quick!", expires_s=trio.current_time() + 5)
        session.send("/old", expires_s=trio.current_time() - 1)
        session.send("Still true.")
        await session.wait_quiet()
        assert session.inbox.queued() == ()

    assert last_texts(model.requests[-1]) == ["dug", "Still true."]


async def test_a_hook_refuses_what_is_said_in_the_middle_of_a_turn(project: Path) -> None:
    """What it refuses, the model never sees; the results of the batch and what else was said are there."""
    refuse = "grep -q secret && { echo 'no secrets' >&2; exit 2; }; exit 0"
    settings = hook("UserPromptSubmit", refuse)
    model = ScriptedModel([Call("Bash", {"command": "echo a"}), "Done."], keeps_requests=True)
    async with open_session(
        model=model, cwd=project, runs=project.parent / "runs", tools=STANDARD_TOOLS, settings=settings
    ) as session:
        sent = False

        def send(_: object) -> None:
            nonlocal sent
            if not sent and model.requests:
                sent = True
                session.send("the secret is 1234")
                session.send("and a word")

        session.runtime.recorder.listen(send)
        with trio.fail_after(60):
            await session.run("Go.")
            await session.wait_quiet()
            session.send("secret 1234 again")
            await session.wait_quiet()
        assert session.inbox.queued() == ()

    told = [text for request in model.requests for text in last_texts(request)]
    assert "and a word" in told
    assert not any("1234" in text for text in told)
    assert len(results(session)) == 1


async def test_the_queue_is_restarted_and_nothing_is_lost(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mechanism: it is a permanent child of the session, and what it had in hand goes back to its lane."""
    async with working(tmp_path, [DIG, "Done."]) as (session, model):
        forward, broken = session.inbox.forward, [1]

        def break_once(*arguments: Any) -> None:
            if broken:
                raise ZeroDivisionError(broken.pop())
            forward(*arguments)

        monkeypatch.setattr(session.inbox, "forward", break_once)
        session.send("One.")
        session.send("Two.")
        await session.wait_quiet()

    assert last_texts(model.requests[-1]) == ["dug", "One.", "Two."]
    assert violations_of(session) == []


async def test_too_much_is_refused_at_once(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greenroom.session.parts._session_inbox.MAX_WAITING", 2)
    async with working(tmp_path, [DIG, "Done."]) as (session, _):
        session.send("One.")
        session.send("Two.")
        with pytest.raises(Undelivered):
            session.send("Three.")
        await session.wait_quiet()
        session.main.kill()
        await session.main.wait_ended()
        with pytest.raises(ActorEnded):
            session.send("Anybody?")


# --- answers that come late -------------------------------------------------------------------------------------------------


async def crashed(tmp_path: Path, calls: list[AnswerLike], *, answers: bool = False) -> Path:
    """Return the run folder that a process leaves which was shot while a call waited for permission, or ran with it."""
    async with open_session(
        model=ScriptedModel(calls),
        cwd=tmp_path,
        runs=tmp_path / "runs",
        tools=[deploy, slow, background],
        settings=ASK,
        has_approver=True,
        ports=virtual_ports(),
    ) as session:
        session.send("Deploy.")
        await trio.sleep(1)
        if answers:
            session.permissions.approvals.answer(session.permissions.approvals.waiting()[0].id, Allow())
            await trio.sleep(1)
        await session._journal.commit()
        shutil.copytree(session.run_folder, tmp_path / "copy")
        session.kill()
    shutil.rmtree(session.run_folder)
    return Path(shutil.move(tmp_path / "copy", session.run_folder))


@tool
async def slow(where: str) -> str:
    """Deploy it in ten minutes.

    Args:
        where: To which machine.
    """
    await trio.sleep(600)
    return f"deployed to {where}"


ASK = {"permissions": {"ask": ["deploy", "Deploy", "slow", "Slow"]}}


def resumed(tmp_path: Path, run: Path, model: ScriptedModel, seed: int = 1) -> Any:
    return open_session(
        model=model,
        cwd=tmp_path,
        runs=run.parent,
        resume=run,
        tools=[deploy, slow, background],
        settings=ASK,
        has_approver=True,
        ports=virtual_ports(seed),
    )


async def test_an_answer_after_a_restart_runs_the_call_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    """Behaviours (9), line 7. Mechanism: only a call that is open in the transcript, and unanswered in the journal, runs."""
    run = await crashed(tmp_path, [[Call("Deploy", {"where": "a"}), Call("Deploy", {"where": "b"})]])
    model = ScriptedModel(["Done."], keeps_requests=True)
    async with resumed(tmp_path, run, model) as session:
        (call,) = session.inbox.unanswered
        assert call.input == {"where": "a"}
        assert session.inbox.answer("nobody asked", Allow()) is Receipt.UNKNOWN
        assert session.inbox.answer(call.id, Allow()) is Receipt.TAKEN
        assert session.inbox.answer(call.id, Allow()) is Receipt.UNKNOWN
        assert [item.kind for item in session.inbox.queued()] == [EntryKind.ORPHANED_PERMISSION]
        await session.wait_quiet()
        assert session.inbox.unanswered == ()

    (request,) = model.requests
    contents = [block.content for block in request.messages[-1].content if isinstance(block, ToolResultBlock)]
    assert contents[0] == "deployed to a"
    assert contents[1] == LOST_RESULT
    async with resumed(tmp_path, run, ScriptedModel([]), 2) as session:
        assert session.inbox.unanswered == ()
        assert session.inbox.answer(call.id, Allow()) is Receipt.UNKNOWN
    assert violations_of(session) == []


async def test_the_end_of_what_was_lost_begins_no_turn_while_an_answer_is_waited_for(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-105: a turn would give the call up that waits for a person; the notice is read with the next prompt."""
    run = await crashed(tmp_path, [[Call("Background"), Call("Deploy", {"where": "a"})]])
    model = ScriptedModel(["Done.", "Yes."], keeps_requests=True)
    async with resumed(tmp_path, run, model) as session:
        await session.wait_quiet()
        assert model.requests == []
        (call,) = session.inbox.unanswered
        assert session.inbox.answer(call.id, Allow()) is Receipt.TAKEN
        await session.wait_quiet()
        await session.run("Is that all?")

    first, second = (str([message.content for message in request.messages]) for request in model.requests)
    assert "deployed to a" in first
    assert second.count("<task-notification>") == 1


@tool(name="Background", read_only=True)
async def background(*, ctx: ToolContext) -> str:
    """Start a command in the background."""
    ctx.background.start(
        trio.sleep_forever,
        id="b00000001",
        description="build",
        owner=ctx.actor,
        tool_use_id=ctx.tool_use_id,
        output_file=Path("/nowhere"),
        command="build",
        is_background=True,
    )
    return "It builds."


async def test_a_late_refusal_is_a_result_and_the_turn_goes_on(tmp_path: Path, autojump_clock: MockClock) -> None:
    run = await crashed(tmp_path, [Call("Deploy", {"where": "a"})])
    model = ScriptedModel(["A pity."], keeps_requests=True)
    async with resumed(tmp_path, run, model) as session:
        (call,) = session.inbox.unanswered
        session.inbox.answer(call.id, Deny(message="not on a Friday"))
        await session.wait_quiet()
        assert len(session.permissions.denials) == 1

    assert "not on a Friday" in last_texts(model.requests[-1])[0]


async def test_a_call_that_had_begun_is_nobodys_to_answer(tmp_path: Path, autojump_clock: MockClock) -> None:
    """It was answered before the crash, and may have done its work."""
    run = await crashed(tmp_path, [Call("Slow", {"where": "a"})], answers=True)
    async with resumed(tmp_path, run, ScriptedModel([])) as session:
        assert session.inbox.unanswered == ()
        assert results(session)[0].content == LOST_RESULT


async def test_the_first_turn_gives_up_what_nobody_answered(tmp_path: Path, autojump_clock: MockClock) -> None:
    run = await crashed(tmp_path, [Call("Deploy", {"where": "a"})])
    async with resumed(tmp_path, run, ScriptedModel(["Well then."])) as session:
        (call,) = session.inbox.unanswered
        await session.run("Never mind.")
        assert session.inbox.answer(call.id, Allow()) is Receipt.UNKNOWN
        assert "interrupted" in results(session)[0].content


async def test_a_question_of_now_is_answered_by_the_calls_id_too(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with open_session(
        model=ScriptedModel([Call("Deploy", {"where": "a"}), "Done."]),
        cwd=tmp_path,
        runs=tmp_path,
        tools=[deploy],
        settings=ASK,
        has_approver=True,
        ports=virtual_ports(),
    ) as session:
        session.send("Go.")
        await trio.sleep(1)
        (question,) = session.permissions.approvals.waiting()
        assert session.inbox.answer(question.call_id, Allow()) is Receipt.TAKEN
        await session.wait_quiet()
        assert [result.content for result in results(session)] == ["deployed to a"]


# --- with agents in the background ------------------------------------------------------------------------------------------


def start(number: int, *, background: bool) -> Call:
    values = {
        "description": f"dig {number}",
        "prompt": "Dig.",
        "subagent_type": "digger",
        "run_in_background": background,
    }
    return Call("Agent", values)


def digger(request: ModelRequest) -> AnswerLike:
    return "A hole." if any(message.role == "assistant" for message in request.messages) else Call("Dig")


async def test_an_interrupt_ends_the_agent_that_is_waited_for_and_spares_those_in_the_background(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """RC-01; Behaviours (9), line 3. Mechanism: the turn's link is to the child that it waits for, and to no other."""

    def main(request: ModelRequest) -> AnswerLike:
        said_before = [message for message in request.messages if message.role == "assistant"]
        if not said_before:
            return [start(number, background=True) for number in range(3)]
        return start(9, background=False) if len(said_before) == 1 else "Heard."

    definitions = {"digger": {"description": "Digs.", "prompt": "You dig.", "tools": ["Dig"]}}
    async with open_session(
        model=PlaybookModel({"main": main, "digger": digger}, wait_s=1.0),
        cwd=tmp_path,
        runs=tmp_path / "runs",
        tools=[dig, *AGENT_TOOLS],
        agents=definitions,
        permission_mode="bypassPermissions",
        ports=virtual_ports(),
    ) as session:
        events = session.events()
        session.send("Go.")
        await trio.sleep(6)
        sent = session.send("What is it?")
        receipt = session.interrupt()
        assert (receipt.status, receipt.still_queued) == (AbortStatus.ABORTED, (sent,))
        await session.wait_quiet()
        texts = [block.text for message in said(session) for block in message.content if hasattr(block, "text")]

    ended = [event.state async for event in events if isinstance(event, TaskEnded)]
    assert sorted(ended) == ["completed", "completed", "completed", "killed"]
    assert texts.index("What is it?") < min(place for place, text in enumerate(texts) if "<task-notification>" in text)
    assert violations_of(session) == []
