"""CPU time of one schedule of the team of docs/how-to/test-your-team.md, here and, with `--beside CHECKOUT`, in another checkout.

The two take turns, each in a process of its own, so that a busy machine is busy for both; the ratio is of a round, and its
median over the rounds is what counts. `python -m benchmarks.schedules --beside ../before`
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Final

ROUNDS: Final = 5
SCHEDULES: Final = 60
HERE: Final = Path(__file__).resolve().parents[1]
PROGRAM: Final = """
import sys, tempfile, time
from pathlib import Path

import greenroom as gr
from greenroom.models import Call
from greenroom.testing import explore

SUBJECTS = ("one", "two", "three")

def lead(request):
    if len(request.messages) == 1:
        return [Call("TaskCreate", {"subject": subject, "description": "Look."}) for subject in SUBJECTS]
    return "Thank you."

def mate(request):
    text = request.messages[-1].text
    if text.startswith("Task #"):
        return Call("TaskUpdate", {"taskId": text.split()[1].strip("#"), "status": "completed"})
    return "Done."

async def scenario(sim):
    model = gr.PlaybookModel({"lead": lead, "mate": mate})
    folder = Path(tempfile.mkdtemp(dir=base))
    main = gr.AgentDefinition(name="lead")
    async with gr.open_session(model=model, cwd=folder, runs=folder, main=main, ports=sim.ports) as session:
        sim.follow(session.runtime.recorder)
        async with session.open_team("team") as team:
            for name in ("ann", "bob"):
                await team.spawn(name, definition=gr.AgentDefinition(name="mate"))
            await session.run("Look at everything.")
            await session.wait_quiet()
            assert [item.status for item in team.board.items()] == ["completed"] * 3

with tempfile.TemporaryDirectory() as base:
    explore(scenario, schedules=5, strategy="random")
    began, began_wall = time.process_time(), time.perf_counter()
    explore(scenario, schedules=int(sys.argv[1]), strategy="random")
    print(time.process_time() - began, time.perf_counter() - began_wall)
"""


def measured(checkout: Path, schedules: int) -> tuple[float, float]:
    """Return the CPU time and the wall time of one schedule in a checkout, in milliseconds."""
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python if python.exists() else sys.executable), "-c", PROGRAM, str(schedules)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    cpu_s, wall_s = map(float, done.stdout.split())
    return cpu_s / schedules * 1_000, wall_s / schedules * 1_000


def main() -> None:
    """Measure, and print a line for each round and the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedules", description=__doc__)
    parser.add_argument("--beside", type=Path, help="another checkout, set up with `make setup-dev`")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    places = [HERE, *([options.beside.resolve()] if options.beside else [])]
    rounds = []
    for number in range(options.rounds):
        rounds.append([measured(place, SCHEDULES) for place in places])
        print(f"round {number + 1}: " + ", ".join(f"{cpu:.1f} ms CPU, {wall:.1f} ms wall" for cpu, wall in rounds[-1]))
    for index, place in enumerate(places):
        cpu, wall = (statistics.median(one[index][kind] for one in rounds) for kind in (0, 1))
        print(f"{place.name}: {cpu:.1f} ms CPU, {wall:.1f} ms wall for one schedule")
    if options.beside:
        print(f"CPU, here / beside: {statistics.median(one[0][0] / one[1][0] for one in rounds):.2f}")


if __name__ == "__main__":
    main()
