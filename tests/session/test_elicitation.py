"""Questions of MCP servers in a session: hooks, the host's person, nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from greenroom.agents import AgentDefinition
from greenroom.agents.events import AgentNoticed
from greenroom.agents.subagents import AGENT_TOOLS, MainAgent
from greenroom.core import Event, TurnKilled
from greenroom.hooks import HookSource, SourceKind, parse_callbacks, parse_hooks
from greenroom.mcp import Elicit, Elicitation, ElicitationAction, ElicitationAnswer
from greenroom.models import Call, PlaybookModel
from greenroom.session import ElicitationAnswered, ElicitationAsked, ElicitationCompleted, Session, open_session
from greenroom.testing import virtual_ports
from greenroom.tools.builtin import STANDARD_TOOLS
from tests.agents.pages import in_order
from tests.mcp.fakes import ASK, FORM, PAGE, FakePeers, FakeServer
from tests.session.far_server import settings
from tests.session.teamwork import main_messages, told, violations

ACCEPT = ElicitationAction.ACCEPT
ANN = ElicitationAnswer(action=ACCEPT, content={"name": "Ann"})
DECLINED = ElicitationAnswer(action=ElicitationAction.DECLINE)


class Host:
    """A program that has a person, and hooks that are functions of its own."""

    def __init__(self, answer: ElicitationAnswer | Exception | None = ANN, *, takes_s: float = 0.0) -> None:
        self.answer = answer
        self.takes_s = takes_s
        self.asked: list[Elicitation] = []
        self.told: list[Mapping[str, Any]] = []
        self.says: dict[str, Mapping[str, Any]] = {}
        """Answers of the hooks, by their events."""

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer | None:
        self.asked.append(asked)
        await trio.sleep(self.takes_s)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def call_back(self, callback: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        await trio.lowlevel.checkpoint()
        self.told.append(values)
        return self.says.get(values["hook_event_name"], {})

    def replies(self, event: str, **fields: Any) -> None:
        """Set the answer of the hooks of an event."""
        self.says[event] = {"hookSpecificOutput": {"hookEventName": event, **fields}}

    def heard(self, event: str) -> list[Mapping[str, Any]]:
        """Return what hooks of an event were told, without what every input says."""
        usual = {"session_id", "cwd", "transcript_path", "permission_mode", "hook_event_name", "effort"}
        of_event = [entry for entry in self.told if entry["hook_event_name"] == event]
        return [{key: value for key, value in one.items() if key not in usual} for one in of_event]


EVENTS = ("Elicitation", "ElicitationResult", "Notification")


@asynccontextmanager
async def scene(
    folder: Path,
    server: FakeServer,
    host: Host,
    *values: Mapping[str, Any],
    elicit: bool = True,
    matcher: str = "",
    live: Sequence[type[Event]] = (),
) -> AsyncIterator[Session]:
    """Open a session whose main agent lets the server ask, once for each of these inputs."""
    calls = [Call("mcp__far__ask", dict(one)) for one in values or [{}]]
    (folder / "project").mkdir(exist_ok=True)
    asks: Elicit | None = host.elicit if elicit else None
    async with open_session(
        model=PlaybookModel({"main": in_order(*calls, otherwise="Done.")}),
        cwd=folder / "project",
        runs=folder / "runs",
        main=AgentDefinition(name="main", system_prompt="You lead."),
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS),
        ports=virtual_ports(),
        settings=settings(),
        permission_mode="bypassPermissions",
        elicit=asks,
        live=live,
    ) as session:
        groups = {event: [{"matcher": matcher, "hookCallbackIds": [event]}] for event in EVENTS}
        session.add_hooks(parse_callbacks(groups, HookSource("host", SourceKind.HOST), host.call_back))
        yield session


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    made = FakeServer(ASK)

    def connect(**given: Any) -> FakePeers:
        made.elicit = given["elicit"]
        return FakePeers(far=made)

    monkeypatch.setattr("greenroom.mcp._server_group.SdkPeers", connect)
    return made


def result(session: Session, number: int = 0) -> str:
    """Return what the model read of a call."""
    return main_messages(session)[2 + 2 * number]


def on_record(session: Session) -> list[tuple[str, str]]:
    return [(event.action, event.who) for event in told(session, ElicitationAnswered)]


def noticed(session: Session) -> list[str]:
    return [event.text for event in told(session, AgentNoticed) if event.source == "Elicitation"]


# --- who answers --------------------------------------------------------------------------------------------------------


async def test_the_hosts_person_is_asked_and_the_answer_is_on_record_without_what_it_says(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host()
    async with scene(tmp_path, server, host) as session:
        await session.run("go")
        await session.wait_quiet()

    assert result(session) == "accept {'name': 'Ann'}"
    assert [request.message for request in host.asked] == ["Who are you?"]
    (asked,) = told(session, ElicitationAsked)
    assert (asked.server, asked.mode, asked.message) == ("far", "form", "Who are you?")
    assert on_record(session) == [("accept", "person")]
    assert "Ann" not in "".join(
        line for line in (session.run_folder / "journal.jsonl").read_text().splitlines() if "elicitation." in line
    )
    assert violations(session) == []


async def test_hooks_are_told_as_the_reference_says(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host()
    async with scene(tmp_path, server, host, {}, {"mode": "url"}) as session:

        async def elicit(asked: Elicitation) -> ElicitationAnswer:
            await trio.sleep(1)  # so that what nobody waits for is told in order
            return ANN if asked.mode == "form" else ElicitationAnswer(action=ACCEPT)

        session._services.elicitations.host = elicit
        await session.run("go")
        session._services.elicitations.completed("far", "q1")
        await trio.sleep(1)

    first, second = host.heard("Elicitation")
    assert first == {
        "mcp_server_name": "far",
        "message": "Who are you?",
        "mode": "form",
        "requested_schema": FORM.schema,
    }
    assert second == {
        "mcp_server_name": "far",
        "message": "Log in.",
        "mode": "url",
        "url": PAGE.url,
        "elicitation_id": "q1",
    }
    assert host.heard("ElicitationResult") == [
        {"mcp_server_name": "far", "action": "accept", "mode": "form", "content": {"name": "Ann"}},
        {"mcp_server_name": "far", "action": "accept", "mode": "url", "elicitation_id": "q1"},
    ]
    assert [line["notification_type"] for line in host.heard("Notification")] == [
        "elicitation_dialog",
        "elicitation_response",
        "elicitation_url_dialog",
        "elicitation_response",
        "elicitation_complete",
    ]


async def test_a_hook_answers_in_the_place_of_a_person(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host()
    host.replies("Elicitation", action="accept", content={"name": "Robot", "age": 3})
    async with scene(tmp_path, server, host, elicit=False) as session:
        await session.run("go")

    assert result(session) == "accept {'name': 'Robot', 'age': 3}"
    assert (host.asked, host.heard("ElicitationResult"), host.heard("Notification")) == ([], [], [])
    assert on_record(session) == [("accept", "hook")]


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_hook_may_refuse_as_a_person_may(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock, action: str
) -> None:
    host = Host()
    host.replies("Elicitation", action=action, content={"name": "nobody reads it"})
    async with scene(tmp_path, server, host) as session:
        await session.run("go")

    assert (result(session), host.asked) == (action, [])


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"action": "accept", "content": {"name": "A"}}, "does not fit: name: must have at least"),
        ({"action": "accept"}, "does not fit: an accepted form must have content"),
        ({"action": "accept", "content": "Ann"}, "`content` must be an object"),
        ({"action": "sure"}, "`action` 'sure' must be one of accept, decline, cancel"),
        ({"content": {"name": "Robot"}}, "`content` has no effect without an `action`"),
    ],
)
async def test_a_hook_whose_answer_cannot_be_used_leaves_it_to_the_person(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock, fields: Mapping[str, Any], why: str
) -> None:
    host = Host()
    host.replies("Elicitation", **fields)
    async with scene(tmp_path, server, host) as session:
        await session.run("go")

    assert result(session) == "accept {'name': 'Ann'}"
    assert any(why in event for event in noticed(session))


async def test_a_hook_may_change_what_a_person_said_before_the_server_hears_it(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host()
    host.replies("ElicitationResult", action="accept", content={"name": "Anna"})
    async with scene(tmp_path, server, host, {}, {}, {}, {}) as session:
        host_says: list[dict[str, Any]] = [
            {"action": "decline", "content": {}},
            {"action": "accept"},  # the content of the person
            {"action": "accept", "content": {"name": 5}},  # does not fit
        ]

        async def elicit(asked: Elicitation) -> ElicitationAnswer:
            if host.asked:
                host.replies("ElicitationResult", **host_says.pop(0))
            host.asked.append(asked)
            await trio.lowlevel.checkpoint()
            return ANN

        session._services.elicitations.host = elicit
        await session.run("go")

    texts = [result(session, number) for number in range(4)]
    assert texts == ["accept {'name': 'Anna'}", "decline", "accept {'name': 'Ann'}", "accept {'name': 'Ann'}"]
    assert on_record(session) == [("accept", "hook"), ("decline", "hook"), ("accept", "hook"), ("accept", "person")]
    assert any("does not fit: name: expected a string" in event for event in noticed(session))


@pytest.mark.parametrize("event", ["Elicitation", "ElicitationResult"])
async def test_exit_code_2_declines_before_and_after_a_person(tmp_path: Path, server: FakeServer, event: str) -> None:
    """By a command, in real time: both can block."""
    host = Host()
    command = {"type": "command", "command": "echo 'not to this one' >&2; exit 2"}
    async with scene(tmp_path, server, host) as session:
        session.add_hooks(parse_hooks({"hooks": {event: [{"hooks": [command]}]}}, HookSource("mine")))
        await session.run("go")

    assert result(session) == "decline"
    assert noticed(session) == ["a hook declines what far asks: not to this one"]
    assert on_record(session) == [("decline", "hook")]
    assert len(host.asked) == (event == "ElicitationResult")


async def test_a_matcher_names_servers(tmp_path: Path, server: FakeServer, autojump_clock: MockClock) -> None:
    host = Host()
    host.replies("Elicitation", action="decline")
    async with scene(tmp_path, server, host, matcher="near") as session:
        await session.run("go")

    assert result(session) == "accept {'name': 'Ann'}"


async def test_a_hook_that_wants_an_end_of_everything_ends_the_turn(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host()
    host.says["Elicitation"] = {"continue": False, "stopReason": "not today"}
    async with scene(tmp_path, server, host) as session:
        with pytest.raises(TurnKilled, match="not today"):
            await session.run("go")

    assert host.asked == []
    assert on_record(session) == [("cancel", "hook")]


# --- who cannot ---------------------------------------------------------------------------------------------------------


async def test_where_nobody_can_be_asked_it_is_declined_and_said(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    """For questions of servers."""
    host = Host()
    async with scene(tmp_path, server, host, elicit=False) as session:
        await session.run("go")

    assert result(session) == "decline"
    assert on_record(session) == [("decline", "nobody")]
    assert noticed(session) == ["far asks, and nobody can answer here: Who are you?"]


async def test_a_host_that_answers_nothing_nonsense_or_fails_declines_with_a_notice(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host(None)
    answers: list[Any] = [ElicitationAnswer(action=ACCEPT, content={"nose": 1}), ValueError("no screen")]

    async with scene(tmp_path, server, host, {}, {}, {}) as session:

        async def elicit(asked: Elicitation) -> ElicitationAnswer | None:
            said = await host.elicit(asked)
            host.answer = answers.pop(0) if answers else None
            return said

        session._services.elicitations.host = elicit
        await session.run("go")
        assert session.agents.all()[0].activity == ""

    assert [result(session, number) for number in range(3)] == ["decline"] * 3
    assert on_record(session) == [("decline", "nobody"), ("decline", "person"), ("decline", "nobody")]
    first, second = noticed(session)
    assert first == (
        "the host's answer to far does not fit: name: it is missing; nose: unknown field (expected one of: name, age)"
    )
    assert "the host could not ask what far wants to know: ValueError('no screen')" in second


# --- while it is asked --------------------------------------------------------------------------------------------------


async def test_a_call_whose_question_is_open_is_not_moved_to_the_background(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    """The time of the person does not count: the call has its 120 s beside it."""
    host = Host(takes_s=5_000)
    async with scene(tmp_path, server, host, {"before_s": 60, "after_s": 59}) as session:
        began = trio.current_time()
        activities: list[str] = []

        async def look() -> None:
            await trio.sleep(2_000)
            activities.extend(agent.activity for agent in session.agents.all())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            await session.run("go")
        took_s = trio.current_time() - began

    assert result(session) == "accept {'name': 'Ann'}"
    assert took_s == 5_119
    assert activities == ["waits for an answer to far"]


async def test_what_a_call_takes_besides_still_moves_it(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host(takes_s=5_000)
    async with scene(tmp_path, server, host, {"before_s": 60, "after_s": 500}) as session:
        began = trio.current_time()
        answer = await session.run("go")
        took_s = trio.current_time() - began
        await trio.sleep(1_000)

    assert (answer.text, took_s) == ("Done.", 5_120)
    assert "did not end within 120 s and was moved to the background" in result(session)
    assert "accept" in "\n".join(main_messages(session)[3:])


async def test_an_interrupt_takes_the_question_back(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host(takes_s=5_000)
    async with scene(tmp_path, server, host) as session:

        async def run() -> None:
            with pytest.raises(TurnKilled):
                await session.run("go")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await trio.sleep(10)
            session.interrupt()
        assert session.agents.all()[0].activity == ""

    assert (server.cancelled, on_record(session)) == (1, [("withdrawn", "")])
    assert violations(session) == []


async def test_a_program_hears_that_an_address_is_done(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    async with scene(tmp_path, server, Host(), live=(ElicitationCompleted,)) as session:
        stream = session.events()
        session._services.elicitations.completed("far", "q1")
        found = stream.next_nowait()

    assert found is not None
    assert found[2] == ElicitationCompleted(server="far", elicitation="q1")


async def test_a_question_from_before_the_main_agent_has_started_is_declined(
    tmp_path: Path, server: FakeServer, autojump_clock: MockClock
) -> None:
    host = Host()
    async with scene(tmp_path, server, host) as session:
        session._services.elicitations.main = MainAgent()
        await session.run("go")

    assert (result(session), host.asked) == ("decline", [])
