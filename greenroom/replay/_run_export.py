"""The answer to `greenroom replay --export`: the run as a file for other programs' windows.

Rule 1: events are read block by block, and the file is written while they are. Rule 2: a file is written beside its place and then renamed,
so that nothing half is left. Rule 3: a run that goes on, or whose process ended first, is exported as far as it is.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol, TypeAlias

from greenroom.core import UsageError, open_private
from greenroom.terminal import counted, for_reader

if TYPE_CHECKING:  # the formats are named on the command line, where no journal is read yet
    from greenroom.trace import JournalText, RunIndex
    from greenroom.trace.exports import Redaction, Sink


class WriteHtml(Protocol):
    """Writer of a run as a page; pages are made on the same floor, and passed in."""

    def __call__(
        self,
        journal: Path,
        index: RunIndex,
        count: int,
        *,
        sink: Sink,
        redaction: Redaction,
        find_problems: FindProblems,
    ) -> int:
        """Write the first events of a run; return their number."""
        ...


FindProblems: TypeAlias = "Callable[[JournalText, Path], Sequence[Mapping[str, Any]]]"
"""Returns the problems of a run, by its journal and its folder."""


class ExportFormat(StrEnum):
    """The formats of an export."""

    CHROME = "chrome"
    OTLP = "otlp"
    PERFETTO = "perfetto"
    HTML = "html"


_OPENED_BY: Final = {
    ExportFormat.CHROME: "open it in ui.perfetto.dev or chrome://tracing",
    ExportFormat.OTLP: "post each line to a collector, at /v1/traces",
    ExportFormat.PERFETTO: "open it in ui.perfetto.dev",
    ExportFormat.HTML: "open it in a browser",
}


def export_run(
    journal: Path,
    wanted: ExportFormat,
    output: Path | None,
    *,
    content: str = "short",
    since: str | None = None,
    until: str | None = None,
    write_html: WriteHtml | None = None,
) -> None:
    """Write a run to a file, or to standard output where there is none, and say in one line what it holds.

    Args:
        journal: The journal.
        wanted: The format.
        output: The file; what is there is replaced once the export is whole.
        content: The words that it holds: `none`, `short` or `all`.
        since: The place of the first event.
        until: The place of the last event.
        write_html: Writes a page; needed for `html`.

    Raises:
        UsageError: The file would be the run's own, its folder is not there, or the run has no such place.
        JournalError: It is not a journal, cannot be read, or has changed meanwhile.
        OSError: The file cannot be written.
    """
    from greenroom.gateway.record import content_fields, events_of, is_label
    from greenroom.replay._first_screen import problem_facts
    from greenroom.replay._selection import count_from, count_until
    from greenroom.trace import RunIndex
    from greenroom.trace.exports import Content, Redaction, export_chrome, export_otlp, export_perfetto, source_of

    if output is not None:
        _check_output(output, journal)
    redaction = Redaction(Content(content), os.environ, content_fields=content_fields, is_label=is_label)
    index = RunIndex(journal, events_of(journal))
    try:
        while index.grow():
            pass
        first = 0 if since is None else count_from(since, index, option="--since")
        source = source_of(index, since=first, count=None if until is None else count_until(until, index))

        writers = {
            ExportFormat.CHROME: export_chrome,
            ExportFormat.OTLP: export_otlp,
            ExportFormat.PERFETTO: export_perfetto,
        }
        with _open_sink(output) as sink:
            if wanted is ExportFormat.HTML:
                assert write_html is not None
                write_html(journal, index, source.count, sink=sink, redaction=redaction, find_problems=problem_facts)
            else:
                writers[wanted](source, sink, redaction)
        told = _told(index, max(0, source.count - first), redaction)
    finally:
        index.close()
    if output is None:
        print(f"{told}; {_OPENED_BY[wanted]}", file=sys.stderr)
    else:
        print(for_reader(f"{output}: {told}; {_OPENED_BY[wanted]}"))


@contextmanager
def open_replacement(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of a path once it is whole; a failure leaves what was there, and nothing else.

    It is written beside the path and then renamed. A new file has mode 0600, a replaced one keeps its mode; a link stays, and
    what it leads to is replaced. A pipe or a device is not replaced but written to.

    Raises:
        OSError: The system refuses, or the path is a folder.
    """
    path = path.resolve()
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as file:
                yield file
            return
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(open_private(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            yield file
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _open_sink(output: Path | None) -> Iterator[Sink]:
    """Open a file, or standard output where there is none.

    Raises:
        OSError: The file cannot be written; the error has its name.
    """
    if output is None:
        yield (lambda _: None) if sys.stdout is None else sys.stdout.buffer.write
        return
    try:
        with open_replacement(output) as file:
            yield file.write
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(output)) from None


def _check_output(output: Path, journal: Path) -> None:
    if not output.parent.is_dir():
        raise UsageError(f"cannot write --output {output}: the folder {output.parent} does not exist")
    if output.exists() and output.samefile(journal):
        raise UsageError(f"--output {output}: that is the journal itself")


def _told(index: RunIndex, count: int, redaction: Redaction) -> str:
    """Return in words what an export holds, and what it leaves out."""
    parts = [counted(count, "event"), redaction.content.meaning]
    if redaction.count:
        parts.append(f"{counted(redaction.count, 'secret')} masked")
    if index.damaged_lines:
        parts.append(f"without {counted(index.damaged_lines, 'damaged line')} ({index.damage})")
    return ", ".join(parts)
