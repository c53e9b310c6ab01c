"""Recorded runs as regression tests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, final

from greenroom.reruns import Program, report_of, rerun


@final
class RerunDiffers(AssertionError):
    """A recorded run was done again and differs; apart from assertions of the program itself."""


def assert_reruns(run: Path | str, program: Program, **opening: Any) -> None:
    """Do a recorded run again, and check that it is equal. No model is asked, and nothing is left behind.

    Args:
        run: A run folder that was recorded with `record: effects`; it stays as it is, unless it is to be updated.
        program: As for `greenroom.rerun`.
        opening: As for `greenroom.rerun`; with `update=True`, a change is shown by the error for the last time.

    Raises:
        AssertionError: It differs; the text says where, and what the first cause is.
        UsageError: The run cannot be done again.
    """
    __tracebackhide__ = True
    with tempfile.TemporaryDirectory(prefix="greenroom-") as folder:
        again = rerun(run, program, runs=folder, **opening)
    if not again.is_equal:
        raise RerunDiffers(f"the re-run of {Path(run).name} is not equal\n{report_of(again)}")
