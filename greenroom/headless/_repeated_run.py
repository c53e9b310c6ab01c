"""The program of a headless run, for doing it again: the same turns and waits, and nothing is printed."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from typing import Any

import trio

from greenroom.agents import PermissionQuestion
from greenroom.core import InternalError, UsageError
from greenroom.core.ports import Ports
from greenroom.headless._printers import Writer
from greenroom.headless._runner import HeadlessOptions, has_work, leaving_cut_turns, live_events, make_work
from greenroom.permissions import Allow, Deny
from greenroom.session import Session


def repeated_run(options: HeadlessOptions) -> tuple[Any, dict[str, Any]]:
    """Return the program of a headless run and the arguments of its session.

    Raises:
        UsageError: The prompts of the run came from a program, or it worked in a worktree of its own.
    """
    if options.talks:
        raise UsageError(
            "the prompts of this run came on standard input (--input-format stream-json), and they are not on record: "
            "call greenroom.rerun with a program that sends them"
        )
    if options.open_with.get("worktree") is not None:
        raise UsageError("this run worked in a git worktree of its own (--worktree), and a re-run makes none")

    async def program(session: Session) -> None:
        ports = Ports()
        run = make_work(session, options, None, lambda: None, Writer(ports), ports, trio.current_time())
        with redirect_stderr(io.StringIO()):  # the recorded run has said it already
            if has_work(run, session, options):
                await run.work.work(options.prompt)

    asks = {} if options.approver is None else {"can_use_tool": _ask}
    return program, {**leaving_cut_turns(options.open_with), "live": live_events(options), **asks}


async def _ask(question: PermissionQuestion) -> Allow | Deny:
    """Fail: the answers of a re-run come from its record."""
    raise InternalError(f"a re-run asks nobody, but {question.tool} was asked about")
