"""Checks of teammates' items: no item waits for an owner that does not know of it.

A teammate works on an item in a turn. So an item in progress is safe as long as its owner has a turn, mail, or has been
notified of the item since; otherwise the lead must have been notified that the owner left it. If the owner is idle or
terminated and nobody was notified, nothing would ever resume the item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs

from greenroom.trace._entries import Entry

Finding: TypeAlias = tuple[int, str]


@attrs.define
class _Claim:
    """An item in progress."""

    owner: str
    """Name of its owner."""
    entry: Entry
    is_handed: bool = False
    """True if the board sent it to its owner; a member knows of items that it took itself."""
    is_told: bool = False
    """True if the board wrote to somebody else after a turn of the owner: the lead knows that the item rests."""


@attrs.define
class _Team:
    """A team while its journal is walked."""

    board: str
    supervisor: str
    actors: dict[str, str] = attrs.field(factory=dict)
    """Actors of the members that have not ended, by name."""
    claims: dict[str, _Claim] = attrs.field(factory=dict)
    """Items in progress that were claimed in this process, by id."""
    left: dict[str, Entry] = attrs.field(factory=dict)
    """Members that ended while their team continued, by name."""
    is_closing: bool = False

    def untold(self, name: str) -> Iterator[tuple[str, _Claim]]:
        """Yield the items handed to a member that it has not completed and nobody was notified of."""
        for item, claim in self.claims.items():
            if claim.owner == name and claim.is_handed and not claim.is_told:
                yield item, claim

    def forget(self, name: str) -> None:
        """Forget the items of a member: it resumes them when its team is open again."""
        self.actors.pop(name, None)
        self.claims = {item: claim for item, claim in self.claims.items() if claim.owner != name}


class _Teams:
    """Owners of items and who was notified, while the entries are walked."""

    def __init__(self) -> None:
        self.teams: dict[str, _Team] = {}
        self.of_actor: dict[str, tuple[_Team, str]] = {}
        """Team and name of a member, by its actor."""
        self.supervisor: dict[str, str] = {}
        self.mail: dict[str, set[int]] = {}
        """Unfinished messages, by the actor that owns them."""
        self.busy: set[str] = set()
        self.asked: set[str] = set()
        """Actors whose end was requested."""
        self.restarting: set[str] = set()
        """Actors between two incarnations: the next one resumes what the last one left."""
        self.turns: dict[int, tuple[str, int]] = {}
        """Actor of a turn and the event that led to it, by the number of its begin."""

    def walk(self, entry: Entry) -> None:
        """Process the next entry."""
        actor = entry.event.actor
        match entry.kind:
            case "actor.new":
                self.supervisor[actor] = entry["supervisor"]
                self.busy.discard(actor)
                self.asked.discard(actor)
                self.restarting.discard(actor)
            case "child.restarted":
                self.restarting |= {entry["child"], *entry["together"]}
            case "turn.begin":
                self.busy.add(actor)
                self.turns[entry.seq] = actor, entry.event.parent
            case "turn.end":
                self.busy.discard(actor)
            case "message.put":
                self.mail.setdefault(actor, set()).add(entry["msg"])
                self._note_put(actor, entry.event.parent)
            case "message.acked" | "message.died":
                self.mail.get(actor, set()).discard(entry["msg"])
            case "actor.stop_requested" | "actor.kill_requested":
                self.asked.add(actor)
                for team in self.teams.values():
                    is_ending = actor == team.supervisor or (actor == team.board and actor not in self.restarting)
                    team.is_closing = team.is_closing or is_ending
            case "team.opened":
                self.teams[entry["team"]] = _Team(actor, self.supervisor.get(actor, ""))
            case _ if entry.kind.startswith(("mate.", "item.")):
                self._note_member_or_item(actor, entry)

    def _note_member_or_item(self, actor: str, entry: Entry) -> None:
        team = self.teams.get(entry["team"])
        if team is None:
            return
        match entry.kind:
            case "mate.joined":
                team.actors[entry["name"]] = actor
                team.left.pop(entry["name"], None)
                self.of_actor[actor] = team, entry["name"]
            case "mate.parked":
                team.forget(entry["name"])
            case "mate.left" if team.is_closing:
                team.forget(entry["name"])
            case "mate.left":
                team.left[entry["name"]] = entry
            case "item.claimed":
                team.claims[entry["item"]] = _Claim(entry["owner"], entry)
            case "item.completed" | "item.released" | "item.assigned" | "item.deleted":
                team.claims.pop(entry["item"], None)

    def _note_put(self, actor: str, parent: int) -> None:
        """Record a board's message: an item for its owner, or a notice to somebody else after the owner's turn."""
        board, cause = self.turns.get(parent, ("", 0))
        owner = self.of_actor.get(actor)
        if owner is not None:
            for claim in owner[0].claims.values():
                claim.is_handed |= claim.owner == owner[1] and claim.entry.event.parent == parent
        teller = self.of_actor.get(self.turns.get(cause, ("", 0))[0])
        if teller is not None and board == teller[0].board and actor not in {board, teller[0].actors.get(teller[1])}:
            for _, claim in teller[0].untold(teller[1]):
                claim.is_told = True

    def abandoned(self, asked: str) -> Iterator[tuple[str, _Claim]]:
        """Yield the abandoned items of the members that are about to be asked to end."""
        for team in self.teams.values():
            if team.is_closing or not self.is_at_rest(team.board):
                continue
            for name, actor in team.actors.items():
                if asked in {actor, team.board, team.supervisor} and self.is_at_rest(actor):
                    yield from team.untold(name)

    def is_at_rest(self, actor: str) -> bool:
        """Return True if an actor has neither a turn nor mail, and neither its end nor its restart was requested."""
        return not (actor in self.busy or self.mail.get(actor) or actor in self.asked or actor in self.restarting)


def owners_go_on(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-53: the owner of an item that it was handed has a turn or mail, or somebody was notified of the item.

    Checked when the end of the owner or its team is requested: until then, a message may still arrive. A run that a
    crash cut short has no such moment.
    """
    teams = _Teams()
    for entry in entries:
        if entry.kind in {"actor.stop_requested", "actor.kill_requested"}:
            for item, claim in teams.abandoned(entry.event.actor):
                why = "its owner had neither a turn nor mail, and nobody was notified of it"
                yield entry.seq, f"item {item} of {claim.owner}, claimed at {claim.entry.seq}: {why}"
        teams.walk(entry)


