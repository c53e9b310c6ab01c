"""A runtime of plain actors with a journal, in one call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from greenroom import supervisor
from greenroom.core import Recorder, UsageError, require_trio
from greenroom.core.ports import Ports
from greenroom.supervisor import Runtime, SupervisorSpec
from greenroom.trace._open_journal import open_journal


@asynccontextmanager
async def open_runtime(
    *,
    journal: Path | str | None = None,
    keeps_recent: bool = False,
    ports: Ports | None = None,
    recorder: Recorder | None = None,
    spec: SupervisorSpec | None = None,
    check_open: Callable[[], None] | None = None,
) -> AsyncIterator[Runtime]:
    """Open a runtime; leaving the block stops its actors in order, shielded and within `spec.stop_budget_s`.

    After that budget and one kill grace, the remaining actors are killed together. Trio cannot abandon a task: the block
    waits for a handler that blocks, or waits in a shield of its own, as long as it takes.

    Args:
        journal: The run folder whose journal records it; created if missing, continued if it has one. A relative path counts
            from the current folder. By default nothing is written.
        keeps_recent: True to keep the last 200 records, turns of plain actors among them, when the block is left, although
            nothing failed: for `greenroom replay --recent`. It needs a journal.
        ports: Clock, ids, random numbers, disk and threads; by default those of the machine.
        recorder: The event recorder; by default a new one. A journal brings its own.
        spec: The spec of the root supervisor; by default one-for-one, 3 restarts in 60 s.
        check_open: Raises if nothing may be spawned. A journal brings its own.

    Raises:
        UsageError: Trio is not running; or a journal is combined with `recorder` or `check_open`, or missing for `keeps_recent`.
        RuntimeFailed: An actor exceeded its restart budget; the body was cancelled. If the body itself raised an error,
            that error leaves instead, with a note about this one.
        JournalError: Another process writes the journal, or it cannot be written or is damaged.
    """
    require_trio("open_runtime")
    if journal is None:
        if keeps_recent:
            raise UsageError("keeps_recent needs a folder to write to: pass journal= as well")
        async with supervisor.open_runtime(ports=ports, recorder=recorder, spec=spec, check_open=check_open) as runtime:
            yield runtime
        return
    if recorder is not None or check_open is not None:
        raise UsageError("journal= brings its own recorder and check_open; leave them out")
    ports = ports or Ports()
    async with open_journal(Path(journal), ports=ports) as kept:
        try:
            async with supervisor.open_runtime(
                ports=ports, recorder=kept.recorder, spec=spec, check_open=kept.check_open
            ) as runtime:
                yield runtime
        finally:
            if keeps_recent:
                kept.keep_recent("its runtime has ended")
