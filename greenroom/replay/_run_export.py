"""The answer to `greenroom replay --export`: the run as a file for other programs' windows."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from greenroom.core import UsageError, open_private
from greenroom.core.texts import as_json
from greenroom.terminal import counted

if TYPE_CHECKING:  # the formats are named on the command line, where no journal is read yet
    from greenroom.trace import JournalText


class ExportFormat(StrEnum):
    """The formats of an export."""

    CHROME = "chrome"
    OTLP = "otlp"
    HTML = "html"
    """A page; it is written by `greenroom.web`."""


_OPENED_BY: Final = {
    ExportFormat.CHROME: "open it in ui.perfetto.dev or chrome://tracing",
    ExportFormat.OTLP: "post it to a collector, at /v1/traces",
}


def exported(journal: JournalText, wanted: ExportFormat, output: Path | None) -> None:
    """Write a run to a file and say so, or to standard output where there is none.

    Raises:
        UsageError: The file would be the run's own, or its folder is not there.
        OSError: It cannot be written.
    """
    from greenroom.trace import chrome_trace, otlp_traces

    convert = {ExportFormat.CHROME: chrome_trace, ExportFormat.OTLP: otlp_traces}[wanted]
    content = as_json(convert(journal.entries, journal.header)) + b"\n"
    if output is None:
        if sys.stdout is not None:
            sys.stdout.buffer.write(content)
        return
    if not output.parent.is_dir():
        raise UsageError(f"cannot write --output {output}: the folder {output.parent} does not exist")
    if output.exists() and output.samefile(journal.path):
        raise UsageError(f"--output {output}: that is the journal itself")
    with os.fdopen(open_private(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(content)
    print(f"{output}: {counted(len(journal.entries), 'event')}; {_OPENED_BY[wanted]}")
