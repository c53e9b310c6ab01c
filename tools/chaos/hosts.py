"""Kill runs and hosts at the moments of a remote agent, lose the link between them, and compare with the expected table: `make chaos-hosts N=20`.

First the whole table of `tests.hosting.expected_ends` in virtual time. Then N rounds of real processes: `greenroom run` with an agent on
`greenroom host`; the run, the host or both are killed with -9 at a random time, started anew, and what they leave is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, final

import trio
import trio.testing

from greenroom.models import Call, WrittenAnswer
from greenroom.testing import MessagesServer, ReceivedRequest, StreamReply
from tests.cli.served import served
from tests.headless.agent_calls import said_first
from tests.hosting.expected_ends import EXPECTED, STOPS, Seen
from tests.hosting.lives import seen_of_fault, seen_of_stop
from tests.session.crashes import tasks_of, told_in

PROMPT: Final = "Work far away!"
STEPS: Final = 8
"""Number of calls that the agent makes."""
LIMIT_S: Final = 600.0


def compare_table() -> int:
    """Print the table of all faults at all moments; return the number of cells that are not as expected."""
    cells = [
        (f"{fault} | {moment}", expected, partial(seen_of_fault, fault=fault, moment=moment))
        for fault, row in EXPECTED.items()
        for moment, expected in row.items()
    ]
    cells += [
        (f"{fault} | stop on record", expected, partial(seen_of_stop, fault=fault)) for fault, expected in STOPS.items()
    ]
    return sum(_compare(*cell) for cell in cells)


def _compare(name: str, expected: Seen, look: Callable[[Path], Awaitable[Seen]]) -> bool:
    """Print a cell; return True if it is not as expected."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            seen: object = trio.run(look, Path(folder), clock=trio.testing.MockClock(autojump_threshold=0))
        except Exception as error:  # noqa: BLE001 - it is printed, and counts
            seen = repr(error)
    print(f"{'' if seen == expected else 'NOT AS EXPECTED '}{name} | {seen}")
    return seen != expected


# --- real processes -----------------------------------------------------------------------------------------------------


def answer(request: ReceivedRequest, chance: random.Random) -> StreamReply:
    """Answer after a while; what it says follows from the conversation alone."""
    gate, delay_s = trio.Event(), chance.uniform(0.0, 0.3)
    trio.lowlevel.spawn_system_task(_open_later, gate, delay_s)
    number = sum(message["role"] == "assistant" for message in request.body["messages"])
    if said_first(request) == PROMPT:
        calls = [Call("Glob", {"pattern": "*"}, id=f"toolu_far_{number}")]
        return StreamReply(answer=WrittenAnswer(calls) if number < STEPS else "I found it.", gate=gate)
    if number:
        return StreamReply(answer=f"Noted {number}.", gate=gate)
    wish = {"description": "Far away", "prompt": PROMPT, "subagent_type": "far", "isolation": "remote"}
    return StreamReply(answer=WrittenAnswer([Call("Agent", wish, id="toolu_start")]), gate=gate)


async def _open_later(gate: trio.Event, delay_s: float) -> None:
    await trio.sleep(delay_s)
    gate.set()


