"""Run folders of failing explored tests: their journal for `greenroom replay`, and the choices that lead there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

from greenroom._version import __version__
from greenroom.core import Record, make_private_folder
from greenroom.core.texts import as_json
from greenroom.trace import JOURNAL, Codec, Header

FAILURES: Final = Path(".greenroom", "failures")
MAX_KEPT: Final = 20
CHOICES: Final = "choices.json"
_ODD: Final = re.compile(r"[^A-Za-z0-9_]+")
_NAME_CHARS: Final = 80


def keep_failure(
    root: Path, test: str, records: Sequence[Record], *, choices: Sequence[int], seed: int, strategy: str
) -> Path:
    """Write the folder of a failed run, remove the oldest ones beyond 20, and return it.

    Args:
        root: The folder of the tests; failures are kept in its `.greenroom/failures`.
        test: The id of the test.
        records: What the run recorded.
        choices: Its choices.
        seed: The seed of the search.
        strategy: The search.

    Raises:
        OSError: It cannot be written.
    """
    folder = _new_folder(root / FAILURES, _ODD.sub("-", test.rpartition("/")[2]).strip("-")[-_NAME_CHARS:])
    found = {"test": test, "choices": list(choices), "seed": seed, "strategy": strategy}
    header = Header(
        run=folder.name,
        greenroom=__version__,
        python="",
        trio=trio.__version__,
        seed=seed,
        choices=CHOICES,
        about=found,
    )
    codec = Codec()
    lines = [codec.encode(record, 0.0) for record in records if record[0] > 0]
    (folder / CHOICES).write_bytes(as_json(found) + b"\n")
    (folder / JOURNAL).write_bytes(codec.encode_header(header) + b"".join(lines))
    _remove_oldest(folder.parent)
    return folder


def _new_folder(failures: Path, name: str) -> Path:
    make_private_folder(failures)
    number = 1
    while True:
        folder = failures / f"{name}-{number}"
        with suppress(FileExistsError):  # of another process of the same tests, or of an earlier run of them
            folder.mkdir(mode=0o700)
            return folder
        number += 1


def _remove_oldest(failures: Path) -> None:
    kept: list[tuple[int, Path]] = []
    for folder in failures.iterdir():
        with suppress(FileNotFoundError):  # another process of the same tests has just removed it
            kept.append((folder.stat().st_mtime_ns, folder))
    for _, folder in sorted(kept)[:-MAX_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
