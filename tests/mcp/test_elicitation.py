"""Questions of servers in the middle of a call: real servers in both protocols, and the clocks that stand still."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from greenroom.core.ports import Ports
from greenroom.mcp import (
    CallFailed,
    Elicit,
    Elicitation,
    ElicitationAction,
    ElicitationAnswer,
    McpServices,
    McpSettings,
    ServerConfig,
    Stdio,
    misfit,
    start_servers,
)
from greenroom.mcp._peer import TextPart
from greenroom.supervisor import Runtime, open_runtime
from greenroom.testing import run_virtual
from greenroom.tools import ToolError, open_processes
from tests.mcp.fakes import ASK, FORM, PAGE, SLOW, FakeServer, http, start
from tests.mcp.real import BOUND_S, Session, until
from tests.mcp.warm import ASKING, warm_command

ACCEPT = ElicitationAction.ACCEPT
ANN = ElicitationAnswer(action=ACCEPT, content={"name": "Ann", "seats": 2})


def accepted(**content: Any) -> ElicitationAnswer:
    return ElicitationAnswer(action=ACCEPT, content=content)


# --- real servers -------------------------------------------------------------------------------------------------------


class Person:
    """A person who notes each question and gives one answer."""

    def __init__(self, answer: ElicitationAnswer | None = ANN) -> None:
        self.answer = answer
        self.asked: list[Elicitation] = []
        self.done: list[tuple[str, str]] = []
        self.is_here = True
        self.taken_back = 0
        self.does_first: Callable[[], Awaitable[None]] | None = None
        """An action before the answer."""

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer | None:
        self.asked.append(asked)
        if self.does_first is not None:
            await self.does_first()
        if not self.is_here:
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                self.taken_back += 1
                raise
        await trio.lowlevel.checkpoint()
        return self.answer


@asynccontextmanager
async def desk(folder: Path, person: Person, *modes: str) -> AsyncIterator[Session]:
    """Open a session with the server of `asking.py` that asks a person."""
    ports = Ports()
    command, *arguments = warm_command(ASKING, *modes)
    config = ServerConfig(name="desk", way=Stdio(command=command, args=tuple(arguments)))
    async with (
        open_processes(
            blocking=ports.blocking, ids=ports.ids, folder=folder / "tasks", mark="test-mcp", grace_s=0.3
        ) as programs,
        open_runtime(ports=ports) as runtime,
    ):
        services = McpServices(
            cwd=folder,
            ports=ports,
            programs=programs,
            elicit=person.elicit,
            on_elicited=lambda server, asked: person.done.append((server, asked)),
        )
        servers = await start_servers(runtime.root, [config], services)
        assert await servers.wait_settled(BOUND_S)
        yield Session(runtime, servers, folder, ports)


@pytest.mark.parametrize("modes", [(), ("legacy",)])
async def test_a_form_is_put_before_a_person_and_the_answer_is_the_servers(
    tmp_path: Path, modes: tuple[str, ...]
) -> None:
    person = Person()
    async with desk(tmp_path, person, *modes) as one:
        assert await one.call("reserve") == "window for 2: Ann"
        person.answer = accepted(name="Bo", seats=8, table="garden")
        assert await one.call("reserve") == "garden for 8: Bo"
        for action in (ElicitationAction.DECLINE, ElicitationAction.CANCEL):
            person.answer = ElicitationAnswer(action=action)
            assert await one.call("reserve") == f"no table: {action}"
        person.answer = None  # no person is available
        assert await one.call("reserve") == "no table: decline"
        protocol = one.servers.states()[0].info.protocol

    assert protocol == ("2025-11-25" if modes else "2026-07-28")
    assert len(person.asked) == 5
    assert (person.asked[0].server, person.asked[0].message, person.asked[0].mode) == (
        "desk",
        "Who comes to dinner?",
        "form",
    )
    assert person.asked[0].schema is not None
    assert set(person.asked[0].schema["properties"]) == {"name", "seats", "table"}


@pytest.mark.parametrize("modes", [(), ("legacy",)])
async def test_an_answer_that_does_not_fit_reaches_no_server(tmp_path: Path, modes: tuple[str, ...]) -> None:
    person = Person(accepted(name="Bo", seats=9))
    async with desk(tmp_path, person, *modes) as one:
        with pytest.raises(ToolError, match="does not match the question: seats: expected"):
            await one.call("reserve")
        person.answer = ANN
        assert await one.call("reserve") == "window for 2: Ann"


async def test_an_address_is_opened_by_the_person_and_the_server_says_when_it_is_done(tmp_path: Path) -> None:
    person = Person(ElicitationAnswer(action=ACCEPT))
    async with desk(tmp_path, person, "legacy") as one:
        assert await one.call("log_in") == "accept"
        await until(lambda: bool(person.done))
        person.answer = ElicitationAnswer(action=ElicitationAction.DECLINE)
        assert await one.call("log_in") == "decline"

    (asked, _) = person.asked
    assert (asked.mode, asked.url, asked.id, asked.schema) == ("url", "https://login.example/now", "login-1", None)
    assert person.done == [("desk", "login-1")]


@pytest.mark.parametrize("is_paid_first", [True, False])
async def test_a_call_that_needs_an_address_opened_first_is_made_again_when_it_is_done(
    tmp_path: Path, *, is_paid_first: bool
) -> None:
    """Whether it is done before or after the person has said so."""
    person = Person(ElicitationAnswer(action=ACCEPT))
    async with desk(tmp_path, person, "legacy") as one, trio.open_nursery() as nursery:

        async def pay() -> None:
            await until(lambda: bool(person.asked))
            await one.call("pay")
            await until(lambda: bool(person.done))

        if is_paid_first:
            person.does_first = pay
        else:
            nursery.start_soon(pay)
        assert await one.call("buy") == "bought"

    (asked,) = person.asked
    assert (asked.mode, asked.url, asked.id, asked.message) == ("url", "https://pay.example/1", "pay-1", "Pay, please.")


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        (ElicitationAnswer(action=ElicitationAction.DECLINE), "the user chose decline"),
        (ElicitationAnswer(action=ElicitationAction.CANCEL), "the user chose cancel"),
        (None, "the user chose decline"),
    ],
)
async def test_a_call_that_needs_an_address_that_nobody_opens_has_failed(
    tmp_path: Path, answer: ElicitationAnswer | None, how: str
) -> None:
    async with desk(tmp_path, Person(answer), "legacy") as one:
        with pytest.raises(ToolError, match=rf"desk requires a URL to be opened first \(Pay, please.\): {how}"):
            await one.call("buy")
        assert await one.call("reserve") == "no table: decline" or answer is not None


@pytest.mark.parametrize("tool", ["reserve", "give_up"])
async def test_a_call_that_is_cancelled_takes_its_question_back(tmp_path: Path, tool: str) -> None:
    person, note = Person(), tmp_path / "note"
    person.is_here = False
    modes = ("legacy",) if tool == "give_up" else ()
    async with desk(tmp_path, person, *modes) as one:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def cancel() -> None:
                    await until(lambda: bool(person.asked))
                    scope.cancel()

                nursery.start_soon(cancel)
                await one.call(tool, **({"file": str(note)} if modes else {}))
        await until(lambda: person.taken_back == 1)
        person.is_here = True
        assert await one.call("reserve") == "window for 2: Ann"


# --- clocks -------------------------------------------------------------------------------------------------------------


class Slow:
    """A person who takes some seconds to answer."""

    def __init__(self, takes_s: float) -> None:
        self.takes_s = takes_s
        self.answered_at: list[float] = []
        self.taken_back = 0

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer:
        try:
            await trio.sleep(self.takes_s)
        except trio.Cancelled:
            self.taken_back += 1
            raise
        self.answered_at.append(trio.current_time())
        return accepted(name="Ann")


@asynccontextmanager
async def far(elicit: Elicit, **settings: float) -> AsyncIterator[tuple[Callable[..., Any], FakeServer]]:
    """Give what calls the tools of one server that is scripted, in virtual time."""
    server = FakeServer(ASK, SLOW)
    async with open_runtime(ports=Ports()) as runtime:
        call = await _caller(runtime, server, elicit, McpSettings(**settings))  # type: ignore[arg-type]
        yield call, server


async def _caller(runtime: Runtime, server: FakeServer, elicit: Elicit, settings: McpSettings) -> Callable[..., Any]:
    servers = await start(runtime, http("far"), settings=settings, elicit=elicit, far=server)
    await servers.wait_settled()
    one = servers.get("far")
    assert one is not None
    server.dialogs = one.dialogs

    async def call(tool: str, **values: Any) -> str:
        (part,) = (await one.call(tool, values)).parts
        assert isinstance(part, TextPart)
        return part.text

    return call


async def test_no_deadline_of_a_call_passes_while_a_person_thinks(virtual_time: None) -> None:
    async with far(Slow(10_000).elicit, call_timeout_s=50, idle_network_s=30) as (call, _):
        began = trio.current_time()
        assert await call("ask", before_s=20, after_s=25) == "accept {'name': 'Ann'}"
        assert trio.current_time() - began == 10_045


async def test_the_time_of_a_call_that_is_its_own_counts(virtual_time: None) -> None:
    async with far(Slow(10_000).elicit, call_timeout_s=50, idle_network_s=30) as (call, server):
        with pytest.raises(CallFailed, match="made no progress for 30 s"):
            await call("ask", before_s=10, after_s=31)
        with pytest.raises(CallFailed, match="timed out after 50 s"):
            await call("ask", before_s=25, after_s=26)
        assert server.cancelled == 2


async def test_calls_beside_a_question_wait_with_it_and_are_as_long_afterwards(virtual_time: None) -> None:
    """Also one that begins while the question is open: whose it is, nobody can tell."""
    async with far(Slow(100).elicit, call_timeout_s=500, idle_network_s=30) as (call, _):
        ended: list[float] = []

        async def run_slow(at_s: float) -> None:
            await trio.sleep(at_s)
            with pytest.raises(CallFailed, match="made no progress"):
                await call("slow")
            ended.append(trio.current_time())

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_slow, 0)
            nursery.start_soon(run_slow, 50)
            await call("ask", before_s=10)
        assert [one - began for one in sorted(ended)] == [140, 140]


QUESTIONS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40)), max_size=4)


@given(QUESTIONS, st.integers(0, 30))
def test_a_call_ends_when_the_time_without_a_question_is_over(questions: list[tuple[int, int]], began: int) -> None:
    """Whenever questions come and go, side by side too, before the call has begun or not: of its 30 s none is a person's."""

    async def scenario() -> float:
        async with far(Slow(0).elicit, call_timeout_s=30, idle_network_s=0) as (call, server):

            async def ask(at_s: int, takes_s: int) -> None:
                await trio.sleep(at_s)
                await server.dialogs.ask(partial(trio.sleep, takes_s), is_in_call=False)

            async with trio.open_nursery() as nursery:
                for question in questions:
                    nursery.start_soon(ask, *question)
                await trio.sleep(began + 0.5)
                with pytest.raises(CallFailed, match="timed out after 30 s"):
                    await call("slow")
                ended = trio.current_time()
                nursery.cancel_scope.cancel()
            return ended - began - 0.5

    asked = {second for at, takes in questions for second in range(2 * at, 2 * (at + takes))}  # in halves
    left, now = 60, 2 * began + 1
    while left:
        left -= now not in asked
        now += 1
    assert run_virtual(scenario).result == (now - 2 * began - 1) / 2


