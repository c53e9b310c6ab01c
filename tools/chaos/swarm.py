"""Kill a swarm at random events, resume it, and compare its report with that of an uninterrupted one: `make chaos-swarm N=20`.

Two series, N kills each: by SIGKILL, and by SIGINT and SIGTERM in turn. A third of the kills come while the last findings are on
their way to the lead. Each line tells one kill: the event, the requests of both processes beside those of an uninterrupted run, and
what was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import attrs

from tests.swarm.planted import make_planted_repo
from tests.swarm.small_repo import make_small_repo
from tools.chaos.swarm_child import COMPLETED

ROOT: Final = Path(__file__).resolve().parents[2]
LATENCY_S: Final = 0.2
LIMIT_S: Final = 60
AVERAGE: Final = 3.0
WORST: Final = 6
"""Requests more than without a kill: one for each turn that may be cut, of four teammates and the lead, and its look at the board."""
LAST: Final = 3
"""The completions that the last findings belong to."""
MARK: Final = "GREENROOM_CHAOS"
"""The variable by which processes that were left behind are found."""
LINE_OF_LOSS: Final = ("no findings reached the lead", "no mate reported on it")


@attrs.frozen(kw_only=True)
class Ran:
    """One process that has ended."""

    code: int
    requests: int
    event: str
    """The event at which it was signalled, with its number; empty if it was not."""
    seconds: float
    summary: Mapping[str, Any]
    """The last line of the command; empty if it could not say it."""
    errors: str


@attrs.frozen(kw_only=True)
class Place:
    """Where a swarm runs."""

    repo: Path
    runs: Path

    def run(self, *arguments: str, trap: str = "none") -> Ran:
        """Run `greenroom swarm` to its end and check that no process is left behind."""
        log = self.runs.parent / f"{uuid.uuid4().hex}.log"
        mark = uuid.uuid4().hex
        command = [sys.executable, "-m", "tools.chaos.swarm_child", str(log), trap, *arguments]
        environ = {**os.environ, MARK: mark, "GREENROOM_RUNS": str(self.runs), "HOME": str(self.runs.parent)}
        more = ["--json", "--model", "playbook", "--latency", str(LATENCY_S)]
        began = time.monotonic()
        process = subprocess.Popen(
            [*command, *more], cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            out, errors = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
            errors += f"it had not ended after {LIMIT_S} s"
        seconds = time.monotonic() - began
        left = _left_behind(mark)
        if left:
            errors += f"processes were left behind: {left}"
        said = log.read_text("utf-8").splitlines() if log.exists() else []
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{") and line.endswith("}")]
        return Ran(
            code=process.returncode,
            requests=said.count("request"),
            event=next((line.removeprefix("event ") for line in said if line != "request"), ""),
            seconds=seconds,
            summary=lines[-1] if lines and lines[-1].get("ev") == "swarm.end" else {},
            errors=errors.strip(),
        )


def _left_behind(mark: str, wait_s: float = 3.0) -> list[int]:
    """Return the ids of the processes with a mark that do not end within that time."""
    wanted, until = f"{MARK}={mark}".encode(), time.monotonic() + wait_s
    while True:
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if wanted in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
            except OSError:
                continue
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


@attrs.frozen(kw_only=True)
class Uninterrupted:
    """What runs that nobody stops come to."""

    report: str
    requests: float
    events: int
    late: tuple[int, ...]
    """Number of events from each of the last completions to the end of the lead's last turn."""
    items: int


def look_at_uninterrupted(make: Place, count: int) -> Uninterrupted:
    """Run a swarm a few times; the report must be the same each time."""
    reports, requests = set(), []
    events: list[dict[str, Any]] = []
    for number in range(count):
        place = attrs.evolve(make, runs=make.runs / f"whole-{number}")
        ran = place.run(str(place.repo))
        assert (ran.code, ran.errors) == (0, ""), ran
        (folder,) = place.runs.glob("2*")
        reports.add((folder / "report.md").read_text("utf-8"))
        requests.append(ran.requests)
        events = events_of(folder)
    (report,) = reports
    done = [event["seq"] for event in events if event.get("ev") == COMPLETED]
    end = max(event["seq"] for event in events if event.get("ev") == "turn.end")
    return Uninterrupted(
        report=report,
        requests=statistics.mean(requests),
        events=events[-1]["seq"],
        late=tuple(end - seq for seq in done[-LAST:]),
        items=len(done),
    )


def events_of(folder: Path) -> list[dict[str, Any]]:
    """Return the whole lines of a journal."""
    lines = (folder / "journal.jsonl").read_text("utf-8").splitlines()[1:]
    return [json.loads(line) for line in lines if line.endswith("}")]


# --- one kill ---------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Killed:
    """One kill and what the resumed run came to."""

    event: str
    wait_s: float
    requests: tuple[int, int]
    problems: tuple[str, ...]


def draw_trap(chance: random.Random, whole: Uninterrupted, name: str, *, is_late: bool) -> tuple[str, float]:
    """Return a trap, and its wait: half of the signals come at the event itself, half a little later."""
    wait_s = chance.choice([0.0, round(chance.uniform(0.0, LATENCY_S), 3)])
    completed, events = 0, chance.randint(1, whole.events)
    if is_late:
        last = chance.randrange(LAST)
        completed, events = whole.items - LAST + 1 + last, chance.randint(1, whole.late[last])
    return f"{name}:{wait_s}:{completed}:{events}", wait_s