def idle_own_nothing_untold(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-54: a teammate that is idle or has ended owns nothing in progress that nobody was notified of."""
    teams = _Teams()
    for entry in entries:
        teams.walk(entry)
        if entry.kind == "mate.idle":
            own_team, name = teams.of_actor.get(entry.event.actor, (None, ""))
            has_failed = entry["reason"] != "available"
            for item, claim in list(own_team.claims.items()) if own_team is not None else ():
                if (
                    claim.owner == name
                    and claim.is_handed
                    and (not claim.is_told or (has_failed and item == entry["item"]))
                ):
                    yield entry.seq, f"{name} is idle ({entry['reason']}) but owns item {item}, which is in progress"
        elif entry.kind in {"team.closed", "session.end"}:
            for team in teams.teams.values():
                for item, claim in team.claims.items():
                    if claim.owner in team.left:
                        left = team.left[claim.owner]
                        yield left.seq, f"{claim.owner} has ended but owns item {item}, which is in progress"


def stranded_items(entries: Sequence[Entry]) -> Iterator[Finding]:
    """Yield each item in progress after the last entry whose owner has neither a turn nor mail, of boards that work.

    In a run that is in progress a message may still arrive, so this is a hint and no invariant.
    """
    teams = _Teams()
    for entry in entries:
        teams.walk(entry)
    for team in teams.teams.values():
        for item, claim in team.claims.items():
            actor = team.actors.get(claim.owner)
            if not (team.is_closing or claim.is_told or (actor is not None and not teams.is_at_rest(actor))):
                why = "has neither a turn nor mail" if actor is not None else "has ended"
                yield claim.entry.seq, f"item {item} is in progress, but its owner {claim.owner} {why}"
