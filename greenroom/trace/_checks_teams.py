"""Checks of what teammates own: no item waits for somebody who does not know of it.

A teammate works on an item in a turn. So an item in progress is in good hands as long as its owner has a turn, mail, or was told
of the item since; else the lead was told that the owner left it as it is. Where the owner is idle or gone and nobody was told,
nothing ever goes on with it.
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
    """Whether the board sent it to its owner; what a member took by itself, it knows of."""
    is_told: bool = False
    """Whether the board wrote to somebody else because of a turn of the owner: the lead knows that the item rests."""


@attrs.define
class _Team:
    """A team while its journal is walked through."""

    board: str
    supervisor: str
    actors: dict[str, str] = attrs.field(factory=dict)
    """Of members that have not ended, by name."""
    claims: dict[str, _Claim] = attrs.field(factory=dict)
    """Items in progress that were claimed in this process, by id."""
    left: dict[str, Entry] = attrs.field(factory=dict)
    """Members that ended while their team went on, by name."""
    is_closing: bool = False

    def untold(self, name: str) -> Iterator[tuple[str, _Claim]]:
        """Yield what a member was handed, has not completed, and nobody was told of."""
        for item, claim in self.claims.items():
            if claim.owner == name and claim.is_handed and not claim.is_told:
                yield item, claim

    def forget(self, name: str) -> None:
        """Forget what a member owns: it goes on with it when its team is open again."""
        self.actors.pop(name, None)
        self.claims = {item: claim for item, claim in self.claims.items() if claim.owner != name}


class _Teams:
    """Who owns what and who knows of it, while the entries are walked through."""

    def __init__(self) -> None:
        self.teams: dict[str, _Team] = {}
        self.of_actor: dict[str, tuple[_Team, str]] = {}
        """Team and name of a member, by its actor."""
        self.supervisor: dict[str, str] = {}
        self.mail: dict[str, set[int]] = {}
        """Messages that were put and have come to no end, by the actor whose they are."""
        self.busy: set[str] = set()
        self.asked: set[str] = set()
        """Actors that somebody asked to end."""
        self.turns: dict[int, tuple[str, int]] = {}
        """Actor of a turn, and the event that led to it, by the number of its begin."""

    def walk(self, entry: Entry) -> None:
        """Take the next entry."""
        actor = entry.event.actor
        match entry.kind:
            case "actor.new":
                self.supervisor[actor] = entry["supervisor"]
                self.busy.discard(actor)
                self.asked.discard(actor)
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
                    team.is_closing = team.is_closing or actor in {team.supervisor, team.board}
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
        """Take note of what a board sends: an item to its owner, or a word to somebody else because of the owner's turn."""
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
        """Yield the items with which nobody goes on, of the members that are about to be asked to end."""
        for team in self.teams.values():
            if team.is_closing or not self.is_at_rest(team.board):
                continue
            for name, actor in team.actors.items():
                if asked in {actor, team.board, team.supervisor} and self.is_at_rest(actor):
                    yield from team.untold(name)

    def is_at_rest(self, actor: str) -> bool:
        """Return True if an actor has neither a turn nor mail, and was not asked to end."""
        return actor not in self.busy and not self.mail.get(actor) and actor not in self.asked


def owners_go_on(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-53: the owner of an item that it was handed has a turn, mail, or somebody was told of the item.

    Looked at where the owner or its team is asked to end: until then what is on its way may still arrive. A run that a crash
    cut has no such moment.
    """
    teams = _Teams()
    for entry in entries:
        if entry.kind in {"actor.stop_requested", "actor.kill_requested"}:
            for item, claim in teams.abandoned(entry.event.actor):
                why = "its owner had neither turn nor mail, and nobody was told of it"
                yield entry.seq, f"item {item} of {claim.owner}, claimed at {claim.entry.seq}: {why}"
        teams.walk(entry)


def idle_own_nothing_untold(entries: Sequence[Entry]) -> Iterator[Finding]:
    """I-54: a teammate that is idle or has ended owns nothing in progress that nobody was told of."""
    teams = _Teams()
    for entry in entries:
        teams.walk(entry)
        if entry.kind == "mate.idle":
            team, name = teams.of_actor.get(entry.event.actor, (None, ""))
            has_failed = entry["reason"] != "available"
            for item, claim in list(team.claims.items()) if team is not None else ():
                if (
                    claim.owner == name
                    and claim.is_handed
                    and (not claim.is_told or (has_failed and item == entry["item"]))
                ):
                    yield entry.seq, f"{name} is idle ({entry['reason']}), and item {item} is in progress and its own"
        elif entry.kind in {"team.closed", "session.end"}:
            for one in teams.teams.values():
                for item, claim in one.claims.items():
                    if claim.owner in one.left:
                        gone = one.left[claim.owner]
                        yield gone.seq, f"{claim.owner} has ended, and item {item} is in progress and its own"
