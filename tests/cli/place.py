"""A project and a home of their own for `greenroom run`, against a Messages server on loopback."""

from __future__ import annotations

import io
import json
import os
import queue
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, final

import attrs
import pytest

from greenroom.cli import main
from greenroom.store._transcript_reader import read_transcript
from greenroom.testing import ReceivedRequest
from greenroom.testing._messages_script import ReplyLike, Script
from tests.cli.forked import Forked
from tests.cli.parsing import read_annotations_once
from tests.cli.served import served

read_annotations_once()

Process: TypeAlias = "subprocess.Popen[str] | Forked"


@attrs.frozen
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        (line,) = [line for line in self.lines if line["type"] == "result"]
        return line


@attrs.frozen
class Place:
    """A project and a home of their own."""

    root: Path
    monkeypatch: pytest.MonkeyPatch
    captured: pytest.CaptureFixture[str]

    @property
    def folder(self) -> Path:
        return self.root / "project"

    def environ(self, url: str) -> dict[str, str]:
        return {
            "HOME": str(self.root / "home"),
            "GREENROOM_RUNS": str(self.root / "runs"),
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "ANTHROPIC_BASE_URL": url,
        }

    def run(self, script: Script, *arguments: str, stdin: str = "") -> tuple[Done, list[ReceivedRequest]]:
        """Run the command in this process and return how it ended, and what the model was asked."""
        with served(script) as server, self.monkeypatch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            for name, value in self.environ(server.url).items():
                patch.setenv(name, value)
            self.captured.readouterr()
            code = main(["run", *arguments])
        out, err = self.captured.readouterr()
        return Done(code, out, err), server.requests

    @contextmanager
    def started(self, url: str, *arguments: str, stdin: int = subprocess.DEVNULL) -> Iterator[Process]:
        """Run the command in a process of its own."""
        environ = {**os.environ, **self.environ(url)}
        process = Forked("run", *arguments, cwd=self.folder, environ=environ, stdin=stdin)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    @contextmanager
    def started_afresh(self, url: str, *arguments: str, stdin: int = subprocess.DEVNULL) -> Iterator[Process]:
        """Run the command in a process that Python is started for."""
        process = subprocess.Popen(
            [sys.executable, "-m", "greenroom", "run", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environ(url)},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def runs(self) -> list[Path]:
        """Return the run folders."""
        return sorted((self.root / "runs").glob("2*"))

    def journal(self) -> list[str]:
        (path,) = (self.root / "runs").glob("2*/journal.jsonl")
        return path.read_text(encoding="utf-8").splitlines()

    def transcript(self) -> list[dict[str, Any]]:
        (path,) = (self.root / "runs").glob("2*/transcripts/main.jsonl")
        return list(read_transcript(path))


def end_of(process: Process, stdin: str | None = None) -> Done:
    out, err = process.communicate(stdin, timeout=50)
    return Done(process.wait(), out, err)


@final
class Asked:
    """A script that says when it was asked."""

    def __init__(self, *replies: ReplyLike) -> None:
        self._replies = list(replies)
        self._arrived: queue.SimpleQueue[None] = queue.SimpleQueue()

    def __call__(self, _: ReceivedRequest) -> ReplyLike:
        self._arrived.put(None)
        return self._replies.pop(0)

    def wait(self, requests: int) -> None:
        for _ in range(requests):
            self._arrived.get(timeout=50)


def texts_of(request: ReceivedRequest) -> list[str]:
    content = request.body["messages"][-1]["content"]
    return [block["text"] for block in content if block["type"] == "text"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Place:
    made = Place(tmp_path, monkeypatch, capfd)
    made.folder.mkdir()
    (tmp_path / "home").mkdir()
    (made.folder / "a.txt").write_text("the answer is 42\n", encoding="utf-8")
    return made
