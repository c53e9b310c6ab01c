"""Reading a journal of a million events: its end from behind, its index, its fold, and jumps; CPU seconds and peak memory.

    python -m benchmarks.reading [EVENTS]

Each figure is taken in a process of its own, because memory is never given back.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from greenroom.actors import ActorBegan, ActorCreated, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined, ModelBegan, ModelEnded, ToolBegan, ToolEnded
from greenroom.core import Event, field_values
from greenroom.gateway.record import EVENTS
from greenroom.mailbox import MessageAcked, MessageLeased, MessagePut
from greenroom.session import FOLDS, SessionBegan
from greenroom.trace import Codec, Header, World
from greenroom.trace._journal_end import read_end
from greenroom.trace._moments import Moments
from greenroom.trace._run_index import RunIndex

COUNT = 1_000_000
ACTORS = 1_000
JUMPS = 200
LIMITS = {
    "end_s": 1.0,
    "index_s": 2.5,
    "index_mb": 60.0,
    "range_ms": 5.0,
    "fold_s": 18.0,
    "fold_peak_mb": 350.0,
    "jump_p95_ms": 150.0,
    "step_back_p95_ms": 150.0,
}
MEGABYTE = 1e6


def events_of_a_crowd(count: int, actors: int = ACTORS) -> Iterator[Event]:
    """Yield what agents leave that work side by side: turns of a message, two rounds and a call each."""
    yield SessionBegan(session="bench", model="m", cwd=".")
    names = [f"a{number:016x}" for number in range(actors)]
    seq = 1
    for number, name in enumerate(names):
        about: dict[str, Any] = {"actor": name, "inc": 1}
        path = f"session/background/agent-{number}"
        yield ActorCreated(**about, path=path, behavior="Agent", supervisor="", descent="", journal="full")
        yield ActorBegan(**about, parent=seq + 1)
        yield AgentDefined(**about, definition="d", model="m", transcript=f"agent-{name}.jsonl")
        seq += 3
    turns = dict.fromkeys(names, 0)
    choose = random.Random(1).choice
    while seq < count:
        for event in _turn(name := choose(names), turns[name] + 1, seq):
            yield event
            seq += 1
        turns[name] += 1


def _turn(actor: str, turn: int, seq: int) -> Iterator[Event]:
    about: dict[str, Any] = {"actor": actor, "inc": 1}
    yield MessagePut(**about, parent=seq, msg=turn, lane="next", type="Note")
    yield MessageLeased(**about, parent=seq + 1, msg=turn, lane="next")
    yield TurnBegan(**about, parent=seq + 2, turn=turn, msg=turn)
    in_turn = {**about, "parent": seq + 3, "turn": turn}
    tokens: dict[str, Any] = {"input_tokens": 1200, "output_tokens": 40, "stop_reason": "tool_use"}
    cached: dict[str, Any] = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 900}
    yield ModelBegan(**in_turn, round=1, messages=2)
    yield ModelEnded(**in_turn, round=1, state="completed", error="", **tokens, **cached)
    yield ToolBegan(**in_turn, round=1, call=f"c{seq}", tool="Read", summary="a file")
    yield ToolEnded(**in_turn, round=1, call=f"c{seq}", tool="Read", state="completed", error="", output_chars=4000)
    yield ModelBegan(**in_turn, round=2, messages=4)
    yield ModelEnded(**in_turn, round=2, state="completed", error="", **tokens, **cached)
    flags: dict[str, Any] = {"late_cancel": False, "during_kill": False, "cleanup_cut": False}
    error = "ValueError: bad" if turn % 500 == 0 else ""
    state = "failed" if error else "completed"
    yield TurnEnded(**in_turn, msg=turn, state=state, by="", cause=None, error=error, **flags)
    yield MessageAcked(**about, parent=seq + 10, msg=turn, lane="next")


def write_journal(path: Path, count: int) -> None:
    """Write a journal with that many events, or some more."""
    codec = Codec(EVENTS)
    with path.open("wb") as file:
        file.write(codec.encode_header(Header(run="bench", greenroom="0", python="3", trio="0")))
        for seq, event in enumerate(events_of_a_crowd(count), start=1):
            file.write(codec.encode((seq, seq * 1e-4, type(event), *field_values(event)), 0.0))


def measure_end(path: Path) -> dict[str, float]:
    began = time.perf_counter()
    assert read_end(path, EVENTS).entries
    return {"end_s": time.perf_counter() - began}


def measure_index(path: Path) -> dict[str, float]:
    index, cpu_s = _indexed(path)
    places = [int(len(index) * share / 20) for share in range(19)]
    ranges = sorted(_milliseconds(lambda place=place: index.entries(place, place + 200)) for place in places)  # type: ignore[misc]
    return {"index_s": cpu_s, "index_mb": index.bytes_used / MEGABYTE, "range_ms": ranges[len(ranges) // 2]}


def measure_fold(path: Path) -> dict[str, float]:
    index, _ = _indexed(path)
    moments = Moments(index.entries, World(FOLDS))
    began = time.process_time()
    while moments.fold_on(len(index)):
        pass
    figures = {"fold_s": time.process_time() - began, "fold_peak_mb": _peak_mb()}
    choose = random.Random(2)
    jumps = sorted(_milliseconds(lambda: moments.at(choose.randrange(len(index)))) for _ in range(JUMPS))
    last = choose.randrange(JUMPS, len(index))
    moments.at(last)
    steps = sorted(_milliseconds(lambda step=step: moments.at(last - step)) for step in range(1, JUMPS))  # type: ignore[misc]
    return {**figures, "jump_p95_ms": jumps[JUMPS * 95 // 100], "step_back_p95_ms": steps[len(steps) * 95 // 100]}


def _indexed(path: Path) -> tuple[RunIndex, float]:
    began = time.process_time()
    index = RunIndex(path, EVENTS)
    while index.grow():
        pass
    return index, time.process_time() - began


def _milliseconds(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1000


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


MEASURES = {"end": measure_end, "index": measure_index, "fold": measure_fold}


def main(count: int = COUNT) -> None:
    """Print a line for each figure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        write_journal(path, count)
        print(f"a journal of {count:,} events, {path.stat().st_size / MEGABYTE:.0f} MB")
        for name in MEASURES:
            command = [sys.executable, "-m", "benchmarks.reading", "--measure", name, str(path)]
            told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for figure, value in json.loads(told).items():
                limit = LIMITS[figure]
                verdict = "met" if value <= limit else "MISSED"
                print(json.dumps({"figure": figure, "value": round(value, 3), "limit": limit, "verdict": verdict}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(MEASURES[sys.argv[2]](Path(sys.argv[3]))))
    else:
        main(*map(int, sys.argv[1:2]))
