"""Events folded into the picture of a screen."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import attrs
import pytest

from greenroom.actors import ActorBegan, ActorCreated, ActorExited, ActorGone, KillRequested, TurnBegan
from greenroom.agents.events import AgentDefined, AgentSpoke, ModelBegan, ModelEnded, ModelRetried, ToolBegan, ToolEnded
from greenroom.core import Cause, Event
from greenroom.supervisor import ChildRestarted
from greenroom.teams import ItemClaimed, ItemCompleted, ItemCreated, ItemReleased, MailRead, MailSent, TeammateJoined
from greenroom.terminal.screen import SwarmPicture, SwarmStory, talk_parts
from greenroom.terminal.screen._activity_samples import ActivitySamples
from greenroom.terminal.screen._picture import BoardColumn, LaneUse, NoteKind, SurvivedFaults, TalkKind, TalkPart
from greenroom.terminal.screen._talk import finding_lines

KILL = Cause("user", "asked for at the terminal")


def exited(actor: str, state: str, error: str = "") -> ActorExited:
    flags = {"by": "", "late_cancel": False, "during_kill": False, "cleanup_cut": False}
    return ActorExited(actor=actor, state=state, cause=None, error=error, **flags)  # type: ignore[arg-type]


def agent(actor: str, name: str, owner: str = "") -> list[Event]:
    path = "session/main" if name == "lead" else f"session/teams/t/{name}"
    new = ActorCreated(actor=actor, path=path, behavior="", supervisor="", descent="", journal="full")
    defined = AgentDefined(actor=actor, definition="mate", model="m", transcript=f"{actor}.jsonl", owner=owner)
    events: list[Event] = [new, ActorBegan(actor=actor), defined]
    if name != "lead":
        events.append(
            TeammateJoined(actor=actor, team="t", name=name, agent=actor, color="blue", definition="mate", model="")
        )
    return events


BEGINNING: list[Event] = [
    *agent("a0", "lead"),
    *agent("a1", "mate-1", "a0"),
    *agent("a2", "mate-2", "a0"),
    ItemCreated(actor="b", item="7", subject="Read src", description="", by="lead"),
    ItemClaimed(actor="b", item="7", owner="mate-1"),
    TurnBegan(actor="a1", turn=1, msg=1),
    ModelBegan(actor="a1", turn=1, round=1, messages=1),
]
ENDED: dict[str, Any] = {"stop_reason": "", "cache_creation_input_tokens": 0, "error": ""}


def told(events: Iterable[Event], *, step_s: float = 0.5) -> SwarmStory:
    story = SwarmStory("x")
    for number, event in enumerate([*BEGINNING, *events]):
        story.take(number + 1, 100.0 + number * step_s, event)
    return story


def notes(picture: SwarmPicture, kind: NoteKind) -> list[str]:
    return [note.text for note in picture.notes if note.kind is kind]


def said(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def test_an_agent_is_seen_with_its_state_item_and_activity() -> None:
    picture = told([ToolBegan(actor="a1", turn=1, round=1, call="c", tool="Read", summary="a.py")]).picture()

    lead, mate, other = picture.agents
    assert (lead.name, lead.depth, lead.is_teammate, lead.state) == ("lead", 0, False, "idle")
    assert (mate.name, mate.depth, mate.color, mate.state, mate.item) == ("mate-1", 1, "blue", "working", "7")
    assert (mate.doing, mate.use, other.doing) == ("Read a.py", LaneUse.TOOL, "")
    assert picture.cards[0].column is BoardColumn.IN_PROGRESS


@pytest.mark.promise("S-seen")
def test_a_killed_teammate_and_its_item_that_another_takes_are_one_line() -> None:
    killed = [
        KillRequested(actor="a1", cause=KILL, grace_s=5.0),
        exited("a1", "killed"),
        ItemReleased(actor="b", item="7", owner="mate-1", why="its owner was killed", is_failure=False),
    ]
    picture = told(killed).picture()
    assert notes(picture, NoteKind.KILL) == ["mate-1 was killed: asked for at the terminal"]
    assert notes(picture, NoteKind.BACK) == ["item 7 back from mate-1: its owner was killed"]
    assert (picture.cards[0].column, picture.cards[0].returns, picture.cards[0].flashes) == (BoardColumn.OPEN, 1, True)
    assert (picture.agent("a1") or picture.agents[0]).flashes

    taken = told([*killed, ItemClaimed(actor="b", item="7", owner="mate-2")])
    assert notes(taken.picture(), NoteKind.BACK) == []
    assert notes(taken.picture(), NoteKind.TAKEN) == ["item 7 back from mate-1, taken by mate-2; nothing lost"]
    assert taken.picture().totals.survived == SurvivedFaults(kills=1, returned_items=1)
    later = taken.picture(60.0)
    assert not any(note.flashes for note in later.notes)
    assert not later.cards[0].flashes


@pytest.mark.promise("S-seen")
def test_a_crash_and_a_restart_are_seen_and_counted() -> None:
    crash = [
        exited("a1", "failed", "OSError: no"),
        ChildRestarted(child="a1", together=("a1",), delay_s=0.3, restarts=1),
    ]
    picture = told(crash).picture()

    assert notes(picture, NoteKind.CRASH) == ["mate-1 crashed: OSError: no"]
    assert notes(picture, NoteKind.RESTART) == ["mate-1 is restarted in 0.3 s and goes on with item 7; nothing lost"]
    assert picture.totals.survived == SurvivedFaults(crashes=1, restarts=1)
    assert (picture.agents[1].state, picture.agents[1].restarts, picture.agents[1].use) == ("starting", 1, LaneUse.DOWN)


@pytest.mark.parametrize(
    ("error", "words", "counted"),
    [
        ("overloaded", "overloaded", {"refusals": 2}),
        ("cut", "a cut answer", {"cuts": 2}),
    ],
)
def test_failed_requests_are_counted_by_kind_and_their_lines_replaced(
    error: str, words: str, counted: dict[str, int]
) -> None:
    retried = [
        ModelRetried(actor="a1", turn=1, round=1, attempt=attempt, attempts=8, delay_s=4.0, status=None, error=error)
        for attempt in (2, 3)
    ]
    story = told(retried)
    picture = story.picture()

    assert picture.totals.survived == SurvivedFaults(**counted)
    assert notes(picture, NoteKind.RETRY) == [f"mate-1: {words}, attempt 3 of 8"]
    assert (picture.agents[1].use, picture.agents[1].doing) == (LaneUse.WAITING, f"{words}, tried again in 4 s")
    assert story.picture(story.last_s + 10).agents[1].doing == f"thinking after {words} for 6 s"


@pytest.mark.promise("S-seen")
def test_a_hang_is_seen_and_its_line_stays() -> None:
    retried = [
        ModelRetried(actor="a1", turn=1, round=1, attempt=at, attempts=3, delay_s=1.0, status=None, error=error)
        for at, error in ((2, "timeout"), (3, "overloaded"))
    ]
    story = told(retried[:1])

    assert story.picture().agents[1].flashes
    assert [note.flashes for note in story.picture().notes if note.kind is NoteKind.HANG] == [True]
    assert notes(told(retried).picture(), NoteKind.HANG) == ["mate-1: the model hung, attempt 2 of 3"]
    assert story.picture(story.last_s + 4).agents[1].doing == "thinking after a hang for 3 s"
    assert story.picture().totals.survived == SurvivedFaults(hangs=1)


@pytest.mark.promise("S-seen")
def test_nothing_lost_is_said_only_where_it_is_so() -> None:
    """A teammate is gone for good and its item was not put back; another item comes back meanwhile."""
    more = [
        ItemCreated(actor="b", item="8", subject="Read tests", description="", by="lead"),
        ItemClaimed(actor="b", item="8", owner="mate-2"),
        exited("a1", "killed"),
        ActorGone(actor="a1", state="killed"),
        ItemReleased(actor="b", item="8", owner="mate-2", why="returned", is_failure=False),
        ItemClaimed(actor="b", item="8", owner="mate-2"),
    ]
    lost = told(more, step_s=2.0)
    assert lost.picture().lost == ("7",)
    assert notes(lost.picture(), NoteKind.TAKEN) == ["item 8 back from mate-2, taken again by mate-2; lost: item 7"]

    again = [*more[:3], ItemReleased(actor="b", item="7", owner="mate-1", why="killed", is_failure=False), *more[3:]]
    assert told(again, step_s=2.0).picture().lost == ()
    assert told(more, step_s=0.01).picture().lost == (), "the board has not seen it yet"
    back = told([*more, *agent("a9", "mate-1", "a0")], step_s=2.0)
    assert back.picture().lost == (), "one of its name has it"


def test_a_priced_request_adds_its_dollars_and_one_without_a_price_makes_the_sum_unknown() -> None:
    prices = {"m": 0.25}
    story = SwarmStory("x", usd_of=lambda model, _: prices.get(model))
    about: dict[str, Any] = {"turn": 1, "round": 1, "state": "completed", "input_tokens": 1, "output_tokens": 1}
    ends = [ModelEnded(actor="a1", cache_read_input_tokens=0, **about, **ENDED) for _ in range(2)]
    for number, event in enumerate([*BEGINNING, *ends]):
        story.take(number, 0.0, event)
    assert story.picture().totals.usd == 0.5

    prices.clear()
    for _ in range(2):
        story.take(99, 0.0, ends[0])
        assert story.picture().totals.usd is None
        prices["m"] = 0.25


def test_mail_tokens_findings_and_words_of_the_lead() -> None:
    sent = MailSent(actor="a1", team="t", mail=1, sender="mate-1", to="team-lead", summary="3 places")
    said = [AgentSpoke(actor="a0", turn=1, round=1, text=f"{left} items still open") for left in (2, 1)]
    ended = ModelEnded(
        actor="a1",
        turn=1,
        round=1,
        state="completed",
        input_tokens=10,
        output_tokens=5,
        cache_read_input_tokens=30,
        **ENDED,
    )
    done = ItemCompleted(actor="b", item="7", by="mate-1")
    picture = told([sent, *said, ended, done]).picture()

    assert picture.agents[0].unread == 1
    assert told([sent, MailRead(actor="a0", team="t", mail=1, to="team-lead")]).picture().agents[0].unread == 0
    assert notes(picture, NoteKind.MAIL) == ["mate-1 to lead: 3 places"]
    assert notes(picture, NoteKind.SPOKE) == ["lead: 1 items still open"], "only the latest words stay"
    assert notes(picture, NoteKind.DONE) == ["mate-1 completed item 7: Read src"]
    assert (picture.totals.tokens, picture.totals.requests, picture.totals.cached_share) == (45, 1, 0.75)


def test_findings_are_shown_as_they_come_and_many_are_counted() -> None:
    facts = {"path": "b.py", "problem": "not parsed", "spotted": [{"line": 8, "kind": "eval", "text": "eval(x)"}]}
    hits = {"hits": [{"path": "c.js", "line": 2, "text": "debugger"}], "markers": ["damaged"], "spotted": 5}
    text = "\n".join(["Findings on item 7", "- `a.py:1`: bad", json.dumps(facts), json.dumps(hits), "{damaged"])
    picture = told([ItemCompleted(actor="b", item="7", by="mate-1", findings=text)]).picture()

    assert finding_lines(text)[3:] == ["c.js:2 debugger"]
    assert notes(picture, NoteKind.FINDING) == [
        "mate-1: a.py:1: bad",
        "mate-1: b.py: not parsed",
        "mate-1: b.py:8 eval: eval(x)",
    ]
    assert notes(picture, NoteKind.DONE) == ["mate-1 completed item 7 (4 findings): Read src"]


def test_a_copy_goes_on_by_itself() -> None:
    story = told([])
    before = story.picture()
    other = story.copy()
    other.take(99, 200.0, ItemCompleted(actor="b", item="7", by="mate-1"))
    other.take(100, 201.0, exited("a1", "failed"))

    assert story.picture() == before
    assert other.picture() != before
    story.take(99, 200.0, ItemCompleted(actor="b", item="7", by="mate-1"))
    story.take(100, 201.0, exited("a1", "failed"))
    assert story.picture() == other.picture()


def test_events_that_do_not_fit_change_nothing() -> None:
    strange: list[Event] = [
        ItemClaimed(actor="b", item="99", owner="x"),
        ItemCompleted(actor="b", item="99", by="x"),
        exited("nobody", "failed"),
        ToolEnded(actor="nobody", turn=1, round=1, call="c", tool="T", state="completed", output_chars=0, error=""),
    ]
    before, after = told([]).picture(9.0), told(strange).picture(9.0)

    assert attrs.evolve(after, elapsed_s=before.elapsed_s) == before


def test_a_short_call_is_seen_in_its_second_and_an_old_one_leaves() -> None:
    samples = ActivitySamples()
    samples.change(0.2, LaneUse.IDLE)
    samples.change(1.5, LaneUse.TOOL)
    samples.change(1.501, LaneUse.IDLE)
    samples.change(3.1, LaneUse.MODEL)

    assert samples.samples(4.0) == (LaneUse.IDLE, LaneUse.TOOL, LaneUse.IDLE, LaneUse.MODEL, LaneUse.MODEL)
    assert samples.samples(1_000.0) == (LaneUse.MODEL,) * 60
    assert samples.samples(4.0)[1] is LaneUse.TOOL, "a look changes nothing"


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ({"type": "user", "message": {"role": "user", "content": "Hi"}}, [TalkPart(kind=TalkKind.PROMPT, text="Hi")]),
        ({"type": "user", "isMeta": True, "message": {"role": "user", "content": "Hi"}}, []),
        ({"type": "summary"}, []),
        ({"type": "assistant", "message": "damaged"}, []),
        (
            {
                "type": "assistant",
                "message": {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "name": "Read", "input": {"file_path": "a.py", "limit": 3}},
                        {"type": "tool_use", "name": "Other", "input": {"a": 1}},
                    ],
                },
            },
            [
                TalkPart(kind=TalkKind.ANSWER, text="I look."),
                TalkPart(kind=TalkKind.CALL, title="Read", text="a.py"),
                TalkPart(kind=TalkKind.CALL, title="Other", text='{"a": 1}'),
            ],
        ),
        (
            {
                "type": "user",
                "message": {
                    "role": "user",
                    "content": [{"type": "tool_result", "is_error": True, "content": [{"type": "text", "text": "no"}]}],
                },
            },
            [TalkPart(kind=TalkKind.ERROR, text="no")],
        ),
        (
            said(
                '<teammate-message teammate_id="ann" color="blue">\na\n</teammate-message>\n'
                '<teammate-message teammate_id="board">\nb\n</teammate-message>'
            ),
            [
                TalkPart(kind=TalkKind.PROMPT, text="a", title="ann"),
                TalkPart(kind=TalkKind.PROMPT, text="b", title="board"),
            ],
        ),
        (
            said('<teammate-message teammate_id="ann">a</teammate-message> and more'),
            [TalkPart(kind=TalkKind.PROMPT, text='<teammate-message teammate_id="ann">a</teammate-message> and more')],
        ),
    ],
)
def test_lines_of_transcripts_are_parts_of_a_conversation(line: dict[str, Any], parts: list[TalkPart]) -> None:
    assert list(talk_parts(line)) == parts
