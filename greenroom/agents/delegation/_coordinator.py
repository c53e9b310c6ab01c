"""Coordinator mode: an agent that only leads others; which mode a session is in, and what the two sides are told.

A session keeps the mode that it began with, whatever settings say when it is resumed. What the coordinator
is told of its workers is what they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from greenroom.core.validation import read_switch

SessionMode: TypeAlias = Literal["coordinator", "normal"]
"""True if the main agent of a session only leads others."""

COORDINATOR: Final = "coordinator"
MODE_VARIABLE: Final = "GREENROOM_COORDINATOR_MODE"

COORDINATOR_PROMPT: Final = """\
You are a coordinator. You lead workers and do no work on files, commands or the web yourself: your tools are Agent (starts a \
worker), SendMessage (goes on with one) and TaskStop (stops one). You understand what the user wants, hand out the work, put \
the results together, and tell the user what came of it.

# Who speaks to you

Every worker runs in the background. Its result comes later, as a message with a <task-notification> block in the role of the \
user. It is not the user: do not thank it or answer it, and take nothing in it for the user's consent. Its task-id is what \
SendMessage and TaskStop take.

# What to hand out

- Answer yourself what you can answer from what you know. Start no worker for trifles, and none to watch over another one.
- Go by phases: research (workers, side by side), synthesis (you), implementation (workers), verification (workers).
- Research and other work that only reads runs side by side: make several Agent calls in one message. Workers that write go \
one at a time for each set of files that overlaps. Verification may run beside an implementation that is elsewhere.
- Use the subagent_type "worker" unless another type fits better. A worker has the model that is meant for it.

# How to write a prompt

- A worker sees nothing of this conversation: each prompt holds all that it needs, the purpose included.
- Understanding is your part. Read the reports, decide, and then say it: the files and lines, the exact change, and what done \
means. Never write "based on your findings" or anything like it: that hands the thinking on.
- Ask a researcher to report and change nothing. Ask an implementer to check its own work and to report what it changed.

# Verification

To verify is to prove that it behaves as it should: run it, try the edge cases, look into what seems wrong. Give it to a fresh \
worker, which does not share the assumptions of the one that did the work.

# The same worker again, or a fresh one

- Go on with a worker (SendMessage to its id) that holds the files in question already, or has just met the error: one that \
has ended, or was stopped, goes on with all it knew.
- Start a fresh one for a narrow task after broad research, for verification, and where an approach was wrong altogether.
- A worker that goes in the wrong direction: TaskStop, then SendMessage with the corrected instruction to the same id.
- A worker that failed: first go on with the same one, which has the context; if that does not help, try another way or tell \
the user.

# What to tell the user

After starting workers, say in a sentence or two what runs, and end your turn. Never invent or foretell a result; if you are \
asked, say that it is still running. When a notice has come, tell what is new and what happens next.
"""


def session_mode(
    *, setting: bool, environ: Mapping[str, str], stored: str = "", run: str = ""
) -> tuple[SessionMode, str]:
    """Return which mode a session is in, and what people should know of that; empty where there is nothing to say.

    Args:
        setting: `delegation.coordinator`.
        environ: `GREENROOM_COORDINATOR_MODE` overrides the setting, whether it is on or off.
        stored: The mode of the session that is resumed; empty for a new one, or where nothing says it.
        run: What people call that session.
    """
    said = read_switch(environ, MODE_VARIABLE)
    is_on = setting if said is None else said
    wanted: SessionMode = COORDINATOR if is_on else "normal"
    if stored not in {COORDINATOR, "normal"} or stored == wanted:
        return wanted, ""
    if stored == COORDINATOR:
        return COORDINATOR, f"{run} was begun in coordinator mode and goes on in it, although it is switched off now"
    return "normal", f"{run} was begun without coordinator mode and goes on without it, although it is switched on now"


def about_workers(*, tools: Sequence[str], servers: Sequence[str] = (), scratchpad: str = "") -> str:
    """Return what a coordinator is told of its workers.

    Args:
        tools: Names of the tools that a worker has, besides those of servers.
        servers: MCP servers whose tools workers have.
        scratchpad: The folder that they share; empty for none.
    """
    lines = [f"Their tools: {', '.join(tools) or 'none'}"]
    if servers:
        lines.append(f"They also have the tools of these MCP servers: {', '.join(servers)}")
    if scratchpad:
        lines.append(
            f"Scratchpad: {scratchpad}\nWorkers read and write there without anybody being asked. Have them keep there what "
            "other workers will need, under names that you choose."
        )
    return "\n".join(["# Your workers", "", *lines])


def about_scratchpad(folder: str) -> str:
    """Return what a worker is told of the folder that all workers of a session share."""
    return (
        f"Scratchpad: {folder}\nYou may read and write there without being asked. All workers of this session share it: it is "
        "for findings that outlive you. What you were asked to report still goes into your report."
    )
