"""GG9 and GG10: how soon a gateway is ready with many sessions, and what a configuration costs."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path

import attrs
import json5
import orjson
import trio

from benchmarks.gateway.place import new_folder, opened, replying, report_at_most
from benchmarks.measure import Target, cpu_seconds, print_table, report, report_ratio
from greenroom.core.ports import SystemDisk
from greenroom.gateway.config._reader import read_config
from greenroom.gateway.record._gateway_events import SessionMade, SessionPatched
from greenroom.gateway.record._gateway_journal import open_gateway_journal
from greenroom.testing import virtual_ports
from greenroom.trace import JOURNAL

ROUNDS = 3
CONFIG_BYTES = 6_000
READY, PARSED = "open_gateway until it is ready", "orjson.loads of each line of its journal"
READ, LOADS = "all that reading adds to json5.loads", "json5.loads"


async def write_history(state: Path, sessions: int, size_bytes: int) -> None:
    """Write a journal with that many sessions, and patches of them up to a size."""
    ports = attrs.evolve(virtual_ports(1), disk=SystemDisk(is_durable=False))
    state.mkdir(mode=0o700)  # noqa: ASYNC240 - nothing else runs
    async with open_gateway_journal(state, ports=ports, lock=lambda _: nullcontext()) as record:
        written = 0
        for number in range(sessions):
            key = f"agent:main:memory:dm:p{number}"
            record.emit(SessionMade(at_s=float(number), session=key, session_id=f"{number:036d}"))
            written += 220
            if number % 500 == 0:
                await record.write(SessionPatched(at_s=float(number), session=key, settings={}))
        number = 0
        while written < size_bytes:
            number += 1
            key = f"agent:main:memory:dm:p{number % sessions}"
            record.emit(SessionPatched(at_s=1e6 + number, session=key, settings={"model": "x" * 200}))
            written += 400
            if number % 500 == 0:
                await record.write(SessionPatched(at_s=1e6 + number, session=key, settings={}))


async def ready_s(folder: Path) -> float:
    began = time.perf_counter()
    async with opened(folder, replying("hi")):
        return time.perf_counter() - began


def parse_lines(path: Path) -> float:
    began = time.perf_counter()
    for line in path.read_bytes().splitlines():
        orjson.loads(line)
    return time.perf_counter() - began


def ready() -> None:
    for sessions, size_bytes, limit_s in ((1_000, 0, 1), (10_000, 15_000_000, 3)):
        samples: dict[str, list[float]] = {READY: [], PARSED: []}
        for _ in range(ROUNDS):
            with new_folder() as folder:
                trio.run(write_history, folder / "state", sessions, size_bytes)
                samples[PARSED].append(parse_lines(folder / "state" / JOURNAL))
                samples[READY].append(trio.run(ready_s, folder))
        print_table(f"GG9: a start with {sessions:,} sessions, wall", samples, unit="s")
        report_ratio(
            Target(bench=f"GG9 ready with {sessions:,} over parsing", numerator=READY, denominator=PARSED), samples
        )
        report_at_most(f"GG9 ready with {sessions:,} sessions", "s", samples[READY], limit_s)


def big_config(size_bytes: int) -> str:
    agents: list[str] = []
    while len(text := "{agents: {list: [" + ",\n".join(agents) + "]}}") < size_bytes:
        number = len(agents)
        default = ", default: true" if not number else ""
        agents.append(
            f"{{id: 'agent-{number}', name: 'Agent {number}', workspace: 'w{number}', tools: {{deny: ['exec']}}{default}}}"
        )
    return text


def configuration() -> None:
    with new_folder() as folder:
        path = folder / "gateway.json5"
        text = big_config(CONFIG_BYTES)
        path.write_text(text, encoding="utf-8")
        assert read_config(path, {}).config is not None
        whole = [cpu_seconds(lambda: read_config(path, {})) for _ in range(5)]
        loads = [cpu_seconds(lambda: json5.loads(text, allow_duplicate_keys=False)) for _ in range(5)]
    samples = {READ: [all_ - alone for all_, alone in zip(whole, loads, strict=True)], LOADS: loads}
    print_table(f"GG10: a configuration of {len(text):,} bytes, CPU", samples, unit="ms", scale=1e3)
    target = Target(
        bench="GG10 reading beside json5.loads", numerator=READ, denominator=LOADS, limit=0.5, at_least=False
    )
    report(target, [ours / alone for ours, alone in zip(samples[READ], loads, strict=True)])


GROUPS = {"ready": ready, "config": configuration}
