"""`greenroom run --resume RUN --rewind-files MESSAGE`: restore files, and do nothing else."""

from __future__ import annotations

import sys
from functools import partial

import trio

from greenroom.cli._run_flags import RunFlags
from greenroom.core import UsageError
from greenroom.headless import rewound
from greenroom.session import find_session, rewind_run
from greenroom.store import encode_line
from greenroom.terminal import complain, for_reader
from greenroom.trace import prepare_runs_folder

NOT_DONE = 1


def rewind_command(flags: RunFlags, prompt: str | None) -> int:
    """Set files back, print which, and return the exit code: 1 where a file could not be.

    Raises:
        UsageError: A flag or a prompt makes no sense with it, there is no such run or message, or nothing was kept.
        JournalError: Another process has resumed the run.
    """
    assert flags.rewind_files is not None
    if flags.resume is None:
        raise UsageError("--rewind-files needs --resume, with the run whose files are set back")
    if flags.fork_session or flags.input_format == "stream-json" or (prompt or "").strip():
        raise UsageError(
            "--rewind-files only sets files back: leave out the prompt, --fork-session and --input-format stream-json"
        )
    run_folder = find_session(flags.resume, prepare_runs_folder(flags.runs))
    done = trio.run(partial(rewind_run, run_folder, flags.rewind_files))
    if flags.output_format == "text":
        gone = frozenset(done.removed)
        lines = "".join(f"{'removed' if path in gone else 'restored'} {path}\n" for path in done.files)
        content = for_reader(lines).encode(errors="surrogateescape")
    else:
        content = encode_line(rewound(done))
    sys.stdout.buffer.write(content)
    sys.stdout.flush()
    if not done.error:
        return 0
    complain(done.error, code=NOT_DONE)
    return NOT_DONE