async def test_a_question_ends_with_the_last_call_that_it_may_belong_to(virtual_time: None) -> None:
    person = Slow(1_000)
    async with far(person.elicit) as (call, server):
        assert server.elicit is not None
        answers: list[Any] = []

        async def ask_beside() -> None:  # as a request of the server's own
            assert server.elicit is not None
            await trio.sleep(5)
            answers.append(await server.elicit(FORM))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask_beside)
            with trio.move_on_after(20):
                await call("slow")
        assert (person.taken_back, [answer.action for answer in answers]) == (1, ["cancel"])
        assert trio.current_time() == 20


async def test_a_question_outside_of_calls_stays_until_it_is_answered(virtual_time: None) -> None:
    async with far(Slow(1_000).elicit) as (call, server):
        assert server.elicit is not None
        answers: list[Any] = []

        async def ask_beside() -> None:
            assert server.elicit is not None
            answers.append(await server.elicit(FORM))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask_beside)
            await trio.sleep(5)
            with trio.move_on_after(20):
                await call("slow")
        assert [answer.action for answer in answers] == ["accept"]


# --- what fits ----------------------------------------------------------------------------------------------------------

FIELDS: dict[str, Any] = {
    "name": {"type": "string", "minLength": 2, "maxLength": 5},
    "mail": {"type": "string", "format": "email"},
    "day": {"type": "string", "format": "date"},
    "at": {"type": "string", "format": "date-time"},
    "page": {"type": "string", "format": "uri"},
    "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "part": {"type": "number"},
    "yes": {"type": "boolean"},
    "color": {"type": "string", "enum": ["red", "blue"]},
    "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
    "days": {"type": "array", "items": {"type": "string", "enum": ["mo", "tu"]}, "maxItems": 2},
    "also": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "free": {},
}


