"""Each method with a field that is missing, unknown, or of another type."""

from __future__ import annotations

import pytest

from greenroom.core import UsageError
from greenroom.gateway.rpc._answered_calls import digest_of
from greenroom.gateway.rpc._methods import METHODS, OWN_METHODS, Reach, bind
from greenroom.gateway.rpc._params import ChangeParams
from greenroom.gateway.rpc._params_reader import read_params
from greenroom.gateway.rpc._rpc_frames import RpcError
from greenroom.gateway.rpc._scopes import RpcScope
from tests.gateway.rpc.examples import KINDS, WITH_CONNECT, right_params, spoilt
from tests.gateway.rpc.peers import Recorded, open_house

CASES = [(name, path, params) for name, kind in WITH_CONNECT.items() for path, params in spoilt(kind)]
NAMES = {
    *("health", "status", "channels.status", "agents.list", "agent", "agent.wait", "chat.send", "chat.abort"),
    *("chat.history", "sessions.history", "sessions.list", "sessions.resolve", "sessions.send", "sessions.spawn"),
    *("sessions.patch", "sessions.reset", "sessions.delete", "subagents.list", "subagents.info", "subagents.log"),
    *("subagents.send", "subagents.stop", "deliveries.list", "deliveries.retry", "deliveries.dismiss", "send"),
    *("approvals.list", "approvals.resolve", "pairing.list", "pairing.approve", "pairing.reject", "pairing.remove"),
    *("cron.list", "cron.add", "cron.update", "cron.remove", "cron.run", "cron.runs", "config.get", "config.check"),
    *("config.reload", "gateway.stop", "events.subscribe", "events.unsubscribe", "gateway.open"),
}
LOOKS = {"list", "info", "log", "runs", "wait", "history", "resolve", "get", "check", "health", "status"}


@pytest.mark.promise("A25-b")
@pytest.mark.parametrize(("name", "path", "params"), CASES, ids=[f"{name}-{path}" for name, path, _ in CASES])
def test_wrong_field_is_refused_with_its_path(name: str, path: str, params: dict[str, object]) -> None:
    with pytest.raises(RpcError) as caught:
        read_params(WITH_CONNECT[name], params)

    assert caught.value.code == "bad_request"
    assert caught.value.path == path or caught.value.path.startswith((f"{path}.", f"{path}["))
    assert caught.value.to_json()["details"]["path"] == caught.value.path


@pytest.mark.parametrize("name", WITH_CONNECT)
def test_required_fields_alone_are_enough(name: str) -> None:
    read_params(WITH_CONNECT[name], right_params(WITH_CONNECT[name]))


@pytest.mark.parametrize("key", ["", "k" * 129, "a\nb", "\x00"])
def test_key_of_a_change_has_1_to_128_characters(key: str) -> None:
    params = right_params(KINDS["sessions.reset"])
    with pytest.raises(RpcError) as caught:
        read_params(KINDS["sessions.reset"], params | {"idempotencyKey": key})
    assert caught.value.path == "idempotencyKey"
    read_params(KINDS["sessions.reset"], params | {"idempotencyKey": "k" * 128})


def test_table_has_each_method_once() -> None:
    names = [spec.name for spec in (*METHODS, *OWN_METHODS)]

    assert sorted(names) == sorted(NAMES)


def test_every_method_that_does_more_than_look_needs_a_key() -> None:
    for spec in METHODS:
        is_look = spec.name.rpartition(".")[2] in LOOKS and spec.name != "approvals.resolve"
        assert issubclass(spec.params, ChangeParams) is not is_look, spec.name
        assert spec.is_changing is not is_look, spec.name
        assert (spec.scope is RpcScope.READ) is is_look or spec.scope is RpcScope.ADMIN, spec.name


def test_method_about_a_session_has_a_key_of_one() -> None:
    for spec in (*METHODS, *OWN_METHODS):
        if spec.reach is Reach.SESSION:
            assert "sessionKey" in {path for path, _ in spoilt(spec.params)}, spec.name


def test_table_and_handlers_have_to_fit() -> None:
    handlers = Recorded().handlers()

    with pytest.raises(UsageError, match=r"chat\.send"):
        bind({name: handler for name, handler in handlers.items() if name != "chat.send"})
    with pytest.raises(UsageError, match=r"chat\.sing"):
        bind(handlers | {"chat.sing": handlers["health"]})


async def test_each_method_reaches_its_handler(autojump_clock: object) -> None:
    async with open_house() as house, house.connected() as peer:
        for spec in METHODS:
            answer = await peer.call(
                spec.name, right_params(spec.params) | ({"idempotencyKey": spec.name} if spec.is_changing else {})
            )
            assert answer["ok"], answer
            assert answer["payload"]["method"] == spec.name

    assert [type(params) for _, params in house.recorded.calls] == [spec.params for spec in METHODS]


def test_digest_is_of_the_method_and_the_parameters_in_any_order() -> None:
    change = {"message": "hello", "sessionKey": "main", "idempotencyKey": "k"}
    digest = digest_of("agent", change)

    assert digest_of("agent", dict(reversed(change.items()))) == digest
    assert digest_of("agent", change | {"idempotencyKey": "other"}) == digest
    assert digest_of("agent", change | {"deliver": True}) != digest
    assert digest_of("chat.send", change) != digest
