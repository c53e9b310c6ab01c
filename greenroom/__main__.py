"""The command `greenroom`, also `python -m greenroom`."""

import gc
import os
import sys

START_THRESHOLD = 20_000
"""New objects after which the collector looks at them."""


def _leave_current_folder() -> None:
    """Remove the current folder from the places of modules, where `python -m` puts it first.

    A `json.py` that lies there would be run. The command `greenroom` and `python -P -m greenroom` have no such place.
    """
    try:
        here = os.getcwd()  # noqa: PTH109 - before any module is imported that Python has not loaded by itself
    except OSError:  # it is gone, so nothing can be found there
        return
    if not sys.flags.safe_path and sys.path[:1] == [here]:
        del sys.path[0]


if __name__ == "__main__":
    _leave_current_folder()

from greenroom._exit_signals import exit_quietly_on_signals, hold_signals  # noqa: E402 - the folder is left first
from greenroom._version import __version__  # noqa: E402 - likewise


def main() -> None:
    """Answer `--version` at once; hand everything else to the command line in `greenroom.cli`."""
    exit_quietly_on_signals()
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    # A start makes many objects and hardly any garbage: Python's own threshold of 700 costs it a tenth.
    gc.set_threshold(START_THRESHOLD)
    # Imported here because this brings Trio and the terminal library, which cost many times a bare start of Python.
    from greenroom import cli

    code = cli.main()
    hold_signals()  # also for commands that handle none
    sys.exit(code)


if __name__ == "__main__":
    main()