@final
class HostScene:
    """A run and a host, each a process, in a folder; a server is the model of both.

    Args:
        root: An empty folder with a short path.
        server: The model.
    """

    def __init__(self, root: Path, server: MessagesServer) -> None:
        self.root = root
        self._url = server.url
        (root / "project").mkdir()
        (root / "home").mkdir()
        self.host = self._start_host()

    def _start(self, *arguments: str) -> subprocess.Popen[str]:
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GREENROOM", "ANTHROPIC"))},
            "HOME": str(self.root / "home"),
            "GREENROOM_RUNS": str(self.root / "runs"),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": self._url,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "greenroom", *arguments],
            cwd=self.root / "project",
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _start_host(self) -> subprocess.Popen[str]:
        process = self._start(
            "host", "--listen", f"uds:{self.root}/far", "--name", "far", "--folder", str(self.root / "host")
        )
        assert process.stderr is not None
        line = process.stderr.readline()
        if "listens at" not in line:
            raise RuntimeError(f"the host did not start: {line}")
        return process

    def start_run(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a process of the run."""
        hosts = {"far": {"address": f"unix:{self.root}/far", "token_file": f"{self.root}/host/token"}}
        agents = {"far": {"description": "Works elsewhere.", "prompt": "You work."}}
        given = ("--settings", json.dumps({"remote": {"hosts": hosts}}), "--agents", json.dumps(agents))
        return self._start("run", *arguments, *given)

    def kill(self, process: subprocess.Popen[str]) -> None:
        """Kill a process, and wait for its end."""
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def restart_host(self) -> None:
        """Kill the host, and start it anew."""
        self.kill(self.host)
        self.host = self._start_host()

    def close(self) -> int:
        """Stop the host; return its exit code."""
        self.host.send_signal(signal.SIGTERM)
        self.host.communicate(timeout=LIMIT_S)
        return self.host.returncode


def play(root: Path, victim: str, after: int, server: MessagesServer) -> tuple[str, list[str]]:
    """Play a round, with a kill after a number of requests; return what the run has seen of its agent, and what is wrong."""
    scene = HostScene(root, server)
    run = scene.start_run("Go!")
    while len(server.requests) < after and run.poll() is None:
        time.sleep(0.005)
    time.sleep(random.uniform(0.0, 0.3))
    if victim in {"launcher", "both"} and run.poll() is None:
        scene.kill(run)
    if victim in {"host", "both"}:
        scene.restart_host()
    if run.returncode == -signal.SIGKILL and list(root.glob("runs/2*")):
        run = scene.start_run("--resume", "last")
    _, said = run.communicate(timeout=LIMIT_S)
    wrong = [] if (code := run.returncode) in {0, 2, -signal.SIGKILL} else [f"the run ended with {code}: {said[-500:]}"]
    time.sleep(0.2)
    if (stopped := scene.close()) != 0:
        wrong.append(f"the host ended with {stopped}")
    if left := [path.name for path in root.glob("host/agents/*/*.json")]:
        wrong.append(f"the host keeps {left}")
    folder = next(root.glob("runs/2*"), None)
    tasks = [] if folder is None else [view for view in tasks_of(folder).values() if view.type == "remote_agent"]
    for task in tasks:
        assert folder is not None
        notices = told_in(folder)[task.notice_id]
        here = folder / "tasks" / f"{task.task}.output"
        outputs = [path.read_bytes() for path in root.glob("host/runs/*/tasks/*.output")]
        if notices and (here.read_bytes() if here.exists() else b"") not in (outputs or [b""]):
            wrong.append("the output is not that of the host")
        if notices != 1 and (task.state, notices) != ("failed", 0):
            wrong.append(f"{notices} notices")
        if (task.state.value, task.cause) not in {("completed", ""), ("failed", "lost"), ("failed", "")}:
            wrong.append(f"ended {task.state} by {task.cause!r}: {task.error}")
    return ", ".join(f"{task.state} {task.cause}".strip() for task in tasks) or "no agent", wrong


def run_rounds(rounds: int, seed: int) -> int:
    """Run rounds of real processes, and print what came of them; return the number of those that are wrong."""
    chance, bad = random.Random(seed), 0
    seen: Counter[str] = Counter()
    for number in range(rounds):
        victim, after = chance.choice(["launcher", "host", "both"]), chance.randrange(1, STEPS + 4)
        with (
            tempfile.TemporaryDirectory(prefix="gr") as folder,
            served(partial(answer, chance=chance)) as server,
        ):
            what, wrong = play(Path(folder), victim, after, server)
            firsts = sum(
                said_first(request) == PROMPT and len(request.body["messages"]) == 1 for request in server.requests
            )
        if firsts > 1:
            wrong.append(f"the agent began {firsts} times")
        print(f"{number + 1}: {victim} after {after} requests: {what}; {len(server.requests)} requests", flush=True)
        for line in wrong:
            print(f"    WRONG: {line}")
        bad += bool(wrong)
        seen[f"{victim}: {what}"] += 1
    for key, count in sorted(seen.items()):
        print(f"{count:5} {key}")
    return bad


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the table, then the rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args(arguments)
    wrong = compare_table()
    print(f"table: {wrong} cells are not as expected; seed {options.seed}")
    bad = run_rounds(options.rounds, options.seed)
    print(f"{options.rounds} rounds, {bad} wrong")
    return 1 if wrong or bad else 0


if __name__ == "__main__":
    sys.exit(main())
