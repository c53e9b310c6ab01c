"""Commands of chats: rights, plans, and the answers to what was done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.core import JournalError, UsageError
from greenroom.gateway.commands import _chat_state as steps
from greenroom.gateway.commands._chat_commands import ChatCommands, CommandHost
from greenroom.gateway.commands._command_table import TABLE, plan_command
from greenroom.gateway.commands._command_texts import SendOutcome, StopOutcome
from greenroom.gateway.commands._subagent_texts import LogMessage
from greenroom.gateway.record._rows import Pairing
from greenroom.gateway.routing._session_key import SessionKey
from greenroom.gateway.rpc._methods import METHODS
from greenroom.gateway.trust._approval_desk import AnswerReceipt, ApprovalWord, QuestionEnd, ToolQuestion
from greenroom.gateway.trust._chat_admission import COMMANDS
from greenroom.gateway.trust._pairing import PairingResult
from greenroom.gateway.trust._reception import CommandCaller
from greenroom.gateway.trust._senders import SenderKind
from tests.gateway.commands.states import MAIN, OWNER, RUNS, child, state

PERSON: Final = CommandCaller(kind=SenderKind.PERSON, who="irc:eve")
QUESTION: Final = ToolQuestion(id="ab2c", session=MAIN, tool="Bash", summary="make", call="c", deadline_s=0.0)


@attrs.define
class Host:
    """Parts of a gateway that note what they are asked to do."""

    state: steps.ChatState
    done: list[tuple[Any, ...]] = attrs.field(factory=list)
    stop: StopOutcome = StopOutcome()  # noqa: RUF009  frozen
    sent: SendOutcome = SendOutcome(state="replied", run="r9", text="42\nand more")  # noqa: RUF009  frozen
    receipt: AnswerReceipt = AnswerReceipt.TAKEN
    failure: Exception | None = None

    async def _note(self, *what: Any) -> None:
        if self.failure is not None:
            raise self.failure
        self.done.append(what)

    async def stop_chat(self, key: str, with_children: bool, who: str) -> StopOutcome:
        await self._note("stop_chat", key, with_children, who)
        return self.stop

    async def stop_runs(self, runs: Sequence[str], who: str) -> StopOutcome:
        await self._note("stop_runs", tuple(runs), who)
        return self.stop

    async def reset(self, key: str, who: str) -> None:
        await self._note("reset", key, who)

    async def patch(self, key: str, settings: Mapping[str, Any]) -> None:
        await self._note("patch", key, dict(settings))

    async def compact(self, key: str, who: str) -> None:
        await self._note("compact", key, who)

    async def send(self, key: str, text: str, caller: CommandCaller) -> SendOutcome:
        await self._note("send", key, text, caller.who)
        return self.sent

    async def log(self, key: str, limit: int, with_tools: bool) -> Sequence[LogMessage]:
        await self._note("log", key, limit, with_tools)
        return [LogMessage(is_user=True, text="count")]

    async def answer(self, id_: str, answer: ApprovalWord, who: str) -> tuple[AnswerReceipt, QuestionEnd | None]:
        await self._note("answer", id_, answer, who)
        is_known = self.receipt in {AnswerReceipt.TAKEN, AnswerReceipt.LATE}
        return self.receipt, QuestionEnd(question=QUESTION, answer=answer, who="a tab") if is_known else None

    async def change_pairing(
        self, step: steps.ChangePairing, caller: CommandCaller
    ) -> tuple[PairingResult, Pairing | None]:
        await self._note("change_pairing", step.verb, step.code or f"{step.channel}:{step.sender}", caller.who)
        return PairingResult.DONE, Pairing(channel="irc", account="default", sender="eve")

    def commands(self) -> ChatCommands:
        ports = {field.name: getattr(self, field.name) for field in attrs.fields(CommandHost) if field.name != "state"}
        return ChatCommands(CommandHost(state=lambda _, caller: attrs.evolve(self.state, caller=caller), **ports))


async def run(text: str, caller: CommandCaller = OWNER, **changes: Any) -> tuple[str, list[tuple[Any, ...]]]:
    host = Host(state(**changes))
    return await host.commands().run(SessionKey.parse(MAIN), text, caller), host.done


@pytest.mark.promise("A31-a")
def test_commands_have_the_rights_of_the_decision_and_of_their_methods() -> None:
    """No command does what no method does, and only those that change nothing, and `/stop`, are for people other than owners."""
    assert set(TABLE) == set(COMMANDS)
    for name, command in TABLE.items():
        assert command.methods.items() <= {spec.name: spec.scope.value for spec in METHODS}.items()
        if SenderKind.PERSON in COMMANDS[name]:
            assert name in {"help", "status", "stop"}


@pytest.mark.promise("A31-a")
@given(
    st.sampled_from(["/new", "/approve ab2c always", "/pair ABCD2345", "/subagents stop all", "/model x", "/sessions"])
)
def test_what_a_caller_may_not_do_is_not_planned_either(text: str) -> None:
    """Whichever way a command comes in."""
    for kind in (SenderKind.PERSON, SenderKind.STRANGER):
        caller = CommandCaller(kind=kind, who="irc:eve")
        assert plan_command(state(caller=caller), text) == steps.PlainAnswer("")


@pytest.mark.parametrize(
    ("text", "done", "answer"),
    [
        ("/new", ("reset", MAIN, "irc:ann"), "A new conversation begins."),
        ("/RESET now", ("reset", MAIN, "irc:ann"), "A new conversation begins."),
        ("/model opus", ("patch", MAIN, {"model": "opus"}), "Model from the next turn on: opus"),
        ("/model default", ("patch", MAIN, {"model": None}), "Model: that of the agent."),
        ("/think HIGH", ("patch", MAIN, {"thinking": "high"}), "Thinking from the next turn on: high"),
        ("/queue collect", ("patch", MAIN, {"queue": "collect"}), "Queue from now on: collect"),
        ("/compact", ("compact", MAIN, "irc:ann"), "The conversation is compacted."),
        ("/approve AB2C Once", ("answer", "AB2C", "once", "irc:ann"), "Bash: once."),
        ("/pair abcd 2345", None, "Usage: /pair [CODE | reject CODE | remove channel:id]"),
        ("/pair approve abcd 2345", ("change_pairing", "approve", "abcd2345", "irc:ann"), "Paired irc:eve: their direct messages are read."),
        ("/pair ABCD2345", ("change_pairing", "approve", "ABCD2345", "irc:ann"), "Paired irc:eve: their direct messages are read."),
        ("/pair remove irc:eve", ("change_pairing", "remove", "irc:eve", "irc:ann"), "Removed irc:eve."),
        ("/subagents send 1 hi", ("send", child(2), "hi", "irc:ann"), "Reply:\n> 42\n> and more"),
        ("/subagents log 1 tools", ("log", child(2), 20, True), "user: count"),
        ("/subagents stop 1", ("stop_runs", (RUNS[2],), "irc:ann"), "Stopped 0 sub-agents."),
        ("/approve ab2c maybe", None, "Usage: /approve ID once|always|deny"),
        ("/think hard", None, "Unknown level 'hard'; expected one of: off, minimal, low, medium, high, xhigh, max, default"),
        ("/queue faster", None, "Usage: /queue [steer|steer-backlog|followup|collect|interrupt|default]"),
        ("/approve", None, "No questions wait."),
        ("/whoami", None, f"irc:ann: an owner\nSession: {MAIN}"),
    ],
)  # fmt: skip
async def test_commands_do_one_thing_and_say_it(
    autojump_clock: MockClock, text: str, done: tuple[Any, ...] | None, answer: str
) -> None:
    found, calls = await run(text)

    assert (found, calls) == (answer, [done] if done else [])


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (StopOutcome(), "Nothing to stop: 0 sub-agents ran."),
        (StopOutcome(turn="ended"), "Stopped the turn."),
        (StopOutcome(turn="ended", stopped=tuple("abcde")), "Stopped the turn and 5 sub-agents."),
        (StopOutcome(stopped=("a",), failed=("0123456789",)), "Stopped 1 sub-agent. Not ended yet: 01234567."),
        (StopOutcome(turn="failed"), "Not ended yet: the turn."),
    ],
)
async def test_only_what_has_ended_is_said_to_be_stopped(
    autojump_clock: MockClock, outcome: StopOutcome, answer: str
) -> None:
    host = Host(state(), stop=outcome)

    assert await host.commands().run(SessionKey.parse(MAIN), "/stop", OWNER) == answer
    assert host.done == [("stop_chat", MAIN, True, "irc:ann")]


@pytest.mark.promise("A27-c")
@pytest.mark.parametrize(
    ("is_busy", "senders", "stops"),
    [
        (True, {"irc:eve"}, True),
        (True, {"irc:eve", "irc:ann"}, False),
        (True, {"irc:ann"}, False),
        (True, {""}, False),
        (True, set(), False),
        (False, {"irc:eve"}, False),
    ],
)
async def test_a_person_ends_only_turns_of_their_own(
    autojump_clock: MockClock, *, is_busy: bool, senders: set[str], stops: bool
) -> None:
    answer, calls = await run("/stop", PERSON, is_busy=is_busy, turn_senders=frozenset(senders))

    assert calls == ([("stop_chat", MAIN, False, "irc:eve")] if stops else [])
    assert stops or answer == "Nothing of yours is running."


@pytest.mark.promise("A27-f")
@pytest.mark.parametrize(
    ("receipt", "answer"),
    [
        (AnswerReceipt.LATE, "Too late: question ab2c was answered by a tab with once."),
        (AnswerReceipt.UNKNOWN, "Unknown question: ab2c"),
        (AnswerReceipt.FORBIDDEN, "A session cannot answer its own questions."),
    ],
)
async def test_an_answer_that_does_not_count_is_told(
    autojump_clock: MockClock, receipt: AnswerReceipt, answer: str
) -> None:
    host = Host(state(), receipt=receipt)

    assert await host.commands().run(SessionKey.parse(MAIN), "/approve ab2c once", OWNER) == answer


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (SendOutcome(state="running", run="r9"), "Still running after 30 s: run r9"),
        (SendOutcome(state="failed", run="r9", text="no key"), "Run r9 failed: no key"),
    ],
)
async def test_a_message_that_has_no_reply_yet_names_its_run(
    autojump_clock: MockClock, sent: SendOutcome, answer: str
) -> None:
    host = Host(state(), sent=sent)

    assert await host.commands().run(SessionKey.parse(MAIN), "/subagents send last hi", OWNER) == answer
    assert len(host.done) == 1


async def test_what_is_refused_is_answered_and_a_full_disk_is_not(autojump_clock: MockClock) -> None:
    host = Host(state(), failure=UsageError("a turn runs"))

    assert await host.commands().run(SessionKey.parse(MAIN), "/new", OWNER) == "Not done: a turn runs"
    host.failure = JournalError("journal.jsonl", "disk full")
    with pytest.raises(JournalError):
        await host.commands().run(SessionKey.parse(MAIN), "/new", OWNER)


async def test_help_has_what_its_reader_may_do(autojump_clock: MockClock) -> None:
    owner, _ = await run("/help")
    person, _ = await run("/help", PERSON)

    assert len(owner.splitlines()) == len(TABLE)
    assert [line.split(":")[0] for line in person.splitlines()] == ["/help", "/status", "/stop"]


async def test_status_tells_a_person_only_whether_it_works(autojump_clock: MockClock) -> None:
    facts = steps.StatusFacts(
        model="opus",
        thinking="high",
        sent_tokens=12_000,
        received_tokens=300,
        cost=Decimal("0.25"),
        queue="steer",
        waiting=2,
        lane="main",
        lane_active=4,
        lane_width=4,
        lane_waiting=3,
    )
    owner, _ = await run("/status", is_busy=True, facts=facts, questions=(QUESTION,))
    person, _ = await run("/status", PERSON, facts=facts)

    assert owner.splitlines() == [
        f"Session: {MAIN} (working)",
        "Model: opus • thinking high",
        "Tokens: 12.0k in, 300 out • $0.25",
        "Queue: steer • 2 waiting",
        "Lane: main: 4 of 4 at work, 3 waiting",
        "Sub-agents: 1 active, 2 done",
        "Questions: 1",
    ]
    assert person == "The agent is idle."


async def test_lists_are_of_the_newest(autojump_clock: MockClock) -> None:
    sessions, _ = await run("/sessions")
    questions, _ = await run("/approve", questions=(QUESTION,))
    pairings, _ = await run("/pair")

    assert sessions.splitlines()[0] == "Sessions: 6"
    assert sessions.splitlines()[-2].startswith("agent:main:main • ann's")
    assert questions.splitlines()[1] == f"ab2c • Bash • make • {MAIN}"
    assert pairings == "Nobody is paired, and nobody has asked."


@given(st.text(max_size=40), st.sampled_from(["", *TABLE]))
def test_any_words_are_one_plan(words: str, name: str) -> None:
    step = plan_command(state(), f"/{name} {words}")

    assert isinstance(step, steps.CommandStep)
