"""Made-up runs of any length: teams whose members take items from a board, ask a model, call tools, write to each other, fail and restart.

    write_run(folder, events=1_000_000)       # the same bytes for the same seed; written as it is made

Every event is one that the fold accepts. A run of 1,000 actors has 39 teams; time is made up as well.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import attrs

from greenroom.actors import ActorBegan, ActorCreated, ActorExited, NameRegistered, TurnBegan, TurnEnded
from greenroom.agents.events import AgentDefined, AgentSpoke, ModelBegan, ModelEnded, ModelRetried, ToolBegan, ToolEnded
from greenroom.core import Event, field_values
from greenroom.gateway.record import EVENTS
from greenroom.mailbox import MessageAcked, MessageDied, MessageLeased, MessagePut
from greenroom.session import SessionBegan
from greenroom.supervisor import ChildRestarted
from greenroom.teams import ItemClaimed, ItemCompleted, ItemCreated, ItemReleased, MailRead, MailSent, TeamOpened
from greenroom.trace import JOURNAL, Codec, Header

ACTORS: Final = 1_000
RUN: Final = "20261101-080000-bench1"
MEMBERS: Final = 24
"""Members of a team, beside its board and its supervisor."""
MODEL: Final = "claude-sonnet-4-5"
TOOLS: Final = ("Read", "Grep", "Bash", "Edit", "TaskUpdate", "SendMessage")
WORDS: Final = (
    "parse",
    "merge",
    "retry",
    "lease",
    "board",
    "index",
    "token",
    "cache",
    "query",
    "order",
    "ledger",
    "river",
)
_CHUNK_LINES: Final = 2_000


class _Town:
    """The pending steps of a made-up run, by time; each step is a part of the work of one actor."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.events: list[tuple[float, Event]] = []
        self.seq = 0
        self.now_s = 0.0
        self._steps: list[tuple[float, int, Iterator[float]]] = []
        self._number = itertools.count()
        self._messages: dict[str, int] = {}

    def say(self, event: Event) -> int:
        """Record an event at this time, and return its number."""
        self.seq += 1
        self.now_s += 2e-6
        self.events.append((self.now_s, event))
        return self.seq

    def begin(self, doing: Iterator[float]) -> None:
        """Have an actor do something from now on; it yields how many seconds each part takes."""
        heapq.heappush(self._steps, (self.now_s, next(self._number), doing))

    def step(self) -> None:
        """Do the next part of what is going on."""
        due_s, _, doing = heapq.heappop(self._steps)
        self.now_s = max(self.now_s, due_s)
        took_s = next(doing, None)
        if took_s is not None:
            heapq.heappush(self._steps, (self.now_s + took_s, next(self._number), doing))

    def create(self, actor: str, path: str, behavior: str, supervisor: str, *, inc: int = 1) -> None:
        about: dict[str, Any] = {"actor": actor, "inc": inc}
        level = "lifecycle" if behavior == "SupervisorBehavior" else "full"
        seq = self.say(
            ActorCreated(
                **about,
                path=path,
                behavior=behavior,
                supervisor=supervisor,
                descent="",
                journal=level,
                capacity=1000,
                restart="transient",
            )
        )
        if inc == 1:
            self.say(NameRegistered(**about, name=path))
        self.say(ActorBegan(**about, parent=seq))

    def words(self, count: int) -> str:
        return " ".join(self.random.choices(WORDS, k=count))

    def put(self, actor: str, inc: int, kind: str, *, parent: int) -> int:
        """Put a message, and return its number within the mailbox."""
        number = self._messages[actor] = self._messages.get(actor, 0) + 1
        self.say(MessagePut(actor=actor, inc=inc, parent=parent, msg=number, lane="next", type=kind))
        return number


class _Board:
    """The board of a team: a turn for each message."""

    def __init__(self, town: _Town, team: str, actor: str) -> None:
        self.town, self.team, self.actor = town, team, actor
        self.turn = 0
        self.items = 0
        self.mails = 0

    def handle(self, kind: str, parent: int, *events: Event) -> None:
        """Handle a message at once: it is put, leased, and acknowledged within its turn."""
        about: dict[str, Any] = {"actor": self.actor, "inc": 1}
        number = self.town.put(self.actor, 1, kind, parent=parent)
        self.turn += 1
        self.town.say(MessageLeased(**about, parent=parent, msg=number, lane="next"))
        begun = self.town.say(TurnBegan(**about, parent=parent, turn=self.turn, msg=number))
        for event in events:
            self.town.say(event)
        self.town.say(MessageAcked(**about, msg=number, lane="next"))
        self.town.say(_turn_end(about, begun, self.turn, number, ""))

    def new_item(self) -> str:
        self.items += 1
        return str(self.items)


