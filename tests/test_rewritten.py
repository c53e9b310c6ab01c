"""Each worker of a run rewrites its share of the asserts, and reads what the others have rewritten."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.rewritten import rewrite_share

pytest_plugins = ("pytester",)

NAMES = [f"test_{name}.py" for name in "abcde"]


def test_each_module_is_rewritten_once_and_pytest_takes_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for name in NAMES:
        (pytester.path / name).write_text("def test():\n    assert [1] == [2]\n")

    shares = [rewrite_share(request.config, pytester.path, place=place, count=2) for place in (0, 1)]

    assert [path.name for share in shares for path in share] == [*NAMES[::2], *NAMES[1::2]]
    assert rewrite_share(request.config, pytester.path, place=0, count=1) == []
    monkeypatch.setattr("_pytest.assertion.rewrite._rewrite_test", refuse)
    shown = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    shown.assert_outcomes(failed=len(NAMES))
    shown.stdout.fnmatch_lines(["*At index 0 diff: 1 != 2*"])


def refuse(path: Path, _: object) -> None:
    raise AssertionError(f"{path} is rewritten again")
