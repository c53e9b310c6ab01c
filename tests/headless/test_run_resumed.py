"""`greenroom run --resume` without a prompt: what it resumes, what it refuses, and what it prints."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import trio

from greenroom.core.ports import Ports
from greenroom.inbox import StoredItem, peer
from greenroom.store import INBOX, open_inbox_store
from greenroom.testing import ErrorReply, StreamReply
from greenroom.testing._messages_script import ReplyLike
from tests.cli.place import Place, texts_of
from tests.cli.served import served
from tests.headless.agent_calls import by_prompt, spawn

SILENCE = StreamReply(ending="stall", events=0)


def contents(run: Path) -> Mapping[Path, bytes]:
    """Return all that lies in a run folder."""
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


async def put_letter(run: Path) -> None:
    """Put a letter into the store of a run that nobody has open."""
    ports = Ports()
    store = await open_inbox_store(run / INBOX, blocking=ports.blocking, wall=ports.clock.wall)
    await store.put([StoredItem(id="1", box="main", text="a letter that waited", origin=peer("session:x"))])
    await store.aclose()


@pytest.mark.promise("R7-d")
def test_a_refused_run_is_not_touched(place: Place) -> None:
    """Mechanism: the run is looked at before anything is opened; the store of what waits is read from a copy."""
    place.run(["Done."], "Go.")
    (run,) = place.runs()
    trio.run(put_letter, run)
    place.run(["I have read it."], "--resume", "last")
    assert (run / INBOX).exists()
    before = contents(run)

    done, requests = place.run([], "--resume", "last")

    assert done.code == 2
    assert "was completed; give a prompt" in done.err
    assert requests == []
    assert contents(run) == before


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_what_waited_is_read_by_a_run_that_is_resumed_without_a_prompt(output: str, place: Place) -> None:
    """It ends as any run does, with what the last turn said; a second one finds nothing to do, asks no model, and ends with 2."""
    place.run(["Done."], "Go.")
    (run,) = place.runs()
    trio.run(put_letter, run)

    done, requests = place.run(["I have read it."], "--resume", "last", "--output-format", output)
    again, more = place.run([], "--resume", "last")

    assert done.code == 0
    assert "I have read it." in done.out
    assert "a letter that waited" in texts_of(requests[0])[-1]
    assert (again.code, again.out, more) == (2, "", [])


def unfinished(place: Place) -> Path:
    """Return the folder of a run that was killed in a turn, and whose agent in the background was lost with it."""
    script = by_prompt({"Go.": [spawn("look", run_in_background=True), SILENCE], "look": [SILENCE]})
    with served(script) as server, place.started(server.url, "Go.") as process:
        until = time.monotonic() + 50
        while len(server.requests) < 3 or not any('"task.begin"' in line for line in place.journal()):
            assert time.monotonic() < until
            time.sleep(0.01)  # the server runs in a thread of its own, the command in a process
        process.kill()
    (run,) = place.runs()
    return run


@pytest.mark.promise("R7-last")
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_a_run_resumed_without_a_prompt_prints_its_last_turn(output: str, place: Place) -> None:
    """Mechanism: the printer keeps the end of each turn, whoever began it, until the run closes."""
    unfinished(place)

    done, requests = place.run(["It is resumed.", "The agent was lost."], "--resume", "last", "--output-format", output)

    assert len(requests) == 2
    assert (done.code, done.err) == (0, "")
    if output == "text":
        assert done.out == "The agent was lost.\n"
    else:
        results = [line["result"] for line in done.lines if line["type"] == "result"]
        assert results == (["It is resumed."] if output == "stream-json" else []) + ["The agent was lost."]


REFUSED = ErrorReply(status=400, type="invalid_request_error", message="no more")


@pytest.mark.promise("R7-last")
@pytest.mark.parametrize("output", ["text", "stream-json"])
@pytest.mark.parametrize(
    ("replies", "code", "said"),
    [(["It is resumed.", REFUSED], 1, "no more"), ([REFUSED, "The agent was lost."], 0, "The agent was lost.")],
)
def test_a_run_resumed_without_a_prompt_ends_with_the_code_of_its_last_turn(
    replies: list[ReplyLike], code: int, said: str, output: str, place: Place
) -> None:
    unfinished(place)

    done, _ = place.run(replies, "--resume", "last", "--output-format", output)

    assert done.code == code
    assert said in done.out + done.err
    if output == "text":
        assert done.out == ("" if code else "The agent was lost.\n")
        assert "no more" in done.err, "whatever failed is said"
    else:
        assert done.lines[-1]["is_error"] is bool(code)
