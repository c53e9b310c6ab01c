"""Output on a person's terminal from `greenroom`, through a real one: nothing that moves the cursor, colors or hides text."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import pytest

from greenroom.cli import main
from greenroom.models import Call, Say, WrittenAnswer
from greenroom.testing._messages_script import ErrorReply, ReplyLike
from tests.cli.place import Place
from tests.cli.served import served

ACTING: Final = "\x1b]0;pwn\x07\x1b[2J\x9b31m\u202egnp.exe\u2066 \x00\x08\rover\u200b\U000e0041"
SHOWN: Final = "plain\ttab é 漢字 👩‍👩‍👧\nnext line"
_ACTS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


@contextmanager
def terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Put a terminal in the place of `sys.stdout` or `sys.stderr`; yields what came there, untouched."""
    end, theirs = pty.openpty()
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST  # else the terminal itself would put a carriage return before each line feed
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    found: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # nobody has the other side open any more
            while content := os.read(end, 65_536):
                found.append(content)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w", encoding="utf-8", errors="replace") as file:
        monkeypatch.setattr(sys, name, file)
        yield found
    reader.join(timeout=5)
    os.close(end)


def on_terminal(place: Place, url: str, *arguments: str) -> tuple[int, str, str]:
    """Run `greenroom` with standard output and standard error on terminals; return its exit code and what came."""
    with place.monkeypatch.context() as patch:
        patch.chdir(place.folder)
        patch.setattr(sys, "stdin", io.StringIO())
        for key, value in {**place.environ(url), "TERM": "xterm", "COLUMNS": "400"}.items():
            patch.setenv(key, value)
        with terminal("stdout", patch) as out, terminal("stderr", patch) as errors:
            code = main(list(arguments))
    return code, b"".join(out).decode(errors="replace"), b"".join(errors).decode(errors="replace")


def run(place: Place, script: list[ReplyLike], *flags: str) -> tuple[int, str, str]:
    with served(script) as server:
        return on_terminal(place, server.url, "run", "hi", *flags)


@pytest.mark.parametrize("output_format", ["text", "stream-json"])
def test_answer_of_a_model_cannot_act_on_the_terminal(place: Place, output_format: str) -> None:
    """Also where an escape sequence is split over two deltas."""
    answer = WrittenAnswer([Say(f"{ACTING}{SHOWN}")])
    flags = ["--output-format", output_format]
    flags += ["--include-partial-messages"] if output_format == "stream-json" else []

    code, out, err = run(place, [answer], *flags)

    assert (code, err) == (0, "")
    assert _ACTS.search(out) is None
    if output_format == "text":
        assert SHOWN in out
        return
    result = json.loads(out.splitlines()[-1])["result"]
    assert result == f"{ACTING}{SHOWN}", "as JSON nothing is lost"


def test_piped_output_keeps_every_byte(place: Place) -> None:
    done, _ = place.run([f"{ACTING}{SHOWN}"], "hi")

    assert done.out == f"{ACTING}{SHOWN}\n"


def test_errors_and_refusals_cannot_act_on_the_terminal(place: Place) -> None:
    refusal = ErrorReply(status=401, type="authentication_error", message=f"bad {ACTING} key")

    code, out, err = run(place, [refusal])

    assert code == 1
    assert "bad" in err
    assert _ACTS.search(out + err) is None


def test_names_of_tools_and_files_cannot_act_on_the_terminal(place: Place) -> None:
    calls = WrittenAnswer(
        [
            Call(f"Tool{ACTING}"[:60].replace("\x00", ""), {"file_path": f"a{ACTING}"}),
            Call("Read", {"file_path": ACTING}),
        ]
    )

    _, out, err = run(place, [calls, "Done."])

    assert "Done." in out
    assert _ACTS.search(out + err) is None


@pytest.mark.parametrize("command", [["agents", "list"], ["agents", "show", "odd"]])
def test_definitions_cannot_act_on_the_terminal(place: Place, command: list[str]) -> None:
    agents = place.folder / ".claude" / "agents"
    agents.mkdir(parents=True)
    said = f"a{ACTING}b".replace("\x00", "").replace("\r", "")
    (agents / "odd.md").write_text(f"---\nname: odd\ndescription: {said}\n---\n{ACTING}\n\ttabbed\n")
    (agents / f"bad{ACTING[1:4]}\x1b[2J.md").write_text("---\nname: [\n---\n")

    _, out, err = on_terminal(place, "http://127.0.0.1:9", *command)

    assert "odd" in out + err
    assert _ACTS.search(_without_styles(out) + err) is None


def test_servers_cannot_act_on_the_terminal(place: Place) -> None:
    servers = {
        f"odd\x1b[2J{ACTING}": {"command": f"no-such\x1b[2J{ACTING}"},
        "time": {"command": "no-such-\x1b]0;x\x07"},
    }
    (place.folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))

    _, out, err = on_terminal(place, "http://127.0.0.1:9", *["mcp", "list"])

    assert "time" in out + err
    assert _ACTS.search(_without_styles(out) + err) is None


def test_replay_cannot_act_on_the_terminal(place: Place) -> None:
    run(place, [WrittenAnswer([Call("Read", {"file_path": ACTING.replace("\x00", "")})]), f"{ACTING}Done."])

    _, out, err = on_terminal(place, "http://127.0.0.1:9", *["replay", "last"])

    assert "Read" in out
    assert _ACTS.search(_without_styles(out) + err) is None


def _without_styles(text: str) -> str:
    """Return what a command prints without the styles that it chose itself: bold, dim, colors."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
