"""The gateway's process: in the foreground until it is told to stop.

The state folder is held before anything else is read or loaded. Exit codes are 0 stopped, 1 failed, 2 misuse, 130 and 143 killed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from greenroom.core import GreenroomError, JournalError, UsageError
from greenroom.core.texts import single_error
from greenroom.gateway.process._state_folder import HeldState, hold_state
from greenroom.terminal import complain

if TYPE_CHECKING:
    from greenroom.gateway.config._reader import ConfigReading
    from greenroom.serving import Endpoint

STOPPED: Final = 0
FAILED: Final = 1
MISUSE: Final = 2
MAX_PORT: Final = 65_535


def default_state() -> Path:
    """Return the state folder if nothing names one."""
    return Path.home() / ".greenroom" / "gateway"


def run_gateway(
    config: Path | None, state: Path | None, port: int | None, *, endpoints: Callable[[], Collection[Endpoint]]
) -> int:
    """Run a gateway until it is told to stop, and return the exit code.

    Args:
        config: The configuration; None for the one that is found.
        state: The state folder; None for that of the configuration, or the default one.
        port: The TCP port instead of that of the configuration; 0 for any free one.
        endpoints: Returns what else is served on the port, such as a page; called when the state folder is held.
    """
    if port is not None and not 0 <= port <= MAX_PORT:
        raise UsageError(f"--port must be a number from 0 to {MAX_PORT}, got {port}")
    try:
        with ExitStack() as stack:
            held = None if state is None else stack.enter_context(hold_state(state))
            reading = _read(config, os.environ)
            if reading.config is None:
                for problem in reading.problems:
                    complain(str(problem), code=MISUSE)
                return MISUSE
            if held is None:
                held = stack.enter_context(hold_state(state_of(reading)))
            return _run(reading, held, port, endpoints())
    except JournalError as error:
        return complain(str(error), code=FAILED)


def state_of(reading: ConfigReading) -> Path:
    """Return the state folder that a configuration names, or the default one."""
    named = "" if reading.config is None else reading.config.gateway.state
    return reading.path.parent / Path(named).expanduser() if named else default_state()


def _read(config: Path | None, environ: Mapping[str, str]) -> ConfigReading:
    from greenroom.gateway.config import find_config

    return find_config(config, environ)


def _run(reading: ConfigReading, held: HeldState, port: int | None, endpoints: Collection[Endpoint]) -> int:
    import trio

    from greenroom.gateway.process._foreground import serve_in_foreground

    try:
        return trio.run(serve_in_foreground, reading, held, port, endpoints)
    except BaseExceptionGroup as group:
        error = single_error(group)
        if isinstance(error, GreenroomError):
            raise error from None
        raise
