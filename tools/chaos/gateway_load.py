"""Kill a gateway process with -9 again and again while people talk to it, and account for every message: `make chaos-gateway MINUTES=10`.

A real `greenroom gateway` on a loopback model, with twenty clients that send a message, repeat it with its key until it is accepted, and
wait for the reply over all restarts; each fifth message starts a sub-agent. Each line tells one kill. In the end no message may be lost
or answered twice, and each result has been told to its requester once.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core import PeerError, UsageError
from greenroom.gateway.process._state_folder import StateFolder, find_gateway, read_token
from greenroom.gateway.record._gateway_events import EVENTS
from greenroom.gateway.record._gateway_journal import fold_what_is_legal
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.rpc._client import open_client
from greenroom.gateway.rpc._rpc_frames import ErrorCode, RpcError
from greenroom.gateway.runs._completions import transcript_place
from greenroom.models import Call, WrittenAnswer
from greenroom.store import read_transcript
from greenroom.testing import ReceivedRequest, StreamReply, open_messages_server
from greenroom.trace import JOURNAL, read_journal
from tests.cli.forked import Forked, run_forked
from tests.gateway.process.town import texts_of

PEERS: Final = 20
SPAWNS_EACH: Final = 5
"""Each message with such a number starts a sub-agent."""
REST_S: Final = 120.0
"""Longest time for what is left when the kills are over."""
NOTE: Final = "A sub-agent that you started has ended"
LOST: Final = "unknown"
"""The outcome of a run that three kills have cut: it is not tried again, and its person is told."""


@attrs.define
class Peer:
    """Somebody who talks to the gateway."""

    name: str
    said: list[str] = attrs.field(factory=list)
    """Messages that were accepted."""
    answered: Counter[str] = attrs.field(factory=Counter)
    """Outcomes of their runs."""
    wrong: list[str] = attrs.field(factory=list)

    @property
    def session(self) -> str:
        return f"agent:main:web:dm:{self.name}"


@final
@attrs.define
class Load:
    """The people, the gateway, and the kills."""

    folder: Path
    environ: dict[str, str]
    chance: random.Random
    peers: list[Peer] = attrs.field(factory=lambda: [Peer(f"p{number}") for number in range(PEERS)])
    process: Forked | None = None
    is_over: bool = False
    ready_s: list[float] = attrs.field(factory=list)
    """Seconds from each start until the gateway was ready."""

    @property
    def state(self) -> Path:
        return self.folder / "state"

    # --- the process --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the gateway; it may be killed before it is ready."""
        arguments = ("gateway", "--config", str(self.folder / "gateway.json5"), "--state", str(self.state))
        self.process = Forked(*arguments, cwd=self.folder, environ=self.environ)

    async def kill_again_and_again(self, seconds: float, kills: int) -> None:
        """Kill the gateway for so long, or so often."""
        began, number = trio.current_time(), 0
        while number < kills if kills else trio.current_time() - began < seconds:
            number += 1
            started = time.monotonic()
            self.start()
            pause_s = self.chance.uniform(0.2, 2.0)
            if self.chance.random() < 0.8:
                await self._wait_ready(started)
            await trio.sleep(pause_s)
            await self._end()
            said = sum(len(peer.said) for peer in self.peers)
            answered = sum(peer.answered.total() for peer in self.peers)
            print(f"kill {number} after {pause_s:.2f} s: {said} messages accepted, {answered} answered", flush=True)
        self.start()
        await self._wait_ready(time.monotonic())

    async def _wait_ready(self, started: float) -> None:
        with trio.fail_after(60):
            while find_gateway(self.state) is None:  # noqa: ASYNC110 - another process
                await trio.sleep(0.02)
        self.ready_s.append(time.monotonic() - started)

    async def _end(self) -> None:
        assert self.process is not None
        self.process.kill()
        await trio.to_thread.run_sync(self.process.communicate)

    # --- the people ---------------------------------------------------------------------------------------------------

    async def talk(self, peer: Peer) -> None:
        """Send one message after the other, and wait for each reply, until the kills are over."""
        number = 0
        while not self.is_over:
            number += 1
            text = f"{peer.name} message {number}{' spawn' if number % SPAWNS_EACH == 0 else ''}"
            accepted = await self._insist("chat.send", {"sessionKey": peer.session, "message": text}, key=text)
            peer.said.append(text)
            ended: dict[str, Any] = {"status": "pending"}
            while ended["status"] == "pending":
                ended = await self._insist("agent.wait", {"runId": accepted["runId"], "timeoutMs": 20_000})
            peer.answered[ended["status"]] += 1
            if ended["status"] == "ok" and ended.get("reply") != f"reply to: {text}":
                peer.wrong.append(f"{text}: {ended}")
            await trio.sleep(self.chance.uniform(0.0, 0.3))

    async def _insist(self, method: str, values: dict[str, Any], key: str = "") -> Any:
        """Call until there is an answer."""
        while True:
            address = find_gateway(self.state)
            try:
                if address is not None:
                    token = read_token(StateFolder(self.state), self.environ)
                    async with open_client(address.url, token) as client:
                        return await (client.change(method, values, key=key) if key else client.call(method, values))
            except RpcError as error:
                if error.code not in {ErrorCode.BUSY, ErrorCode.UNAVAILABLE}:
                    raise
            except (UsageError, PeerError, OSError, trio.BrokenResourceError):
                pass
            await trio.sleep(self.chance.uniform(0.02, 0.2))

    # --- the account --------------------------------------------------------------------------------------------------

    def registry(self) -> Registry:
        """Return what is on record."""
        registry = Registry()
        fold_what_is_legal(registry, (entry.event for entry in read_journal(self.state / JOURNAL, EVENTS).entries))
        return registry

    def errors(self) -> list[str]:
        """Return the lines of the gateway's log that tell of a mistake of its own."""
        lines = [line for path in sorted(self.state.glob("log/*")) for line in path.read_text().splitlines()]
        return [line for line in lines if '"level":"error"' in line]

    async def wait_quiet(self) -> None:
        """Wait until nothing is left to do."""
        with trio.move_on_after(REST_S):
            while self._open(self.registry()):  # noqa: ASYNC110 - another process
                await trio.sleep(0.5)

    @staticmethod
    def _open(registry: Registry) -> list[str]:
        found = [run.id for run in registry.runs.values() if not run.is_ended]
        found += [row.id for row in registry.deliveries() if not row.is_settled]
        return [*found, *registry.inbound]

    def faults(self) -> Iterator[str]:
        """Yield what is wrong, a line for each."""
        registry = self.registry()
        yield from (f"left open: {name}" for name in self._open(registry))
        told = Counter[str]()
        for peer in self.peers:
            yield from peer.wrong
            row = registry.sessions[peer.session]
            lines = list(read_transcript(transcript_place(self.state, peer.session, row.session_id)))
            texts = [
                (line["type"], text)
                for line in lines
                if line.get("type") in {"user", "assistant"}
                for text in texts_of(line["message"])
            ]
            read = Counter(text for role, text in texts if role == "user")
            said = Counter(text for role, text in texts if role == "assistant")
            lost = peer.answered[LOST]
            missing = [text for text in peer.said if not said[f"reply to: {text}"]]
            if len(missing) > lost:
                yield f"{peer.name}: {len(missing)} without a reply, {lost} told to be lost: {missing[:5]}"
            yield from (
                f"read {read[text]} times: {text}" for text in peer.said if read[text] != 1 and text not in missing
            )
            yield from (
                f"said {number} times: {text}"
                for text, number in said.items()
                if text.startswith("reply") and number > 1
            )
            told.update(re.findall(rf'{NOTE}.*?"(child [^"]+)"', "\n".join(read.elements()), re.DOTALL))
        children = [run.label for run in registry.runs.values() if run.label.startswith("child")]
        yield from (f"told {told[label]} times: {label}" for label in children if told[label] != 1)


