"""The teams that a run has had, read from its journal and its transcripts. It looks at the disk: call it through `Blocking`."""

from __future__ import annotations

from pathlib import Path

from greenroom import teams
from greenroom.session._recovery import entries_of, read_told
from greenroom.session._resume import TRANSCRIPTS
from greenroom.teams import TeamRecord, records_of
from greenroom.trace import JOURNAL, Codec, World

SECTIONS = ("teams", "mates", "items", "boards", "mail")


def read_team_records(run_folder: Path) -> dict[str, TeamRecord]:
    """Return what is known of each team of a run, by name."""
    codec, world = Codec(teams.EVENTS), World(teams.FOLDS)
    for entry in entries_of(run_folder / JOURNAL, b'"team"', codec):
        world.apply(entry)
    return records_of({one: world.section(one) for one in SECTIONS}, read_told(run_folder / TRANSCRIPTS))
