"""Kill `greenroom run` with -9 at random events, resume it with `--resume last`, and look at what it leaves: `make chaos-run N=20`.

A run starts three agents in the background and is killed twice: at an event of its own, and at one of the process that resumed it.
A third process ends it, and a fourth finds nothing to do. Each line tells one kill; what is wrong stands below it.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs
import trio

from greenroom.models import Call, WrittenAnswer
from greenroom.store._transcript_reader import read_transcript
from greenroom.testing import MessagesServer, ReceivedRequest, StreamReply
from greenroom.trace import JOURNAL
from tests.cli.place import Done, Process, end_of
from tests.cli.served import served
from tests.headless.agent_calls import said_first, spawn
from tests.session.crashes import tasks_of, told_in, turns_in_closing

START: Final = ("Go.", "--allowed-tools", "Bash")
RESUME: Final = ("--resume", "last", "--allowed-tools", "Bash")
ROUNDS: Final = {"look one": 2, "look two": 4, "look three": 6}
"""The prompts of the agents, and the number of calls that each makes."""
LIMIT_S: Final = 60.0
LEFT_S: Final = 10.0
Starter: TypeAlias = Callable[[Sequence[str], Mapping[str, str], Path], Process]


def start(arguments: Sequence[str], environ: Mapping[str, str], folder: Path) -> Process:
    """Start Python for a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "greenroom", *arguments],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# --- the model ----------------------------------------------------------------------------------------------------------


@final
@attrs.frozen
class SlowModel:
    """A model that takes time. What it answers follows from the conversation alone."""

    chance: random.Random
    longest_s: float = 0.3

    def __call__(self, request: ReceivedRequest) -> StreamReply:
        gate = trio.Event()
        trio.lowlevel.spawn_system_task(_open_later, gate, self.chance.uniform(0.0, self.longest_s))
        prompt = said_first(request)
        answer = _work(prompt, request) if prompt in ROUNDS else _lead(request)
        return StreamReply(answer=answer, gate=gate)


async def _open_later(gate: trio.Event, delay_s: float) -> None:
    await trio.sleep(delay_s)
    gate.set()


def _said(request: ReceivedRequest) -> int:
    return sum(message["role"] == "assistant" for message in request.body["messages"])


def _work(prompt: str, request: ReceivedRequest) -> WrittenAnswer | str:
    """Note each call in a file, so that one that is made twice is seen."""
    number = _said(request)
    if number >= ROUNDS[prompt]:
        return f"Done: {prompt}."
    command = f"echo '{prompt} {number}' >> calls; sleep 0.{number % 3}"
    return WrittenAnswer([Call("Bash", {"command": command}, id=f"toolu_{prompt[-3:]}_{number}")])


def _lead(request: ReceivedRequest) -> WrittenAnswer | str:
    """Start the agents, and resume those that were lost."""
    number = _said(request)
    if number == 0:
        starts = [spawn(prompt, call_id=f"toolu_{prompt[-3:]}", run_in_background=True) for prompt in ROUNDS]
        return WrittenAnswer([part for answer in starts for part in answer.parts])
    lost = re.findall(r"a message to (\w+) goes on with it", str(request.body["messages"][-1]))
    if lost:
        return WrittenAnswer(
            [
                Call("SendMessage", {"to": agent, "message": "Go on."}, id=f"toolu_{number}_{at}")
                for at, agent in enumerate(dict.fromkeys(lost))
            ]
        )
    return f"Noted {number}."


# --- one run ------------------------------------------------------------------------------------------------------------


@final
@attrs.frozen
class Kill:
    """A process that was killed."""

    event: int
    """The number of events after which it was to be killed."""
    events: int
    """The number of events that it left in the journal."""
    requests: int
    """The number of requests that it had made."""


@final
@attrs.define
class Scene:
    """A project, its run, and the model's server."""

    root: Path
    server: MessagesServer
    start: Starter
    lost_agents: str = "tell"
    wrong: list[str] = attrs.field(factory=list)

    @property
    def folder(self) -> Path:
        return self.root / "project"

    @property
    def run(self) -> Path | None:
        """The run folder; None before it is there."""
        return next((self.root / "runs").glob("2*"), None)

    @property
    def events(self) -> int:
        """The number of whole lines of the journal."""
        path = None if self.run is None else self.run / JOURNAL
        return path.read_bytes().count(b"\n") if path is not None and path.exists() else 0

    def begin(self, command: str, arguments: Sequence[str]) -> Process:
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GREENROOM", "ANTHROPIC"))},
            "HOME": str(self.root / "home"),
            "GREENROOM_RUNS": str(self.root / "runs"),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": self.server.url,
        }
        settings = f'{{"recovery": {{"lost_agents": "{self.lost_agents}"}}}}'
        more = ("--settings", settings) if command == "run" else ()
        return self.start((command, *arguments, *more), environ, self.folder)

    def finish(self, command: str, *arguments: str) -> tuple[Done, int]:
        """Run a command to its end, and return how it ended, and how many requests it made."""
        before = len(self.server.requests)
        process = self.begin(command, arguments)
        try:
            done = end_of(process)
        finally:
            process.kill()
        made = len(self.server.requests) - before
        if done.code == 2 and made:
            self.wrong.append(f"a command that ends with 2 made {made} requests")
        return done, made

    def kill_at(self, event: int, *arguments: str) -> Kill | Done:
        """Kill a command once the journal has so many events; if it ends before, return how."""
        before, process = len(self.server.requests), self.begin("run", arguments)
        began = time.monotonic()
        try:
            while self.events < event:
                if not is_running(process):
                    return end_of(process)
                if time.monotonic() - began > LIMIT_S:
                    raise TimeoutError(f"no event {event} within {LIMIT_S} s")
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            done = end_of(process)
        finally:
            process.kill()
        if done.code != -signal.SIGKILL:  # it was faster
            return done
        return Kill(event, self.events, len(self.server.requests) - before)