FITTING: list[tuple[dict[str, Any], str]] = [
    ({"name": "Ann"}, ""),
    ({}, "name: it is missing"),
    ({"name": "A"}, "name: must have at least 2 characters, got 1"),
    ({"name": "Ann-Sofie"}, "name: must have at most 5 characters, got 9"),
    ({"name": 5}, "name: expected "),
    ({"name": None}, "name: expected "),
    ({"name": "Ann", "nose": "big"}, "nose: unknown field"),
    *[
        ({"name": "Ann", **good}, "")
        for good in (
            {"mail": "a@b.c"},
            {"day": "2026-02-28"},
            {"at": "2026-02-28T10:00:00Z"},
            {"page": "https://a.b/c"},
            {"age": 0},
            {"part": 0.5},
            {"yes": False},
            {"color": "red"},
            {"size": "l"},
            {"days": ["mo", "tu"]},
            {"also": ["a"]},
            {"maybe": None},
            {"maybe": 3},
            {"free": "x"},
        )
    ],
    *[
        ({"name": "Ann", **bad}, why)
        for bad, why in (
            ({"mail": "a b@c"}, "mail: 'a b@c' is not a valid email"),
            ({"day": "2026-02-30"}, "day: '2026-02-30' is not a valid date"),
            ({"at": "2026-02-28"}, "at: '2026-02-28' is not a valid date-time"),
            ({"page": "a.b/c"}, "page: 'a.b/c' is not a valid uri"),
            ({"page": "https://[x"}, "page: 'https://[x' is not a valid uri"),
            ({"age": 151}, "age: expected "),
            ({"age": 1.5}, "age: expected "),
            ({"part": "1"}, "part: expected "),
            ({"yes": "true"}, "yes: expected "),
            ({"color": "green"}, "color: expected "),
            ({"size": "Small"}, "size: expected "),
            ({"days": ["we"]}, "days[0]: expected "),
            ({"days": ["mo", "tu", "mo"]}, "days: "),
            ({"also": ["b"]}, "also[0]: expected "),
            ({"maybe": "3"}, "maybe: expected "),
            ({"free": {"deep": 1}}, "free: must be a string, number, boolean, null or list of strings"),
            ({"free": [1]}, "free: must be a string"),
        )
    ],
]