def play(request: ReceivedRequest) -> WrittenAnswer | str | list[Call]:
    """Answer by rules that depend on the conversation alone."""
    messages = request.body["messages"]
    after = max((at for at, each in enumerate(messages) if each["role"] == "assistant"), default=-1)
    blocks = [block for each in messages[after + 1 :] for block in _blocks(each["content"])]
    text = "\n".join(block.get("text", "") for block in blocks)
    if after >= 0 and any(block["type"] == "tool_result" for block in blocks):
        text = (
            "\n".join(
                block.get("text", "")
                for each in messages
                for block in _blocks(each["content"])
                if each["role"] == "user"
            )
            + text
        )
    found = re.findall(r"(?<!of )(?<!for )p\d+ message \d+(?: spawn)?", text)  # neither labels nor tasks of sub-agents
    if found and found[-1].endswith("spawn") and not any(block["type"] == "tool_result" for block in blocks):
        return [Call("sessions_spawn", {"task": f"work for {found[-1]}", "label": f"child of {found[-1]}"})]
    if "work for" in text or "Your run has ended" in text:
        return "it is done"
    return f"reply to: {found[-1]}" if found else "NO_REPLY"


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


async def main_series(folder: Path, seconds: float, kills: int, chance: random.Random) -> int:
    """Run the series, and return the exit code."""

    def answer(request: ReceivedRequest) -> StreamReply:
        gate = trio.Event()
        trio.lowlevel.spawn_system_task(_open_later, gate, chance.uniform(0.0, 0.2))
        return StreamReply(answer=play(request), gate=gate)

    (folder / "gateway.json5").write_text(
        "{gateway: {port: 0, drainSeconds: 5}, agents: {defaults: {model: 'sonnet', workspace: 'workspace'}}}"
    )
    async with open_messages_server(answer) as server:
        environ = {**os.environ, "HOME": str(folder), "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": server.url}
        load = Load(folder, environ, chance)
        try:
            async with trio.open_nursery() as nursery:
                for peer in load.peers:
                    nursery.start_soon(load.talk, peer)
                await load.kill_again_and_again(seconds, kills)
                load.is_over = True
        finally:
            for line in load.errors():
                print(f"    the gateway's log: {line}")
        await load.wait_quiet()
        assert load.process is not None
        load.process.send_signal(15)
        await trio.to_thread.run_sync(load.process.communicate)
        checked = run_forked("replay", str(load.state), "--check", environ=environ)
    faults = list(load.faults())
    faults += [f"replay --check: {checked.stdout}{checked.stderr}"] if checked.returncode else []
    for line in faults:
        print(f"    {line}")
    outcomes = sum((peer.answered for peer in load.peers), Counter[str]())
    ready = sorted(load.ready_s)
    print(
        f"{sum(len(peer.said) for peer in load.peers)} messages, {dict(outcomes)}, ready after {ready[len(ready) // 2]:.2f} s "
        f"(at most {ready[-1]:.2f} s): {'nothing lost, nothing twice' if not faults else f'{len(faults)} faults'}"
    )
    return 1 if faults else 0


async def _open_later(gate: trio.Event, after_s: float) -> None:
    await trio.sleep(after_s)
    gate.set()


def main() -> int:
    """Run the series, and return 1 if a message was lost or answered twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--kills", type=int, default=0, help="number of kills, in place of a time")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-gateway-", ignore_cleanup_errors=True) as name:
        return trio.run(main_series, Path(name), asked.minutes * 60, asked.kills, random.Random(asked.seed))


if __name__ == "__main__":
    sys.exit(main())
