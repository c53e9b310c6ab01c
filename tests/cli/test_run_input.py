"""Input of a headless run: prompts, JSON, rules, and every mistake as one line and exit code 2."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.agents import AgentDefinition
from greenroom.cli import _run_arguments, main
from greenroom.cli._run_arguments import read_object, read_prompt, read_rules, with_permissions
from greenroom.cli._run_model import model_for
from greenroom.core import UsageError
from greenroom.headless import key_source
from greenroom.models import Call, Message, ModelRequest, ToolResultBlock, ToolUseBlock, as_answer
from greenroom.permissions import Effect
from greenroom.session import SessionSettings
from greenroom.swarm.survey import play_search

MAIN = AgentDefinition(name="main")
TOOLS = st.sampled_from(["Read", "Bash(git log *)", "Edit(/src/**)", "Write"])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Any:
    def put(content: bytes | None) -> None:
        stream = Terminal() if content is None else io.TextIOWrapper(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", stream)

    return put


# --- the prompt -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "piped", "prompt"),
    [
        ("Go.", None, "Go."),
        ("Go.", b"", "Go."),
        ("Go.", b"more\n", "Go.\nmore"),
        (None, b"all of it\n", "all of it"),
        ("  ", b"all of it", "all of it"),
    ],
)
def test_the_prompt_is_the_argument_standard_input_or_both(
    argument: str | None, piped: bytes | None, prompt: str, stdin: Any
) -> None:
    stdin(piped)

    assert read_prompt(argument) == prompt


@pytest.mark.parametrize("piped", [None, b"", b"  \n"])
def test_a_run_needs_a_prompt_unless_it_goes_on_with_another(piped: bytes | None, stdin: Any) -> None:
    stdin(piped)
    with pytest.raises(UsageError, match="a prompt is missing"):
        read_prompt(None)

    stdin(piped)
    assert read_prompt(None, may_be_missing=True) == ""


def test_a_pipe_that_nobody_writes_to_holds_no_prompt_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    monkeypatch.setattr(_run_arguments, "FIRST_BYTE_S", 0.0)
    try:
        with os.fdopen(reading, encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            assert read_prompt("Go.") == "Go."
    finally:
        os.close(writing)

    assert "no data on standard input" in capsys.readouterr().err


@pytest.mark.parametrize(("piped", "why"), [(b"\xff\xfe", "not UTF-8"), (b"x" * 11, "longer than")])
def test_standard_input_that_cannot_be_a_prompt_is_refused(
    piped: bytes, why: str, stdin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_run_arguments, "MAX_BYTES", 10)
    stdin(piped)

    with pytest.raises(UsageError, match=why):
        read_prompt("Go.")


# --- JSON and rules -------------------------------------------------------------------------------------------------------


def test_an_object_is_given_as_it_is_or_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}', encoding="utf-8")

    assert read_object("--settings", ' {"a": 1}') == read_object("--settings", str(path)) == {"a": 1}
    assert read_object("--settings", None) is None


@pytest.mark.parametrize(
    ("content", "why"), [(b"{", "is not valid JSON"), (b"[1]", "must be a JSON object"), (b"\xff", "not UTF-8")]
)
def test_a_file_that_holds_no_object_is_refused_by_its_name(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=why) as caught:
        read_object("--agents", str(path))
    assert str(path) in str(caught.value)


@given(st.lists(st.lists(TOOLS, min_size=1), max_size=3), st.sampled_from([",", " ", ", "]))
def test_rules_are_split_outside_of_parentheses(given_rules: list[list[str]], between: str) -> None:
    arguments = [between.join(rules) for rules in given_rules]

    assert read_rules("--allowed-tools", arguments, Effect.ALLOW) == [rule for rules in given_rules for rule in rules]


def test_the_command_line_adds_to_the_settings_that_it_gives(tmp_path: Path) -> None:
    settings = {"model": "opus", "permissions": {"allow": ["Read"], "defaultMode": "plan"}}

    made = with_permissions(settings, allow=["Write"], deny=["Bash"], folders=[tmp_path])

    assert made == {
        "model": "opus",
        "permissions": {
            "allow": ["Read", "Write"],
            "deny": ["Bash"],
            "defaultMode": "plan",
            "additionalDirectories": [str(tmp_path)],
        },
    }
    assert settings["permissions"] == {"allow": ["Read"], "defaultMode": "plan"}
    assert with_permissions(None, allow=[], deny=[], folders=[]) == {}


# --- mistakes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "a prompt is missing"),
        (("Go.", "on"), "the prompt is one argument, in quotes"),
        (("Go.", "--output-format", "xml"), "output-format"),
        (("Go.", "--max-turns", "0"), "--max-turns must be at least 1"),
        (("Go.", "--max-budget-usd", "-1"), "--max-budget-usd must be a number above 0"),
        (("Go.", "--max-budget-usd", "nan"), "--max-budget-usd must be a number above 0"),
        (("Go.", "--permission-mode", "yolo"), "unknown permission mode 'yolo'"),
        (("Go.", "--allowed-tools", "Bash("), "--allowed-tools: 'Bash(' is neither Tool nor Tool(specifier)"),
        (("Go.", "--cwd", "missing"), "--cwd: 'missing' is not a directory"),
        (("Go.", "--add-dir", "missing"), "--add-dir: 'missing' is not a directory"),
        (("Go.", "--settings", "missing"), "--settings: 'missing' is neither a JSON object nor a file"),
        (("Go.", "--settings", '{"a": 1}'), "unknown key 'a'"),
        (("Go.", "--settings", '{"permissions": 1}'), "permissions must be an object"),
        (("Go.", "--agents", "{"), "--agents is not valid JSON"),
        (("Go.", "--agent", "nobody"), "no agent is called 'nobody'"),
        (("Go.", "--setting-sources", "user,team"), "there are no settings 'team'"),
        (
            ("Go.", "--bare", "--setting-sources", "user"),
            "--bare reads no settings files: leave out --setting-sources user",
        ),
        (("Go.", "--model", "gpt-x"), "unknown model 'gpt-x'"),
        (("Go.", "--model", "sonnet"), "needs a key: set ANTHROPIC_API_KEY"),
        (("Go.",), "needs a key: set ANTHROPIC_API_KEY"),
        (("Go.", "--model", "playbook", "--resume", "nothing"), "No conversation found with session ID: nothing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_mistake_is_one_line_and_nothing_is_left_behind(
    arguments: Sequence[str],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stdin: Any,
) -> None:
    """Exit code 2."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GREENROOM_RUNS", str(tmp_path / "runs"))
    stdin(b"")

    code = main(["run", *arguments])

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("greenroom: ")
    assert why in err
    assert err.count("\n") == 1
    assert list((tmp_path / "runs").glob("2*")) == []


