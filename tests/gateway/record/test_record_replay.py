"""Two gateways' journals are compared by what happened, and from a run one gets to the journal of its session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest

from greenroom.core import UsageError
from greenroom.gateway.record import EVENTS, comparable, record_sections, session_journals
from greenroom.gateway.record import _gateway_events as gateway
from greenroom.gateway.record import _run_events as work
from greenroom.gateway.record._gateway_journal import open_gateway_journal
from greenroom.gateway.record._run_events import GatewayEvent
from greenroom.replay._journal_place import find_journal
from greenroom.testing import run_virtual, virtual_ports
from greenroom.trace import JOURNAL, Entry, diff_runs, read_journal
from tests.gateway.record.histories import ROUTE

MAIN = "agent:main:main"
AT_S = 1e9


def uuid(number: int) -> str:
    return str(UUID(int=number))


def child(number: int) -> str:
    return f"agent:main:subagent:{uuid(number)}"


def history(first: int, *, answers: Sequence[str] = ("done", "done"), at_s: float = AT_S) -> list[GatewayEvent]:
    """Return a session with two sub-agents, whose ids count from `first`."""
    events: list[GatewayEvent] = [
        gateway.GatewayBegan(at_s=at_s, process=first),
        gateway.SessionMade(at_s=at_s, session=MAIN, session_id=uuid(first)),
    ]
    for number, answer in enumerate(answers):
        key, run = child(first + 10 + number), uuid(first + 20 + number)
        events += [
            gateway.SessionMade(at_s=at_s, session=key, session_id=uuid(first + 30 + number), spawned_by=MAIN),
            work.RunRegistered(
                at_s=at_s, run=run, session=key, session_id=uuid(first + 30 + number), requester=MAIN, task="count"
            ),
            work.RunBegan(at_s=at_s, run=run),
            work.RunEnded(at_s=at_s, run=run, state="completed", cause="itself"),
            work.CompletionComposed(at_s=at_s, run=run, text=f"{answer}\nStats: runtime {first}s"),
            work.DeliveryDue(at_s=at_s, delivery=f"run:{run}"),
        ]
    post = work.DeliveryDue(
        at_s=at_s, delivery=f"post:{uuid(first + 40)}", route=ROUTE, text="Pairing code: " + "A" * 8
    )
    return [*events, post]


def journal(events: Sequence[GatewayEvent]) -> list[Entry]:
    return [Entry(seq, float(seq), type(event).kind, event) for seq, event in enumerate(events, 1)]


@pytest.mark.promise("A28-f")
def test_gateways_in_which_the_same_happened_are_the_same() -> None:
    left, right = journal(history(100)), journal(history(700, at_s=AT_S + 5))

    assert diff_runs(left, right) is not None
    assert diff_runs(comparable(left), comparable(right)) is None


def test_the_order_of_two_sessions_does_not_count() -> None:
    left = history(100)
    right = [*left[:2], *left[2:4], *left[8:10], *left[4:8], *left[10:]]

    assert diff_runs(comparable(journal(left)), comparable(journal(right))) is None


@pytest.mark.promise("A28-f")
def test_the_first_difference_is_named_with_its_session() -> None:
    left, right = journal(history(100)), journal(history(700, answers=("done", "nothing found")))

    found = diff_runs(comparable(left), comparable(right))

    assert found is not None
    assert found.actor == f"agent:main:subagent:#2 of {MAIN}"
    assert (found.left_seq, found.right_seq) == (13, 13)
    assert ("done" in found.left, "nothing found" in found.right) == (True, True)
    assert "#1 run" in found.left


def test_the_journal_of_a_session_is_compared_as_ever() -> None:
    entries = journal([work.RunBegan(at_s=AT_S, run=uuid(1))])

    assert comparable(entries) is entries
    assert record_sections(entries) == {}


def test_the_state_at_a_moment_has_the_rows_of_the_registry() -> None:
    events = history(100)

    sections = record_sections(journal(events[:7]))

    assert list(sections["sessions"]) == [MAIN, child(110)]
    assert sections["runs"][uuid(120)].is_ended
    assert list(sections["deliveries"]) == [f"run:{uuid(120)}"]


# --- from a run to its session ----------------------------------------------------------------------------------------


async def write(folder: Path, parts: Sequence[Sequence[GatewayEvent]]) -> None:
    """Record parts of a history, each in a journal that begins anew."""
    for part in parts:
        async with open_gateway_journal(folder, ports=virtual_ports(1), rotate_bytes=1) as record:
            await record.write(*part)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return the state folder of a gateway that has begun its journal anew behind the end of its first run."""
    events = history(100)
    run_virtual(write, tmp_path / "state", (events[:6], events[6:]))
    for number in (100, 130, 131):
        run = tmp_path / "state" / "agents" / "main" / "sessions" / uuid(number)
        run.mkdir(parents=True)
        (run / JOURNAL).write_text(f"journal of {number}")
    return tmp_path / "state"


@pytest.mark.promise("A28-f")
@pytest.mark.parametrize(
    ("name", "session"),
    [(uuid(120), 130), (uuid(121), 131), (uuid(131), 131), (MAIN, 100), (child(111), 131)],
)
def test_a_run_or_key_of_a_gateway_leads_to_the_journal_of_its_session(name: str, session: int, state: Path) -> None:
    assert find_journal(f"{state}/{name}", state).read_text() == f"journal of {session}"


def test_the_state_folder_itself_is_the_gateways_journal(state: Path) -> None:
    assert find_journal(str(state), state) == state / JOURNAL


@pytest.mark.parametrize("name", ["nobody", uuid(999), uuid(120)[:8], ""])
def test_a_name_of_nothing_or_of_several_is_refused(name: str, state: Path) -> None:
    """Ids that begin alike name several sessions."""
    with pytest.raises(UsageError):
        find_journal(f"{state}/{name}" if name else str(state / "none"), state)


def test_the_journals_of_the_session_that_differs_are_found(state: Path) -> None:
    entries = read_journal(state / JOURNAL, EVENTS).entries

    for number in (100, 131):
        (state / "agents" / "main" / "sessions" / uuid(number) / JOURNAL).write_bytes((state / JOURNAL).read_bytes())

    found = session_journals((state, state), (entries, entries), f"agent:main:subagent:#2 of {MAIN}")

    assert [place.name for place, _ in found] == [uuid(131)] * 2
    assert session_journals((state, state), (entries, entries), "channel irc/default") == []
