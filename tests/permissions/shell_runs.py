"""Scripts run by bash itself, where nothing can be harmed: every program is a stub that tells that it ran.

The only programs that are real are those that run others (`env`, `xargs`, `sed` and their like), and what they run are stubs again.
A script is run in a folder that is compared afterwards; what is secret stands in a file, a name and a variable outside of it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core.ports import InlineBlocking
from greenroom.permissions import (
    Effect,
    Mode,
    Policy,
    Request,
    Scope,
    Source,
    check,
    merge_permissions,
    read_permissions,
)
from tests.permissions.scripts import DENIED, READERS, WRITERS

AT_ONCE: Final = 50
TIMEOUT_S: Final = 120.0
"""The number of scripts that one process runs, and the seconds that it may take: most take some milliseconds each."""
SECRETS: Final = ("SECRET-OF-FILE", "SECRET-OF-NAME", "SECRET-OF-VARIABLE")
REAL: Final = [
    "env",
    "nice",
    "nohup",
    "timeout",
    "stdbuf",
    "setsid",
    "xargs",
    "linux64",
    "setarch",
    "choom",
    "setpriv",
    "ionice",
    "bash",
    "sed",
    "awk",
    "find",
]
_SYNTAX: Final = (
    "syntax error near unexpected",
    "syntax error: unexpected end of file",
    "syntax error in conditional",
    "conditional binary operator expected",
    "unexpected EOF while looking",
    "delimited by end-of-file",
)
"""Output of bash about a script that it refuses."""

_VALUED: Final = (
    "cut -[bcdf]|nl -[bdfhilnsvw]|head -[cn]|tail -[cn]|grep -[ABCDdem]|rg -[ABCdEegjmMrtT]|tree -[LPI]|tree -rL|uniq -[fsw]|stat -c|du -[dtB]|"
    "diff -[UCILWxFSD]|sort -[ktS]|find -name|find -maxdepth|ls -[ITw]|file -F"
)
"""Options whose value is no path, by the manual pages of the programs."""
_CASES: Final = "|".join(case.replace(" ", "\\ ") for case in _VALUED.split("|"))
_STUB: Final = """\
#!/bin/sh
name=${0##*/}
skip=0 before=
case $name in grep|rg) skip=1;; tr) skip=9;; esac
for each in "$@"; do
  taken="$name $before" before=$each
  case $taken in @VALUED@) continue;; esac
  case $each in *SECRET-OF*) echo "ARGUMENT $each";; esac
  case $each in -*) ;; *) if [ $skip -gt 0 ]; then skip=$((skip-1)); continue; fi;; esac
  if [ -f "$each" ] && [ -r "$each" ]; then read -r line < "$each"; echo "$line"; fi
  if [ -d "$each" ]; then for inner in "$each"/*; do echo "$inner"; done; fi
done
if [ -p /dev/stdin ] || [ -f /dev/stdin ]; then while read -r line; do echo "$line"; done; fi
echo "@RAN $name $*" >> "$RECORD"
exit 0
"""
# Each script runs in a shell of its own, and has a folder to itself if it leaves something there.
_DRIVER: Final = """\
while IFS= read -r -d '' number && IFS= read -r -d '' script; do
  printf '@SCRIPT %s\\n' "$number" >> "$RECORD"
  printf '\\n@SCRIPT %s\\n' "$number"
  ( number=; ulimit -t 1; eval "$script"; wait ) </dev/null 2>&1
  for made in "$PLACE"/* "$PLACE"/.[!.]* "$PLACE"/../outside/*; do
    case ${made#"$PLACE/"} in
      a.py|link|etc|src|odd|.env|x|../outside/SECRET-OF-NAME|../outside/x|'.[!.]*') ;;
      *) printf '\\n@MADE %s\\n' "$made"; "$REMOVE" -rf "$made";;
    esac
  done
done
"""


@final
@attrs.define
class Ran:
    """The effects of one script."""

    script: str
    programs: list[str] = attrs.field(factory=list)
    made: list[str] = attrs.field(factory=list)
    output: list[str] = attrs.field(factory=list)
    has_ended_all: bool = False
    """Whether the shell that ran the scripts was gone after it."""

    @property
    def told(self) -> str:
        """The secret that came out; empty for none."""
        text = "\n".join(self.output)
        return next((secret for secret in SECRETS if secret in text), "")

    @property
    def is_broken(self) -> bool:
        """Whether bash found the script to be wrong."""
        return any(mark in line for mark in _SYNTAX for line in self.output)


@final
class Shell:
    """A place in which scripts run."""

    def __init__(self, root: Path) -> None:
        self.project = root / "home" / "project"
        self.home = root / "home"
        self._bin, self._record = root / "bin", root / "record"
        self._given, self._printed = root / "given", root / "printed"
        outside = self.home / "outside"
        for folder in (self.project / "src", self.project / "odd", outside, self._bin):
            folder.mkdir(parents=True)
        for path in (outside / "x", outside / "SECRET-OF-NAME", self.home / "x"):
            path.write_text("SECRET-OF-FILE\n", encoding="utf-8")
        for path in (self.project / "a.py", self.project / "src" / "a.py", self.project / "odd" / "-R"):
            path.write_text("x\n", encoding="utf-8")
        (self.project / "link").symlink_to(outside / "x")
        (self.project / "etc").symlink_to(outside)
        (self.project / "src" / "up").symlink_to(outside)
        stub = self._bin / "stub"
        stub.write_text(_STUB.replace("@VALUED@", _CASES), encoding="utf-8")
        stub.chmod(0o755)
        for name in {*READERS, *WRITERS} - set(REAL):
            (self._bin / name).symlink_to(stub)
        for name in REAL:
            real = shutil.which(name, path="/usr/bin:/bin")
            if real is not None:
                (self._bin / name).symlink_to(real)

    def run(self, scripts: Sequence[str]) -> list[Ran]:
        """Run scripts one after the other, in as few processes as it takes."""
        ran = [Ran(script) for script in scripts]
        begun = 0
        while begun < len(scripts):
            waiting = ran[begun : begun + AT_ONCE]
            count = self._run(waiting)
            begun += count
            if count < len(waiting):
                # On a machine that was busy it may have been the time: what ends its shell does so again, alone.
                last = ran[begun - 1]
                last.has_ended_all = self._run([last, Ran(":")]) < 2
        return ran

    def _run(self, waiting: Sequence[Ran]) -> int:
        """Run scripts in one process; return how many it began."""
        self._record.write_text("", encoding="utf-8")
        given = b"".join(f"{number}\0".encode() + _encoded(ran.script) + b"\0" for number, ran in enumerate(waiting))
        self._given.write_bytes(given)
        self._call(
            {
                "PATH": str(self._bin),
                "BIN": str(self._bin),
                "HOME": str(self.home),
                "PLACE": str(self.project),
                "RECORD": str(self._record),
                "REMOVE": "/bin/rm",
                "SECRET_KEY": "SECRET-OF-VARIABLE",
                "FUNCNEST": "6",
            }
        )
        at, begun = Ran(""), 0
        for line in _lines(self._printed.read_bytes()):
            if line.startswith("@SCRIPT "):
                at = waiting[int(line.split()[1])]
                begun += 1
            elif line.startswith("@MADE "):
                at.made.append(line[6:])
            elif begun:
                at.output.append(line)
        assert begun
        for line in _lines(self._record.read_bytes()):
            if line.startswith("@SCRIPT "):
                at = waiting[int(line.split()[1])]
            elif line.startswith("@RAN "):
                at.programs.append(line[5:])
        return begun

    def _call(self, environ: Mapping[str, str]) -> None:
        """Run the driver, and end it with all that it started where it takes too long."""
        with self._given.open("rb") as given, self._printed.open("wb") as printed:
            process = subprocess.Popen(
                ["/bin/bash", "--norc", "-c", _DRIVER],
                stdin=given,
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=self.project,
                env=environ,
                start_new_session=True,
            )
            try:
                process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _encoded(script: str) -> bytes:
    return script.replace("\0", " ").encode("utf-8", "replace")


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").split("\n")


@final
@attrs.define
class Tally:
    """Totals of many scripts."""

    scripts: int = 0
    unasked: int = 0
    """Allowed where no rule allows anything."""
    undenied: int = 0
    """Allowed where everything is but one program."""
    sampled: int = 0
    """Scripts that were held back because of the denied program, and run all the same, to see what the rules are for."""
    ran_denied: int = 0
    """Those of the sample that did run the denied program."""
    violations: list[str] = attrs.field(factory=list)

    def add(self, other: Tally) -> None:
        """Add what came of other scripts."""
        self.scripts += other.scripts
        self.unasked += other.unasked
        self.undenied += other.undenied
        self.sampled += other.sampled
        self.ran_denied += other.ran_denied
        self.violations += other.violations


async def hold(scripts: Iterable[str], shell: Shell, tally: Tally, *, sample: int = 20) -> None:
    """Decide about scripts, run those that are allowed, and note in the tally what they did that they should not have."""
    cwd, home = str(shell.project), str(shell.home)
    source = Source(scope=Scope.PROJECT, root=cwd)
    plain = Policy(home=home)
    denies = read_permissions({"deny": [f"Bash({DENIED} *)"], "allow": ["Bash"]}, source)
    denying = merge_permissions([denies], cwd=cwd, home=home, mode=Mode.BYPASS)[0]
    unasked: list[str] = []
    undenied: list[str] = []
    rest: list[str] = []
    for number, script in enumerate(scripts):
        tally.scripts += 1
        if await _runs(script, plain, cwd):
            unasked.append(script)
        if await _runs(script, denying, cwd):
            undenied.append(script)
        elif number % sample == 0:
            rest.append(script)
    tally.unasked += len(unasked)
    tally.undenied += len(undenied)
    for ran in shell.run(unasked):
        tally.violations += (f"unasked, {why}: {ran.script!r}" for why in _wrong_unasked(ran))
    for ran in shell.run(undenied):
        if any(program.split(" ")[0] == DENIED for program in ran.programs):
            tally.violations.append(f"denied, and ran: {ran.script!r}")
        if ran.is_broken:
            tally.violations.append(f"allowed, and bash refuses it: {ran.script!r}")
        if ran.has_ended_all:
            tally.violations.append(f"allowed, and ended the shell around it: {ran.script!r}")
    tally.sampled += len(rest)
    tally.ran_denied += sum(any(program.split(" ")[0] == DENIED for program in ran.programs) for ran in shell.run(rest))


async def _runs(script: str, policy: Policy, cwd: str) -> bool:
    request = Request(tool="Bash", input={"command": script}, cwd=cwd, policy=policy)
    return (await check(request, InlineBlocking())).effect is Effect.ALLOW


def _wrong_unasked(ran: Ran) -> Iterable[str]:
    if ran.told:
        yield f"it told {ran.told}"
    if ran.made:
        yield f"it made {ran.made[0].rpartition('/')[2]}"
    for program in ran.programs:
        name, *arguments = program.split(" ")
        if name in WRITERS:
            yield f"it ran {program}"
        if _FORBIDDEN.get(name, frozenset()) & _options(name, arguments):
            yield f"it ran {program}"
    if ran.is_broken:
        yield "bash refuses it"


def _options(name: str, arguments: list[str]) -> set[str]:
    """Return the arguments before `--` that are not the value of the option before them."""
    valued = _TAKING_VALUES.get(name, frozenset())
    until = takewhile(lambda pair: pair[1] != "--" or pair[0] in valued, pairwise(["", *arguments]))
    return {text for before, text in until if before not in valued}


_TAKING_VALUES: Final = {"tree": frozenset(("-L", "-P", "-I", "-rL"))}
"""Options whose value is the next argument, whatever it looks like: `tree -L -l` is refused by tree as an invalid level."""

_FORBIDDEN: Final = {
    "ls": {"-L", "-rL"},
    "grep": {"-R", "--output=out"},
    "sort": {"-o", "-oout", "--output=out", "--outp=out", "--files0-from=a.py"},
    "wc": {"--files0-from=a.py"},
    "du": {"-L", "--files0-from=a.py", "-rL"},
    "rg": {"--pre=rm", "-L", "--follow"},
    "tail": {"-f", "--follow"},
    "tree": {"-R", "-o", "-l"},
    "diff": {"-r", "--recursive", "-l"},
    "file": {"-f", "-L"},
    "stat": {"-L"},
}
"""Options that no program may have been given unasked, as it got them."""