def kill_once(place: Place, whole: Uninterrupted, trap: str, wait_s: float) -> Killed:
    """Run a swarm into a trap, resume it, and compare."""
    first = place.run(str(place.repo), trap=trap)
    is_kill = trap.startswith("SIGKILL")
    problems = []
    if not first.event:
        return Killed(event="none", wait_s=wait_s, requests=(first.requests, 0), problems=())
    codes = {-signal.SIGKILL} if is_kill else {128 + signal.Signals[trap.partition(":")[0]]}
    if first.code not in codes and first.code != 0:  # a signal that comes after the end finds it done
        problems.append(f"the first process ended with {first.code}: {first.errors[-300:]}")
    elif first.errors and not is_kill:
        problems.append(f"the first process said {first.errors[-300:]}")
    second = place.run("--resume", "last")
    if (second.code, second.errors) != (0, ""):
        problems.append(f"the second process ended with {second.code}: {second.errors[-300:]}")
    folders = sorted(place.runs.glob("2*"))
    problems += compare(folders, whole, second.summary)
    return Killed(
        event=first.event, wait_s=wait_s, requests=(first.requests, second.requests), problems=tuple(problems)
    )


def compare(folders: Sequence[Path], whole: Uninterrupted, summary: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a resumed run."""
    folder = folders[-1]
    problems = []
    report = (folder / "report.md").read_text("utf-8") if (folder / "report.md").exists() else ""
    missing = [line for line in whole.report.splitlines() if line not in report.splitlines()]
    more = [line for line in report.splitlines() if line not in whole.report.splitlines()]
    if missing or more:
        problems.append(f"the report lacks {len(missing)} lines and has {len(more)} others: {(missing + more)[:4]}")
    problems += [f"the report says {line!r}" for line in report.splitlines() if any(x in line for x in LINE_OF_LOSS)]
    if (summary.get("state"), summary.get("completed"), summary.get("items")) != ("done", whole.items, whole.items):
        problems.append(f"the summary says {summary}")
    ends = [event for event in events_of(folder) if event.get("ev") == "model.end"]
    told = summary.get("input_tokens"), summary.get("output_tokens")
    used = tuple(sum(_tokens(event, kind) for event in ends) for kind in ("input", "output"))
    if told != used:
        problems.append(f"tokens were told as {told}, and were {used}")
    command = [sys.executable, "-m", "greenroom", "replay", str(folder), "--check"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if checked.returncode:
        problems.append(f"replay --check: {(checked.stdout + checked.stderr)[-300:]}")
    return problems


def _tokens(event: Mapping[str, Any], kind: str) -> int:
    usage = event.get("usage") or event
    return sum(int(value) for name, value in usage.items() if name.endswith(f"{kind}_tokens"))


# --- the series -------------------------------------------------------------------------------------------------------


def run_series(names: Sequence[str], count: int, chance: random.Random, whole: Uninterrupted, place: Place) -> bool:
    """Kill a swarm so many times, two at once; return True if nothing was wrong."""
    drawn = [
        (number, *draw_trap(chance, whole, names[number % len(names)], is_late=number % 3 == 2))
        for number in range(count)
    ]

    def kill(each: tuple[int, str, float]) -> Killed:
        number, trap, wait_s = each
        return kill_once(attrs.evolve(place, runs=place.runs / f"{'-'.join(names)}-{number}"), whole, trap, wait_s)

    more: list[float] = []
    right = 0
    with ThreadPoolExecutor(2) as pool:
        for (number, trap, wait_s), killed in zip(drawn, pool.map(kill, drawn), strict=True):
            more.append(sum(killed.requests) - whole.requests)
            wrong = [*killed.problems, *([f"more than {WORST} more"] if more[-1] > WORST else [])]
            right += not wrong
            name, _, completed, _ = trap.split(":")
            late = ", while the last findings are on their way" if completed != "0" else ""
            first, second = killed.requests
            print(
                f"{name} {number + 1}: event {killed.event}{late}, {wait_s * 1000:.0f} ms after it: {first} + {second} "
                f"requests, {more[-1]:+.0f}: {'; '.join(wrong) or 'right'}   [{trap}]",
                flush=True,
            )
    average = statistics.mean(more)
    print(
        f"{' and '.join(names)}: {right} of {count} right; {average:.1f} requests more on average (at most {AVERAGE:g}), "
        f"{max(more):.1f} at worst (at most {WORST})\n",
        flush=True,
    )
    return right == count and average <= AVERAGE


def main() -> int:
    """Run both series; 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos.swarm", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=20, help="kills of each series (20)")
    parser.add_argument("--seed", type=int, default=0, help="of the events at which it is killed (0)")
    parser.add_argument("--series", choices=["kill", "signals", "both"], default="both", help="which series (both)")
    parser.add_argument("--repo", choices=["small", "planted"], default="small", help="the folder to survey (small)")
    parser.add_argument("--trap", default="", help="a single trap, as a line shows it at its end")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repo = folder / options.repo
        (make_small_repo if options.repo == "small" else make_planted_repo)(repo)
        place = Place(repo=repo, runs=folder / "runs")
        place.runs.mkdir()
        whole = look_at_uninterrupted(place, 3)
        print(f"uninterrupted: {whole.requests:.1f} requests, {whole.events} events, {whole.items} items\n", flush=True)
        if options.trap:
            killed = kill_once(attrs.evolve(place, runs=folder / "one"), whole, options.trap, 0)
            print(killed)
            return bool(killed.problems)
        chance = random.Random(options.seed)
        series = {"kill": ["SIGKILL"], "signals": ["SIGINT", "SIGTERM"]}
        wanted = series if options.series == "both" else {options.series: series[options.series]}
        results = [run_series(names, options.count, chance, whole, place) for names in wanted.values()]
        return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
