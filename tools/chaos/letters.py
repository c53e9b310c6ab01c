"""Kill a session with -9 after it was written to and woken, and look for each text in the resumed run: `make chaos-letters N=20`.

Each line tells one kill: how long after the acknowledgement it came, and how often each text stands in the transcript.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

import trio

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.models import PlaybookModel
from greenroom.session import open_session
from greenroom.store._transcript_reader import read_transcript

ROOT: Final = Path(__file__).resolve().parents[2]
TEXTS: Final = {
    "send": "and then this",
    "push": "pushed from outside",
    "server": "the build is red",
    "letter": "written to you",
    "fire": "woken by the clock",
}


async def kill_once(folder: Path, wait_s: float) -> dict[str, int]:
    """Kill a session that was written to, go on with its run twice, and count each text in its transcript."""
    runs, model = folder / "runs", PlaybookModel({"main": lambda _: "Read."})
    command = [sys.executable, "-m", "tests.session.letter_child", str(folder), str(runs), "fire", "channel"]
    child = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert child.stdout is not None
        said = ""
        while "ready" not in said:
            said += (await child.stdout.receive_some()).decode()
        run = said.split()[0]
        async with open_session(model=model, cwd=folder, runs=runs, tools=AGENT_TOOLS) as session:
            await session.agents.post.send(f"session:{run}", TEXTS["letter"], sender=session.main.id)
        await trio.sleep(wait_s)
    finally:
        child.send_signal(signal.SIGKILL)
        await child.wait()  # noqa: ASYNC102 - it was killed
    for _ in range(2):
        async with open_session(model=model, cwd=folder, runs=runs, resume=runs / run) as again:
            await again.wait_quiet()
    lines = [line for line in read_transcript(runs / run / "transcripts/main.jsonl") if line.get("type") == "user"]
    return {name: sum(text in str(line.get("message")) for line in lines) for name, text in TEXTS.items()}


def main() -> int:
    """Kill so many sessions; 1 if a text was lost or read twice."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos.letters", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=20, help="kills (20)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills (0)")
    options = parser.parse_args()
    chance, right = random.Random(options.seed), Counter[str]()
    for number in range(options.count):
        wait_s = chance.choice([0.0, chance.uniform(0.0, 1.5)])
        with tempfile.TemporaryDirectory() as folder:
            found = trio.run(kill_once, Path(folder), wait_s)
        is_right = all(count == 1 for count in found.values())
        right.update(name for name, count in found.items() if count == 1)
        counts = ", ".join(f"{name} {count}" for name, count in found.items())
        print(
            f"kill {number + 1}: {wait_s:.3f} s after the letter: {counts}{'' if is_right else '  WRONG'}", flush=True
        )
    print("\nread once: " + ", ".join(f"{name} {right[name]} of {options.count}" for name in TEXTS))
    return 0 if all(right[name] == options.count for name in TEXTS) else 1


if __name__ == "__main__":
    sys.exit(main())