class _Member:
    """An agent of a team."""

    def __init__(self, town: _Town, board: _Board, actor: str, name: str, above: str, path: str) -> None:
        self.town, self.board, self.actor, self.name = town, board, actor, name
        self._above, self._path = above, path
        self.inc, self.turn = 1, 0

    def live(self, others: list[_Member]) -> Iterator[float]:
        """Take item after item, until nobody asks for further steps."""
        town = self.town
        yield town.random.uniform(0, 5)
        parent = town.seq
        while True:
            number = town.put(self.actor, self.inc, "Claim", parent=parent)
            yield town.random.expovariate(20)
            parent = yield from self._work(number, parent, others)
            yield town.random.expovariate(0.5)

    def _work(self, number: int, parent: int, others: list[_Member]) -> Generator[float, None, int]:
        town, board = self.town, self.board
        about: dict[str, Any] = {"actor": self.actor, "inc": self.inc}
        self.turn += 1
        town.say(MessageLeased(**about, parent=parent, msg=number, lane="next"))
        begun = town.say(TurnBegan(**about, parent=parent, turn=self.turn, msg=number))
        item = board.new_item()
        at: dict[str, Any] = {"actor": board.actor, "team": board.team}
        board.handle(
            "CreateItem",
            begun,
            ItemCreated(**at, item=item, subject=town.words(4), description=town.words(24), by=self.name),
        )
        board.handle("ClaimItem", begun, ItemClaimed(**at, item=item, owner=self.name))
        town.say(MessageAcked(**about, msg=number, lane="next"))
        error = ""
        for round_ in range(1, town.random.randint(3, 6)):
            error = yield from self._round(begun, round_)
            if error:
                break
        if town.random.random() < 0.3:
            self._write(begun, town.random.choice(others))
        if error:
            released = ItemReleased(**at, item=item, owner=self.name, why=error, is_failure=True)
            board.handle("ReleaseItem", begun, released)
        else:
            board.handle("CompleteItem", begun, ItemCompleted(**at, item=item, by=self.name, findings=town.words(12)))
        last = town.say(_turn_end(about, begun, self.turn, number, error))
        return (yield from self._restart(begun, error)) if error else last

    def _round(self, begun: int, round_: int) -> Generator[float, None, str]:
        town, draw = self.town, self.town.random
        about: dict[str, Any] = {"actor": self.actor, "inc": self.inc, "turn": self.turn, "round": round_}
        asked = town.say(ModelBegan(**about, parent=begun, messages=round_ * 2))
        yield draw.expovariate(1 / 3)
        if draw.random() < 0.01:
            error = "overloaded"
            town.say(ModelRetried(**about, parent=asked, attempt=2, attempts=8, delay_s=0.5, status=529, error=error))
            yield 0.5
        failed = draw.random() < 0.004
        tokens: dict[str, Any] = {"input_tokens": draw.randint(200, 4000), "output_tokens": draw.randint(10, 600)}
        tokens |= {
            "cache_creation_input_tokens": draw.randint(0, 500),
            "cache_read_input_tokens": draw.randint(0, 9000),
        }
        state, error = ("failed", "ModelError: the stream was cut") if failed else ("completed", "")
        town.say(ModelEnded(**about, parent=asked, state=state, stop_reason="tool_use", error=error, **tokens))
        if failed:
            return error
        if draw.random() < 0.4:
            town.say(AgentSpoke(**about, parent=begun, text=town.words(draw.randint(3, 30))))
        for place in range(draw.randint(1, 3)):
            tool, call = draw.choice(TOOLS), f"toolu_{self.actor}_{self.turn}_{round_}_{place}"
            made = town.say(ToolBegan(**about, parent=begun, call=call, tool=tool, summary=town.words(5)))
            yield draw.expovariate(4)
            failed = draw.random() < 0.02
            ended: dict[str, Any] = {
                "state": "failed" if failed else "completed",
                "output_chars": draw.randint(20, 8000),
            }
            error = f"exit code 1: {town.words(6)}" if failed else ""
            town.say(ToolEnded(**about, parent=made, call=call, tool=tool, error=error, **ended))
        return ""

    def _write(self, begun: int, other: _Member) -> None:
        town, board = self.town, self.board
        board.mails += 1
        sent: dict[str, Any] = {"team": board.team, "mail": board.mails}
        mail = MailSent(
            actor=board.actor, **sent, sender=self.name, to=other.name, summary=town.words(4), text=town.words(40)
        )
        board.handle("SendMail", begun, mail)
        town.say(MailRead(actor=other.actor, **sent, to=other.name))
        if town.random.random() < 0.02:
            gone: dict[str, Any] = {"msg": 0, "lane": "next", "type": "Note", "reason": "ended", "was_put": False}
            town.say(MessageDied(actor=other.actor, inc=other.inc, parent=begun, **gone))

    def _restart(self, begun: int, error: str) -> Generator[float, None, int]:
        town = self.town
        about: dict[str, Any] = {"actor": self.actor, "inc": self.inc}
        ended = town.say(_end(ActorExited, about, begun, error))
        together = (self.actor,)
        town.say(
            ChildRestarted(
                actor=self._above, inc=1, parent=ended, child=self.actor, together=together, delay_s=0.1, restarts=1
            )
        )
        self.inc, self.turn = self.inc + 1, 0
        yield 0.1
        town.create(self.actor, self._path, "MateAgent", self._above, inc=self.inc)
        return town.seq


