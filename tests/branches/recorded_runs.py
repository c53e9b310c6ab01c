"""Runs to branch off from, in virtual time, and what has to hold of a branch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from greenroom.agents import load_conversation, open_calls
from greenroom.branches import RunBranch, branch
from greenroom.core import UsageError
from greenroom.core.ports import Ports, SystemDisk
from greenroom.models import AnswerLike, Call, Model, ModelRequest, PlaybookModel
from greenroom.session import EVENTS, FOLDS, Session, open_session
from greenroom.testing import run_virtual, virtual_ports
from greenroom.tools.builtin import READ_ONLY_TOOLS
from greenroom.trace import JOURNAL, check_journal, read_journal

ROUNDS = 4
PORTS = Ports(disk=SystemDisk(is_durable=False))
"""Branches of tests need not survive a power cut."""


def look(request: ModelRequest) -> AnswerLike:
    """Look something up in each round, and say in the last one how often."""
    rounds = sum(message.role == "assistant" for message in request.messages)
    if rounds % (ROUNDS + 1) < ROUNDS:
        return [Call("Glob", {"pattern": f"*.{number}"}) for number in range(rounds % 3 + 1)]
    return f"{rounds} rounds."


class Watched:
    """A playbook for main that keeps what it is asked."""

    def __init__(self, play: Callable[[ModelRequest], AnswerLike] = look) -> None:
        self.asked: list[ModelRequest] = []
        self._play = play
        self.model: Model = PlaybookModel({"main": self._answer}, wait_s=1.0)

    def _answer(self, request: ModelRequest) -> AnswerLike:
        self.asked.append(request)
        return self._play(request)


def record_one(folder: Path, watched: Watched, *prompts: str, **options: Any) -> Path:
    """Run one agent on prompts, and return its run folder."""

    async def run() -> Path:
        async with open_session(
            model=watched.model,
            cwd=folder,
            runs=folder / "runs",
            tools=options.pop("tools", READ_ONLY_TOOLS),
            ports=virtual_ports(),
            **options,
        ) as session:
            for prompt in prompts:
                await session.run(prompt)
        return session.run_folder

    return run_virtual(run).result


def go_on(folder: Path, run: Path, model: Model, program: Callable[[Session], Any], **options: Any) -> Path:
    """Open a session on a branch and run a program in it."""

    async def run_on() -> Path:
        async with open_session(
            model=model,
            cwd=folder,
            runs=run.parent,
            resume=run,
            ports=virtual_ports(seed=7),
            **options,
        ) as session:
            await program(session)
        return session.run_folder

    return run_virtual(run_on).result


async def wait_quiet(session: Session) -> None:
    """Wait until nothing runs."""
    await session.wait_quiet()


def cut_at(run: Path, at: int, **options: Any) -> RunBranch:
    """Branch off at an event, or at the one that a refusal names."""
    options.setdefault("ports", PORTS)
    try:
        return branch(run, at, **options)
    except UsageError as refused:
        return branch(run, int(str(refused).split()[-1]), **options)


def problems_of(made: RunBranch) -> list[str]:
    """Return what is wrong with a branch that nothing has been opened on."""
    journal = read_journal(made.folder / JOURNAL, EVENTS)
    found = [f"{each.id}: {each.text}" for each in check_journal(journal.entries, folds=FOLDS)]
    found += [f"event {at} is numbered {entry.seq}" for at, entry in enumerate(journal.entries, 1) if entry.seq != at]
    for stand in made.stands:
        if not stand.edge.line:
            continue
        loaded = load_conversation(made.folder / "transcripts" / stand.agent.transcript)
        found += [note for note in loaded.notes if not note.endswith("were joined")]
        found += [f"{stand}: {call.id} has no result" for call in open_calls(loaded.messages)]
        roles = [message.role for message in loaded.messages]
        if any(first == second for first, second in itertools.pairwise(roles)):
            found.append(f"{stand}: two messages of one role")
        if not stand.edge.is_idle and roles[-1] != "user":
            found.append(f"{stand}: nothing to answer")
    return found