# --- the model ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "environment", "definition", "settings", "name"),
    [
        ("claude-opus-5", "claude-fable-5", "haiku", "sonnet", "claude-opus-5"),
        (None, "claude-fable-5", "haiku", "sonnet", "claude-fable-5"),
        (None, None, "claude-haiku-4-5", "claude-opus-5", "claude-haiku-4-5"),
        (None, None, "inherit", "claude-opus-5", "claude-opus-5"),
        (None, None, "inherit", None, "claude-sonnet-5"),
        ("playbook", None, "inherit", None, "playbook"),
    ],
)
def test_the_first_that_names_a_model_decides(
    asked: str | None,
    environment: str | None,
    definition: str,
    settings: str | None,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
    if environment is not None:
        monkeypatch.setenv("GREENROOM_MODEL", environment)

    model = model_for(asked)(SessionSettings(model=settings), AgentDefinition(name="main", model=definition))

    assert model.name == name


def test_the_key_is_named_and_never_shown() -> None:
    assert key_source({"ANTHROPIC_AUTH_TOKEN": "secret"}) == "ANTHROPIC_AUTH_TOKEN"
    assert key_source({"ANTHROPIC_API_KEY": ""}) == "none"


def test_the_playbook_searches_for_the_words_of_the_question() -> None:
    question = Message.user("Where is the mailbox?")
    (call,) = as_answer(play_search(ModelRequest((question,)))).parts
    assert isinstance(call, Call)
    asked = Message("assistant", (ToolUseBlock("toolu_1", call.name, call.input),))
    found = Message("user", (ToolResultBlock("toolu_1", "a.py:3"),))

    text = str(play_search(ModelRequest((question, asked, found))))

    assert (call.name, call.input["pattern"]) == ("Grep", "mailbox")
    assert "mailbox:\n    a.py:3" in text
    assert "no word" in str(play_search(ModelRequest((Message.user("the?"),))))
