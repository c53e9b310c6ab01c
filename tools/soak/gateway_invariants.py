"""What has to be true of a gateway when all is quiet, and after it was left, whatever happened before.

One end and one completion for each run, at most one visible post for each delivery, every accepted message answered or said why not, no
lane wider than it may be, and no place, task, actor, session, item, descriptor or lock left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import trio

from greenroom.agents import load_conversation
from greenroom.agents._repair import faults_of
from greenroom.gateway.process._state_folder import hold_state
from greenroom.gateway.record import EVENTS, checks_for
from greenroom.gateway.record._machines import SendResult, SessionState
from greenroom.session import FOLDS
from greenroom.store import MemoryInboxStore, stored_ids
from greenroom.supervisor import TreeNode
from greenroom.trace import CHECKS, JOURNAL, Entry, check_journal, read_journal
from tools.soak.gateway_machine import GatewayWorld, open_files

SETTLED: Final = {"completed", "failed", "killed"}


async def check_at_rest(world: GatewayWorld) -> None:
    """Check a gateway that is quiet, and whose idle sessions have been closed."""
    assert not world.too_wide, world.too_wide
    parts = world.gateway.parts
    for lane, seen in parts.lanes.statistics().items():
        assert (seen.active, seen.lent, seen.waiting) == (0, 0, 0), f"lane {lane} at rest: {seen}"
        assert seen.width == world.widths.get(lane, 1), f"lane {lane}: {seen}"
    keepers = parts.keepers
    assert keepers.open_count == 0, f"{keepers.open_count} sessions are open at rest"
    assert not keepers._actors.running, f"keepers at rest: {keepers._actors.running}"
    left = {key: keeper for key, keeper in keepers._actors.keepers.items() if not keeper.is_empty}
    assert not {key for key, keeper in left.items() if not keeper.items.held}, left
    assert all(row.state is not SessionState.OPEN for row in parts.registry.sessions.values())
    behaviors = Counter(leaf.behavior for leaf in _leaves(keepers.runtime.tree()))
    assert behaviors == {"ChannelActor": len(world.services)}, f"actors at rest: {behaviors}"
    runs = parts.runs
    assert not runs._by_item, f"runs that have not ended: {runs._by_item}"
    assert not runs._ends, f"runs that somebody waits for: {runs._ends}"
    assert not runs._completions._working, runs._completions._working
    assert not parts.deliveries._queues, f"routes at rest: {parts.deliveries._queues}"
    assert not parts.registry.services.questions, "questions at rest"
    check_shown(world)
    await trio.lowlevel.checkpoint()


def _leaves(node: TreeNode) -> Iterator[TreeNode]:
    if not node.children:
        yield node
    for child in node.children:
        yield from _leaves(child)


def check_shown(world: GatewayWorld) -> None:
    """Nobody was shown a part twice."""
    for service in world.services.values():
        again = [part for part, times in service.times_shown.items() if times > 1]
        assert not again, f"shown twice in {service.name}: {again}"


def check_when_left(world: GatewayWorld, before: set[str]) -> None:
    """Check what is left of a gateway: its journal is sound, its conversations too, and it holds nothing."""
    entries = read_journal(world.state / JOURNAL, EVENTS).entries
    found = check_journal(entries, folds=FOLDS, checks=(*CHECKS, *checks_for(entries)))
    assert not found, "\n".join(f"{each.id} at {each.seq}: {each.text}" for each in found[:5])
    check_completions(entries)
    check_answers(world, entries)
    registry = world.gateway.parts.registry
    left = ids_in_store(world) - set(registry.inbound)
    assert not left, f"items that only the store knows: {left}"
    for path in sorted(world.state.glob("agents/*/sessions/*/transcripts/main.jsonl*")):
        assert faults_of(load_conversation(path).messages) == [], path
    with hold_state(world.state):
        pass
    assert not open_files() - before, f"descriptors left: {open_files() - before}"


def ids_in_store(world: GatewayWorld) -> set[str]:
    """Return the ids of the items that the store of inputs holds."""
    if isinstance(world.store, MemoryInboxStore):
        return {item for box in world.store._boxes.values() for item in (*box.items, *box.poisoned)}
    return set(stored_ids(world.state / "inbox.sqlite") or ())


def check_completions(entries: Sequence[Entry]) -> None:
    """Each run has one end, and one completion that was delivered, skipped or blocked."""
    runs = {entry["run"]: entry for entry in entries if entry.kind == "run.registered"}
    ends = Counter(entry["run"] for entry in entries if entry.kind == "run.ended")
    composed = Counter(entry["run"] for entry in entries if entry.kind == "completion.composed")
    over = Counter(
        entry["delivery"]
        for entry in entries
        if entry.kind == "delivery.blocked" or (entry.kind == "delivery.ended" and entry["result"] == SendResult.TAKEN)
    )
    skipped = {entry["run"] for entry in entries if entry.kind == "completion.composed" and entry["is_skipped"]}
    for run, entry in runs.items():
        assert ends[run] == 1, f"run {run} has {ends[run]} ends"
        if entry["announce"] == "none":
            continue
        assert composed[run] == 1, f"run {run} has {composed[run]} completions"
        assert run in skipped or over[f"run:{run}"], f"nobody was told about run {run}"


def check_answers(world: GatewayWorld, entries: Sequence[Entry]) -> None:
    """Each accepted message was settled with a reason, and where a turn answered it, the chat has the reply."""
    accepted = {entry["item"]: entry for entry in entries if entry.kind == "inbound.accepted"}
    settled = {entry["item"]: entry for entry in entries if entry.kind == "inbound.settled"}
    waiting = world.gateway.parts.registry.inbound
    replies = [entry for entry in entries if entry.kind == "delivery.due" and entry["delivery"].startswith("reply:")]
    for item, entry in accepted.items():
        end = settled.get(item)
        if end is None:
            assert item in waiting, f"item {item} vanished"
            continue
        is_persons = bool(entry["why"]) and bool(entry["route"])
        if is_persons and end["why"] in {"completed", "failed"} and not world.silent:
            told = [
                each
                for each in replies
                if entry.seq < each.seq and each["session"] == entry["session"] and each["route"] == entry["route"]
            ]
            assert told, f"item {item} is {end['why']} and was not answered"
