"""The quick way in which `make check` runs the async rules finds what flake8 finds by itself."""

from __future__ import annotations

from pathlib import Path

import flake8_async
import pytest
from flake8.main.cli import main
from flake8.plugins import finder

from tools import check_async

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_YIELD = """
import trio

async def waits():
    try:
        pass
    finally:
        await trio.sleep(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 1)
        with trio.fail_after(1):
            return
"""
WITHOUT_SCOPE = """
import contextlib
import trio

@contextlib.asynccontextmanager
async def opens():
    async with trio.open_nursery() as nursery:
        yield nursery

def lines(path):
    yield from path
    for line in path:
        yield line
"""
WITH_YIELD = """
import contextlib
import trio

@contextlib.contextmanager
def opens():
    def of_one_within():
        with trio.CancelScope():
            yield 1
    yield of_one_within

def of_one_scope():
    with trio.fail_after(1):
        yield 1

async def of_one_nursery():
    async with trio.open_nursery():
        yield 1
"""


def test_what_is_found_is_what_flake8_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "without.py").write_text(WITHOUT_YIELD)
    (tmp_path / "no_scope.py").write_text(WITHOUT_SCOPE)
    (tmp_path / "within.py").write_text(WITH_YIELD)
    monkeypatch.chdir(tmp_path)
    arguments = [f"--config={ROOT / '.flake8'}", "--jobs=1", "."]
    assert main(arguments) == 1
    found = capsys.readouterr().out
    parsed: list[str] = []
    parse = check_async._parse

    def seen(source: str) -> object:
        parsed.append(source)
        return parse(source)

    monkeypatch.setattr(check_async, "_parse", seen)
    monkeypatch.setattr(finder, "_flake8_plugins", finder._flake8_plugins)
    for name in ("cst_parse_module_native", "Flake8AsyncRunner_cst"):
        monkeypatch.setattr(
            flake8_async, name, getattr(flake8_async, name)
        )  # put back what the check puts in its place

    assert check_async.check(arguments) == 1

    assert capsys.readouterr().out == found
    assert parsed == [WITH_YIELD]
    rules = {line.split()[1] for line in found.splitlines()}
    assert rules == {"ASYNC101", "ASYNC102", "ASYNC119", "ASYNC121", "ASYNC900"}
