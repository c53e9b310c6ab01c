"""Ctrl+C and SIGTERM while a command leaves: the work is done, so its last line and its exit code come all the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.forked import run_forked
from tests.swarm.small_repo import make_small_repo

WORK: Final = "the work"
LEAVING: Final = (
    "the receiver closes",
    "it has closed",
    "the loop has ended",
    "the last line is printed",
    "the command has returned",
    "the first callback at exit",
    "the last callback at exit",
    "modules are torn down",
)
OUTCOME: Final = 7
# Imports once, and forks for each stage; the child runs a command that handles signals, and gets them at that stage.
PROGRAM: Final = """
import atexit, json, os, signal, sys
from functools import partial

import trio

from greenroom import __main__ as program, cli
from greenroom.terminal import Ladder, climbing, flush_output

number, times, outcome = signal.Signals[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
stages, results = sys.argv[4:], {}
set_handler = signal.signal


class Signalling:
    wanted, times = "", range(times)
    send = staticmethod(partial(signal.raise_signal, number))

    def __call__(self, stage):
        if stage == self.wanted:
            for _ in self.times:
                self.send()

    def __del__(self):
        self("modules are torn down")


def restore(which, handler):  # called by the receiver that closes
    if which == number:
        at("the receiver closes")
    previous = set_handler(which, handler)
    if which == number:
        at("it has closed")
    return previous


async def work(ladder):
    async with climbing(ladder):
        at("the work")
        while at.wanted == "the work" and ladder.exit_code is None:
            await trio.sleep(0)
        signal.signal = restore
    signal.signal = set_handler


def command():
    ladder = Ladder(lambda text: None)
    trio.run(work, ladder)
    at("the loop has ended")
    print("done")
    flush_output()
    at("the last line is printed")
    return outcome if ladder.exit_code is None else ladder.exit_code


def leave(code):
    at("the command has returned")
    atexit.register(at, "the first callback at exit")
    raise SystemExit(code)


at = Signalling()
cli.main, sys.exit, sys.argv[1:] = command, leave, ["anything"]
for stage in stages:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        at.wanted = stage
        atexit.register(at, "the last callback at exit")
        program.main()
    os.close(write)
    with os.fdopen(read) as out:
        said = out.read().strip()
    results[stage] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said
print(json.dumps(results))
"""


def outcomes(number: signal.Signals, times: int, *stages: str) -> dict[str, tuple[int, str]]:
    """Return the exit code and the output of a command that is signalled at each stage."""
    command = [sys.executable, "-c", PROGRAM, number.name, str(times), str(OUTCOME), *stages]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, tuple[int, str]] = json.loads(done.stdout)
    return {stage: (code, said) for stage, (code, said) in found.items()}


@pytest.mark.promise("R7-leaving")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_while_leaving_changes_neither_output_nor_code(number: signal.Signals, code: int) -> None:
    found = outcomes(number, 1, WORK, *LEAVING)

    assert found == {WORK: (code, "done"), **dict.fromkeys(LEAVING, (OUTCOME, "done"))}


def test_second_signal_while_leaving_exits_at_once() -> None:
    """Whatever the last line waits for, such as a reader that does not read, can be left."""
    found = outcomes(signal.SIGTERM, 2, "the loop has ended")

    assert found == {"the loop has ended": (143, "")}


# The signal comes with the last line that a real command has to print.
SIGNALLED: Final = """
import os, signal, sys
{patch}
from greenroom.__main__ import main

sys.argv[1:] = {arguments!r}
main()
"""
IN_SWARM: Final = """
from greenroom.swarm._view import JsonView

end = JsonView.end


def signalled(self, summary):
    os.kill(os.getpid(), signal.SIGTERM)
    end(self, summary)


JsonView.end = signalled
"""
IN_RUN: Final = """
import tempfile

remove = tempfile.TemporaryDirectory.cleanup


def signalled(self):
    os.kill(os.getpid(), signal.SIGTERM)
    remove(self)


tempfile.TemporaryDirectory.cleanup = signalled
"""


@pytest.mark.promise("R7-leaving")
def test_commands_print_their_end_when_signalled_while_leaving(tmp_path: Path) -> None:
    repo = make_small_repo(tmp_path / "small")
    environ = {**os.environ, "GREENROOM_RUNS": str(tmp_path / "runs"), "TMPDIR": str(tmp_path / "scratch")}
    (tmp_path / "scratch").mkdir()

    def said(patch: str, *arguments: str) -> tuple[int, str, str]:
        done = run_forked("-c", SIGNALLED.format(patch=patch, arguments=list(arguments)), environ=environ)
        return done.returncode, done.stdout.splitlines()[-1], done.stderr

    code, last, errors = said(IN_SWARM, "swarm", str(repo), "--json")
    answered = said(IN_RUN, "run", "hi", "--model", "playbook", "--no-session-persistence")

    assert (code, json.loads(last)["state"], errors) == (0, "done", "")
    assert answered[0] == 0, answered
    assert list((tmp_path / "scratch").iterdir()) == []
