"""Matchers: exact names, lists of names, and patterns."""

from __future__ import annotations

import string
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.hooks import HookEvent
from greenroom.hooks._matcher import compile_matcher

TOOL: Final = HookEvent.PRE_TOOL_USE
NAMES: Final = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=12)


def matches(text: str, subject: str, event: HookEvent = TOOL) -> bool:
    return compile_matcher(text, event).matches(subject)


@pytest.mark.parametrize(
    ("text", "subject", "does"),
    [
        ("Edit|Write", "Edit", True),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "NotebookEdit", False),
        ("db-agent", "db-agent", True),
        ("db-agent", "prod-db-agent", False),
        ("Edit, Write", "Write", True),
        ("Edit , Write", "Edit", True),
        ("", "Anything", True),
        ("*", "Anything", True),
        ("mcp__memory", "mcp__memory__get", False),
        ("mcp__memory__.*", "mcp__memory__get", True),
        ("Edit.*", "NotebookEdit", True),  # a pattern is not anchored
        ("^Edit.*", "NotebookEdit", False),
        ("plugin:agent", "a-plugin:agent-2", True),
        ("^plugin:agent$", "plugin:agent-2", False),
        (r"(?<word>Ed)it\b", "Edit", True),
        (r"^\w+$", "Édit", False),  # JavaScript's classes are ASCII
        ("Task", "Agent", True),
        ("^Task$", "Agent", True),
        ("Edit|Bash", "Monitor", True),
        ("^Bash$", "Monitor", True),
        ("Monitor", "Monitor", True),
        ("Monitor", "Bash", False),
        ("Agent", "Agent", True),
        ("Task", "TaskCreate", False),
    ],
)
def test_what_a_matcher_is_for(text: str, subject: str, does: bool) -> None:
    """Behaviours (3), line 2, and the rules around it."""
    assert matches(text, subject) is does


def test_file_names_have_fewer_plain_characters() -> None:
    assert matches("a,b", "a,b", HookEvent.FILE_CHANGED)
    assert not matches("a,b", "a", HookEvent.FILE_CHANGED)
    assert matches("a-b", "xa-bx", HookEvent.FILE_CHANGED)
    assert matches("a|b", "b", HookEvent.FILE_CHANGED)


@given(st.lists(NAMES, min_size=1, max_size=5), st.sampled_from(["|", ",", " | ", ", "]), NAMES)
def test_a_list_is_for_its_names_and_no_others(names: list[str], separator: str, subject: str) -> None:
    text = separator.join(names)

    assert all(matches(text, name) for name in names)
    assert matches(text, subject) is (subject in names or (subject == "Agent" and "Task" in names))


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_a_matcher_or_is_refused(text: str, subject: str) -> None:
    try:
        matcher = compile_matcher(text, TOOL)
    except ValueError:
        return
    assert matcher.matches(subject) in {True, False}


@pytest.mark.parametrize("text", ["(", "[a", "a" * 999 + "()", "(?P<a>x)(?P<a>y)", "x{2,1}"])
def test_what_is_no_pattern_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"regular expression|characters"):
        compile_matcher(text, TOOL)


def test_a_pattern_that_python_warns_of_is_taken_silently() -> None:
    assert matches("[[a]", "a")
