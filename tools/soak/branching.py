"""Branch off from random events of three runs, continue each branch, and check both: `make soak-visibility`.

The runs are a team of eight, an agent of an agent of an agent, and one agent with two prompts, all in virtual time. Of each branch: the
cut is consistent, the conversations are sound, no agent is asked what it was asked before, the folder that the agents work in has the
same bytes, and the list of runs names it. Exit code 1 when something did not hold.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import attrs

from greenroom.agents.subagents import AGENT_TOOLS
from greenroom.branches import RunBranch
from greenroom.models import AnswerLike, ModelRequest, PlaybookModel
from greenroom.session import EVENTS, FOLDS, Session
from greenroom.testing import run_virtual
from greenroom.tools.builtin import READ_ONLY_TOOLS
from greenroom.trace import JOURNAL, check_journal, read_header, read_journal
from tests.branches.nested_agents import child, lead, record_nested
from tests.branches.recorded_runs import Watched, cut_at, go_on, look, problems_of, record_one, wait_quiet
from tests.reruns.recorded_team import record_team
from tests.session.small_team import LEAD, MATE
from tests.session.small_team import lead as lead_team
from tests.session.small_team import mate as help_team

POINTS: Final = int(os.environ.get("SOAK_BRANCHES", "300"))
Page = Callable[[ModelRequest], AnswerLike]


@attrs.frozen(kw_only=True)
class Origin:
    """A run, and how its branches are continued."""

    run: Path
    project: Path
    pages: dict[str, Page]
    program: Callable[[Session], Awaitable[None]]
    options: dict[str, object] = attrs.field(factory=dict)


def main() -> int:
    """Print what did not hold, and return the exit code."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(10**6)
    print(f"{POINTS} events, seed {seed}", flush=True)
    chance, found = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        origins = _origins(Path(folder))
        for number in range(POINTS):
            origin = origins[number % len(origins)]
            last = read_journal(origin.run / JOURNAL, EVENTS).entries[-1].seq
            at = chance.randint(1, last)
            problems = _problems(origin, at)
            found += bool(problems)
            for problem in problems:
                print(f"{origin.run.parent.parent.name}, event {at}: {problem}", flush=True)
    print(f"{found} of {POINTS} branches were not sound")
    return 1 if found else 0


def _origins(folder: Path) -> list[Origin]:
    places = [folder / name for name in ("team", "nested", "one")]
    for place in places:
        place.mkdir()
    team, nested, one = places

    async def go_on_in_team(session: Session) -> None:
        async with session.open_team("survey") as opened:
            for number in range(8):
                if f"mate-{number}" not in opened.teammates:
                    await opened.spawn(f"mate-{number}", definition=MATE)
            if session.was_cut:
                await session.resume_turn()
            await session.wait_quiet()

    return [
        Origin(
            run=record_team(team, mates=8, seed=3),
            project=team / "project",
            pages={"lead": lead_team, "mate": help_team},
            program=go_on_in_team,
            options={"main": LEAD},
        ),
        Origin(
            run=run_virtual(lambda: record_nested(nested)).result,
            project=nested / "project",
            pages={"main": lead, "general-purpose": child},
            program=wait_quiet,
            options={"tools": [*READ_ONLY_TOOLS, *AGENT_TOOLS]},
        ),
        Origin(
            run=record_one(one, Watched(), "Look.", "Look again."),
            project=one,
            pages={"main": look},
            program=wait_quiet,
        ),
    ]


def _problems(origin: Origin, at: int) -> list[str]:
    before = _bytes_of(origin.project)
    made = cut_at(origin.run, at, changes={"system:main": "Be brief."} if "main" in origin.pages else {})
    found = problems_of(made)
    asked: list[ModelRequest] = []

    def noting(page: Page) -> Page:
        def answer(request: ModelRequest) -> AnswerLike:
            asked.append(request)
            return page(request)

        return answer

    model = PlaybookModel({name: noting(page) for name, page in origin.pages.items()}, wait_s=1.0)
    go_on(origin.project, made.folder, model, origin.program, **origin.options)
    found += _repeated(origin, made, asked)
    entries = read_journal(made.folder / JOURNAL, EVENTS).entries
    found += [f"{each.id}: {each.text}" for each in check_journal(entries, folds=FOLDS)]
    if _bytes_of(origin.project) != before:
        found.append("the folder that the agents work in has other bytes")
    if read_header(made.folder / JOURNAL).about.get("from_run") != origin.run.name:
        found.append("the branch does not name its run")
    return found


def _repeated(origin: Origin, made: RunBranch, asked: list[ModelRequest]) -> list[str]:
    """Return the agents that were first asked something else than at their edge, in the number of messages."""
    entries = read_journal(origin.run / JOURNAL, EVENTS).entries
    sent = {entry["after"]: entry["messages"] for entry in entries if entry.kind == "model.begin"}
    found = []
    for stand in made.stands:
        mine = [len(request.messages) for request in asked if request.agent == stand.agent.agent]
        if mine and not stand.edge.is_idle and mine[0] != sent[stand.edge.line]:
            found.append(f"{stand}: asked with {mine[0]} messages, not with {sent[stand.edge.line]}")
    return found


def _bytes_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "runs" not in path.relative_to(folder).parts:
            digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
