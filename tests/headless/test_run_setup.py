"""`greenroom run --init`, `--init-only` and `--maintenance`: the hooks that set things up; titles and folders of programs."""

from __future__ import annotations

import json
import shlex
import time

import pytest

from greenroom.cli import main
from greenroom.models import Call, WrittenAnswer
from tests.cli.place import Place, texts_of
from tests.headless.hook_flags import hooks
from tests.headless.talk import talking

NOTE = "cat >> told.jsonl; echo >> told.jsonl"


def is_told(place: Place) -> bool:
    """Return True once a hook has written a whole line."""
    path = place.folder / "told.jsonl"
    return path.exists() and path.read_text().endswith("\n")


def told(place: Place) -> list[tuple[str, str]]:
    """Return the hooks that ran, each with what it was about."""
    path = place.folder / "told.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []
    return [(line["hook_event_name"], line.get("trigger") or line.get("source", "")) for line in lines]


@pytest.mark.parametrize(("flag", "trigger"), [("--init", "init"), ("--maintenance", "maintenance"), ("", "")])
def test_setup_hooks_run_before_the_prompt_where_a_flag_says_so(place: Place, flag: str, trigger: str) -> None:
    context = {"hookSpecificOutput": {"hookEventName": "Setup", "additionalContext": "node is there"}}
    flags = hooks(Setup=f"{NOTE}; echo {shlex.quote(json.dumps(context))}", SessionStart=NOTE)
    done, requests = place.run(["Hello."], "Say hello.", *flags, *([flag] if flag else []))

    assert (done.code, done.out, done.err) == (0, "Hello.\n", "")
    assert told(place) == [*([("Setup", trigger)] if flag else []), ("SessionStart", "startup")]
    assert ("node is there" in "".join(texts_of(requests[0]))) is bool(flag)


def test_init_only_runs_these_hooks_and_asks_no_model(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it need a key."""
    monkeypatch.setattr(Place, "environ", without_key(Place.environ))
    done, requests = place.run([], "--init-only", *hooks(Setup=NOTE, SessionStart=NOTE, SessionEnd=NOTE))

    assert (done.code, done.out, done.err, requests) == (0, "", "", [])
    assert told(place)[:2] == [("Setup", "init"), ("SessionStart", "startup")]


def without_key(environ: object) -> object:
    def made(self: Place, url: str) -> dict[str, str]:
        assert callable(environ)
        return {**environ(self, url), "ANTHROPIC_API_KEY": ""}

    return made


def test_a_setup_hook_that_fails_is_said_and_the_run_goes_on(place: Place) -> None:
    flags = hooks(Setup="echo 'no network' >&2; exit 2")
    only, _ = place.run([], "--init-only", *flags)
    done, _ = place.run(["Hello."], "Say hello.", "--init", *flags)

    assert (only.code, done.code, done.out) == (0, 0, "Hello.\n")
    for one in (only, done):
        assert one.err.count("\n") == 1
        assert "of Setup does not work" in one.err
        assert "no network" in one.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--init", "--maintenance"), "--init and --maintenance do not go together: give one of them"),
        (("--init-only", "--init"), "--init and --init-only do not go together: give one of them"),
        (("Go.", "--init-only"), "--init-only does nothing else: leave out the prompt, or say --init"),
        (("--init-only", "--output-format", "json"), "--init-only answers nothing: leave out --output-format"),
        (("--init-only", "--resume", "last"), "--init-only answers nothing: leave out --output-format"),
    ],
)
def test_flags_that_make_no_sense_are_one_line(place: Place, arguments: tuple[str, ...], why: str) -> None:
    if "--resume" in arguments:
        place.run(["Hello."], "Say hello.")
    done, requests = place.run([], *arguments)

    assert (done.code, done.out, requests) == (2, "", [])
    assert why in done.err
    assert done.err.count("\n") == 1


def test_a_program_adds_a_folder_while_the_run_lasts(place: Place) -> None:
    """`register_repo_root`."""
    other = place.root / "other"
    other.mkdir()
    (other / "a.txt").write_text("found it")
    read = WrittenAnswer([Call("Read", {"file_path": str(other / "a.txt")}, id="toolu_1")])
    with talking(place, [read, "I have read it."], *hooks(DirectoryAdded=NOTE)) as (talk, requests):
        added = talk.ask("register_repo_root", directory="../other")
        again = talk.ask("register_repo_root", directory=str(other))
        wrong = [
            talk.ask("register_repo_root", **values) for values in ({}, {"directory": 5}, {"directory": "nowhere"})
        ]
        talk.say("Read it.")
        talk.hear_results(1)
        while not is_told(place):  # nobody waits for the hook, and what has not ended when the run ends is cut
            time.sleep(0.01)
        code, err = talk.close()

    assert (code, err) == (0, "")
    assert (added["subtype"], added["response"]) == ("success", {"directory": str(other)})
    assert again["error"] == f"cannot add folder {str(other)!r}: the session already includes it"
    assert ["needs directory" in entry["error"] for entry in wrong] == [True, True, False]
    assert wrong[2]["error"].endswith("it is not a directory")
    assert "found it" in json.dumps(requests[1].body)
    assert told(place) == [("DirectoryAdded", "register_repo_root")]


def test_replay_shows_the_title_that_a_hook_gave(place: Place) -> None:
    title = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "sessionTitle": "say hello"}}
    place.run(["Hello."], "Say hello.", *hooks(UserPromptSubmit=f"echo {shlex.quote(json.dumps(title))}"))
    (run,) = (place.root / "runs").glob("*/journal.jsonl")
    place.captured.readouterr()

    assert main(["replay", str(run)]) == 0
    assert "title     say hello\n" in place.captured.readouterr().out
    assert main(["replay", str(run), "--json"]) == 0
    assert json.loads(place.captured.readouterr().out)["title"] == "say hello"
