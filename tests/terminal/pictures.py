"""Pictures of a swarm, for tests of its screen."""

from __future__ import annotations

import attrs

from greenroom.terminal.screen import OpenQuestion, SwarmPicture, TalkPart
from greenroom.terminal.screen._picture import (
    AgentRow,
    BoardCard,
    BoardColumn,
    LaneUse,
    NoteKind,
    RunTotals,
    SurvivedFaults,
    SwarmNote,
    TalkKind,
    TimePosition,
)

LEAD = AgentRow(id="a0", name="lead", state="idle", use=LaneUse.IDLE, lane=(LaneUse.MODEL, LaneUse.IDLE), unread=2)
MATES = tuple(
    AgentRow(
        id=f"a{number}",
        name=f"mate-{number}",
        color=color,
        is_teammate=True,
        state="working",
        use=use,
        doing=doing,
        lane=(LaneUse.DOWN, LaneUse.MODEL, use),
        item=str(number),
    )
    for number, color, use, doing in (
        (1, "blue", LaneUse.TOOL, "Read src/" + "very/" * 30 + "deep.py"),
        (2, "green", LaneUse.WAITING, "overloaded, tried again in 3 s"),
        (3, "yellow", LaneUse.MODEL, "thinking for 4 s"),
    )
)
GONE = attrs.evolve(MATES[2], id="a4", name="mate-4", state="killed", doing="", item="", flashes=True)
ASKED = OpenQuestion(id="q1", who="mate-1", text="wants to use Bash: make")
CARDS = (
    BoardCard(id="1", subject="Read src", column=BoardColumn.IN_PROGRESS, owner="mate-1"),
    BoardCard(id="2", subject="Read tests", column=BoardColumn.IN_PROGRESS, owner="mate-2", returns=1, flashes=True),
    BoardCard(id="3", subject="Read docs", column=BoardColumn.IN_PROGRESS, owner="mate-3"),
    BoardCard(id="4", subject="Search for keys", column=BoardColumn.DONE, owner="mate-2", moved_s=4.0),
    *(BoardCard(id=str(number), subject=f"Read part {number}") for number in range(5, 30)),
)
NOTES = (
    SwarmNote(t_s=1.0, kind=NoteKind.DONE, text="mate-2 completed item 4: Search for keys", who="mate-2"),
    SwarmNote(t_s=61.5, kind=NoteKind.KILL, text="mate-4 was killed: asked for at the terminal", flashes=True),
    SwarmNote(
        t_s=62.0, kind=NoteKind.TAKEN, text="item 2 back from mate-4, taken by mate-2; nothing lost", who="mate-2"
    ),
)
PICTURE = SwarmPicture(
    title="shop: 4 teammates and a lead",
    elapsed_s=83.2,
    agents=(LEAD, *MATES, GONE),
    cards=CARDS,
    notes=NOTES,
    totals=RunTotals(requests=20, tokens=31_234, usd=0.42, survived=SurvivedFaults(refusals=4, crashes=2, hangs=1)),
)
ASKING = attrs.evolve(PICTURE, questions=(ASKED, attrs.evolve(ASKED, id="q2"), attrs.evolve(ASKED, id="q3")))
TALKING = attrs.evolve(
    PICTURE,
    talk=(
        TalkPart(kind=TalkKind.PROMPT, text="Task #1 is yours: Read src\n\nReport each place."),
        TalkPart(kind=TalkKind.ANSWER, text="I read it."),
        TalkPart(kind=TalkKind.CALL, title="Read", text="src/a.py"),
        TalkPart(kind=TalkKind.RESULT, text="\n".join(f"{number}  line" for number in range(50))),
    ),
)
RECORDED = attrs.evolve(
    PICTURE, time=TimePosition(t_s=30.0, end_s=83.2, event=120, events=543, failures=(12.0, 61.5), speed=2.0)
)
EVERY = {
    "plain": PICTURE,
    "asking": ASKING,
    "talking": TALKING,
    "recorded": RECORDED,
    "paged": attrs.evolve(ASKING, page="http://127.0.0.1:8420/#token=" + "a" * 32),
    "empty": SwarmPicture(title="", elapsed_s=0),
}