def is_running(process: Process) -> bool:
    """Return True if a process has not ended."""
    return (process.poll() if isinstance(process, subprocess.Popen) else process.returncode) is None


@final
@attrs.frozen
class Report:
    """What became of a run."""

    kills: tuple[Kill, ...]
    code: int
    """The exit code of the process that ended it."""
    answer: str
    wrong: tuple[str, ...]
    losses: int
    """The number of runs of agents that were lost."""


def kill_twice(scene: Scene, chance: random.Random, length: int) -> Report:
    """Kill a run and the process that resumes it, each at an event that is drawn; end the run, and report.

    Args:
        scene: Where it happens.
        chance: Draws the events.
        length: The number of events of a run that nobody kills.
    """
    first = scene.kill_at(chance.randint(1, length), *START)
    kills = [first] if isinstance(first, Kill) else []
    asked = len(scene.server.requests)
    second = scene.kill_at(scene.events + chance.randint(1, max(2, length // 2)), *RESUME)
    if isinstance(second, Kill):
        kills.append(second)
    elif second.code == 2 and asked and isinstance(first, Kill) and first.events < length // 2:
        scene.wrong.append(f"the resumption was refused: {second.err.strip()}")
    last, made = scene.finish("run", *RESUME)
    if last.code not in {0, 2}:
        scene.wrong.append(f"the last process ended with {last.code}: {last.err.strip()}")
    if scene.run is not None and (scene.run / "transcripts" / "main.jsonl").exists():
        scene.wrong += _look(scene, scene.run, last, made)
    scene.wrong += [f"process {pid} is left" for pid in left_in(scene.root)]
    losses = 0 if scene.run is None else sum(view.cause == "lost" for view in tasks_of(scene.run).values())
    said = last.out.strip() or last.err.strip()
    return Report(tuple(kills), last.code, said, tuple(scene.wrong), losses)


def _look(scene: Scene, run: Path, last: Done, made: int) -> Iterator[str]:
    """Yield what is wrong with a run that has come to its end."""
    views, told = tasks_of(run), told_in(run)
    for (task, number), view in views.items():
        following = views.get((task, number + 1))
        is_made_good = following is not None and following.recoveries > 0
        count = told.get(view.notice_id, 0)
        if view.is_background and count != (0 if is_made_good else 1):
            yield f"run {number} of {task} ({view.state}, {view.cause or 'by itself'}) was told {count} times"
    yield from (f"a turn began in a closing session: {line}" for line in turns_in_closing(run))
    texts = [
        block["text"]
        for line in read_transcript(run / "transcripts" / "main.jsonl")
        if line.get("type") == "assistant"
        for block in line["message"]["content"]
        if block["type"] == "text"
    ]
    if last.code == 0 and last.out.strip() != texts[-1]:
        yield f"it printed {last.out.strip()!r}, and not {texts[-1]!r}"
    if last.code == 0 and not made:
        yield "it ended well, and asked no model"
    calls = scene.folder / "calls"
    made_calls = Counter(calls.read_text().splitlines() if calls.exists() else [])
    yield from (f"the call {call!r} was made {count} times" for call, count in made_calls.items() if count > 1)
    again, _ = scene.finish("run", *RESUME)
    if again.code != 2:
        yield f"there was something left to do: {again.code}, {again.out!r}"
    checked, _ = scene.finish("replay", "--check")
    if checked.code:
        yield f"replay --check: {checked.out}{checked.err}"


def left_in(folder: Path) -> Sequence[int]:
    """Return the processes that work in a folder, once those that end had time for it."""
    began = time.monotonic()
    while (found := sorted(_working_in(folder))) and time.monotonic() - began < LEFT_S:
        time.sleep(0.05)
    return found


def _working_in(folder: Path) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.joinpath("cwd").readlink().is_relative_to(folder):
                yield int(path.name)
        except OSError:  # it has ended, or is somebody else's
            continue


def in_scene(root: Path, chance: random.Random, play: Callable[[Scene], Any], starter: Starter = start) -> Any:
    """Make a project with a model's server, and return what a play in it returns."""
    for name in ("project", "home"):
        (root / name).mkdir()
    lost_agents = chance.choice(["tell", "resume"])
    with served(SlowModel(random.Random(chance.random()))) as server:
        return play(Scene(root, server, starter, lost_agents))


def whole(scene: Scene) -> int:
    """Return how many events a run has that nobody kills."""
    done, _ = scene.finish("run", *START)
    assert done.code == 0, done
    return scene.events


def main() -> int:
    """Kill so many processes; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos.run", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=20, help="kills (20)")
    parser.add_argument("--seed", type=int, default=0, help="of the events of the kills (0)")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        length = in_scene(Path(name), chance, whole)
    print(f"a run that nobody kills has {length} events", flush=True)
    kills = runs = wrong = losses = 0
    while kills < options.count:
        with tempfile.TemporaryDirectory() as name:
            report = in_scene(Path(name), chance, functools.partial(kill_twice, chance=chance, length=length))
        runs, losses, wrong = runs + 1, losses + report.losses, wrong + bool(report.wrong)
        for kill in report.kills:
            kills += 1
            print(
                f"kill {kills}: run {runs}, at event {kill.event} of {kill.events}, {kill.requests} requests made; "
                f"ended with {report.code}: {report.answer}{'  WRONG' if report.wrong else ''}",
                flush=True,
            )
        for line in report.wrong:
            print(f"    {line}", flush=True)
    print(f"\n{kills} kills of {runs} runs, {losses} agents lost: {runs - wrong} runs right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
