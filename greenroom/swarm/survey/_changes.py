"""The changes that a review is about: asked of git before anything starts, told to the lead, and read back from there.

Rule 1: git is only asked; nothing in the repository changes, its index and locks included. Rule 2: what `describe` writes,
`parse_changes` reads, whatever stands around it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from greenroom.containment import Git, GitTooOld, run_git
from greenroom.core import UsageError

GIT_TIMEOUT_S: Final = 30.0
MAX_DIFF: Final = 60_000
"""Characters of the differences that a lead is shown; the files themselves can be read."""
_HEAD: Final = re.compile(r"^Changes: (.+)$", re.MULTILINE)
_FILE: Final = re.compile(r"^- (.+): (all|deleted|\d[\d, -]*)$", re.MULTILINE)
_NEW_NAME: Final = re.compile(r"\+\+\+ b/(.*?)\t?$")
_OLD_NAME: Final = re.compile(r"--- a/(.*?)\t?$")
_HUNK: Final = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_DIFF: Final = ("--no-color", "--unified=0", "--relative", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/")


@attrs.frozen
class ChangedFile:
    """A file, and which of its lines are new."""

    path: str
    spans: tuple[tuple[int, int], ...] | None
    """First and last lines, numbered from 1; None: all of it."""
    is_deleted: bool = False

    def has(self, line: int) -> bool:
        """Whether a line is new."""
        return self.spans is None or any(first <= line <= last for first, last in self.spans)

    def touches(self, first: int, last: int) -> bool:
        """Whether one of a range of lines is new."""
        return self.spans is None or any(one <= last and first <= other for one, other in self.spans)


@attrs.frozen
class Changes:
    """What changed, and against what."""

    what: str
    files: tuple[ChangedFile, ...]


def look_at_changes(folder: Path) -> str:
    """Return in words what changed in a folder: in its working tree, or where nothing did, in the last commit.

    Raises:
        UsageError: There is no git, no repository, or nothing that changed.
    """
    if _ask_git(folder, "rev-parse", "--is-inside-work-tree").strip() != "true":
        raise UsageError(f"{str(folder)!r} is in no working tree of git; a review reads what changed there")
    head = _try_git(folder, "rev-parse", "--short", "HEAD").strip()
    new = [name for name in _ask_git(folder, "ls-files", "--others", "--exclude-standard", "-z").split("\0") if name]
    diff = _ask_git(folder, "diff", *_DIFF, "HEAD", "--", ".") if head else ""
    what = f"the working tree against {head or 'nothing'}"
    if not diff and not new and head:
        what = f"the commit {head}"
        diff = _ask_git(folder, "show", "--format=", "--first-parent", "-m", *_DIFF, "HEAD", "--", ".")
    files = (*_changed(diff), *(ChangedFile(name, None) for name in new))
    if not files:
        raise UsageError(f"nothing has changed in {str(folder)!r}, and the last commit changed nothing there")
    return describe(Changes(what, files), diff)


class _GitFailed(Exception):
    """Git ended with an error."""

    def __init__(self, code: int, complaint: str) -> None:
        super().__init__(complaint)
        self.code = code
        self.complaint = complaint


def _ask_git(folder: Path, *arguments: str) -> str:
    try:
        return _git(folder, *arguments)
    except _GitFailed as error:
        said = error.complaint.strip().split("\n")[0].removeprefix("fatal: ")
        raise UsageError(
            f"git cannot say what changed in {str(folder)!r}: {said or f'it ended with {error.code}'}"
        ) from None


def _try_git(folder: Path, *arguments: str) -> str:
    try:
        return _git(folder, *arguments)
    except _GitFailed:  # a repository without a commit
        return ""


def _git(folder: Path, *arguments: str) -> str:
    try:
        # A survey is asked for in folders of strangers: there is no way to trust one.
        done = run_git(Git(), folder.absolute(), *arguments, timeout_s=GIT_TIMEOUT_S)
    except FileNotFoundError:
        raise UsageError("a review needs git, which is not installed or not on the path") from None
    except GitTooOld as error:
        raise UsageError(f"a review cannot be made: {error}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git has not answered within {GIT_TIMEOUT_S:g} s") from None
    if done.returncode:
        raise _GitFailed(done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def _changed(diff: str) -> Iterator[ChangedFile]:
    """Yield the files of a difference that was made without lines of context."""
    old = path = ""
    spans: list[tuple[int, int]] = []
    for line in [*diff.split("\n"), "diff --git end"]:
        if line.startswith("diff --git "):
            if path or old:
                yield ChangedFile(path, tuple(spans)) if path else ChangedFile(old, (), is_deleted=True)
            old, path, spans = "", "", []
        elif not path and (found := _NEW_NAME.match(line)):
            path = found[1]
        elif not path and not old and (found := _OLD_NAME.match(line)):
            old = found[1]
        elif path and (found := _HUNK.match(line)):
            first, count = int(found[1]), int(found[2] or 1)
            if count:
                spans.append((first, first + count - 1))


# --- told to the lead -------------------------------------------------------------------------------------------------


def describe(changes: Changes, diff: str = "") -> str:
    """Return what a lead is told of the changes."""
    lines = [f"Changes: {changes.what}", *(f"- {one.path}: {_spans(one)}" for one in changes.files)]
    if diff:
        shown = diff if len(diff) <= MAX_DIFF else f"{diff[:MAX_DIFF]}\n(cut: {len(diff):,} characters in all)"
        lines += ["", "The differences:", "", shown]
    return "\n".join(lines)


def _spans(file: ChangedFile) -> str:
    if file.is_deleted:
        return "deleted"
    if not file.spans:
        # Renamed, or lines taken away only: nothing in it is new.
        return "all" if file.spans is None else "0"
    return spans_in_words(file.spans)


def spans_in_words(spans: Sequence[tuple[int, int]]) -> str:
    """Return ranges of lines as people write them: `3-8, 12`."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def parse_changes(text: str) -> Changes | None:
    """Read back what a lead was told; None where there is nothing of the kind."""
    head = _HEAD.search(text)
    if head is None:
        return None
    listed = text[head.end() :].partition("\n\n")[0]
    return Changes(head[1], tuple(_parse_file(path, spans) for path, spans in _FILE.findall(listed)))


def _parse_file(path: str, text: str) -> ChangedFile:
    if text in {"all", "deleted"}:
        return ChangedFile(path, None if text == "all" else (), is_deleted=text == "deleted")
    pairs = [one.strip().partition("-") for one in text.split(",")]
    spans = [(int(first), int(last or first)) for first, _, last in pairs]
    return ChangedFile(path, tuple(span for span in spans if span != (0, 0)))
