"""A command imports what it uses: which libraries and folders of ours, and how many of our modules.

A line that fails here has brought a module into the start of a command. Import it where it is used, or raise the budget
if the command cannot do without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import attrs
import pytest

from tests.architecture.source_tree import ROOT

HISTORY: Final = str(ROOT / "tests" / "histories" / "old-run.jsonl")
PARSER: Final = frozenset({"attr", "attrs", "cyclopts"})
HELP: Final = PARSER | {"docstring_parser", "rich"}
TRIO: Final = frozenset({"trio", "outcome", "sniffio", "sortedcontainers", "idna"})
JOURNALS: Final = frozenset({"cattrs", "typing_extensions", "orjson"})
DOORS: Final = frozenset({"cli", "core", "gateway", "terminal"})  # of the gateway, the names of its commands
READERS: Final = frozenset({
    *("actors", "agents", "hooks", "inbox", "mailbox", "mcp", "models", "patterns", "permissions", "session", "supervisor"),
    *("tasks", "teams", "worktrees", "trace", "views", "store", "replay"),
})  # fmt: skip
RUN: Final = (
    *("containment", "effects", "headless", "remote", "serving", "skills", "swarm", "tools", "waiting"),
    *(READERS - {"replay"}),
)
# What a start leaves loaded, read at its end; the output of the command itself goes nowhere.
LOADED: Final = """
import os, runpy, sys
told = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
sys.argv = ["greenroom", *sys.argv[1:]]
try:
    runpy.run_module("greenroom", run_name="__main__")
except SystemExit:
    pass
sys.stdout.flush()
os.write(told, " ".join(sys.modules).encode())
"""


@attrs.frozen(kw_only=True)
class Budget:
    """What a command may import."""

    libraries: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    modules: int
    """Our modules at most."""


BUDGETS: Final = {
    ("--version",): Budget(modules=4),
    ("--help",): Budget(libraries=HELP, folders=DOORS, modules=22),
    ("swarm", "--help"): Budget(libraries=HELP, folders=DOORS | {"trace"}, modules=25),
    ("replay", "--help"): Budget(libraries=HELP, folders=DOORS | {"replay", "trace"}, modules=28),
    ("replay", HISTORY): Budget(libraries=PARSER | JOURNALS, folders=DOORS | READERS, modules=155),
    ("run", "hello", "--model", "playbook"): Budget(
        libraries=PARSER | JOURNALS | TRIO | {"pathspec"}, folders=DOORS | frozenset(RUN), modules=610
    ),
}


def loaded(folder: Path, *arguments: str) -> list[str]:
    environ = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=environ, timeout=50)
    return done.stdout.split()


def excess(modules: list[str], budget: Budget) -> list[str]:
    """Return what is beyond a budget, as sentences."""
    ours = [module for module in modules if module == "greenroom" or module.startswith("greenroom.")]
    tops = {module.partition(".")[0] for module in modules} - {"greenroom"} - sys.stdlib_module_names
    # What Python loads by itself at its start, and modules in C that belong to a library.
    libraries = {top for top in tops if not top.startswith("_") and top not in sys.builtin_module_names} - {
        "sitecustomize"
    }
    folders = {module.split(".")[1] for module in ours if "." in module}
    found = [f"library {library}" for library in sorted(libraries - budget.libraries)]
    found += [f"folder {folder}" for folder in sorted(folders - budget.folders) if not folder.startswith("_")]
    if len(ours) > budget.modules:
        found.append(f"{len(ours)} modules of ours, at most {budget.modules}")
    return found


@pytest.mark.parametrize("arguments", BUDGETS, ids=lambda arguments: " ".join(arguments[:2])[:20])
def test_command_imports_only_its_budget(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert excess(loaded(tmp_path, *arguments), BUDGETS[arguments]) == []


def test_an_import_beyond_a_budget_is_found() -> None:
    modules = ["greenroom", "greenroom._version", "greenroom.core", "greenroom.web", "rich.cells", "json", "_cffi"]

    assert excess(modules, Budget(libraries=frozenset({"rich"}), folders=frozenset({"core", "web"}), modules=4)) == []
    assert excess(modules, Budget(folders=frozenset({"core"}), modules=3)) == [
        "library rich",
        "folder web",
        "4 modules of ours, at most 3",
    ]
