"""The command `greenroom`: reading the command line, and what a mistake in it looks like.

Rule 1: a mistake of the user's is one line on standard error and exit code 2, never a trace. Rule 2: exit codes are 0
done, 1 not done, 2 misuse, 130 and 143 ended by a signal. Rule 3: output that cannot be written is one line and exit
code 1; a swarm whose reader has gone ends without a word and with 1, a replay answers as if all of it had been read.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from greenroom._version import __version__
from greenroom.core import GreenroomError, JournalError, SettingsError, UsageError
from greenroom.terminal import complain, drop_output, flush_output, program

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError, Token

DONE: Final = 0
NOT_DONE: Final = 1
MISUSE: Final = 2
INTERRUPTED: Final = 130

HELP: Final = "The actor runtime for teams of LLM agents."
RUN_HELP: Final = """Let one agent do what a prompt says, and print its answer.

The prompt is the argument, what comes on standard input, or both. Calls
that would need somebody's permission are refused, and the agent goes on.

Ctrl+C ends the turn. Exit codes: 0 done, 1 not done, 2 misuse,
130 interrupted, 143 terminated; --resume goes on after either.
"""
SWARM_HELP: Final = """Let a team of agents survey a folder and write a report.

A lead looks at the folder and puts items on a shared board; teammates
claim them, read and search the files, and send their findings to the lead,
who writes report.md into the run folder. Nothing in the folder is changed.

With ANTHROPIC_API_KEY set the team runs on Claude: tokens are billed to
that key, and their total is shown at the end. Without it, or with
--model playbook, it runs on fixed rules, which need no network.

Ctrl+C stops it: turns may end within a few seconds. Twice kills them.
"""
_ONE_OF_THEM: Final = {
    "run": "the prompt is one argument, in quotes",
    "swarm": "one folder at a time",
    "replay": "one run at a time (--diff compares two)",
}
_AGENTS_COMMANDS: Final = {
    "list": "List the agents that can be used in the current folder.",
    "show": "Show one agent: where it comes from, what it may do, what it is told.",
    "check": "Check the files of agents; exit code 1 when one should be changed.",
}

_MCP_COMMANDS: Final = {
    "list": """List the MCP servers of the current folder, and how they stand.

Each is connected for a moment, as a session would: programs are started,
and addresses are asked. A server with the status needs-auth wants a login.
""",
    "login": """Log in at an MCP server in a browser, and keep the tokens.

The address is printed, and opened. When the browser comes back, the tokens
are kept for sessions, which renew them; nobody else can read them.

Ctrl+C ends it, and what was kept before stays.
""",
    "logout": """Forget the tokens of an MCP server.

Sessions that run keep theirs until they connect again.
""",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: What follows the program's name; by default that of the process.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # names of files come in every script, terminals do not
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        flush_output()
        return code
    except (UsageError, SettingsError, JournalError) as error:
        return complain(str(error), code=MISUSE)
    except GreenroomError as error:
        return complain(str(error), code=NOT_DONE)
    except BrokenPipeError:
        drop_output()
        return NOT_DONE
    except OSError as error:
        # The disk's errors have become a JournalError by now, so this one is about what is printed.
        drop_output()
        what = "the output" if error.filename is None else str(error.filename)
        return complain(f"{what} cannot be written: {(error.strerror or str(error)).lower()}", code=NOT_DONE)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    from cyclopts import CycloptsError

    _check_folder()
    app = _make_app()
    if arguments[:1] == ["run"]:
        from greenroom.cli._run_flags import with_values

        arguments = with_values(arguments)
    try:
        result = app(arguments or ["--help"], print_error=False, exit_on_error=False, result_action="return_value")
    except CycloptsError as error:
        command = " ".join(error.command_chain or ())
        return complain(f"{_worded(error)} (see {f'{program()} {command}'.rstrip()} --help)", code=MISUSE)
    return result if isinstance(result, int) else DONE


def _check_folder() -> None:
    try:
        Path.cwd()
    except OSError:
        raise UsageError("the current folder is gone; change to one that is there") from None


def _worded(error: CycloptsError) -> str:
    """Return what the parser found, on one line, in our words where its own say little."""
    from cyclopts import UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        one = _ONE_OF_THEM.get(" ".join(error.command_chain or ()), "one argument at a time")
        return f"{one}: {' '.join(map(repr, error.unused_tokens))} is too much"
    return " ".join(str(error).split()).rstrip(".")


def _make_app() -> App:
    from cyclopts import App, Parameter

    app = App(
        name="greenroom",
        help=HELP,
        version=__version__,
        help_format="plaintext",
        # A switch that is off says nothing; there is no `--no-json`.
        default_parameter=Parameter(negative=(), show_default=_show_default, converter=_converted),
    )
    # Named, not imported: what replays runs is loaded when a run is replayed, and so on.
    app.command("greenroom.cli._swarm_command:swarm_command", name="swarm", help=SWARM_HELP)
    app.command("greenroom.cli._run_command:run_command", name="run", help=RUN_HELP)
    app.command(
        "greenroom.cli._replay_command:replay_command", name="replay", help="Show what a run did, check it, compare it."
    )
    app.command("greenroom.cli._sweep_command:sweep_command", name="sweep", help="Remove old runs.")
    agents = App(name="agents", help="Show which agents are defined here, and check their files.")
    for name, text in _AGENTS_COMMANDS.items():
        agents.command(f"greenroom.cli._agents_command:{name}_command", name=name, help=text)
    app.command(agents)
    mcp = App(name="mcp", help="Show which MCP servers there are here, and log in at them.")
    for name in _MCP_COMMANDS:
        mcp.command(f"greenroom.cli._mcp_command:{name}_command", name=name, help=_MCP_COMMANDS[name])
    app.command(mcp)
    return app


def _converted(wanted: Any, tokens: Sequence[Token]) -> Any:
    """Return what an argument stands for; of whole numbers the parser alone would round 1.5 to 2."""
    from cyclopts import convert

    if int not in (wanted, *get_args(wanted)):
        return convert(wanted, tokens)
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is no whole number") from None


def _show_default(value: object) -> str | None:
    """Return the default that help shows, None for one that goes without saying."""
    return None if value in (None, False, 0.0) else str(value)
