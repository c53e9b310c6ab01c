"""Settings of several sources, modes of children, rules that cannot be read, and lasting answers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from greenroom.core import SettingsError, UsageError
from greenroom.permissions import (
    Effect,
    Mode,
    Policy,
    Scope,
    Source,
    Update,
    apply_updates,
    child_mode,
    merge_permissions,
    parse_mode,
    parse_rule,
    read_permissions,
    read_update,
    updated_settings,
)
from tests.permissions.policies import CWD, HOME, bash, effect_of, policy

USER = Source(scope=Scope.USER, name="~/.greenroom/settings.json", is_strict=True)
CLAUDE = Source(scope=Scope.PROJECT, name=".claude/settings.json", root=CWD)


def merged(*settings: tuple[Source, dict[str, Any]], mode: Mode | None = None) -> tuple[Policy, list[str]]:
    made, problems = merge_permissions(
        [read_permissions(values, source) for source, values in settings], cwd=CWD, home=HOME, mode=mode
    )
    return made, [str(problem) for problem in problems]


def test_rules_of_all_sources_add_up_and_the_mode_of_the_first_counts() -> None:
    local = Source(scope=Scope.LOCAL, root=CWD)
    held, problems = merged(
        (USER, {"allow": ["Bash(npm test)"], "defaultMode": "plan"}),
        (local, {"deny": ["Bash(git push)"], "defaultMode": "acceptEdits", "additionalDirectories": ["../lib"]}),
    )

    assert problems == []
    assert held.mode is Mode.ACCEPT_EDITS
    assert held.directories == ("/home/ann/lib",)
    assert {str(rule) for rule in held.rules} == {"Bash(npm test)", "Bash(git push)"}
    assert effect_of("Edit: ../lib/a.py", held) == "allow"
    assert merged((local, {"defaultMode": "plan"}), mode=Mode.DONT_ASK)[0].mode is Mode.DONT_ASK


def test_an_untrusted_workspace_only_takes_away() -> None:
    wild = Source(scope=Scope.PROJECT, name=".claude/settings.json", root=CWD, is_trusted=False)
    values = {
        "allow": ["Bash"],
        "deny": ["Bash(rm *)"],
        "defaultMode": "bypassPermissions",
        "additionalDirectories": ["/"],
    }

    held, problems = merged((wild, values))

    assert (held.mode, held.directories) == (Mode.DEFAULT, ())
    assert bash("npm test", held).effect is Effect.ASK
    assert bash("rm x", held).effect is Effect.DENY
    assert len(problems) == 1


def test_bypass_can_be_switched_off_by_any_source() -> None:
    held, problems = merged((USER, {"disableBypassPermissionsMode": "disable"}), mode=Mode.BYPASS)

    assert (held.mode, held.may_bypass) == (Mode.DEFAULT, False)
    assert held.with_mode(Mode.BYPASS).mode is Mode.DEFAULT
    assert len(problems) == 1


def test_unknown_keys_are_refused_in_our_files_and_passed_over_in_others() -> None:
    with pytest.raises(SettingsError) as caught:
        read_permissions({"alow": ["Bash"], "defaultMode": "careful"}, USER)

    assert len(caught.value.problems) == 2
    read = read_permissions({"alow": ["Bash"], "defaultMode": "careful"}, CLAUDE)
    assert (read.mode, len(read.diagnostics)) == (None, 1)


@pytest.mark.parametrize(
    ("text", "stands_in"),
    [
        ("Bash(rm *", "Bash"),
        ("Bash()", "Bash"),
        ("Read(!x)", "Read"),
        ("WebFetch(example.com)", "WebFetch"),
        ("Task(", "Agent"),
        ("", "*"),
        (7, "*"),
        ("(x)", "*"),
        ("Ba*sh(x", "*"),
    ],
)
def test_a_bad_deny_rule_asks_about_all_that_it_could_mean_and_a_bad_allow_rule_is_dropped(
    text: Any, stands_in: str
) -> None:
    rule, problem = parse_rule(text, Effect.DENY, CLAUDE, where="permissions.deny[0]")
    assert rule is not None
    assert (rule.effect, rule.tool, rule.content) == (Effect.ASK, stands_in, None)
    assert str(problem).startswith(".claude/settings.json: permissions.deny[0]: ")

    rule, problem = parse_rule(text, Effect.ALLOW, CLAUDE, where="permissions.allow[0]")
    assert rule is None
    assert problem is not None


def test_an_allow_rule_cannot_name_a_parameter() -> None:
    assert parse_rule("Agent(model:opus)", Effect.ALLOW, CLAUDE)[0] is None
    assert parse_rule("Agent(plugin:reviewer)", Effect.ALLOW, CLAUDE)[0] is not None


@pytest.mark.parametrize("parent", list(Mode))
def test_the_mode_of_a_child(parent: Mode) -> None:
    """Behaviours (1), line 4."""
    for definition, may_bypass in itertools.product([None, Mode.PLAN, Mode.BYPASS], [True, False]):
        says = None if definition is Mode.BYPASS and not may_bypass else definition

        def of(setting: Any, given: Mode | None = definition, *, skip: bool = may_bypass) -> Mode:
            return child_mode(parent, given, setting=setting, may_bypass=skip)

        assert of("definition") == (says or Mode.ACCEPT_EDITS)
        assert of("inherit") == (says or parent)
        wins = parent in (Mode.BYPASS, Mode.ACCEPT_EDITS, Mode.AUTO)
        assert of("clamped") == (parent if wins else says or parent)


def test_a_definition_cannot_bypass_where_the_user_did_not() -> None:
    child, problems = Policy(mode=Mode.DEFAULT, home=HOME).for_child(Mode.BYPASS)
    assert (child.mode, len(problems)) == (Mode.ACCEPT_EDITS, 1)

    child, problems = Policy(mode=Mode.BYPASS, home=HOME).for_child(Mode.BYPASS)
    assert (child.mode, problems) == (Mode.BYPASS, ())


def test_rc_103_what_is_denied_is_denied_at_every_depth() -> None:
    held = policy(deny=["Bash(rm *)"], mode=Mode.BYPASS)
    for depth in range(1, 4):
        held, _ = held.for_child(Mode.BYPASS, deny=[f"Bash(tool{depth} *)"], agent=f"child{depth}")
        for command in ["rm x", *(f"tool{number} x" for number in range(1, depth + 1))]:
            assert bash(command, held).effect is Effect.DENY


def test_a_mode_is_read_by_its_name() -> None:
    assert parse_mode("manual") is Mode.DEFAULT
    assert parse_mode("acceptEdits") is Mode.ACCEPT_EDITS
    for wrong in ("bubble", "", "PLAN"):
        with pytest.raises(UsageError):
            parse_mode(wrong)


def test_updates_have_the_form_that_hosts_know() -> None:
    update = Update(kind="addRules", destination=Scope.LOCAL, rules=("Bash(npm test)", "Read"))

    assert update.to_json() == {
        "type": "addRules",
        "destination": "localSettings",
        "rules": [{"toolName": "Bash", "ruleContent": "npm test"}, {"toolName": "Read"}],
        "behavior": "allow",
    }
    assert read_update(update.to_json()) == update
    for wrong in ({}, {"type": "setMode", "mode": "x"}, {"type": "addRules", "rules": [1]}, {"type": "setMode"}):
        with pytest.raises(UsageError):
            read_update(wrong)


def test_a_lasting_answer_says_what_the_file_is_to_hold() -> None:
    verdict = bash("npm run build && git status && make all", policy())
    before = {"model": "opus", "permissions": {"allow": ["Bash(make all *)"], "deny": ["Read(.env)"]}}

    after = updated_settings(before, verdict.suggestions, Scope.LOCAL)

    assert after == {
        "model": "opus",
        "permissions": {"allow": ["Bash(make all *)", "Bash(npm run *)"], "deny": ["Read(.env)"]},
    }
    assert bash("; ".join(f"tool{index}" for index in range(6)), policy()).suggestions == ()


def test_updates_take_back_what_updates_gave() -> None:
    held = policy(allow=["Bash(npm test)"])
    rules = Update(kind="addRules", destination=Scope.SESSION, rules=("Bash(make)",))
    folders = Update(kind="addDirectories", destination=Scope.SESSION, directories=("../lib",))
    given = apply_updates(
        held, [rules, folders, Update(kind="setMode", destination=Scope.SESSION, mode=Mode.PLAN)], cwd=CWD
    )
    assert (given.mode, given.directories, len(given.rules)) == (Mode.PLAN, ("/home/ann/lib",), 2)

    taken = apply_updates(
        given,
        [
            Update(kind="removeRules", destination=Scope.SESSION, rules=("Bash(make)", "Bash(npm test)")),
            Update(kind="removeDirectories", destination=Scope.SESSION, directories=("../lib",)),
        ],
        cwd=CWD,
    )
    assert (taken.directories, [str(rule) for rule in taken.rules]) == ((), ["Bash(npm test)"])
    replaced = apply_updates(held, [Update(kind="replaceRules", destination=Scope.PROJECT, rules=("Bash",))], cwd=CWD)
    assert [str(rule) for rule in replaced.rules] == ["Bash"]
