"""Definitions that are always there; a file of the same name replaces one.

They follow the reference documents: two read-only searchers, one agent for everything, and two helpers for people. What
these two work with lies outside the folder of a session: the user's settings, and the documentation of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from greenroom.agents._definition import AgentDefinition, DefinitionOrigin
from greenroom.core.sources import Scope

_SEARCHING: Final = ("Read", "Grep", "Glob")
_BUILTIN: Final = DefinitionOrigin(scope=Scope.BUILTIN, source="built-in")
_FIRST_PAGE: Final = "docs/README.md"

GENERAL_PURPOSE: Final = AgentDefinition(
    name="general-purpose",
    description="Handles a task of many steps from end to end: searching, reading, changing, checking.",
    when_to_use="For work of several steps that fits no other agent, or for a search that may take many attempts.",
    system_prompt=(
        "You do one task for another agent, from end to end. Do all that was asked and nothing beyond it. Search widely "
        "where you do not know the place, read what you rely on, and change existing files rather than adding new ones. "
        "End with a short report: what you did or found, with absolute paths, and what is left open."
    ),
    origin=_BUILTIN,
)
EXPLORE: Final = AgentDefinition(
    name="Explore",
    description="Searches and explores a code base without changing it.",
    when_to_use="To find files, names or how something works. Say how thorough: quick, medium or very thorough.",
    system_prompt=(
        "You search a code base for another agent. You only read. Find names with Glob and contents with Grep, several at "
        "once, and read what decides the question. Answer with absolute paths and line numbers, and say what you did not "
        "find."
    ),
    tools=_SEARCHING,
    model="haiku",
    reads_instructions=False,
    origin=_BUILTIN,
)
PLAN: Final = AgentDefinition(
    name="Plan",
    description="Gathers what a plan needs and writes the plan, without changing anything.",
    when_to_use="Before a change that touches several places: to learn what is there and in what order to go.",
    system_prompt=(
        "You plan a change for another agent. You only read. Learn the conventions of the place, trace what the change "
        "touches, weigh the ways to do it. Answer with the steps in order, what each depends on, and the files that matter "
        "most, by their absolute paths."
    ),
    tools=_SEARCHING,
    reads_instructions=False,
    origin=_BUILTIN,
)
STATUSLINE_SETUP: Final = AgentDefinition(
    name="statusline-setup",
    description="Configures the user's status line.",
    when_to_use="When the user wants a status line, or another one.",
    system_prompt=(
        "You configure the status line in the user's settings: the key `statusLine`, an object with `type`: `command` and "
        "`command`, a line for the shell that prints it. Change nothing else, keep the rest of the file as it is, and say "
        "what you changed."
    ),
    tools=("Read", "Edit"),
    origin=_BUILTIN,
)
GUIDE: Final = AgentDefinition(
    name="claude-code-guide",
    description="Answers questions on how to use greenroom and its settings, hooks, agents and skills.",
    when_to_use="When somebody asks whether greenroom can do something, or how.",
    system_prompt=(
        "You answer questions on how to use greenroom, from its documentation. Search it before you answer, quote the few "
        "lines that decide, and say on which page they are. What is not written there, you do not know."
    ),
    tools=_SEARCHING,
    origin=_BUILTIN,
)
WORKER: Final = AgentDefinition(
    name="worker",
    description="Does what a coordinator asks: research, a change, a verification.",
    when_to_use="For every task of a coordinator that no other agent is made for.",
    system_prompt=(
        "You are a worker of a coordinator, which sees of you nothing but your report. Do the task that you are given, all of "
        "it and nothing beyond it. Where it says to report only, change nothing. Check your own work before you end. End with "
        "a short report: what you did or found, with absolute paths and lines, how you checked it, and what is left open."
    ),
    origin=_BUILTIN,
)
"""Not among those that are always there: it is for sessions in coordinator mode."""
BUILTINS: Final = (GENERAL_PURPOSE, EXPLORE, PLAN, STATUSLINE_SETUP, GUIDE)


def builtin_definitions(environ: Mapping[str, str], *, is_headless: bool = False) -> tuple[AgentDefinition, ...]:
    """Return the built-in definitions that the environment leaves, with what lies where on this machine.

    The guide is left out where the package came without its documentation. Looks at the disk.

    Args:
        environ: `GREENROOM_DISABLE_EXPLORE_PLAN_AGENTS=1` takes the two searchers away, and in a headless run
            `GREENROOM_DISABLE_BUILTIN_AGENTS=1` takes all.
        is_headless: Whether nobody is there to answer.
    """
    if is_headless and environ.get("GREENROOM_DISABLE_BUILTIN_AGENTS") == "1":
        return ()
    searchers = () if environ.get("GREENROOM_DISABLE_EXPLORE_PLAN_AGENTS") == "1" else (EXPLORE, PLAN)
    manual = find_manual()
    guide = () if manual is None else (_guide(manual),)
    folder = environ.get("CLAUDE_CONFIG_DIR") or Path(environ.get("HOME") or Path.home()) / ".claude"
    return (GENERAL_PURPOSE, *searchers, _statusline_setup(Path(folder).absolute() / "settings.json"), *guide)


@cache
def find_manual() -> Path | None:
    """Return the folder that holds `docs`, `examples` and the README: the package's own, or the checkout that it lies in."""
    package = Path(__file__).resolve().parents[2]
    shipped, checkout = package / "_manual", package.parent
    if (shipped / _FIRST_PAGE).is_file():
        return shipped
    is_checkout = (checkout / _FIRST_PAGE).is_file() and (checkout / "pyproject.toml").is_file()
    return checkout if is_checkout else None


@cache
def _guide(manual: Path) -> AgentDefinition:
    where = f" It lies in {manual / 'docs'}: begin with {manual / _FIRST_PAGE}. Programs to copy from: {manual / 'examples'}."
    return attrs.evolve(
        GUIDE,
        system_prompt=GUIDE.system_prompt + where,
        more_roots=(manual / "docs", manual / "examples", manual / "README.md"),
    )


@cache
def _statusline_setup(settings: Path) -> AgentDefinition:
    return attrs.evolve(
        STATUSLINE_SETUP,
        system_prompt=f"{STATUSLINE_SETUP.system_prompt} The file is {settings}.",
        more_roots=(settings,),
    )
