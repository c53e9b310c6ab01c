"""`greenroom run --rewind-files`: from a shell, when the run is over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from greenroom.models import Call, WrittenAnswer
from greenroom.session import EVENTS, FOLDS, FilesRewound
from greenroom.trace import JOURNAL, check_journal, hold_run, read_journal
from tests.cli.place import Place

SETTINGS = json.dumps({"fileCheckpointingEnabled": True, "permissions": {"allow": ["Write", "Edit"]}})


def first_message(place: Place) -> tuple[Path, str]:
    """Return the folder of the only run, and the uuid of its first message."""
    (transcript,) = (place.root / "runs").glob("*/transcripts/main.jsonl")
    line = transcript.read_text(encoding="utf-8").splitlines()[0]
    return transcript.parent.parent, json.loads(line)["uuid"]


def ran(place: Place) -> tuple[Path, str]:
    change = {"file_path": "a.txt", "old_string": "x", "new_string": "y"}
    (place.folder / "a.txt").write_text("x\n", encoding="utf-8")
    calls = [
        WrittenAnswer([Call("Read", {"file_path": "a.txt"}, id="toolu_1")]),
        WrittenAnswer([Call("Edit", change, id="toolu_2")]),
        WrittenAnswer([Call("Write", {"file_path": "made.txt", "content": "1\n"}, id="toolu_3")]),
    ]
    done, _ = place.run([*calls, "Done."], "Go.", "--settings", SETTINGS)
    assert done.code == 0, done.err
    return first_message(place)


def test_files_are_set_back_from_a_shell_and_it_is_on_record(place: Place) -> None:
    run, message = ran(place)
    done, requests = place.run([], "--resume", "last", "--rewind-files", message)
    again, _ = place.run([], "--resume", run.name, "--rewind-files", message, "--output-format", "json")

    assert (done.code, done.err, requests) == (0, "", [])
    assert done.out == f"restored {place.folder / 'a.txt'}\nremoved {place.folder / 'made.txt'}\n"
    assert (place.folder / "a.txt").read_text(encoding="utf-8") == "x\n"
    assert json.loads(again.out) == {"canRewind": True, "filesChanged": [], "insertions": 0, "deletions": 0}
    entries = read_journal(run / JOURNAL, EVENTS).entries
    assert [entry.event.message for entry in entries if isinstance(entry.event, FilesRewound)] == [message] * 2
    assert [finding.text for finding in check_journal(entries, folds=FOLDS)] == []


def test_what_cannot_be_set_back_is_an_error(place: Place) -> None:
    _, message = ran(place)
    (place.folder / "made.txt").unlink()
    (place.folder / "made.txt").mkdir()
    done, _ = place.run([], "--resume", "last", "--rewind-files", message)

    assert (done.code, done.out) == (1, f"restored {place.folder / 'a.txt'}\n")
    assert "1 file could not be set back" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--rewind-files", "m1"), "--rewind-files needs --resume"),
        (("Go.", "--resume", "last", "--rewind-files", "m1"), "leave out the prompt"),
        (("--resume", "last", "--fork-session", "--rewind-files", "m1"), "leave out the prompt, --fork-session"),
        (("--resume", "last", "--rewind-files", "m1"), "No file checkpoint found for message 'm1'"),
        (("--resume", "20200101-000000-abcdef", "--rewind-files", "m1"), "No conversation found with session ID"),
    ],
)
def test_a_mistake_is_one_line(place: Place, arguments: tuple[str, ...], why: str) -> None:
    ran(place)
    done, _ = place.run([], *arguments)

    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert len(done.err.splitlines()) == 1


def test_a_run_that_kept_nothing_says_so(place: Place) -> None:
    place.run(["Done."], "Go.")
    done, _ = place.run([], "--resume", "last", "--rewind-files", first_message(place)[1])

    assert done.code == 2
    assert "File rewinding is not enabled: nothing was kept; set fileCheckpointingEnabled" in done.err


def test_a_run_that_goes_on_elsewhere_is_left_alone(place: Place) -> None:
    run, message = ran(place)
    with hold_run(run):
        done, _ = place.run([], "--resume", "last", "--rewind-files", message)

    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert (place.folder / "made.txt").exists()
