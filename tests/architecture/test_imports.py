"""`import greenroom` is light, also after every public name was touched, and `--version` is lighter still."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

import pytest

from greenroom._version import __version__
from tests.architecture.source_tree import ROOT

# Provider SDKs, web and remote libraries, what they bring, and whatever else is imported where it is first used.
HEAVY: Final = frozenset({
    *("anthropic", "httpx2", "httpx", "httpcore2", "httpcore", "h11", "pydantic", "pydantic_core", "opentelemetry"),
    *("mcp", "mcp_types", "anyio", "jsonschema", "cryptography", "jwt", "uvicorn", "starlette", "hypercorn", "trio_websocket", "wsproto", "ray", "redis", "coredis", "asyncio"),
    *("rich", "cyclopts", "yaml", "orjson", "pathspec", "cronsim", "json5"),
})  # fmt: skip
# Public names that cannot be shown without a heavy library, with a reason each: {name: {library}}. None so far.
NEEDS: Final[dict[str, set[str]]] = {}

TOUCH: Final = """
import json, sys

def loaded():
    return sorted({name.partition(".")[0] for name in sys.modules})

import greenroom
report = {"import greenroom": loaded()}
for name in greenroom.__all__:
    getattr(greenroom, name)
    report[name] = loaded()
json.dump(report, sys.stdout)
"""


RUN: Final = """
import sys
import greenroom.cli._run_command, greenroom.cli._run_model, greenroom.headless
print(*sys.modules)
"""


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, timeout=30).stdout


def first_loads(report: dict[str, list[str]], heavy: frozenset[str]) -> dict[str, set[str]]:
    """Return {step: heavy libraries that came with it}, each named at the first step that brought it."""
    seen: set[str] = set()
    found: dict[str, set[str]] = {}
    for step, modules in report.items():
        new = set(heavy & set(modules)) - seen
        seen |= new
        if new - NEEDS.get(step, set()):
            found[step] = new
    return found


def test_import_greenroom_and_its_names_load_nothing_heavy() -> None:
    assert first_loads(json.loads(run(TOUCH)), HEAVY) == {}


def test_a_heavy_library_is_found_at_the_name_that_brings_it() -> None:
    report = json.loads(run(f"import wsgiref, greenroom\ngreenroom.__all__ = []\n{TOUCH}"))
    later = {**report, "open_page": [*report["import greenroom"], "starlette"], "last": ["starlette", "rich"]}
    assert first_loads(report, frozenset({"wsgiref"})) == {"import greenroom": {"wsgiref"}}
    assert first_loads(later, HEAVY) == {"open_page": {"starlette"}, "last": {"rich"}}


def test_a_run_imports_no_other_program() -> None:
    modules = run(RUN).split()

    assert "greenroom.session" in modules
    loaded = {name for name in modules if name.startswith(("greenroom.swarm", "greenroom.gateway"))}
    assert loaded <= {"greenroom.gateway", "greenroom.gateway.process", "greenroom.gateway.process._command_names"}


@pytest.mark.parametrize(
    "way",
    [
        "from greenroom.__main__ import main; main()",
        "import runpy; runpy.run_module('greenroom', run_name='__main__')",
    ],
)
def test_version_is_answered_before_anything_is_imported(way: str) -> None:
    version, modules = run(f"import sys\n{way}\nprint(*sys.modules)", "--version").splitlines()
    assert version == __version__
    assert not {"trio", "attr", "cattrs", "importlib.metadata", "argparse", "typing", *HEAVY} & set(modules.split())


def test_an_unknown_name_is_an_attribute_error_that_says_so() -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run("import greenroom; greenroom.no_such_name")
    assert "AttributeError: module 'greenroom' has no attribute 'no_such_name'" in caught.value.stderr
