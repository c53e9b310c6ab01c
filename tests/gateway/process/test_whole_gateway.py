"""A whole gateway: resets and aborts beside sub-agents, secrets, crowds, and many known sessions."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
import trio
from trio.testing import MockClock

from greenroom.cli import main
from greenroom.core import UsageError
from greenroom.core.ports import SystemDisk
from greenroom.gateway._gateway import Gateway, open_gateway
from greenroom.gateway.announce._announcement import count_text
from greenroom.gateway.config._keys import key_of
from greenroom.gateway.config._reader import read_config
from greenroom.gateway.process._bound_methods import gateway_methods
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.gateway.process._host_wiring import FULL
from greenroom.gateway.process._session_methods import SessionMethods
from greenroom.gateway.record._gateway_events import SessionMade
from greenroom.gateway.record._gateway_journal import open_gateway_journal
from greenroom.gateway.record._machines import SessionState
from greenroom.gateway.rpc._hub import EventHub
from greenroom.gateway.rpc._methods import RpcCall
from greenroom.gateway.rpc._params import ChatAbortParams, ChatSendParams, SessionsListParams
from greenroom.gateway.rpc._params_reader import read_params
from greenroom.gateway.rpc._rpc_frames import RpcError
from greenroom.gateway.rpc._scopes import Grant, RpcScope
from greenroom.models import Call, ModelRequest, PlaybookModel
from greenroom.testing import run_virtual, virtual_ports
from tests.gateway.process.day import last_text
from tests.gateway.process.places import counting, open_place, shown
from tests.gateway.process.town import Line, MemoryChannel, Town, living, speak, wait_quiet
from tests.gateway.rpc.examples import KINDS, right_params

MAIN: Final = "agent:main:main"


async def test_a_reset_spares_sub_agents_whose_results_come_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    """CL-17: a reset begins a new conversation under the same key, and touches nothing else."""
    script = [Line(1, "plain", "ann", "dig here"), Line(8, "plain", "ann", "/new")]
    town = open_place(tmp_path / "t", *script, play=counting("the summary", rounds=20))
    async with living(town) as gateway:
        await trio.sleep(5)
        former = gateway.parts.registry.sessions[MAIN].session_id
        await wait_quiet(gateway, town, until_s=300)

        row = gateway.parts.registry.sessions[MAIN]
        assert row.session_id != former
        assert sum("Result: the summary" in text for text in shown(town, "ann")) == 1
        assert "the summary" in str(town.conversation(row.session_id))
        assert "dig here" not in str(town.conversation(row.session_id))


@pytest.mark.promise("A18-g")
async def test_the_bill_of_a_sub_agent_is_in_its_own_figure_alone(tmp_path: Path, autojump_clock: MockClock) -> None:
    script = [Line(1, "plain", "ann", "dig here"), Line(100, "plain", "ann", "/status")]
    town = open_place(tmp_path / "t", *script, play=counting("the summary"))
    async with living(town) as gateway:
        await wait_quiet(gateway, town, until_s=110)
        rows = gateway.parts.registry.sessions
        own, child = rows[MAIN], next(row for row in rows.values() if row.spawned_by == MAIN)

    texts = [part.text for part in town.services["plain"].shown]
    (stats,) = [text for text in texts if "Stats: " in text]
    bills = [bill_of(town, row.session_id) for row in (own, child)]
    assert re.findall(r"^Tokens: (.*)$", texts[-1], re.MULTILINE) == [bills[0]]
    assert f"• tokens {bills[1]}, " in stats
    assert bills[0] != bills[1]


def bill_of(town: Town, session_id: str) -> str:
    """Return the tokens of the requests in the journal of a session."""
    (place,) = town.state.glob(f"agents/*/sessions/{session_id}/journal.jsonl")
    events = [json.loads(line) for line in place.read_text().splitlines()]
    spent = [event for event in events if event.get("ev") == "model.end"]
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    sent = sum(event.get(name, 0) for event in spent for name in names)
    return f"{count_text(sent)} in, {count_text(sum(event['output_tokens'] for event in spent))} out"


@pytest.mark.promise("A25-g")
async def test_an_abort_ends_one_message_or_one_turn(tmp_path: Path, autojump_clock: MockClock) -> None:
    town = open_place(tmp_path / "t", play=counting("the summary", rounds=30))
    async with living(town) as gateway:
        methods = SessionMethods(gateway.parts)

        async def say(text: str) -> str:
            said = ChatSendParams(session_key=MAIN, message=text, queue="followup", idempotency_key=text)
            return str((await methods.send_chat(called(text), said))["runId"])

        async def abort(run: str) -> tuple[Any, ...]:
            asked = ChatAbortParams(session_key=MAIN, run_id=run, idempotency_key=run)
            answer = await methods.abort_chat(called(run), asked)
            return answer["aborted"], answer["runIds"], answer["ended"]

        await say("dig here")
        await trio.sleep(8)
        runs = [await say(f"message {number}") for number in range(3)]
        await trio.sleep(0.5)
        assert [await abort(runs[1]), await abort(runs[0])] == [(True, [runs[1]], True), (True, [runs[0]], True)]
        await wait_quiet(gateway, town, until_s=100, limit_s=100)

        states = {event["run"]: event["state"] for event in town.events() if event.get("ev") == "run.ended"}
        assert [states[run] for run in runs] == ["killed", "killed", "completed"]
        child = next(run for run in gateway.parts.registry.runs.values() if run.label == "deep")
        assert child.state == "completed", "the sub-agent went on"


@pytest.mark.promise("A29-a")
async def test_an_account_with_too_much_to_send_takes_nothing_in(tmp_path: Path, autojump_clock: MockClock) -> None:
    script = [Line(at_s, "plain", f"person {at_s}", "hello") for at_s in (1, 2, 20)]
    town = open_place(tmp_path / "t", *script, play=lambda _: "done")
    config = town.folder / "gateway.json5"
    config.write_text(config.read_text().replace("  commands:", "  limits: {dueDeliveries: 2},\n  commands:"))
    async with living(town) as gateway:
        channel = gateway.parts.accounts.find("plain", "default")
        assert isinstance(channel, MemoryChannel)
        channel.is_open = trio.Event()
        await trio.sleep(60)
        gate = gateway.parts.accounts.intake_of("plain", "default")
        assert gate is not None
        assert gate.reasons == (FULL,)
        assert town.services["plain"].acknowledged == 2

        channel.is_open.set()
        await wait_quiet(gateway, town, until_s=60)
        assert not gate.reasons
        assert town.services["plain"].acknowledged == 3


def called(key: str, method: str = "chat.send") -> RpcCall:
    grant = Grant(account="token:t", id="t", scopes=frozenset(RpcScope), sessions=None)
    return RpcCall(method=method, grant=grant, connection="c", key=key)


# --- secrets ------------------------------------------------------------------------------------------------------------

PLANTED: Final = {
    name: "sk-" + f"ant-planted-{name.lower().replace('_', '-')}-0123456789"
    for name in (
        "MODEL_KEY",
        "CI_TOKEN",
        "CHANNEL_TOKEN",
        "PROFILE_KEY",
        "ANTHROPIC_API_KEY",
        "GREENROOM_GATEWAY_TOKEN",
    )
}
COMMANDS: Final = (
    *("/help", "/status", "/whoami", "/sessions", "/model", "/think", "/queue", "/pair", "/approve", "/compact"),
    *("/subagents", "/subagents info 1", "/subagents log 1 tools", "show your settings", "/new", "/stop"),
)


@pytest.mark.promise("A27-e")
async def test_no_secret_is_in_anything_that_is_written_or_sent(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Files, log, chats, requests of models, answers of all methods, events: a secret is read by the part that needs it alone."""
    environ = dict(os.environ) | {name: PLANTED[name] for name in ("MODEL_KEY", "GREENROOM_GATEWAY_TOKEN")}
    monkeypatch.setenv("ANTHROPIC_API_KEY", PLANTED["ANTHROPIC_API_KEY"])
    sent: list[str] = []
    publish = EventHub.publish

    def publish_and_note(*args: Any, **more: Any) -> None:
        sent.append(str(args))
        publish(*args, **more)

    monkeypatch.setattr(EventHub, "publish", publish_and_note)
    rules = counting("the summary")

    def play(request: ModelRequest) -> Any:
        sent.append(repr(request))
        return Call("Bash", {"command": "env"}) if "show your settings" in last_text(request) else rules(request)

    lines = [Line(20 + 2 * number, "plain", "ann", text) for number, text in enumerate(COMMANDS)]
    town = open_place(tmp_path / "t", Line(1, "plain", "ann", "dig here"), *lines, play=play)
    path = town.folder / "gateway.json5"
    for old, new in (
        ("dmPolicy", f"options: {{token: '{PLANTED['CHANNEL_TOKEN']}'}}, dmPolicy"),
        ("commands", "models: {providers: {anthropic: {apiKey: {env: 'MODEL_KEY'}}}}, commands"),
        ("{", f"{{gateway: {{auth: {{tokens: [{{name: 'ci', token: '{PLANTED['CI_TOKEN']}', scopes: ['read']}}]}}}},"),
        ("model: 'sonnet'", "permissionMode: 'bypassPermissions', model: 'sonnet'"),
    ):
        path.write_text(path.read_text().replace(old, new, 1))
    profile = town.state / "agents" / "main" / "agent" / "auth-profiles.json"
    profile.parent.mkdir(parents=True, mode=0o700)
    town.state.chmod(0o700)
    key = {"type": "api_key", "key": PLANTED["PROFILE_KEY"]}
    profile.write_text(json.dumps({"version": 1, "profiles": {"anthropic:main": key}}))
    profile.chmod(0o600)

    async with opened_with_environment(town, environ, sent.append) as gateway:
        await wait_quiet(gateway, town, until_s=200)
        sent += await answers_of_all_methods(gateway)
        await gateway.reload()
    monkeypatch.setenv("MODEL_KEY", PLANTED["MODEL_KEY"])
    assert main(["gateway", "check", "--config", str(path), "--effective"]) == 0
    sent += [*capfd.readouterr(), *shown(town, "ann")]

    assert len(sent) > 100
    written = {each for each in town.folder.rglob("*") if each.is_file()} - {path, profile, town.state / "token"}
    for name, secret in PLANTED.items():
        assert [text for text in sent if secret in text] == [], name
        assert [each for each in written if secret.encode() in each.read_bytes()] == [], name


