"""Branches: new runs that continue a recorded run from one of its events, with something changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import final

import attrs

from greenroom.branches._agent_edges import AgentEdges, find_compaction, find_edges
from greenroom.branches._branch_changes import BranchChanges, check_agents, read_changes, with_earlier
from greenroom.branches._branch_folder import BranchPlan, write_branch
from greenroom.branches._consistent_cut import Cut, Stand, plan_cut
from greenroom.core import UsageError, whole_path
from greenroom.core.ports import Ports, session_id
from greenroom.session import EVENTS, BranchFiles, BranchStart, SessionBegan, read_branch
from greenroom.trace import JOURNAL, JournalText, LockState, read_journal, read_lock


@final
@attrs.frozen(kw_only=True)
class RunBranch:
    """A new run folder that a session can be opened on, as on one that is resumed."""

    folder: Path
    from_run: str
    """The id of the run that it branches off from."""
    at: int
    """The event that was asked for."""
    left_out: int
    """Number of events up to there whose work is done again."""
    stands: Sequence[Stand]
    """The places of the agents; the main agent first."""
    problem: str = ""
    """A line about changes of that run, itself a branch, that were left out; empty if there are none."""


def branch(
    run: Path | str,
    at: int,
    *,
    changes: Mapping[str, str] | None = None,
    files: BranchFiles = "refuse",
    runs: Path | str | None = None,
    named: Sequence[str] = (),
    must_ask: bool = False,
    ports: Ports | None = None,
) -> RunBranch:
    """Create a run that continues another one from an event, and return it. It blocks, and asks no model.

    Each agent stands at its last model request, or between its turns, at or before the event; what was done after that is
    left out, with all that followed from it. A session that is opened on the new folder (`resume`) asks the same once more; hooks and
    servers in `settings` count there only if it lies in the project's runs folder.

    Args:
        run: The folder of a run that has ended.
        at: Number of the last event that may be kept.
        changes: Texts by what they replace: `system:AGENT`, `definition:NAME`, `message:LINE`, `result:CALL`, `settings`.
        files: Treatment of calls that change files or run commands: `refuse`, or `here` for the files as they are now.
        runs: The folder for the new run folder; by default that of the run.
        named: Further changes that the program makes itself, in words, such as `model=...`.
        must_ask: True if an agent has to stand before a request, because nothing new is said in the branch.
        ports: Ids, time and disk; by default the machine's.

    Raises:
        UsageError: The run cannot be cut there (the text names the nearest event at which it can), or a change fits nothing.
        JournalError: The journal cannot be read, or the new folder cannot be written.
    """
    source, ports = whole_path(run), ports or Ports()
    read = read_changes(changes or {})
    journal = read_journal(source / JOURNAL, EVENTS)
    if read_lock(source)[0] is LockState.HELD:
        raise UsageError(f"the run {source.name} has not ended; branch off when it has")
    agents = find_edges(journal.entries)
    cut = checked_cut(journal, agents, at)
    if must_ask:
        _check_asking(cut, agents)
    check_agents(read, agents.values())
    earlier = read_branch(source)
    read = with_earlier(read, source, earlier)
    folder = (source.parent if runs is None else whole_path(runs)) / session_id(ports.ids, ports.clock.wall())
    plan = BranchPlan(
        source=source,
        header=journal.header,
        entries=journal.entries,
        cut=cut,
        changes=read,
        given=[*(changes or {}), *named],
        start=_start_of(read, cut, journal.header.run, files),
    )
    write_branch(plan, folder, ports.disk)
    problem = "" if earlier is None else earlier.problem
    return RunBranch(
        folder=folder, from_run=journal.header.run, at=at, left_out=cut.left_out, stands=cut.stands, problem=problem
    )


def _start_of(changes: BranchChanges, cut: Cut, run: str, files: BranchFiles) -> BranchStart:
    return BranchStart(
        from_run=run,
        from_seq=cut.at,
        kept=len(cut.kept),
        systems=changes.systems,
        definitions={name: f"definitions/{number}.md" for number, name in enumerate(sorted(changes.definitions), 1)},
        settings=changes.settings,
        files=files,
    )


def checked_cut(journal: JournalText, agents: Mapping[str, AgentEdges], at: int) -> Cut:
    """Return the consistent cut at or before an event.

    Raises:
        UsageError: The run cannot be cut there; the text names the nearest event at which it can.
    """
    entries, run = journal.entries, journal.header.run
    if not any(isinstance(entry.event, SessionBegan) for entry in entries):
        raise UsageError(f"the run {run} is not that of a session, so it has no conversation to continue")
    first = _first_place(agents)
    if first is None:
        raise UsageError(f"the run {run} has asked no model, so there is nothing to continue; start it again")
    if any(agent.lacks_lines for agent in agents.values()):
        raise UsageError(
            f"the run {run} was recorded by an older version, whose journals do not name lines of conversations"
        )
    last = entries[-1].seq
    if not 1 <= at <= last:
        raise UsageError(
            f"the run {run} has the events 1 to {last}; the nearest to {at} is {first if at < 1 else last}"
        )
    compaction = find_compaction(entries, at)
    if compaction is not None and at >= first:
        raise UsageError(f"at event {at} a conversation is being compacted; the nearest before it is {compaction - 1}")
    cut = plan_cut(entries, agents, at)
    if at < first or not cut.stands or not cut.stands[0].edge.line:
        raise UsageError(
            f"at event {at} the main agent has not asked its model yet; the first event to continue from is {first}"
        )
    return cut


def _check_asking(cut: Cut, agents: Mapping[str, AgentEdges]) -> None:
    if all(stand.edge.is_idle for stand in cut.stands):
        before = [edge.first for agent in agents.values() for edge in agent.edges if not edge.is_idle]
        nearest = max(first for first in before if first <= cut.at) - 1
        raise UsageError(
            f"at event {cut.at} all agents are between turns, with nothing to answer; the nearest before it is {nearest}"
        )


def _first_place(agents: Mapping[str, AgentEdges]) -> int | None:
    """Return the first event at which the main agent can be cut before a request; None if it has made none."""
    main = next(iter(agents.values()), None)
    if main is None:
        return None
    return next((edge.first - 1 for edge in main.edges if not edge.is_idle), None)
