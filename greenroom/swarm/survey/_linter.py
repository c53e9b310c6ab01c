"""The linter ruff, as a program: what it sees beside the rules here, and where it agrees with them.

It is started on named files, with a time limit, without its cache, the project's configuration and the environment's secrets; it changes
nothing. Rules that the checks here decide more exactly only confirm them.
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

import attrs

from greenroom.containment import ChildKind, child_environment
from greenroom.swarm.survey._facts import Placed
from greenroom.swarm.survey._paths import is_loose, is_test

PROGRAM: Final = "ruff"
TIME_LIMIT_S: Final = 60.0
MISSING: Final = "ruff is not installed, so its rules were not asked: pip install 'greenroom[survey]'"
MORE: Final[Mapping[str, str]] = {
    "F821": "undefined-name",
    **dict.fromkeys(("F502", "F503", "F505", "F506", "F507", "F508", "F509"), "format-args"),
    **dict.fromkeys(("F521", "F524", "F525"), "format-args"),
    "B005": "strip-characters",
    "B016": "raise-literal",
    "B023": "loop-variable",
    "B025": "except-twice",
    "B031": "group-twice",
    **dict.fromkeys(("S103", "S502", "S503", "S504", "S507", "S508", "S509", "S701", "S702"), "unsafe-setting"),
    "F401": "unused-import",
    "F841": "unused-variable",
}
"""Rules for which there is no check here, and the kinds of their findings."""
SAME: Final[Mapping[str, str]] = {
    **dict.fromkeys(("S602", "S604", "S605"), "shell"),
    **dict.fromkeys(("S301", "S302"), "unpickle"),
    "B006": "mutable-default",
    "B011": "assert-constant",
    "B012": "finally-return",
    "B015": "lost-compare",
    "B017": "raises-broad",
    "E722": "bare-except",
    "F541": "f-string",
    "F632": "is-literal",
    "F811": "redefined",
    "F822": "undefined-all",
    "F901": "not-implemented",
    "S101": "assert-check",
    "S104": "bind-all",
    "S110": "swallowed",
    "S113": "no-timeout",
    "S202": "extract-all",
    "S306": "mktemp",
    "S307": "eval",
    "S324": "weak-hash",
    "S501": "tls",
    "S506": "yaml-load",
    "S608": "sql",
}
"""Rules that confirm a finding of the same kind at the same line."""


@attrs.frozen
class LinterFinding:
    """A place that a rule of the linter names."""

    rule: str
    placed: Placed


def find_linter() -> Path | None:
    """Return the program that is installed beside this Python, if there is one."""
    program = Path(sysconfig.get_path("scripts")) / PROGRAM
    return program if program.is_file() else None


def linter_version() -> str:
    """Return its name and version."""
    try:
        return f"{PROGRAM} {metadata.version(PROGRAM)}"
    except metadata.PackageNotFoundError:
        return PROGRAM


def run_linter(program: Path, folder: Path, files: Sequence[str]) -> tuple[LinterFinding, ...]:
    """Return what the linter says of files of a folder. It blocks.

    Raises:
        OSError: It could not be started, failed, or took too long.
    """
    rules = ",".join([*MORE, *SAME])
    command = [str(program), "check", "--isolated", "--no-cache", "--quiet", "--exit-zero", "--output-format", "json"]
    try:
        done = subprocess.run(
            [*command, "--select", rules, "--", *files],
            cwd=folder,
            env=child_environment(ChildKind.SERVER),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIME_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"it took more than {TIME_LIMIT_S:.0f} s") from None
    try:
        return tuple(read_linter(done.stdout.decode("utf-8", "replace"), folder))
    except (ValueError, KeyError, TypeError):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError(said[-1] if said else f"it ended with {done.returncode}") from None


def read_linter(output: str, folder: Path) -> Iterator[LinterFinding]:
    """Yield the findings of the linter's JSON.

    Raises:
        ValueError, KeyError, TypeError: It is not the linter's JSON.
    """
    entries = json.loads(output)
    if not isinstance(entries, list):
        raise TypeError("a list of findings was expected")
    for entry in entries:
        rule, line = str(entry["code"]), int(entry["location"]["row"])
        path = Path(entry["filename"])
        shown = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()
        kind = MORE.get(rule) or SAME.get(rule)
        if kind is None or (rule in MORE and _is_usual(rule, shown)):
            continue
        yield LinterFinding(rule, Placed(kind, shown, line, f"{entry['message']} ({PROGRAM} {rule})"))


def _is_usual(rule: str, path: str) -> bool:
    """Return True if a rule says of such a file what its authors may well want."""
    if rule in {"F401", "F841", "B023"}:
        return is_test(path) or is_loose(path) or path.endswith(("__init__.py", ".pyi"))
    return rule.startswith("S") and is_test(path)
