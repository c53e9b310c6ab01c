"""Folders that are an agent's own lie where nobody else may write."""

from __future__ import annotations

import pytest

from greenroom.permissions import Effect, Mode, Policy, Request, decide

NOTES = "/project/.greenroom/agent-memory/scout"


@pytest.mark.parametrize(
    ("path", "links", "effect"),
    [
        (f"{NOTES}/more.md", {}, Effect.ALLOW),
        ("/project/.greenroom/settings.json", {}, Effect.ASK),
        (f"{NOTES}/../../settings.json", {}, Effect.ASK),
        (f"{NOTES}2/more.md", {}, Effect.ASK),
        (f"{NOTES}/link", {f"{NOTES}/link": "/project/.greenroom/settings.json"}, Effect.ASK),
        (f"{NOTES}/more.md", {NOTES: "/elsewhere/scout", f"{NOTES}/more.md": "/elsewhere/scout/more.md"}, Effect.ALLOW),
    ],
)
def test_an_agent_may_write_in_a_folder_of_its_own_and_nowhere_beside_it(
    path: str, links: dict[str, str], effect: Effect
) -> None:
    policy = Policy(mode=Mode.ACCEPT_EDITS, directories=(NOTES,), own_folders=(NOTES,), home="/home/ann")
    request = Request(tool="Write", input={"file_path": path}, cwd="/project", policy=policy, links=links)
    assert decide(request).effect is effect