@asynccontextmanager
async def opened_with_environment(
    town: Town, environ: dict[str, str], show: Callable[[str], object]
) -> AsyncIterator[Gateway]:
    """Open a gateway that takes its token and keys from variables, and tells each line of its log."""
    channels = {(name, "default"): MemoryChannel(service) for name, service in town.services.items()}
    options = GatewayOptions(
        ports=attrs.evolve(virtual_ports(1), disk=SystemDisk(is_durable=False)),
        open_model=lambda *_: PlaybookModel({"main": town.play}, wait_s=1.0),
        channels=channels,
        environ=environ,
        listens=False,
        looks_around=False,
        lock_journal=lambda _: nullcontext(),
        show=show,
    )
    reading = read_config(town.folder / "gateway.json5", environ)
    async with open_gateway(reading, town.state, options) as gateway, trio.open_nursery() as nursery:
        nursery.start_soon(speak, town, channels, 0.0)
        yield gateway
        nursery.cancel_scope.cancel()


async def answers_of_all_methods(gateway: Gateway) -> list[str]:
    """Call each method of the protocol, and return what it says, or its error."""
    run = next(iter(gateway.parts.registry.runs), "x")
    known = {"sessionKey": MAIN, "runId": run, "target": "1", "timeoutMs": 0, "channel": "plain", "to": "ann"}
    answers = []
    for method in gateway_methods(gateway.parts):
        kind = KINDS[method.spec.name]
        fields = {key_of(field.name) for field in attrs.fields(kind)}
        asked = right_params(kind) | {name: value for name, value in known.items() if name in fields}
        if method.spec.name in {"gateway.stop", "gateway.open"}:  # the one ends it, the other makes a code
            continue
        try:
            answers.append(json.dumps(await method.handler(called("k", method.spec.name), read_params(kind, asked))))
        except (RpcError, UsageError) as error:
            answers.append(str(error))
    return answers


