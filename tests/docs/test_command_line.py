"""The page about the command line lists every command with all that it takes."""

from __future__ import annotations

import re
from typing import Final

import pytest

from greenroom.cli import main
from greenroom.cli._app import _make_app
from tests.docs.command_line import PAGE, arguments, commands, page

OPTION: Final = re.compile(r"(?<![\w-])--[a-zA-Z-]+[a-zA-Z]")


def test_the_page_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.docs.command_line`"


def test_every_argument_and_option_says_what_it_means() -> None:
    root = _make_app()
    silent = [
        (path, argument.name)
        for path, app in commands(root)
        for argument in arguments(root, app)
        if not argument.parameter.help
    ]

    assert silent == []


def test_what_help_lists_is_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    said = PAGE.read_text(encoding="utf-8")
    shown = {}
    for path, _ in commands(_make_app()):
        assert main([*path, "--help"]) == 0
        shown[path] = capsys.readouterr().out

    options = {option for text in shown.values() for option in OPTION.findall(text)}

    assert len(shown) > 5
    assert {"--version", "--output", "--allowedTools"} <= options
    assert {option for option in options if option not in said} == set()


@pytest.mark.parametrize(
    ("command", "said"),
    [([], "Start here: `greenroom swarm`"), (["run", "--help"], "Without one"), (["swarm", "--help"], "Without it")],
)
def test_help_says_where_to_start_and_what_happens_without_a_key(
    command: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    assert said in capsys.readouterr().out
