"""Record runs with an older checkout and read them with this one: python -m tools.old_runs OLD_CHECKOUT

Twenty run folders are recorded with the older code: `run` and `swarm`, calm, with chaos, killed half way (`kill -9`), interrupted,
resumed. Each must replay with the current code, get the same verdict from `greenroom replay --check`, and resume with the same exit
code as a copy that the older code resumes; afterwards it must still be sound. No network is needed. Exit code 1 if one differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from tools.old_runs._recordings import RECORDINGS, Recording, request, resume_of, write_project

ROOT: Final = Path(__file__).resolve().parents[2]
DRIVER: Final = Path(__file__).with_name("_driver.py")
BROKEN: Final = re.compile(r"\bI-\d+\b")


@attrs.frozen
class Checkout:
    """A process that runs commands with the code of one checkout."""

    process: subprocess.Popen[str]

    @classmethod
    def open(cls, checkout: Path, home: Path) -> Checkout:
        """Start the process."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GREENROOM", "ANTHROPIC", "CLAUDE"))
        }
        # Bytecode goes elsewhere, so that the older checkout stays as it is.
        bytecode = str(Path(tempfile.gettempdir()) / "greenroom-bytecode")
        environment = {
            **kept,
            "PYTHONPATH": str(checkout),
            "GREENROOM_HOME": str(home),
            "PYTHONPYCACHEPREFIX": bytecode,
        }
        command = [sys.executable, "-P", str(DRIVER)]
        return cls(
            subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        )

    def run(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Run one command and return its exit code and output."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(wanted), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@attrs.frozen(kw_only=True)
class Place:
    """Where runs are recorded and resumed."""

    old: Checkout
    new: Checkout
    folder: Path

    def examine(self, number: int, recording: Recording) -> Iterator[str]:
        """Record one run and yield what is wrong with it."""
        project, runs, copies = (self.folder / f"{number:02}" / name for name in ("project", "runs", "copies"))
        write_project(project)
        runs.mkdir(parents=True)
        codes = [
            self.old.run(request(step.args, folder=project, runs=runs, **step.limits))["code"]
            for step in recording.steps
        ]
        run = max(runs.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        lines = (run / "journal.jsonl").read_bytes().count(b"\n")
        copies.mkdir()
        copy = Path(shutil.copytree(run, copies / run.name))

        def both(args: Sequence[str], last: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
            before = self.old.run(request(args, folder=project, runs=copies))
            return before, self.new.run(request(last, folder=project, runs=runs))

        shown = self.new.run(request(("replay", str(run)), folder=project, runs=runs))
        checked = both(("replay", "--check", str(copy)), ("replay", "--check", str(run)))
        resumed = both(resume_of(recording, copy), resume_of(recording, run))
        sound = both(("replay", "--check", str(copy)), ("replay", "--check", str(run)))
        print(
            f"{recording.name:32} recorded {codes}, {lines} lines; check {_codes(checked)}, "
            f"resume {_codes(resumed)}, check again {_codes(sound)}",
            flush=True,
        )
        if shown["code"] or "Traceback" in shown["err"]:
            yield f"it does not replay: {shown['err'] or shown['out']}"
        for title, (before, after) in (("check", checked), ("resume", resumed), ("check after it", sound)):
            differs = before["code"] != after["code"] or (title != "resume" and _broken(before) != _broken(after))
            if differs or "Traceback" in after["err"]:
                yield f"{title}: {before['code']} before, {after['code']} now\n{before['err'] or before['out']}\n---\n{after['err'] or after['out']}"


def _codes(pair: tuple[dict[str, Any], dict[str, Any]]) -> str:
    before, after = pair
    return f"{before['code']} before and {after['code']} now"


def _broken(answer: Mapping[str, Any]) -> set[str]:
    """Return the invariants that a check names."""
    return set(BROKEN.findall(answer["out"] + answer["err"])) if answer["code"] else set()


def main() -> int:
    """Record and examine all runs and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.old_runs", description=__doc__)
    parser.add_argument("old", type=Path, help="the older checkout; it needs no environment of its own")
    parser.add_argument("--keep", type=Path, help="where to leave the run folders; by default they are deleted")
    parser.add_argument("--only", default="", help="part of the names of the runs to record")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        home = folder / "home"
        home.mkdir(parents=True)
        place = Place(old=Checkout.open(given.old.resolve(), home), new=Checkout.open(ROOT, home), folder=folder)
        chosen = [(number, each) for number, each in enumerate(RECORDINGS) if given.only in each.name]
        wrong = [(each.name, why) for number, each in chosen for why in place.examine(number, each)]
    for name, why in wrong:
        print(f"{name}: {why}")
    print(f"{len(chosen)} runs, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
