"""`greenroom rerun --from`: a recorded run is continued from one of its events, with something changed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs
from cyclopts import Parameter

from greenroom.branches import RunBranch, branch
from greenroom.core import UsageError
from greenroom.session import EVENTS, SessionBegan, read_branch
from greenroom.terminal import counted, note
from greenroom.trace import JOURNAL, read_journal

SWARM: Final = "swarm.json"


def _flag(text: str, **more: Any) -> Any:
    return Parameter(help=text, **more)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class BranchFlags:
    """The flags for a run that is continued."""

    from_: Annotated[
        int | None,
        _flag(
            "Continue from this event in a new run, on a live model: what was done before is kept, and is not done again.",
            name="--from",
        ),
    ] = None
    change: Annotated[
        list[str] | None,
        _flag(
            "With --from: WHAT=FILE, where WHAT is system:AGENT, definition:NAME, message:LINE, result:CALL or settings; may be "
            "repeated.",
            negative=(),
        ),
    ] = None
    model: Annotated[str | None, _flag("With --from: the model to continue on; by default that of the run.")] = None
    max_budget_usd: Annotated[float | None, _flag("With --from: maximum cost of the new run in US dollars.")] = None
    files: Annotated[
        Literal["refuse", "here"] | None,
        _flag(
            "With --from: `refuse` calls that change files or run commands (the default), or let them work on today's files, "
            "`here`."
        ),
    ] = None

    def check(self) -> None:
        """Refuse flags that mean nothing without an event.

        Raises:
            UsageError: One is given.
        """
        given = {"--change": self.change, "--model": self.model, "--max-budget-usd": self.max_budget_usd}
        for name, value in {**given, "--files": self.files}.items():
            if value is not None and self.from_ is None:
                raise UsageError(f"{name} needs --from; name the event to continue from, or leave out {name}")


def branch_off(source: Path, runs: Path, flags: BranchFlags, *, is_json: bool) -> int:
    """Branch off from a run, continue the branch, and return the exit code; a branch that could not be opened is removed.

    Raises:
        UsageError: The run cannot be cut there, a change fits nothing, or the model cannot be used.
    """
    assert flags.from_ is not None
    is_swarm = (source / SWARM).is_file()
    made = branch(
        source,
        flags.from_,
        changes=_read_changes(flags.change or ()),
        files=flags.files or "refuse",
        runs=runs,
        named=[f"model={flags.model}"] if flags.model else [],
        must_ask=not is_swarm,
    )
    for line in lines_of(made):
        note(line)
    go_on = _continue_swarm if is_swarm else _continue_run
    try:
        return go_on(made, runs, flags, is_json=is_json)
    except UsageError:
        start = read_branch(made.folder)
        if start is not None and start.is_fresh:
            shutil.rmtree(made.folder)  # else it would be the last run
        raise


def lines_of(made: RunBranch) -> list[str]:
    """Return what there is to say of a branch before it is continued."""
    first = f"{made.folder.name} continues {made.from_run} from event {made.at}"
    again = f"the work of {counted(made.left_out, 'event')} before it is done again" if made.left_out else ""
    ignored = [made.problem] if made.problem else []
    return [f"{first}; {again}" if again else first, *(f"  {stand}" for stand in made.stands), *ignored]


def _read_changes(given: Sequence[str]) -> dict[str, str]:
    changes: dict[str, str] = {}
    for what, text in map(_read_change, given):
        if what in changes:
            raise UsageError(f"--change: {what!r} was given twice; leave out one of them")
        changes[what] = text
    return changes


def _read_change(given: str) -> tuple[str, str]:
    what, equals, name = given.partition("=")
    if not equals or not name:
        raise UsageError(f"--change: {given!r} must be WHAT=FILE, such as system:main=prompt.md")
    try:
        return what, Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"--change: {name!r} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"--change: cannot read {name!r}: {why.lower()}") from None


def _continue_swarm(made: RunBranch, runs: Path, flags: BranchFlags, *, is_json: bool) -> int:
    from greenroom.swarm import SwarmOptions, resumed, run_swarm

    options = SwarmOptions(
        path=Path(), model=flags.model or "", runs=runs, max_usd=flags.max_budget_usd, is_json=is_json, is_agreed=True
    )
    return run_swarm(resumed(options, str(made.folder)))


def _continue_run(made: RunBranch, runs: Path, flags: BranchFlags, *, is_json: bool) -> int:
    import trio

    from greenroom.cli._run_command import prepared_run, run_surroundings
    from greenroom.cli._run_flags import AS_BY_DEFAULT
    from greenroom.headless import run_headless

    began = [
        entry.event
        for entry in read_journal(made.folder / JOURNAL, EVENTS).entries
        if isinstance(entry.event, SessionBegan)
    ]
    run_flags = attrs.evolve(
        AS_BY_DEFAULT,
        resume=str(made.folder),
        runs=runs,
        cwd=Path(began[-1].cwd),
        model=flags.model,
        max_budget_usd=flags.max_budget_usd,
        output_format="json" if is_json else "text",
    )
    run_flags, options = prepared_run(run_flags, lambda _: "")  # nothing new is said, so standard input is not read
    with run_surroundings(run_flags) as (folder, notes):
        return trio.run(run_headless, options, folder, notes)
