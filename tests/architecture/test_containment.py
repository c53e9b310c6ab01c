"""Programs are started in few places, with an environment that was made for them; git is called in one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from tests.architecture.source_tree import sources

STARTERS: Final = {
    "greenroom.cli._mcp_command": "the browser that a login needs",
    "greenroom.containment._git_calls": "git, for an answer",
    "greenroom.containment._sandbox": "the sandbox, to find out whether it works",
    "greenroom.gateway.process._secret_reader": "programs that print secrets",
    "greenroom.hooks._command": "hooks",
    "greenroom.remote.ray._ray_hosts": "the process that is connected to Ray",
    "greenroom.replay._pager": "the pager of a person at a terminal",
    "greenroom.swarm.survey._linter": "the linter, on named files, for the survey",
    "greenroom.tools._process_groups": "commands and MCP servers",
    "greenroom.tools._reaper": "the reaper, with an empty environment",
    "greenroom.worktrees._run_process": "git, for worktrees",
}
"""The modules that start programs, and which."""
_STARTING: Final = frozenset(("Popen", "open_process", "check_call", "check_output", "getoutput", "getstatusoutput"))
_OF_MODULES: Final = frozenset(
    ("subprocess.run", "subprocess.call", "trio.run_process", "os.system", "os.popen", "os.fork")
)
_OF_OS: Final = ("exec", "spawn", "posix_spawn", "forkpty")


def starts(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls that start a program."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        last = called.rpartition(".")[2]
        of_os = called.startswith("os.") and last.startswith(_OF_OS)
        if last in _STARTING or called in _OF_MODULES or of_os or last.startswith("create_subprocess"):
            yield node


def faults(modules: Mapping[str, str]) -> list[str]:
    """Return where programs are started that should not be, or with an environment that nobody made; empty where all is well."""
    found = []
    for module, source in modules.items():
        tree = ast.parse(source)
        for call in starts(tree):
            if module not in STARTERS:
                found.append(f"{module}:{call.lineno} starts a program")
            if "env" not in {keyword.arg for keyword in call.keywords}:
                found.append(f"{module}:{call.lineno} starts a program with the environment of the process")
        if module in STARTERS:
            found += [
                f"{module}:{node.lineno} takes the environment of the process"
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute) and ast.unparse(node) == "os.environ"
                if module
                != "greenroom.cli._mcp_command"  # its `${NAME}` in entries of servers, which start nothing there
            ]
        for node in ast.walk(tree):
            if module.startswith(("greenroom.permissions.", "greenroom.containment.")):  # rules know programs by name
                break
            if isinstance(node, ast.List | ast.Tuple) and node.elts:
                first = node.elts[0]
                if isinstance(first, ast.Constant) and first.value == "git" and len(node.elts) > 1:
                    found.append(f"{module}:{node.lineno} makes a command of git")
    return found


def test_programs_are_started_where_their_environment_is_made() -> None:
    modules = sources()

    assert faults(modules) == []
    assert [module for module in STARTERS if not list(starts(ast.parse(modules[module])))] == []


def test_planted_starts_are_found() -> None:
    planted = {
        "greenroom.cli._a": "import subprocess\nsubprocess.run(['git', 'status'], env={})",
        "greenroom.tools._reaper": "import os, subprocess\nsubprocess.Popen(['x'], env=os.environ)",
        "greenroom.hooks._command": "import trio\nasync def f(): await trio.lowlevel.open_process(['x'])",
        "greenroom.session._b": "import os\nos.execvp('x', ['x'])",
    }

    assert faults(planted) == [
        "greenroom.cli._a:2 starts a program",
        "greenroom.cli._a:2 makes a command of git",
        "greenroom.tools._reaper:2 takes the environment of the process",
        "greenroom.hooks._command:2 starts a program with the environment of the process",
        "greenroom.session._b:2 starts a program",
        "greenroom.session._b:2 starts a program with the environment of the process",
    ]
