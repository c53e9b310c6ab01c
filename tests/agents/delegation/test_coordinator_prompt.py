"""The prompt of a coordinator, and the choice whether there is one."""

from __future__ import annotations

import pytest

from greenroom.agents.delegation import COORDINATOR_PROMPT, about_workers, session_mode
from greenroom.agents.delegation._coordinator import SessionMode


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("8.9", ("<task-notification>", "It is not the user")),
        ("8.10", ("was stopped, goes on with all it knew",)),
        ("8.20", ("Answer yourself", "Start no worker for trifles", "none to watch over another one")),
        ("8.21", ("research (workers, side by side), synthesis (you), implementation (workers), verification",)),
        ("8.22", ("based on your findings", "the files and lines, the exact change, and what done means")),
        ("8.23", ("sees nothing of this conversation",)),
        ("8.24", ("several Agent calls in one message", "one at a time for each set of files that overlaps")),
        ("8.24", ("Verification may run beside an implementation",)),
        ("8.25", ("run it, try the edge cases", "fresh worker")),
        ("8.26", ("holds the files in question already", "narrow task after broad research", "wrong altogether")),
        ("8.27", ("TaskStop, then SendMessage with the corrected instruction to the same id",)),
        ("8.28", ("say in a sentence or two what runs, and end your turn", "Never invent or foretell a result")),
        ("8.29", ("first go on with the same one", "try another way or tell the user")),
    ],
)
def test_the_prompt_holds_every_obligation(row: str, words: tuple[str, ...]) -> None:
    text = " ".join(COORDINATOR_PROMPT.split())
    assert all(word in text for word in words), row


@pytest.mark.parametrize(
    ("setting", "said", "stored", "mode", "has_warning"),
    [
        (False, None, "", "normal", False),
        (True, None, "", "coordinator", False),
        (False, "1", "", "coordinator", False),
        (False, "Yes", "", "coordinator", False),
        (True, "0", "", "normal", False),
        (True, " ", "", "coordinator", False),
        (False, None, "coordinator", "coordinator", True),
        (False, "1", "normal", "normal", True),
        (True, None, "coordinator", "coordinator", False),
        (True, None, "from a later version", "coordinator", False),
    ],
)
def test_the_environment_goes_before_the_setting_and_what_is_stored_before_both(
    setting: bool, said: str | None, stored: str, mode: SessionMode, has_warning: bool
) -> None:
    environ = {} if said is None else {"GREENROOM_COORDINATOR_MODE": said}
    found, warning = session_mode(setting=setting, environ=environ, stored=stored, run="s1")
    assert found == mode
    assert bool(warning) is has_warning
    assert not has_warning or warning.startswith("s1 was begun ")


def test_the_block_about_workers_names_servers_and_tells_when_there_are_no_tools() -> None:
    assert "MCP servers: docs, tracker" in about_workers(tools=["Read"], servers=["docs", "tracker"])
    assert about_workers(tools=[]).endswith("Their tools: none")
