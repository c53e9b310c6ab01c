"""Rewriting the asserts of modules of tests, shared between the workers of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def rewrite_share(config: pytest.Config, folder: Path, *, place: int, count: int) -> list[Path]:
    """Rewrite the asserts of every `count`-th module of tests in a folder, where pytest has no rewritten one yet.

    In a fresh clone each of several workers would rewrite all of them at the same time, which takes 4 s each.

    Returns:
        What was rewritten.
    """
    done = []
    for path in sorted(folder.rglob("test_*.py"))[place::count]:
        cache = rewrite.get_cache_dir(path)
        compiled = cache / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite.try_makedirs(cache) and rewrite._read_pyc(path, compiled) is None:
            source_hash, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source_hash, compiled)
            done.append(path)
    return done