def _turn_end(about: dict[str, Any], begun: int, turn: int, number: int, error: str) -> Event:
    return _end(TurnEnded, about, begun, error, turn=turn, msg=number)


def _end(made: Any, about: dict[str, Any], begun: int, error: str, **more: Any) -> Event:
    flags = {"late_cancel": False, "during_kill": False, "cleanup_cut": False}
    state = "failed" if error else "completed"
    event: Event = made(**about, parent=begun, state=state, by="", cause=None, error=error, **flags, **more)
    return event


def timed_events(count: int, *, actors: int = ACTORS, seed: int = 1) -> Iterator[tuple[float, Event]]:
    """Yield that many events with their times in seconds."""
    town = _Town(seed)
    _open_town(town, actors)
    made = 0
    while made < count:
        for timed in town.events[: count - made]:
            yield timed
            made += 1
        town.events.clear()
        town.step()


def _open_town(town: _Town, actors: int) -> None:
    town.say(SessionBegan(session=RUN, model=MODEL, cwd="/bench", title="a long run"))
    top, ids = "a" + "0" * 16, (f"a{number:016x}" for number in itertools.count(1))
    town.create(top, "session", "SupervisorBehavior", "")
    left = actors - 1
    for number in itertools.count(1):
        if left < 3:
            return
        team, above, board_id = f"team-{number}", next(ids), next(ids)
        path = f"session/teams/{team}"
        town.create(above, path, "SupervisorBehavior", top)
        town.create(board_id, f"{path}/board", "Board", above)
        town.say(TeamOpened(actor=board_id, team=team))
        board, members = _Board(town, team, board_id), list[_Member]()
        for member in range(1, min(MEMBERS, left - 2) + 1):
            actor, name = next(ids), f"mate-{member}"
            town.create(actor, f"{path}/{name}", "MateAgent", above)
            transcript = f"agent-{actor}.jsonl"
            about: dict[str, Any] = {"actor": actor, "inc": 1, "agent": actor, "transcript": transcript}
            town.say(AgentDefined(**about, parent=town.seq, definition="reader", model=MODEL))
            members.append(_Member(town, board, actor, name, above, f"{path}/{name}"))
        for each in members:
            town.begin(each.live(members))
        left -= len(members) + 2


def write_run(folder: Path, *, events: int, actors: int = ACTORS, seed: int = 1, needle: str = "") -> Path:
    """Write a run into a folder, and return its journal.

    Args:
        folder: The run folder; it is made.
        events: Number of events.
        actors: Number of actors at most; at least 4.
        seed: Another one gives another run.
        needle: Text that an agent says after nine tenths of the run; none if empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    codec, journal = Codec(EVENTS), folder / JOURNAL
    header = Header(run=RUN, greenroom="0", python="3", trio="0", started="2026-11-01T08:00:00+00:00", clock=0.0)
    with journal.open("wb") as file:
        file.write(codec.encode_header(header))
        lines: list[bytes] = []
        for seq, (time_s, event) in enumerate(timed_events(events, actors=actors, seed=seed), start=1):
            told = event
            if needle and seq >= events * 9 // 10 and isinstance(event, AgentSpoke):
                told, needle = attrs.evolve(event, text=needle), ""
            lines.append(codec.encode((seq, time_s, type(told), *field_values(told)), 0.0))
            if len(lines) == _CHUNK_LINES:
                file.write(b"".join(lines))
                lines.clear()
        file.write(b"".join(lines))
    return journal
