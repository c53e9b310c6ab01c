"""What is known of a team that was opened before: the fold of the journal, in this process or in an earlier one (DESIGN 12.35).

Rule 1: a teammate that was ended, or asked to end and did, does not come back; one whose actor ended with its team or with its process
does. Rule 2: nothing of a team that was deleted comes back, save that its names and its ids are not given again.
Must not know: disk, actors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, final

import attrs

from greenroom.teams._items import Item, ItemStatus
from greenroom.teams._mail_events import Mail, unread
from greenroom.teams._mate_events import MateView, TeamView


@final
@attrs.frozen(kw_only=True)
class TeamRecord:
    """What a team begins with that was opened before."""

    view: TeamView
    items: tuple[Item, ...] = ()
    last_id: int = 0
    """The highest id of an item that was ever given."""
    mates: tuple[MateView, ...] = ()
    """All that ever joined, in that order."""
    mail: tuple[Mail, ...] = ()
    """What its members have not read, in the order in which it was sent."""
    last_mail: int = 0
    """The highest number of a message."""

    @property
    def cut(self) -> dict[str, tuple[str, ...]]:
        """The items that those who come back were at when they were cut off, by name."""
        mine: dict[str, tuple[str, ...]] = {}
        for item in self.items:
            if item.status is ItemStatus.IN_PROGRESS:
                mine[item.owner] = (*mine.get(item.owner, ()), item.id)
        return {one.name: mine[one.name] for one in self.parked if one.has_work and one.name in mine}

    @property
    def parked(self) -> tuple[MateView, ...]:
        """Those that come back."""
        return () if self.view.is_deleted else tuple(one for one in self.mates if not one.has_ended)


def records_of(sections: Mapping[str, Mapping[Any, Any]], told: Collection[str] = ()) -> dict[str, TeamRecord]:
    """Return what is known of each team, in the order in which they were first opened.

    Args:
        sections: `teams`, `mates`, `items`, `boards` and `mail` of the folded journal.
        told: The marks that stand in transcripts: what a transcript holds was read.
    """
    items: dict[str, list[Item]] = {}
    for (team, _), item in sections["items"].items():
        items.setdefault(team, []).append(item)
    records = {}
    for view in sections["teams"].values():
        team = view.team
        mail = [number for name, number in sections["mail"] if name == team]
        records[team] = TeamRecord(
            view=view,
            items=() if view.is_deleted else tuple(items.get(team, ())),
            last_id=int(sections["boards"].get(team, 0)),
            mates=tuple(one for one in sections["mates"].values() if one.team == team),
            mail=() if view.is_deleted else tuple(unread(sections["mail"], team, told)),
            last_mail=max(mail, default=0),
        )
    return records
