"""Sessions whose main agent starts others: small playbooks, and a session to run them in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from greenroom.agents import AgentDefinition, CanUseTool
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import Event, event_of
from greenroom.core.ports import Ports
from greenroom.models import PlaybookModel
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.testing import virtual_ports
from greenroom.tools import Tool
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, check_journal, read_journal
from tests.agents.pages import Page, echo, message_texts, notices_in

E = TypeVar("E", bound=Event)

AUDIT_AUTH = """---
name: audit-auth
context: fork
allowed-tools:
  - Read
  - Grep
  - Glob
---

Audit the authentication flow and return only correctness risks.
"""
"""A skill of the reference."""


def told(session: Session, wanted: type[E]) -> list[E]:
    """Return the events of a class that the recorder holds."""
    events = [event_of(record) for record in session.runtime.recorder.latest() if record[2] is wanted]
    return [event for event in events if isinstance(event, wanted)]


@asynccontextmanager
async def open_teamwork(
    folder: Path,
    main: Page,
    *,
    pages: Mapping[str, Page] | None = None,
    wait_s: float = 1.0,
    tools: tuple[Tool, ...] = (),
    settings: Mapping[str, Any] | None = None,
    agents: Mapping[str, Any] | None = None,
    definition: AgentDefinition | None = None,
    can_use_tool: CanUseTool | None = None,
    mode: str | None = "bypassPermissions",
    sources: Iterable[str] = (),
    is_trusted: bool = False,
    resume: Path | str | None = None,
    ports: Ports | None = None,
    worktree: str | None = None,
) -> AsyncIterator[Session]:
    """Open a session in virtual time; children are played by `pages`, and report what they were asked otherwise."""
    book = {"general-purpose": echo, "Explore": echo, "Plan": echo, **(pages or {}), "main": main}
    (folder / "project").mkdir(exist_ok=True)
    async with open_session(
        model=PlaybookModel(book, wait_s=wait_s),
        cwd=folder / "project",
        runs=folder / "runs",
        main=definition or AgentDefinition(name="main", system_prompt="You lead."),
        tools=(*STANDARD_TOOLS, *AGENT_TOOLS, *tools),
        sources=sources,
        is_trusted=is_trusted,
        ports=ports or virtual_ports(),
        resume=resume,
        worktree=worktree,
        settings=settings,
        agents=agents,
        permission_mode=mode,
        can_use_tool=can_use_tool,
        has_approver=can_use_tool is not None,
    ) as session:
        yield session


def main_messages(session: Session) -> list[str]:
    """Return what main's conversation holds, a text for each message."""
    return message_texts(session.agents.pool.main_home)


def notices(session: Session) -> list[str]:
    """Return the notices that main has read."""
    return notices_in(main_messages(session))


def violations(session: Session) -> list[str]:
    """Return what is wrong with the journal of a session that has ended."""
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    return [f"{finding.id}: {finding.text}" for finding in check_journal(journal.entries, folds=FOLDS)]


def structured(session: Session) -> list[dict[str, Any]]:
    """Return what programs read of main's calls, in order."""
    lines = (session.run_folder / "transcripts" / "main.jsonl").read_text().splitlines()
    return [line["toolUseResult"] for line in map(json.loads, lines) if "toolUseResult" in line]
