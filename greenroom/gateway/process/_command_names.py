"""The commands below `greenroom gateway`, with their help; nothing else is loaded before one of them runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

RUN: Final = "run"
"""The command that `greenroom gateway` itself stands for."""
HELP: Final = "Hold many sessions, each the chat of somebody. Without a command, run the gateway."
HELP_OF_RUN: Final = """Run a gateway until it is told to stop; `greenroom gateway` alone does the same.

It stays in the foreground. Ctrl+C or SIGTERM stops it in order: turns have
a while to end, and whatever is cut is resumed by the next start. A second
signal kills what runs, a third one exits. SIGHUP reads the configuration
again. Exit codes: 0 stopped, 1 failed, 2 misuse, 130 and 143 killed.
"""
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "check": (
        "greenroom.gateway.process._check_command:check_command",
        """Check the configuration of a gateway; exit with 1 if it cannot be used.

Nothing is started and no file is changed. Secrets are never printed.
""",
    ),
    **{
        name: (f"greenroom.gateway.process._client_commands:{name}_command", text)
        for name, text in {
            "status": "Show the state of the running gateway; exit with 1 if none runs.",
            "stop": "Stop the running gateway in order, and wait until it has ended.",
            "open": "Print an address for a browser, with a code that is good once, for a minute.",
            "agent": "Give an agent one message, and print its reply; exit with 1 if there is none.",
            "sessions": "List sessions; show, reset or delete one.",
            "deliveries": "List messages that wait to be sent; retry or dismiss a blocked one.",
            "pairing": "List the people who are paired or asked to be; approve, reject or remove one.",
            "approvals": "List tool calls that wait for an answer, and answer one.",
            "cron": "List the jobs of the clock; add, remove or run one.",
        }.items()
    },
}
"""Where each other command is, and its help."""


def with_run(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the command `run` where `greenroom gateway` stands alone, or before options."""
    rest = arguments[1:]
    if arguments[:1] == ["gateway"] and (not rest or (rest[0].startswith("-") and rest[0] not in {"--help", "-h"})):
        return ["gateway", RUN, *rest]
    return list(arguments)
