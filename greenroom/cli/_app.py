"""The command `greenroom`: its subcommands, and how mistakes are reported.

A user's mistake is reported in one line on standard error with exit code 2, never with a traceback. Exit codes are 0
done, 1 not done, 2 misuse, 130 and 143 ended by a signal. If the output cannot be written, the command prints one line
and exits with 1. If the reader of the output has gone, a swarm exits silently with 1, and a replay exits as if all of
its output had been read.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from greenroom._version import __version__
from greenroom.core import GreenroomError, JournalError, SettingsError, UsageError
from greenroom.gateway.process._command_names import COMMANDS, HELP_OF_RUN, RUN, with_run
from greenroom.gateway.process._command_names import HELP as HELP_OF_GATEWAY
from greenroom.terminal import complain, drop_output, flush_output, program

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError, Token

DONE: Final = 0
NOT_DONE: Final = 1
MISUSE: Final = 2
INTERRUPTED: Final = 130

HELP: Final = """The actor runtime for teams of LLM agents.

Start here: `greenroom swarm` surveys this folder; no key is needed.
"""
RUN_HELP: Final = """Run one agent on a prompt, and print its answer.

The prompt is the argument, standard input, or both. Calls that need
permission are refused, and the agent continues.

It needs a key in ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN. Without one
it is refused; with --model playbook it runs on fixed rules, which need
neither key nor network.

Ctrl+C ends the turn. Exit codes: 0 done, 1 not done, 2 misuse,
130 interrupted, 143 terminated; --resume resumes after 130 and 143.
"""
SWARM_HELP: Final = """Run a team of agents that surveys a folder and writes a report.

A lead looks at the folder and puts items on a shared board; teammates
claim them, read and search the files, and send their findings to the lead,
who writes report.md into the run folder. Nothing in the folder is changed.

With ANTHROPIC_API_KEY set the team runs on Claude: tokens are billed to
that key, and their total is shown at the end. Without it, or with
--model playbook, it runs on fixed rules, which need no network.

Ctrl+C stops it: running turns have a few seconds to end. A second Ctrl+C
kills them.
"""
_ONE_OF_THEM: Final = {
    "run": "the prompt is one argument, in quotes",
    "swarm": "one folder at a time",
    "replay": "one run at a time (--diff compares two)",
}
_AGENTS_COMMANDS: Final = {
    "list": "List the agents that can be used in the current folder.",
    "show": "Show one agent: its source, its permissions and its prompt.",
    "check": "Check the files of agents; exit with 1 if one should be changed.",
}

_MCP_COMMANDS: Final = {
    "list": """List the MCP servers of the current folder and their status.

Each server is connected briefly, as a session would do: programs are
started, and URLs are requested. A server with the status needs-auth
needs a login.
""",
    "login": """Log in to an MCP server in a browser, and save the tokens.

The URL is printed and opened. When the browser returns, the tokens are
saved for sessions, which renew them; only your user can read them.

Ctrl+C cancels the login; tokens that were saved before are kept.
""",
    "logout": """Delete the tokens of an MCP server.

Running sessions keep theirs until they reconnect.
""",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: What follows the program's name; by default that of the process.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # file names may have characters that the terminal cannot print
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
        result = app(
            with_run(arguments) or ["--help"], print_error=False, exit_on_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        command = " ".join(error.command_chain or ())
        return complain(f"{_worded(error)} (see {f'{program()} {command}'.rstrip()} --help)", code=MISUSE)
    return result if isinstance(result, int) else DONE


def _check_folder() -> None:
    try:
        Path.cwd()
    except OSError:
        raise UsageError("the current directory no longer exists; change to another one") from None


def _worded(error: CycloptsError) -> str:
    """Return the parser's error on one line, reworded if its own text says little."""
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
        # Switches are off by default and have no negative form: there is no `--no-json`.
        default_parameter=Parameter(negative=(), show_default=_show_default, converter=_converted),
    )
    # Named, not imported: each command's module is loaded only when the command runs.
    app.command("greenroom.cli._swarm_command:swarm_command", name="swarm", help=SWARM_HELP)
    app.command("greenroom.cli._run_command:run_command", name="run", help=RUN_HELP)
    app.command(
        "greenroom.cli._replay_command:replay_command", name="replay", help="Show what a run did, check it, compare it."
    )
    app.command("greenroom.cli._rerun_command:rerun_command", name="rerun", help="Do a recorded run again.")
    app.command("greenroom.cli._watch_command:watch_command", name="watch", help="Watch a run of another process.")
    app.command("greenroom.cli._host_command:host_command", name="host", help="Run agents for runs of other processes.")
    app.command("greenroom.cli._sweep_command:sweep_command", name="sweep", help="Remove old runs.")
    agents = App(name="agents", help="List the agents of the current folder, and check their files.")
    for name, text in _AGENTS_COMMANDS.items():
        agents.command(f"greenroom.cli._agents_command:{name}_command", name=name, help=text)
    app.command(agents)
    mcp = App(name="mcp", help="List the MCP servers of the current folder, and log in to them.")
    for name in _MCP_COMMANDS:
        mcp.command(f"greenroom.cli._mcp_command:{name}_command", name=name, help=_MCP_COMMANDS[name])
    app.command(mcp)
    gateway = App(name="gateway", help=HELP_OF_GATEWAY)
    gateway.command("greenroom.web._gateway_command:run_command", name=RUN, help=HELP_OF_RUN)
    for name, (place, text) in COMMANDS.items():
        gateway.command(place, name=name, help=text)
    app.command(gateway)
    app.command("greenroom.gateway.chat._chat_command:chat_command", name="chat", help="Chat with a running gateway.")
    return app


def _converted(wanted: Any, tokens: Sequence[Token]) -> Any:
    """Return the value of an argument; for whole numbers, the parser itself would round 1.5 to 2."""
    from cyclopts import convert

    if int not in (wanted, *get_args(wanted)):
        return convert(wanted, tokens)
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from None


def _show_default(value: object) -> str | None:
    """Return the default that help shows, None for an obvious one."""
    return None if value in (None, False, 0.0) else str(value)