# --- many -----------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("A22-f")
async def test_known_sessions_are_listed_and_none_is_opened(tmp_path: Path, autojump_clock: MockClock) -> None:
    """They are rows of the registry, which the start folds from the journal; no folder of a run is looked into."""
    town = open_place(tmp_path / "t", play=lambda _: "hi")
    town.state.mkdir(mode=0o700)
    ports = attrs.evolve(virtual_ports(3), disk=SystemDisk(is_durable=False))
    async with open_gateway_journal(town.state, ports=ports, lock=lambda _: nullcontext()) as record:
        for number in range(10_000):
            key = f"agent:main:plain:dm:p{number}"
            record.emit(SessionMade(at_s=1.0 + number, session=key, session_id=f"id-{number}"))
    async with living(town) as gateway:
        await trio.sleep(60)
        listed = await SessionMethods(gateway.parts).list_sessions(called("k"), SessionsListParams(limit=3))

        assert listed["count"] == 10_000
        assert [row["key"].rpartition("p")[2] for row in listed["sessions"]] == ["9999", "9998", "9997"]
        assert gateway.parts.keepers.open_count == 0
        assert {row.state for row in gateway.parts.registry.sessions.values()} == {SessionState.CLOSED}
        assert not (town.state / "agents").exists()


@pytest.mark.promise("A29-c")
def test_a_crowd_does_not_delay_another_chat(tmp_path: Path) -> None:
    """A peer that floods and a session that starts sub-agents without end have limits and places of their own."""
    calm = [Line(30 + 10 * number, "plain", "ann", f"hello {number}") for number in range(5)]
    crowd = [Line(20, "plain", "eve", f"flood {number}") for number in range(200)]
    crowd.append(Line(21, "plain", "max", "endless"))

    def play(request: ModelRequest) -> Any:
        text = last_text(request)
        is_greedy = "endless" in text or "A sub-agent" in text
        return Call("sessions_spawn", {"task": "more"}) if is_greedy else "hi"

    async def waits(town: Town) -> list[float]:
        told: list[float] = []
        async with living(town) as gateway:
            while trio.current_time() < 75:
                await trio.sleep(0.05)
                told += [trio.current_time()] * (len(shown(town, "ann")) - len(told))
            gateway.parts.keepers.cut_all("enough")
        return [at_s - line.at_s for at_s, line in zip(told, calm, strict=True)]

    alone = run_virtual(waits, open_place(tmp_path / "alone", *calm, play=play)).result
    beside = run_virtual(waits, open_place(tmp_path / "beside", *crowd, *calm, play=play)).result

    assert max(beside) <= 1.5 * max(alone)
