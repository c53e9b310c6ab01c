"""Ways around the rules for commands are asked about or refused, in every mode."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

import pytest

from greenroom.core.ports import InlineBlocking
from greenroom.permissions import (
    Effect,
    Mode,
    Policy,
    Request,
    Scope,
    Source,
    Verdict,
    check,
    merge_permissions,
    read_permissions,
)
from tests.permissions import bypasses
from tests.permissions.bypasses import plant

pytestmark = pytest.mark.slow  # thousands of drawn commands

ASKING: Final = (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.AUTO)
MODES: Final = (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.BYPASS)
"""Modes that let the most run; tests of whole runs go through all of them."""


@functools.cache
def held(mode: Mode, cwd: str, *, deny: tuple[str, ...] = (), allow: tuple[str, ...] = ()) -> Policy:
    source = Source(scope=Scope.PROJECT, root=cwd)
    read = read_permissions({"deny": list(deny), "allow": list(allow)}, source)
    return merge_permissions([read], cwd=cwd, home="/home/ann", mode=mode)[0]


async def decided(command: str, policy: Policy, cwd: Path) -> Verdict:
    return await check(Request(tool="Bash", input={"command": command}, cwd=str(cwd), policy=policy), InlineBlocking())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bypasses") / "project"
    plant(made)
    return made


@pytest.mark.parametrize("table", ["PATTERNS", "OPTIONS", "VARIABLES"])
async def test_commands_that_reach_outside_never_run_unasked(table: str, project: Path) -> None:
    for mode in ASKING:
        policy = held(mode, str(project))
        ran = [
            command
            for command in getattr(bypasses, table)
            if (await decided(command, policy, project)).effect is Effect.ALLOW
        ]
        assert ran == [], mode


@pytest.mark.parametrize("mode", ASKING)
async def test_prefix_rules_never_cover_options_that_write_or_run(mode: Mode, project: Path) -> None:
    ran = [
        (rule, command)
        for rule, command in bypasses.DANGEROUS
        if (await decided(command, held(mode, str(project), allow=(rule,)), project)).effect is Effect.ALLOW
    ]

    assert ran == []


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("Bash(git log --output=*)", "git log --output=x"),
        ("Bash(sort -o *)", "sort -o x a.py"),
        ("Bash(git log -1 --output=x)", "git log -1 --output=x"),
        ("Bash(sed -i *)", "sed -i s/a/b/ a.py"),
        ("Bash(kubectl get *)", "kubectl get pods --output=json"),
        ("Bash(git commit *)", "git commit -m 'say --output=x' -- --output"),
        ("Bash(git push *)", "git push origin main"),
    ],
)
async def test_rules_that_name_an_option_cover_it(rule: str, command: str, project: Path) -> None:
    assert (await decided(command, held(Mode.DEFAULT, str(project), allow=(rule,)), project)).effect is Effect.ALLOW


@pytest.mark.parametrize("table", ["WRAPPED", "HIDDEN"])
@pytest.mark.parametrize("mode", MODES)
async def test_denied_commands_never_run_however_they_are_hidden(mode: Mode, table: str, project: Path) -> None:
    policy = held(mode, str(project), deny=("Bash(rm *)",), allow=("Bash",))
    verdicts = {command: (await decided(command, policy, project)).effect for command in getattr(bypasses, table)}

    assert [command for command, effect in verdicts.items() if effect is Effect.ALLOW] == []
    if table == "WRAPPED" and mode is Mode.BYPASS:
        assert [command for command, effect in verdicts.items() if effect is not Effect.DENY] == ["coproc rm x"]


async def test_variables_that_can_be_no_option_are_not_asked_about(project: Path) -> None:
    policy = held(Mode.DEFAULT, str(project), deny=("Bash(rm *)",), allow=("Bash",))
    verdicts = {command: (await decided(command, policy, project)).effect for command in bypasses.KNOWN}

    assert [command for command, effect in verdicts.items() if effect is not Effect.ALLOW] == []


@pytest.mark.parametrize("rule", ["Read(.env)", "WebFetch", "Edit(src/**)"])
async def test_hidden_texts_are_asked_about_whatever_is_denied(rule: str, project: Path) -> None:
    policy = held(Mode.BYPASS, str(project), deny=(rule,), allow=("Bash",))

    assert (await decided("python3 -c 'x'", policy, project)).effect is Effect.ASK
    assert (await decided("alias q='x'", policy, project)).effect is Effect.ASK
    assert (await decided("python3 x.py && make && sed s/a/b/ a.py", policy, project)).effect is Effect.ALLOW
    assert (await decided("python3 -c 'x'", held(Mode.BYPASS, str(project)), project)).effect is Effect.ALLOW


@pytest.mark.parametrize("mode", MODES)
async def test_denied_files_are_shown_by_no_command(mode: Mode, project: Path) -> None:
    policy = held(mode, str(project), deny=("Read(.env)",), allow=("Bash",))
    ran = [command for command in bypasses.SHOWN if (await decided(command, policy, project)).effect is Effect.ALLOW]

    assert ran == []


async def test_commands_showing_unnamed_files_are_asked_about(project: Path) -> None:
    denied = held(Mode.DEFAULT, str(project), deny=("Read(.env)",))
    ran = [command for command in bypasses.SEARCHES if (await decided(command, denied, project)).effect is Effect.ALLOW]
    free = [
        command
        for command in bypasses.SEARCHES
        if (await decided(command, held(Mode.DEFAULT, str(project)), project)).effect is not Effect.ALLOW
    ]

    assert ran == []
    assert free == []
    for command in (
        "git log --oneline",
        "git show --stat",
        "git diff --name-only",
        "git status",
        "git show HEAD:a.py",
        "ls *.py",
    ):
        assert (await decided(command, denied, project)).effect is Effect.ALLOW, command


@pytest.mark.parametrize("mode", MODES)
async def test_scripts_that_a_shell_refuses_never_run(mode: Mode, project: Path) -> None:
    policy = held(mode, str(project), allow=("Bash",))
    ran = [command for command in bypasses.BROKEN if (await decided(command, policy, project)).effect is Effect.ALLOW]

    assert ran == []


@pytest.mark.parametrize("mode", MODES)
async def test_denied_commands_in_plain_sight_are_denied(mode: Mode, project: Path) -> None:
    policy = held(mode, str(project), deny=("Bash(curl *)",))
    spared = [
        command
        for command in bypasses.PLAIN_SIGHT
        if (await decided(command, policy, project)).effect is not Effect.DENY
    ]

    assert spared == []
