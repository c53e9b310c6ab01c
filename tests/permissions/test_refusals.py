"""A call that the user refused one agent stays refused for the others of its team."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from greenroom.permissions import Refusals

AGENTS = st.sampled_from(["ann", "bob", "cid"])
COMMANDS = st.sampled_from(["rm a", "rm  a", " rm a ", "rm b"])
STEPS = st.tuples(st.sampled_from(["note", "lift", "clear", "ask"]), AGENTS, COMMANDS)


@given(st.lists(STEPS, max_size=20))
def test_who_was_refused_may_ask_again_and_nobody_else(steps: list[tuple[str, str, str]]) -> None:
    """Against a model that keeps, for each command without its spaces, who was refused it."""
    refusals = Refusals()
    expected: dict[str, list[str]] = {}
    for step, agent, command in steps:
        key = " ".join(command.split())
        values: dict[str, Any] = {"command": command, "description": step}
        match step:
            case "note":
                refusals.note(agent, agent.upper(), "Bash", values)
                if agent not in expected.setdefault(key, []):
                    expected[key].append(agent)
            case "lift":
                refusals.lift("Bash", values)
                expected.pop(key, None)
            case "clear":
                refusals.clear()
                expected.clear()
            case _:
                held = expected.get(key, [])
                wanted = "" if agent in held or not held else held[0].upper()
                assert refusals.refused(agent, "Bash", values) == wanted
        assert len(refusals) == len(expected)


def test_another_tool_or_another_input_is_another_call() -> None:
    """What it does not cover: the same effect by other means."""
    refusals = Refusals()
    refusals.note("ann", "ann", "Write", {"file_path": "/a", "content": "x"})

    assert refusals.refused("bob", "Write", {"content": "x", "file_path": "/a"}) == "ann"
    assert refusals.refused("bob", "Edit", {"content": "x", "file_path": "/a"}) == ""
    assert refusals.refused("bob", "Write", {"content": "y", "file_path": "/a"}) == ""
    assert refusals.refused("bob", "Write", {"content": object(), "file_path": "/a"}) == ""
