"""The session tools: their parameters, results and refusals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from greenroom.core.ports import InlineBlocking
from greenroom.gateway import tools
from greenroom.gateway.config._agents import AgentConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._reader import config_converter
from greenroom.gateway.keepers._session_history import MAX_BYTES, read_page
from greenroom.gateway.policy._tool_policy import tools_of
from greenroom.gateway.record._gateway_events import SessionArchived, SessionMade
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.routing._session_key import SessionKey, child_key, direct_key, main_key, room_key
from greenroom.gateway.tools._session_tools import session_tools
from greenroom.gateway.tools._session_view import SessionView
from greenroom.gateway.tools._visibility import refusal
from greenroom.inbox import OriginKind, peer
from greenroom.tools import InvalidInput, ToolContext, ToolError
from tests.gateway.runs.fakes import MAIN, FakeGateway, Turn, World, echo, open_fake_gateway, settle

CONTEXT: Final = ToolContext(cwd=Path("/"), roots=(Path("/"),), actor="a", tool_use_id="t", blocking=InlineBlocking())
UUID: Final = "00000000-0000-4000-8000-000000000001"


def structured(values: dict[str, Any]) -> GatewayConfig:
    config: GatewayConfig = config_converter().structure(values, GatewayConfig)
    return config


@attrs.frozen
class Tools:
    """The session tools of a gateway, by name."""

    gateway: FakeGateway
    view: SessionView

    async def call(self, name: str, caller: SessionKey = MAIN, /, **values: Any) -> dict[str, Any]:
        found = {tool.name: tool for tool in session_tools(caller, self.gateway.runs, self.view)}
        answer: dict[str, Any] = json.loads(await found[name].call(values, CONTEXT))
        return answer

    async def make(self, key: SessionKey, **more: Any) -> str:
        """Make a session known."""
        events = self.gateway.keepers.events_for_new(key, **more)
        await self.gateway.record.write(*events)
        return str(key)


@asynccontextmanager
async def opened(
    values: dict[str, Any] | None = None, *, turn: Turn = echo, state: Path = Path("/state"), world: World | None = None
) -> AsyncIterator[Tools]:
    config = structured(values or {})
    async with open_fake_gateway(world, config, turn=turn) as gateway:
        view = SessionView(
            config=lambda: config,
            registry=gateway.registry,
            lanes=gateway.lanes,
            ports=gateway.keepers.ports,
            state=state,
            mask=lambda text: text.replace("hunter2", "***"),
        )
        yield Tools(gateway, view)


# --- sessions_spawn and agents_list -------------------------------------------------------------------------------------


@pytest.mark.promise("A2-b")
async def test_a_spawn_needs_a_task(autojump_clock: MockClock) -> None:
    async with opened() as tools:
        no_task: tuple[dict[str, Any], ...] = ({}, {"task": "  "})
        for values in no_task:
            with pytest.raises(ToolError):
                await tools.call("sessions_spawn", **values)
        assert len(tools.gateway.registry.sessions) == 1


@pytest.mark.parametrize("name", ["target", "channel", "to", "threadId", "replyTo", "transport"])
@pytest.mark.promise("A2-i")
async def test_a_delivery_parameter_is_rejected_by_its_name(autojump_clock: MockClock, name: str) -> None:
    more: dict[str, Any] = {name: "irc"}
    async with opened() as tools:
        with pytest.raises(InvalidInput, match=name):
            await tools.call("sessions_spawn", task="count", **more)


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"runTimeoutSeconds": 2.9}, 2.0),
        ({"timeoutSeconds": 5}, 5.0),
        ({"timeoutSeconds": 5, "runTimeoutSeconds": 7}, 7.0),
        ({}, 0.0),
    ],
)
async def test_the_new_name_of_the_limit_wins(autojump_clock: MockClock, given: dict[str, Any], limit: float) -> None:
    async with opened() as tools:
        answer = await tools.call("sessions_spawn", task="count", **given)

        assert tools.gateway.registry.runs[answer["runId"]].limit_s == limit


@pytest.mark.promise("A3-e")
async def test_a_spawn_goes_to_the_agent_that_is_named(autojump_clock: MockClock) -> None:
    values = {"agents": {"list": [{"id": "main", "default": True, "subagents": {"allowAgents": ["Research"]}}]}}
    async with opened(values) as tools:
        answer = await tools.call("sessions_spawn", task="count", agentId=" Research ")

        assert SessionKey.parse(answer["childSessionKey"]).agent == "research"
        assert (await tools.call("sessions_spawn", task="count", agentId="other"))["status"] == "forbidden"
        assert await tools.call("agents_list") == {
            "requester": "main",
            "allowAny": False,
            "agents": [{"id": "main", "configured": True}, {"id": "research", "configured": False}],
        }


@pytest.mark.promise("A8-b")
async def test_a_sub_agent_is_refused_what_it_is_not_offered(autojump_clock: MockClock) -> None:
    async with opened() as tools:
        child = child_key("main", UUID)
        await tools.make(child, spawned_by=str(MAIN))
        before = dict(tools.gateway.registry.sessions)

        assert (await tools.call("sessions_spawn", child, task="count"))["status"] == "forbidden"
        assert (await tools.call("sessions_send", child, sessionKey="main", message="hi"))["status"] == "forbidden"
        assert tools.gateway.registry.sessions == before


# --- sessions_list ------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A15-a", "A15-c", "A15-f", "A15-g")
async def test_sessions_are_listed_by_kind_and_by_use(autojump_clock: MockClock) -> None:
    async with opened() as tools:
        old = await tools.make(room_key("main", "irc", "group", "#old"))
        await trio.sleep(360)
        new = await tools.make(room_key("main", "irc", "group", "#new"))
        child = await tools.make(child_key("main", UUID), spawned_by=str(MAIN))

        async def keys(**values: Any) -> list[str]:
            answer = await tools.call("sessions_list", **values)
            assert answer["count"] == len(answer["sessions"])
            assert all(tools.view.find(row["key"], MAIN) is not None for row in answer["sessions"])
            return [row["key"] for row in answer["sessions"]]

        assert set(await keys()) == {str(MAIN), old, new, child}
        assert await keys(kinds=["group"]) == [new, old]
        assert await keys(kinds=["other", "no such kind"]) == [child]
        assert await keys(kinds=["no such kind"]) == []
        assert set(await keys(activeMinutes=5)) == {new, child}
        assert len(await keys(limit=2)) == 2
        archived = SessionArchived(at_s=tools.view.now_s(), session=child, transcript="x")
        tools.gateway.record.emit(archived)
        assert child not in await keys()
        assert child in await keys(includeArchived=True)


SEEN: Final = {
    # visibility: what main, a child of main's, a room, and the room's child see of each other
    "self": {("main", "main"), ("room", "room"), ("child", "child")},
    "tree": {("main", "main"), ("main", "child"), ("room", "room"), ("child", "child"), ("room", "room child")},
    "agent": {("main", each) for each in ("main", "child", "room", "room child")}
    | {("room", "room"), ("room", "room child")}
    | {("child", each) for each in ("main", "child", "room", "room child")},
}
SEEN["all"] = SEEN["agent"] | {("main", "other"), ("child", "other")}
KEYS: Final = {
    "main": main_key("main"),
    "child": child_key("main", UUID),
    "room": room_key("main", "irc", "group", "#r"),
    "room child": child_key("main", UUID.replace("1", "2")),
    "other": main_key("other"),
}


@pytest.mark.parametrize("visibility", list(SEEN))
@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.promise("A15-d", "A15-e")
def test_a_session_sees_what_the_configuration_and_its_writers_allow(visibility: str, is_enabled: bool) -> None:
    config = structured(
        {
            "tools": {
                "sessions": {"visibility": visibility},
                "agentToAgent": {"enabled": is_enabled, "allow": ["ma*", "other"]},
            }
        }
    )
    registry = Registry()
    parents = {"child": "main", "room child": "room"}
    for name, key in KEYS.items():
        spawned_by = str(KEYS[parents[name]]) if name in parents else ""
        registry.fold(SessionMade(at_s=1.0, session=str(key), session_id=name, spawned_by=spawned_by))
    view = SessionView(config=lambda: config, registry=registry, lanes=None, ports=None, state=Path("/"))  # type: ignore[arg-type]

    seen = {
        (caller, target)
        for caller in ("main", "child", "room")
        for target in KEYS
        if not view.refusal(KEYS[caller], str(KEYS[target]))
    }

    assert seen == {pair for pair in SEEN[visibility] if is_enabled or pair[1] != "other"}
    assert not refusal(config, registry, view.viewer(KEYS["room child"]), str(KEYS["room child"]))


def test_the_descent_of_a_person_narrows_what_is_seen() -> None:
    person, child = direct_key("main", "bob", channel="irc"), KEYS["child"]
    registry = Registry()
    registry.fold(SessionMade(at_s=1.0, session=str(main_key("main")), session_id="m"))
    registry.fold(SessionMade(at_s=1.0, session=str(person), session_id="p"))
    registry.fold(SessionMade(at_s=1.0, session=str(child), session_id="c", spawned_by=str(person)))
    config = structured({"tools": {"sessions": {"visibility": "all"}}})
    view = SessionView(config=lambda: config, registry=registry, lanes=None, ports=None, state=Path("/"))  # type: ignore[arg-type]

    assert view.viewer(child).scope == "tree"
    assert "others than owners" in view.refusal(child, str(main_key("main")))


@pytest.mark.promise("A15-d")
@pytest.mark.parametrize(("scope", "expected"), [("main", "tree"), ("owner-main", "all")])
def test_a_main_session_that_people_share_sees_its_tree(scope: str, expected: str) -> None:
    config = structured(
        {
            "session": {"dmScope": scope},
            "tools": {"sessions": {"visibility": "all"}},
            "channels": {"irc": {"host": "irc.example", "nick": "bot", "dmPolicy": "pairing"}},
            "commands": {"ownerAllowFrom": ["irc:ann"]},
        }
    )
    registry = Registry()
    registry.fold(SessionMade(at_s=1.0, session=str(KEYS["child"]), session_id="c", spawned_by=str(main_key("main"))))
    view = SessionView(config=lambda: config, registry=registry, lanes=None, ports=None, state=Path("/"))  # type: ignore[arg-type]

    assert view.viewer(main_key("main")).scope == expected
    assert view.viewer(KEYS["child"]).scope == expected


def test_a_sandboxed_session_sees_its_tree() -> None:
    config = structured(
        {"agents": {"defaults": {"sandbox": {"mode": "all"}}}, "tools": {"sessions": {"visibility": "all"}}}
    )
    view = SessionView(config=lambda: config, registry=Registry(), lanes=None, ports=None, state=Path("/"))  # type: ignore[arg-type]

    assert view.viewer(main_key("main")).scope == "tree"


# --- sessions_history ---------------------------------------------------------------------------------------------------


def lines_of(count: int) -> list[dict[str, Any]]:
    """Return a conversation with results of tools in it."""
    found: list[dict[str, Any]] = []
    for number in range(count):
        result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": f"result {number}"}]}
        found += [
            {"type": "user", "message": {"role": "user", "content": f"question {number}"}},
            {
                "type": "assistant",
                "message": {"content": [{"type": "tool_use", "name": "Read", "input": {"n": number}}]},
            },
            {"type": "user", "message": {"content": [result]}},
            {"type": "assistant", "message": {"content": [{"type": "text", "text": f"answer {number}"}]}},
            {"type": "system", "subtype": "other"},
        ]
    return found


def write_transcript(path: Path, lines: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def texts(messages: Any) -> list[str]:
    return [str(block.get("text") or block.get("name")) for row in messages for block in row.get("content", ())]


@pytest.mark.promise("A16-a", "A16-b", "A16-c")
async def test_a_history_is_read_by_key_and_by_id(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with opened(state=tmp_path) as tools:
        row = tools.gateway.registry.sessions[str(MAIN)]
        write_transcript(tools.view.transcript(row), lines_of(2))

        by_key = await tools.call("sessions_history", sessionKey="main")
        assert by_key == await tools.call("sessions_history", sessionKey=row.session_id)
        assert texts(by_key["messages"]) == ["question 0", "Read", "answer 0", "question 1", "Read", "answer 1"]
        whole = await tools.call("sessions_history", sessionKey="main", includeTools=True)
        assert "result 1" in texts(whole["messages"])
        unknown = await tools.call("sessions_history", sessionKey="nobody")
        assert (unknown["status"], "nobody" in unknown["error"]) == ("error", True)
        listed = await tools.call("sessions_list", messageLimit=99)
        assert texts(listed["sessions"][0]["messages"]) == texts(by_key["messages"])


@pytest.mark.promise("A16-d")
async def test_a_history_that_is_not_visible_is_forbidden(autojump_clock: MockClock) -> None:
    async with opened() as tools:
        room = room_key("main", "irc", "group", "#r")
        await tools.make(room)

        answer = await tools.call("sessions_history", room, sessionKey="main")

        assert answer["status"] == "forbidden"


@pytest.mark.promise("A16-e", "A16-f")
@given(sizes=st.lists(st.integers(0, 40_000), min_size=1, max_size=12), limit=st.integers(1, 8))
def test_pages_of_a_history_reach_every_message(tmp_path_factory: Any, sizes: list[int], limit: int) -> None:
    path = tmp_path_factory.getbasetemp() / "pages.jsonl"
    lines = [
        {"type": "user", "message": {"content": [{"type": "text", "text": f"m{number} hunter2 " + "x" * size}] * 3}}
        for number, size in enumerate(sizes)
    ]
    write_transcript(path, lines)
    seen: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        page = read_page(path, limit=limit, skip=offset, mask=lambda text: text.replace("hunter2", "***"))
        rows = [message.as_row() for message in page.messages]
        assert len(json.dumps(rows).encode()) <= MAX_BYTES
        seen = [*rows, *seen]
        offset = page.skip

    assert len(seen) == len(sizes)
    assert "hunter2" not in json.dumps(seen)
    assert "hunter2" in path.read_text()
    assert all(len(block["text"]) <= 4_000 for row in seen for block in row["content"])


def test_a_message_of_many_blocks_is_replaced_by_a_marker(tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    block = {"type": "text", "text": "x" * 4_000}
    write_transcript(path, [{"type": "user", "message": {"content": [block] * 300}}])

    page = read_page(path, limit=5)

    assert "bytes left out" in page.messages[0].as_row()["omitted"]
    assert read_page(tmp_path / "missing", limit=5).messages == ()


async def never(session: str, text: str) -> str:
    """Take very long with the summary."""
    await trio.sleep_forever()
    raise AssertionError


@pytest.mark.promise("A15-b", "A16-g")
async def test_a_list_shows_at_most_twenty_messages_and_reading_settles_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with opened(state=tmp_path) as tools:
        tools.gateway.keepers.aside = never
        run = await tools.call("sessions_spawn", task="count")
        await tools.gateway.runs.wait(run["runId"], timeout_s=60)
        row = tools.gateway.registry.sessions[run["childSessionKey"]]
        write_transcript(tools.view.transcript(row), lines_of(30))
        before = dict(tools.gateway.registry.completions)
        assert len(before) == 1

        listed = await tools.call("sessions_list", kinds=["other"], messageLimit=99)
        await tools.call("sessions_history", sessionKey=row.key, includeTools=True)

        (shown,) = listed["sessions"]
        assert len(shown["messages"]) == 20
        assert "toolResult" not in json.dumps(shown["messages"])
        assert tools.gateway.registry.completions == before


@pytest.mark.promise("A3-f")
@pytest.mark.parametrize("deny", [[], ["agents_list"]])
def test_a_sub_agent_may_look_at_agents_unless_that_is_denied(deny: list[str]) -> None:
    config = structured({"tools": {"subagents": {"tools": {"deny": deny}}}})
    view = SessionView(config=lambda: config, registry=Registry(), lanes=None, ports=None, state=Path("/"))  # type: ignore[arg-type]
    names = [tool.name for tool in session_tools(KEYS["child"], None, view)]  # type: ignore[arg-type]

    offered = tools_of(config, AgentConfig(id="main"), names, is_child=True)

    assert ("agents_list" in offered.names) is not bool(deny)
    assert "sessions_spawn" not in offered.names


# --- sessions_send ------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A17-a", "A17-b", "A17-f")
async def test_a_message_without_one_recipient_is_refused(autojump_clock: MockClock) -> None:
    async with opened({"tools": {"sessions": {"visibility": "all"}}}) as tools:
        await tools.make(main_key("other"), label="notes")
        for number in (1, 2):
            await tools.make(child_key("main", UUID.replace("1", str(number))), label="twin")

        async def refused(**values: Any) -> tuple[str, str]:
            answer = await tools.call("sessions_send", message="hi", **values)
            assert "runId" not in answer
            return answer["status"], answer["error"]

        assert await refused(sessionKey="agent:main:dm:nobody") == ("error", "unknown session 'agent:main:dm:nobody'")
        assert (await refused(label="nobody"))[0] == "error"
        both = await refused(sessionKey="agent:other:main", label="notes")
        assert both == ("error", "give either sessionKey or label")
        assert (await refused())[0] == "error"
        assert (await refused(sessionKey="main"))[1] == "cannot send to this session itself"
        assert "2 sessions have the label" in (await refused(label="twin"))[1]
        for values in ({"sessionKey": "agent:other:main"}, {"label": "notes"}, {"label": "notes", "agentId": "Other"}):
            assert (await refused(**values))[0] == "forbidden"
        assert tools.gateway.registry.runs == {}


@pytest.mark.promise("A17-c", "A17-g")
async def test_a_message_is_answered_accepted_or_times_out(autojump_clock: MockClock) -> None:
    async def turn(session: str, text: str) -> str:
        await trio.sleep(5)
        return f"heard {text}"

    async with opened(turn=turn) as tools:
        room = room_key("main", "irc", "group", "#r")
        await tools.make(room)
        origins = []
        put = tools.gateway.keepers.put

        async def spy(key: Any, new: Any) -> bool:
            origins.append((new.origin.kind, new.is_command, new.route))
            return await put(key, new)

        tools.gateway.keepers.put = spy  # type: ignore[method-assign]
        answered = await tools.call("sessions_send", sessionKey=str(room), message="/stop")
        assert (answered["status"], answered["reply"]) == ("ok", "heard /stop")
        slow = await tools.call("sessions_send", sessionKey=str(room), message="two", timeoutSeconds=1)
        assert slow["status"] == "timeout"
        now = await tools.call("sessions_send", sessionKey=str(room), message="three", timeoutSeconds=0)
        assert now["status"] == "accepted"
        assert "delivery" not in now
        for answer in (answered, slow, now):
            run = await tools.gateway.runs.wait(answer["runId"], 60)
            assert run.words is not None
            assert run.words.status == "ok"
        assert tools.gateway.channel.chat == []
        assert set(origins) == {(OriginKind.PEER, False, None)}


@pytest.mark.promise("A17-e", "A10-h")
async def test_a_circle_of_waits_is_refused_at_once(autojump_clock: MockClock) -> None:
    """A waits for B, which waits for A: B is refused, and both end; a chain of three on one place ends as well."""
    names = ("#a", "#b", "#c")
    keys = [room_key("main", "irc", "group", name) for name in names]
    answers: dict[str, dict[str, Any]] = {}
    holder: list[Tools] = []

    async def turn(session: str, text: str) -> str:
        at = [str(key) for key in keys].index(session)
        target = keys[(at + 1) % 3] if "round" in text else keys[at + 1] if at < 2 else None
        if target is not None:
            answers[session] = await holder[0].call(
                "sessions_send", keys[at], sessionKey=str(target), message=text, timeoutSeconds=50
            )
        return f"{names[at]} done"

    async with opened({"tools": {"sessions": {"visibility": "all"}}}, turn=turn) as tools:
        holder.append(attrs.evolve(tools, view=attrs.evolve(tools.view, hears_others=lambda _: False)))
        tools.gateway.lanes.resize("main", 1)
        for key in keys:
            await tools.make(key)
        for text in ("chain", "round"):
            answers.clear()
            begin_s = trio.current_time()
            run = await tools.gateway.runs.begin(keys[0], text, peer("test"), requester=str(MAIN))
            ended = await tools.gateway.runs.wait(run, 100)
            assert ended.words is not None
            assert ended.words.status == "ok"
            assert trio.current_time() - begin_s < 30
            assert answers[str(keys[0])]["status"] == "ok"
        assert answers[str(keys[2])]["status"] == "error"
        assert "waiting" in answers[str(keys[2])]["error"]


# --- subagents and session_status ---------------------------------------------------------------------------------------


@pytest.mark.promise("A14-h")
async def test_sub_agents_are_listed_waited_for_and_cancelled(autojump_clock: MockClock) -> None:
    async def turn(session: str, text: str) -> str:
        await trio.sleep(10 if "slow" in text else 0)
        return "NO_REPLY" if session == str(MAIN) else f"done {text}"

    async with opened(turn=turn) as tools:
        quick = (await tools.call("sessions_spawn", task="quick", label="q"))["runId"]
        await settle(tools.gateway, quick)
        slow = (await tools.call("sessions_spawn", task="slow"))["runId"]
        await trio.sleep(1)

        listed = await tools.call("subagents", action="list")
        assert [row["runId"] for row in listed["active"]] == [slow]
        assert [row["result"] for row in listed["recent"]] == ["done quick"]
        assert listed["text"].splitlines()[0] == "1 active, 1 ended in the last 30 minutes"
        at_once = await tools.call("subagents", action="wait", runIds=[quick])
        assert at_once["reason"] == "completed"
        for wait_s, reason in ((0, "timeout"), (2, "timeout"), (30, "completed")):
            waited = await tools.call("subagents", action="wait", runIds=[quick, slow], timeoutSeconds=wait_s)
            assert waited["reason"] == reason
        await settle(tools.gateway, slow)
        assert len(tools.gateway.keepers.store.texts[str(MAIN)]) == 2

        other = room_key("main", "irc", "group", "#r")
        await tools.make(other)
        assert (await tools.call("subagents", other, action="wait", runIds=[slow]))["reason"] == "unavailable"
        assert (await tools.call("subagents", other, action="cancel", runIds=[slow]))["status"] == "error"
        assert (await tools.call("subagents", action="cancel", runIds=[slow]))["status"] == "done"
        third = (await tools.call("sessions_spawn", task="slow"))["runId"]
        assert (await tools.call("subagents", action="cancel", runIds=["all"]))["stopped"] == [third]


async def test_the_status_of_a_session_counts_what_works(autojump_clock: MockClock) -> None:
    async def turn(session: str, text: str) -> str:
        await trio.sleep(10)
        return "NO_REPLY"

    async with opened(turn=turn) as tools:
        await tools.call("sessions_spawn", task="slow", model="opus")
        await trio.sleep(1)

        status = await tools.call("session_status")

        assert (status["key"], status["model"], status["busy"]) == (str(MAIN), "sonnet", False)
        assert status["subagents"] == {"active": 1, "ended": 0}
        assert status["lanes"]["subagent"] == {"active": 1, "waiting": 0}


def test_tools_of_sessions_use_no_protocol() -> None:
    """GW-10: they call the gateway's parts, so there is no token that a sub-agent could lack."""
    sources = [path.read_text(encoding="utf-8") for path in Path(tools.__file__).parent.glob("*.py")]

    assert len(sources) > 5
    assert not any("gateway.rpc" in source or "greenroom.serving" in source for source in sources)