@pytest.mark.parametrize(("content", "why"), FITTING)
def test_what_fits_a_form(content: dict[str, Any], why: str) -> None:
    asked = Elicitation(
        server="far", message="?", schema={"type": "object", "properties": FIELDS, "required": ["name"]}
    )

    said = misfit(asked, accepted(**content))

    assert said.startswith(why)
    assert bool(said) is bool(why)


def test_only_what_is_accepted_has_to_fit() -> None:
    assert (
        misfit(FORM, ElicitationAnswer(action=ACCEPT)) == "an accepted form must have content, an object of its fields"
    )
    assert misfit(FORM, ElicitationAnswer(action=ElicitationAction.DECLINE)) == ""
    assert misfit(FORM, ElicitationAnswer(action=ElicitationAction.CANCEL, content={"x": 1})) == ""
    assert misfit(PAGE, ElicitationAnswer(action=ACCEPT)) == ""
    assert misfit(PAGE, accepted(code="1")) == "an answer to a URL must have no content"


@pytest.mark.parametrize("schema", [None, {}, {"properties": 5, "required": 7}, {"properties": {"a": 5}}])
def test_a_schema_that_is_none_refuses_nothing_but_unknown_fields(schema: dict[str, Any] | None) -> None:
    asked = Elicitation(server="far", message="?", schema=schema)

    assert misfit(asked, accepted()) == ""
    assert misfit(asked, accepted(b="x")).startswith("b: unknown field")


def test_an_action_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="maybe"):
        ElicitationAnswer(action="maybe")
