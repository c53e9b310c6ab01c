"""The record of a team that was opened before: the fold of the journal, from this process or an earlier one.

A teammate that was ended, or ended on request, does not come back; one whose actor ended with its team or its process
does. Nothing of a deleted team comes back, but its names and ids are not reused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, final

import attrs

from greenroom.teams._board_items import Item, ItemStatus
from greenroom.teams._mail_events import Mail, unread
from greenroom.teams._teammate_events import TeammateView, TeamView


@final
@attrs.frozen(kw_only=True)
class TeamRecord:
    """The initial state of a team that was opened before."""

    view: TeamView
    items: tuple[Item, ...] = ()
    last_id: int = 0
    """The highest item id ever given."""
    teammates: tuple[TeammateView, ...] = ()
    """All that ever joined, in that order."""
    mail: tuple[Mail, ...] = ()
    """Unread mail of its members, in sending order."""
    last_mail: int = 0
    """The highest number of a message."""
    begun: tuple[Item, ...] = ()
    """Items whose latest claim a transcript tells of: their owners have taken them up, the last one last."""

    @property
    def cut(self) -> dict[str, tuple[str, ...]]:
        """Items that returning teammates were working on when they were cut off, by name."""
        mine: dict[str, tuple[str, ...]] = {}
        for item in self.items:
            if item.status is ItemStatus.IN_PROGRESS:
                mine[item.owner] = (*mine.get(item.owner, ()), item.id)
        return {
            teammate.name: mine[teammate.name]
            for teammate in self.parked
            if teammate.has_work and teammate.name in mine
        }

    @property
    def parked(self) -> tuple[TeammateView, ...]:
        """The teammates that come back."""
        return () if self.view.is_deleted else tuple(teammate for teammate in self.teammates if not teammate.has_ended)


def records_of(sections: Mapping[str, Mapping[Any, Any]], told: Collection[str] = ()) -> dict[str, TeamRecord]:
    """Return the record of each team, in the order in which they were first opened.

    Args:
        sections: `teams`, `mates`, `items`, `boards` and `mail` of the folded journal.
        told: Marks in transcripts, in their order: a message in a transcript was read, and an item was taken up.
    """
    items: dict[str, list[Item]] = {}
    for (team, _), item in sections["items"].items():
        items.setdefault(team, []).append(item)
    records = {}
    for view in sections["teams"].values():
        team = view.team
        mail = [number for name, number in sections["mail"] if name == team]
        there = () if view.is_deleted else tuple(items.get(team, ()))
        by_mark = {item.mark(team): item for item in there if item.owner}
        records[team] = TeamRecord(
            view=view,
            items=there,
            last_id=int(sections["boards"].get(team, 0)),
            teammates=tuple(teammate for teammate in sections["mates"].values() if teammate.team == team),
            mail=() if view.is_deleted else tuple(unread(sections["mail"], team, told)),
            last_mail=max(mail, default=0),
            begun=tuple(by_mark[mark] for mark in told if mark in by_mark),
        )
    return records
