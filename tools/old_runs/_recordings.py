"""The runs that the older checkout records: calm ones, with chaos, killed, interrupted and resumed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

SOURCES: Final = {
    "README.md": "# Parcels\n\nCounts parcels. See [the plan](plan.md).\n",
    "own.toml": 'rules = "survey"\nstrategy = "one_for_all"\n[[roles]]\nname = "reader"\ncount = 3\n',
    "parcels/__init__.py": "",
    "parcels/count.py": "import time\n\n\ndef count(found=[], at=time.time()):\n    found.append(at)\n    return len(found)\n",
    "parcels/label.py": "def label(x):\n    if x is 'big':\n        return 'B'\n    try:\n        return x[0]\n    except:\n        return ''\n",
    "parcels/ship.py": "import os\n\n\ndef ship(name):\n    os.system('ship ' + name)  # TODO: check the name\n    return eval(name)\n",
    "tests/test_count.py": "from parcels.count import count\n\n\ndef test_count():\n    assert (count(), 'is wrong')\n",
}
"""The project that they work on."""

LATENCY: Final = ("--latency", "0.03")
"""So that there is time to kill a swarm."""


@attrs.frozen(kw_only=True)
class Step:
    """One command; the last run is the one that a later step resumes."""

    args: tuple[str, ...]
    limits: Mapping[str, int] = attrs.field(factory=dict)
    """`kill_at` or `interrupt_at`, in lines of the journal."""


@attrs.frozen
class Recording:
    """One run folder, by the commands that make it."""

    name: str
    steps: Sequence[Step]

    @property
    def command(self) -> str:
        """The command that made it, which is the one that resumes it."""
        return self.steps[0].args[0]


def _run(*more: str, **limits: int) -> Step:
    return Step(args=("run", "--model", "playbook", *more), limits=limits)


def _swarm(*more: str, **limits: int) -> Step:
    return Step(args=("swarm", ".", "--model", "playbook", *more), limits=limits)


def _again(*more: str, **limits: int) -> Step:
    return Step(args=("swarm", "--model", "playbook", "--resume", "last", *more), limits=limits)


RECORDINGS: Final = (
    Recording("run", (_run("Where are parcels counted?"),)),
    Recording("run, model recorded", (_run("--record", "Where is the label?"),)),
    Recording("run, stream-json", (_run("--output-format", "stream-json", "Where is ship?"),)),
    Recording("run, resumed", (_run("Where is ship?"), _run("--resume", "last", "Where is label?"))),
    Recording(
        "run, resumed twice",
        (_run("Where is ship?"), _run("--resume", "last", "Where is label?"), _run("--resume", "last", "And count?")),
    ),
    Recording("run, killed early", (_run("Where is ship?", kill_at=5),)),
    Recording("run, killed late", (_run("Where is the label?", kill_at=16),)),
    Recording(
        "run, killed and resumed", (_run("Where is ship?", kill_at=18), _run("--resume", "last", "Where is label?"))
    ),
    Recording("swarm", (_swarm("--agents", "2"),)),
    Recording("swarm of one", (_swarm("--agents", "1"),)),
    Recording("swarm with a task", (_swarm("--agents", "2", "--task", "Where are parcels shipped?"),)),
    Recording("swarm, own recipe", (_swarm("--recipe", "own.toml", "--chaos", "--seed", "2"),)),
    Recording("swarm, chaos 1", (_swarm("--chaos", "--seed", "1"),)),
    Recording("swarm, chaos 4", (_swarm("--chaos", "--seed", "4", "--agents", "2"),)),
    Recording("swarm, chaos 7, killed", (_swarm("--chaos", "--seed", "7", *LATENCY, kill_at=150),)),
    Recording("swarm, killed early", (_swarm("--agents", "2", *LATENCY, kill_at=40),)),
    Recording("swarm, killed late", (_swarm("--agents", "2", *LATENCY, kill_at=200),)),
    Recording("swarm, killed and resumed", (_swarm("--agents", "2", *LATENCY, kill_at=180), _again())),
    Recording(
        "swarm, killed, resumed, killed",
        (_swarm("--agents", "2", *LATENCY, kill_at=90), _again(*LATENCY, kill_at=60)),
    ),
    Recording("swarm, interrupted", (_swarm("--agents", "2", *LATENCY, interrupt_at=120),)),
)


def write_project(folder: Path) -> None:
    """Write the project that the runs work on."""
    for name, text in SOURCES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def resume_of(recording: Recording, run: Path) -> Sequence[str]:
    """Return the arguments that resume a run."""
    if recording.command == "run":
        return ("run", "--model", "playbook", "--resume", str(run), "Where are the tests?")
    return ("swarm", "--model", "playbook", "--resume", str(run))


def request(step_args: Sequence[str], *, folder: Path, runs: Path, **limits: int) -> dict[str, Any]:
    """Return a request for the driver."""
    return {"args": list(step_args), "cwd": str(folder), "runs": str(runs), **limits}
