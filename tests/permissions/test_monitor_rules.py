"""Rules for the commands of Monitor: those of Bash hold for it, and its own widen nothing else."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.permissions import Mode, hidden_tools, parse_rule
from greenroom.permissions._broad import is_broad
from greenroom.permissions._rules import Effect, Scope, Source
from tests.permissions.everyday import RULES, everyday
from tests.permissions.policies import call, policy

Rules = dict[str, Any]
ROWS: Final[list[tuple[str, str, Rules, str]]] = [
    # tool, command, rules, effect
    ("Monitor", "grep -n ERROR app.log", {}, "allow"),
    ("Monitor", "npm run watch", {}, "ask"),
    ("Monitor", "npm run watch", {"allow": ["Bash"]}, "allow"),
    ("Monitor", "npm run watch", {"allow": ["Bash(npm run *)"]}, "allow"),
    ("Monitor", "npm run watch", {"allow": ["Monitor(npm run *)"]}, "allow"),
    ("Monitor", "npm run watch", {"allow": ["Monitor"]}, "allow"),
    ("Bash", "npm run watch", {"allow": ["Monitor(npm run *)"]}, "ask"),
    ("Bash", "npm run watch", {"allow": ["Monitor"]}, "ask"),
    ("Monitor", "echo a; npm run watch", {"allow": ["Bash"], "deny": ["Bash(npm run *)"]}, "deny"),
    ("Monitor", "while true; do curl x; done", {"allow": ["Monitor"], "deny": ["Bash(curl *)"]}, "deny"),
    ("Monitor", "curl x", {"allow": ["Bash"], "ask": ["Bash(curl *)"]}, "ask"),
    ("Monitor", "npm test", {"allow": ["Bash"], "deny": ["Monitor(npm *)"]}, "deny"),
    ("Bash", "npm test", {"allow": ["Bash"], "deny": ["Monitor(npm *)"]}, "allow"),
    ("Monitor", "npm test", {"allow": ["Bash"], "deny": ["Bash(run_in_background:true)"]}, "deny"),
    ("Monitor", "npm test", {"allow": ["Bash"], "deny": ["Monitor(persistent:true)"]}, "deny"),
    ("Monitor", "npm test", {"allow": ["Bash"], "deny": ["Bas*"]}, "deny"),
    ("Monitor", "npm test", {"deny": ["Bash"]}, "deny"),
    ("Monitor", "cat .env", {"deny": ["Read(.env)"]}, "deny"),
    ("Monitor", "if then", {}, "ask"),
]


@pytest.mark.parametrize(("tool", "command", "rules", "effect"), ROWS)
def test_command_of_a_monitor_is_judged_by_the_rules(tool: str, command: str, rules: Rules, effect: str) -> None:
    values = {"command": command, "description": "it", **({"persistent": True} if tool == "Monitor" else {})}

    assert call(tool, values, policy(**rules)).effect.value == effect


@given(st.sampled_from(everyday()), st.sampled_from(list(Mode)), st.sampled_from(list(Effect)))
def test_monitor_is_judged_as_bash_is(row: Any, mode: Mode, effect: Effect) -> None:
    """Whatever the command, the mode and the rules for Bash."""
    rules: Rules = {"allow": RULES, effect.value: ["Bash(git *)", "Bash(npm run *)"]}
    held = policy(**rules, mode=mode)
    values = {"command": row.command}

    bash, monitor = call("Bash", values, held), call("Monitor", values, held)

    assert (monitor.effect, monitor.rule, monitor.reviewer) == (bash.effect, bash.rule, bash.reviewer)


def test_answer_that_lasts_allows_the_monitor_alone() -> None:
    (update,) = call("Monitor", {"command": "npm run watch"}, policy()).suggestions

    assert update.rules == ("Monitor(npm run *)",)


def test_denied_shell_takes_the_monitor_away_too() -> None:
    tools = ("Bash", "Monitor", "Read")

    assert hidden_tools(policy(deny=["Bash"]), tools) == {"Bash", "Monitor"}
    assert hidden_tools(policy(deny=["Monitor"]), tools) == {"Monitor"}


@pytest.mark.parametrize("text", ["Monitor", "Monitor(python*)", "Monitor(sh *)"])
def test_broad_rules_for_monitors_do_not_count_in_auto(text: str) -> None:
    rule, problem = parse_rule(text, Effect.ALLOW, Source(scope=Scope.USER))

    assert problem is None
    assert rule is not None
    assert is_broad(rule)
