"""Commands that ask the running gateway: each is one method of the protocol, and prints its answer.

The gateway is found through its state folder: the token is sent only while the process that wrote its address holds the lock there.
Exit codes are 0, 1 if the gateway refuses or none runs, 2 for a mistake in the command.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import trio

from greenroom.core import UsageError
from greenroom.gateway.config import find_config
from greenroom.gateway.process._printed import print_json, print_lines, print_rows, row_text
from greenroom.gateway.process._serve_command import state_of
from greenroom.gateway.process._state_folder import StateFolder, find_gateway, read_token
from greenroom.gateway.rpc._client import GatewayClient, open_client
from greenroom.gateway.rpc._rpc_frames import RpcError
from greenroom.serving import ConnectionEnded
from greenroom.terminal import complain

DONE: Final = 0
NOT_DONE: Final = 1
STOP_S: Final = 120.0
"""Seconds that `stop` waits for the end."""
WAIT_MS: Final = 600_000
_LOOK_S: Final = 0.1


def status_command(*, state: Path | None = None, json: bool = False) -> int:
    """Show the state of the running gateway.

    Parameters
    ----------
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    json
        Print the answer as one JSON object.
    """
    return _ask(state, _print_answer("status", {}, json=json))


def stop_command(*, reason: str = "", state: Path | None = None) -> int:
    """Stop the running gateway in order.

    Parameters
    ----------
    reason
        Why, for the record.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    """
    folder = _folder(state)

    async def stop(client: GatewayClient) -> int:
        with suppress(ConnectionEnded):  # it may be faster than its answer
            await client.change("gateway.stop", {"reason": reason})
        return DONE

    code = _ask(folder, stop)
    if code != DONE:
        return code
    return trio.run(_wait_gone, folder)


async def _wait_gone(folder: Path) -> int:
    with trio.move_on_after(STOP_S):
        while find_gateway(folder) is not None:  # noqa: ASYNC110 - another process
            await trio.sleep(_LOOK_S)
        return DONE
    return complain(f"the gateway has not ended after {STOP_S:g} s", code=NOT_DONE)


def open_command(*, admin: bool = False, state: Path | None = None) -> int:
    """Print an address for a browser.

    Parameters
    ----------
    admin
        The page may also pair people.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    """
    folder = _folder(state)

    async def show(client: GatewayClient) -> int:
        answer = await client.call("gateway.open", {"admin": True} if admin else {})
        address = find_gateway(folder)
        url = address.url if address is not None else ""
        print_lines(f"{url}/#code={quote(str(answer['code']))}")
        return DONE

    return _ask(folder, show)


def agent_command(
    *,
    message: str,
    agent: str | None = None,
    session: str | None = None,
    timeout_s: float = 0.0,
    state: Path | None = None,
    json: bool = False,
) -> int:
    """Give an agent one message, and print its reply.

    Parameters
    ----------
    message
        The question or task.
    agent
        The agent, whose main session is used; by default the default one.
    session
        Key of the session instead.
    timeout_s
        Working time in seconds after which the run is ended; 0 for none.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    json
        Print the answer as one JSON object.
    """
    asked = {"message": message, "agentId": agent, "sessionKey": session, "timeoutSeconds": timeout_s or None}

    async def work(client: GatewayClient) -> int:
        begun = await client.change("agent", {key: value for key, value in asked.items() if value is not None})
        ended: Mapping[str, Any] = {"status": "pending"}
        while ended["status"] == "pending":
            ended = await client.call("agent.wait", {"runId": begun["runId"], "timeoutMs": WAIT_MS})
        if json:
            print_json(ended)
        elif ended["status"] == "ok":
            print_lines(ended.get("reply", ""))
        else:
            complain(f"the run ended with {ended['status']}: {ended.get('error') or 'no reason given'}", code=NOT_DONE)
        return DONE if ended["status"] == "ok" else NOT_DONE

    return _ask(state, work)


def sessions_command(
    action: str = "list", key: str = "", *, limit: int = 20, state: Path | None = None, json: bool = False
) -> int:
    """List sessions; show, reset or delete one.

    Parameters
    ----------
    action
        `list`, `history`, `reset` or `delete`.
    key
        Key of the session, for all but `list`.
    limit
        Sessions or messages at most.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    json
        Print the answer as one JSON object.
    """
    one = {"sessionKey": key}
    calls = {
        "list": _print_rows("sessions.list", {"limit": limit}, "sessions", json=json),
        "history": _print_rows("chat.history", {**one, "limit": limit}, "messages", json=json),
        "reset": _print_change("sessions.reset", one, json=json),
        "delete": _print_change("sessions.delete", one, json=json),
    }
    return _ask(state, _chosen(calls, action, needs=None if action == "list" else ("KEY", key)))


def deliveries_command(
    action: str = "list", delivery: str = "", *, state: Path | None = None, json: bool = False
) -> int:
    """List messages that wait to be sent; retry or dismiss a blocked one.

    Parameters
    ----------
    action
        `list`, `retry` or `dismiss`.
    delivery
        Id of the delivery, for all but `list`.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    json
        Print the answer as one JSON object.
    """
    calls = {
        "list": _print_rows("deliveries.list", {}, "deliveries", json=json),
        "retry": _print_change("deliveries.retry", {"deliveryId": delivery}, json=json),
        "dismiss": _print_change("deliveries.dismiss", {"deliveryId": delivery}, json=json),
    }
    return _ask(state, _chosen(calls, action, needs=None if action == "list" else ("DELIVERY", delivery)))


def pairing_command(
    action: str = "list",
    channel: str = "",
    code: str = "",
    *,
    account: str = "default",
    state: Path | None = None,
    json: bool = False,
) -> int:
    """List the people who are paired or asked to be; approve, reject or remove one.

    Parameters
    ----------
    action
        `list`, `approve`, `reject` or `remove`.
    channel
        The channel, such as irc.
    code
        The code that the person was sent; for `remove` the person's id.
    account
        The account of the channel.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    json
        Print the answer as one JSON object.
    """
    where = {"channel": channel, "accountId": account}
    calls = {
        "list": _print_rows("pairing.list", {}, "pairings", json=json),
        "approve": _print_change("pairing.approve", {**where, "code": code}, json=json),
        "reject": _print_change("pairing.reject", {**where, "code": code}, json=json),
        "remove": _print_change("pairing.remove", {**where, "sender": code}, json=json),
    }
    return _ask(state, _chosen(calls, action, needs=None if action == "list" else ("CODE", code)))


def approvals_command(
    action: str = "list",
    question: str = "",
    *,
    state: Path | None = None,
    json: bool = False,
) -> int:
    """List tool calls that wait for an answer, and answer one.

    Parameters
    ----------
    action
        `list`, `once`, `always` or `deny`.
    question
        Id of the question, for all but `list`.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    json
        Print the answer as one JSON object.
    """
    calls = {
        "list": _print_rows("approvals.list", {}, "approvals", json=json),
        **{
            word: _print_change("approvals.resolve", {"approvalId": question, "decision": word}, json=json)
            for word in ("once", "always", "deny")
        },
    }
    return _ask(state, _chosen(calls, action, needs=None if action == "list" else ("QUESTION", question)))


def cron_command(action: str = "list", job: str = "", *, state: Path | None = None, json: bool = False) -> int:
    """List the jobs of the clock; add, remove or run one.

    Parameters
    ----------
    action
        `list`, `add`, `update`, `remove`, `run` or `runs`.
    job
        Id of the job; for `add` and `update` the job as JSON5, with the keys of the configuration.
    state
        The state folder of the gateway; by default that of the configuration, or ~/.greenroom/gateway.
    json
        Print the answer as one JSON object.
    """
    one = {"jobId": job}
    whole = {"job": _read_job(job)} if action in {"add", "update"} and job else {}
    calls = {
        "list": _print_rows("cron.list", {}, "jobs", json=json),
        "add": _print_change("cron.add", whole, json=json),
        "update": _print_change("cron.update", whole, json=json),
        "remove": _print_change("cron.remove", one, json=json),
        "run": _print_change("cron.run", one, json=json),
        "runs": _print_rows("cron.runs", one, "runs", json=json),
    }
    return _ask(state, _chosen(calls, action, needs=None if action == "list" else ("JOB", job)))


def _read_job(text: str) -> Any:
    import json5

    try:
        return json5.loads(text)
    except ValueError as error:
        raise UsageError(f"JOB must be a job as JSON5: {error}") from None


# --- asking -----------------------------------------------------------------------------------------------------------

_Work = Callable[[GatewayClient], Awaitable[int]]


def _folder(state: Path | None) -> Path:
    return state if state is not None else state_of(find_config(None, os.environ))


def _ask(state: Path | None, work: _Work) -> int:
    """Connect to the gateway of a state folder, and do something with it."""
    return trio.run(_asked, _folder(state), work)


async def _asked(state: Path, work: _Work) -> int:
    address = find_gateway(state)
    if address is None:
        return complain(f"no gateway runs on {str(state)!r}; start one with `greenroom gateway`", code=NOT_DONE)
    token = read_token(StateFolder(state), os.environ)
    try:
        async with open_client(address.url, token, is_there=lambda: find_gateway(state) == address) as client:
            return await work(client)
    except* (RpcError, ConnectionEnded) as errors:
        (error, *_) = _flat(errors)
        return_code = complain(str(error), code=NOT_DONE)
    return return_code


def _flat(errors: BaseExceptionGroup[Any]) -> list[BaseException]:
    return [
        each
        for error in errors.exceptions
        for each in (_flat(error) if isinstance(error, BaseExceptionGroup) else [error])
    ]


def _chosen(calls: Mapping[str, _Work], action: str, *, needs: tuple[str, str] | None) -> _Work:
    if action not in calls:
        raise UsageError(f"unknown action {action!r}; expected one of: {', '.join(calls)}")
    if needs is not None and not needs[1]:
        raise UsageError(f"{action} needs {needs[0]}")
    return calls[action]


def _print_answer(method: str, params: Mapping[str, Any], *, json: bool) -> _Work:
    async def work(client: GatewayClient) -> int:
        _show(await client.call(method, params), json=json)
        return DONE

    return work


def _print_change(method: str, params: Mapping[str, Any], *, json: bool) -> _Work:
    async def work(client: GatewayClient) -> int:
        _show(await client.change(method, params), json=json)
        return DONE

    return work


def _print_rows(method: str, params: Mapping[str, Any], rows: str, *, json: bool) -> _Work:
    async def work(client: GatewayClient) -> int:
        answer = await client.call(method, params)
        if json:
            print_json(answer)
        else:
            print_rows(answer[rows], nothing=f"no {rows}")
        return DONE

    return work


def _show(answer: Mapping[str, Any], *, json: bool) -> None:
    if json:
        print_json(answer)
        return
    for name, value in answer.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            print_rows(value, nothing="")
        elif value not in ([], {}, ""):
            print_lines(row_text({name: value}))
