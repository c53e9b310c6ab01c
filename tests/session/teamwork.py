"""Sessions whose main agent starts others: small playbooks, and a session to run them in."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import trio

from greenroom.agents import AgentDefinition, AgentState, CanUseTool
from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.core import Event, event_of
from greenroom.core.ports import Ports
from greenroom.models import AnswerLike, Call, Model, ModelRequest, PlaybookModel, TextBlock, ToolResultBlock
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.teams import Member, Team
from greenroom.testing import virtual_ports
from greenroom.tools import Tool, ToolContext, tool
from greenroom.tools.builtin import STANDARD_TOOLS
from greenroom.trace import JOURNAL, check_journal, read_journal

E = TypeVar("E", bound=Event)

Page = Callable[[ModelRequest], AnswerLike]
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


def agent(prompt: str, **more: Any) -> Call:
    """Return a call of the tool Agent."""
    return Call("Agent", {"description": "some work", "prompt": prompt, **more})


def mail(to: str, message: object, **more: Any) -> Call:
    """Return a call of the tool SendMessage."""
    return Call("SendMessage", {"to": to, "message": message, **more})


def kind(name: str, **more: Any) -> AgentDefinition:
    """Return a definition whose agents a page of that name plays."""
    return AgentDefinition(name=name, system_prompt=f"You are {name}.", **more)


async def send_as(member: Member, to: str, message: object, **more: Any) -> Mapping[str, Any]:
    """Send a message as if a member's model had called the tool; returns what programs read of the result.

    Raises:
        ToolError: It was not sent.
    """
    context = member.home.tool_context().for_call("by-hand")
    await member.home.profile.tools["SendMessage"].call({"to": to, "message": message, **more}, context)
    return member.home.workspace.attachments.pop("by-hand")


def texts_of(home: AgentState) -> list[str]:
    """Return what an agent's conversation holds, a text for each block that is one."""
    assert home.conversation is not None
    return [
        block.text if isinstance(block, TextBlock) else block.content
        for message in home.conversation.messages
        for block in message.content
        if isinstance(block, TextBlock | ToolResultBlock)
    ]


def told(session: Session, wanted: type[E]) -> list[E]:
    """Return the events of a class that the recorder holds."""
    events = [event_of(record) for record in session.runtime.recorder.latest() if record[2] is wanted]
    return [event for event in events if isinstance(event, wanted)]


def last_texts(request: ModelRequest) -> str:
    """Return all that the last message of the user says."""
    return "\n".join(
        block.text if isinstance(block, TextBlock) else block.content
        for block in request.messages[-1].content
        if isinstance(block, TextBlock | ToolResultBlock)
    )


def asked(request: ModelRequest) -> str:
    """Return what the agent was told first."""
    block = request.messages[0].content[0]
    assert isinstance(block, TextBlock)
    return block.text


def in_order(*answers: AnswerLike, otherwise: AnswerLike = "Noted.") -> Page:
    """Return a page that gives one answer after the other, by how often the model has spoken."""

    def page(request: ModelRequest) -> AnswerLike:
        said = sum(message.role == "assistant" for message in request.messages)
        return answers[said] if said < len(answers) else otherwise

    return page


def echo(request: ModelRequest) -> AnswerLike:
    """Report what was asked."""
    return f"Report on: {asked(request)}"


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
    around: Callable[[Model], Model] = lambda model: model,
) -> AsyncIterator[Session]:
    """Open a session in virtual time; children are played by `pages`, and report what they were asked otherwise."""
    book = {"general-purpose": echo, "Explore": echo, "Plan": echo, **(pages or {}), "main": main}
    (folder / "project").mkdir(exist_ok=True)
    async with open_session(
        model=around(PlaybookModel(book, wait_s=wait_s)),
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
    home = session.agents.pool.main_home
    assert home is not None
    assert home.conversation is not None
    return [
        "\n".join(
            block.text if isinstance(block, TextBlock) else getattr(block, "content", "") for block in message.content
        )
        for message in home.conversation.messages
    ]


def notices(session: Session) -> list[str]:
    """Return the notices that main has read."""
    text = "\n".join(main_messages(session))
    return [part.split("</task-notification>")[0] for part in text.split("<task-notification>")[1:]]


def violations(session: Session) -> list[str]:
    """Return what is wrong with the journal of a session that has ended."""
    journal = read_journal(session.run_folder / JOURNAL, EVENTS)
    return [f"{finding.id}: {finding.text}" for finding in check_journal(journal.entries, folds=FOLDS)]


def structured(session: Session) -> list[dict[str, Any]]:
    """Return what programs read of main's calls, in order."""
    lines = (session.run_folder / "transcripts" / "main.jsonl").read_text().splitlines()
    return [line["toolUseResult"] for line in map(json.loads, lines) if "toolUseResult" in line]


def make_repository(folder: Path) -> None:
    """Make a repository with one commit."""
    folder.mkdir()
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *command], cwd=folder, check=True)


def make_build(folder: Path, seconds: float = math.inf) -> Tool:
    """Return a tool that starts a command in the background that takes so long."""

    @tool(name="Build")
    async def build(ctx: ToolContext) -> str:
        """Build in the background."""

        async def work() -> int:
            await trio.sleep(seconds)
            return 0

        ctx.background.start(
            work,
            id="b00000001",
            description="build",
            owner=ctx.actor,
            tool_use_id=ctx.tool_use_id,
            output_file=folder / "b00000001.output",
            command="build",
            is_background=True,
        )
        return "It builds."

    return build


@tool(name="Linger", read_only=True)
async def linger(seconds: int) -> str:
    """Take a while.

    Args:
        seconds: How long.
    """
    await trio.sleep(seconds)
    return "waited"


def member(team: Team, name: str) -> Any:
    """Return a member by its name."""
    return team.roster.members[name]


def mail_texts(team: Team, name: str) -> list[str]:
    """Return what others said to a member that stands in its conversation; that they have nothing to do is left out."""
    return [text for text in notices_of(team, name) if "idle_notification" not in text]


def notices_of(team: Team, name: str) -> list[str]:
    """Return all that a member was told by others, or of them."""
    return [text for text in texts_of(member(team, name).home) if text.startswith("<teammate-message")]
