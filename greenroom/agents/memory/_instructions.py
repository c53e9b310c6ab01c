"""Instruction files: what people write down for agents, from the broadest to the narrowest.

An administrator's come first, then the user's, then those of the project from its root down to the working folder; at each
place `CLAUDE.md` (or `.claude/CLAUDE.md`), `GREENROOM.md` (or `.greenroom/GREENROOM.md`), rules, and what is not shared
(`CLAUDE.local.md`, `GREENROOM.local.md`). `AGENTS.md` is read where one of these imports it. Reading never fails for a
file. Rendering is pure, and the same files give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.agents.memory._imports import ImportedText, follow
from greenroom.core.sources import (
    OWN,
    THEIRS,
    BadFrontmatter,
    Diagnostic,
    Field,
    Kind,
    Places,
    Scope,
    Unusable,
    find_files,
    is_file,
    read_fields,
    read_frontmatter,
    read_text,
    shown_path,
    words,
)
from greenroom.core.validation import read_switch

ADDED_VARIABLE: Final = "GREENROOM_ADDITIONAL_DIRECTORIES_CLAUDE_MD"
_FILES: Final = (("CLAUDE.md", THEIRS), ("GREENROOM.md", OWN))
_LOCAL_FILES: Final = ("CLAUDE.local.md", "GREENROOM.local.md")
_MANAGED, _USER, _PROJECT, _LOCAL, _IMPORTED = "managed", "user", "project", "local", "imported"
_WHAT: Final = {
    _MANAGED: "set by the administrator",
    _USER: "the user's own, for all projects",
    _PROJECT: "the project's, shared with all who work on it",
    _LOCAL: "the user's own, for this project",
    _IMPORTED: "imported",
}
_RULE_FIELDS: Final = {
    "paths": Field(key="paths", attribute="paths", read=words(), takes="patterns of files"),
    "description": Field(key="description", attribute="description", read=lambda one: one.text, takes="text"),
}


@final
@attrs.frozen
class InstructionFile:
    """A file that goes into the prompt."""

    path: Path
    kind: str
    """`managed`, `user`, `project`, `local` or `imported`."""
    text: str


@final
@attrs.frozen
class InstructionRule:
    """Instructions that hold for some files only."""

    file: InstructionFile
    patterns: tuple[str, ...]
    """As in gitignore files, from the root of the project."""


@final
@attrs.frozen(kw_only=True)
class Instructions:
    """The instructions of a folder for the agents that work in it."""

    files: tuple[InstructionFile, ...] = ()
    """The broadest first."""
    rules: tuple[InstructionRule, ...] = ()
    """Instructions that are added when a file that fits is worked on."""
    root: Path = Path()
    diagnostics: tuple[Diagnostic, ...] = ()

    def rules_for(self, path: Path) -> tuple[InstructionFile, ...]:
        """Return the rules for a file of the project."""
        if not path.is_relative_to(self.root):
            return ()
        from pathspec import GitIgnoreSpec

        inner = path.relative_to(self.root).as_posix()
        return tuple(rule.file for rule in self.rules if GitIgnoreSpec.from_lines(rule.patterns).match_file(inner))


def load_instructions(places: Places, *, with_added: bool = False) -> Instructions:
    """Read the instructions for agents in `places.cwd`. It blocks: call it through `Blocking`.

    Args:
        places: Of the session.
        with_added: True to include those of the added folders; they come before the project's.
    """
    reader = _InstructionReader(places)
    for folder in places.managed:
        reader.add(folder / "CLAUDE.md", _MANAGED)
        reader.add(folder / "GREENROOM.md", _MANAGED)
        reader.add_rules(folder / THEIRS, _MANAGED)
        reader.add_rules(folder, _MANAGED)
    if Scope.USER in places.reads:
        reader.add(places.their_home / "CLAUDE.md", _USER)
        reader.add(places.home / "GREENROOM.md", _USER)
        reader.add_rules(places.their_home, _USER)
        reader.add_rules(places.home, _USER)
    for folder in places.added if with_added else ():
        reader.add_place(folder)
    own = [folder for folder in places.project if folder.is_relative_to(places.root)]
    for folder in reversed(own) if Scope.PROJECT in places.reads else ():
        reader.add_place(folder)
    return reader.instructions()


def reads_added(environ: Mapping[str, str]) -> bool:
    """Say whether instructions of added folders count: `GREENROOM_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1` lets them."""
    return bool(read_switch(environ, ADDED_VARIABLE))


def instructions_below(places: Places, path: Path, seen: Iterable[InstructionFile] = ()) -> Instructions:
    """Read the instructions of the folders between the working folder and a file that is worked on. It blocks.

    Args:
        places: Of the session.
        path: The file, absolute.
        seen: What is in the prompt already, and is left out.
    """
    reader = _InstructionReader(places, seen)
    for folder in reversed(path.parents) if Scope.PROJECT in places.reads else ():
        if folder != places.cwd and folder.is_relative_to(places.cwd):
            reader.add_place(folder)
    return reader.instructions()


def render_instructions(files: Sequence[InstructionFile]) -> str:
    """Return what the system prompt says of instruction files; empty where there are none."""
    if not files:
        return ""
    parts = [f"## {file.path} ({_WHAT[file.kind]})\n\n{file.text.strip()}" for file in files]
    head = "# Instructions\n\nPeople wrote these down for you. Follow them; where two disagree, the later one counts."
    return "\n\n".join([head, *parts])


@final
class _InstructionReader:
    def __init__(self, places: Places, seen: Iterable[InstructionFile] = ()) -> None:
        roots = (places.root, places.main_root, places.home, places.their_home, *places.added)
        self._places = places
        self._found: list[Diagnostic] = []
        self._files: list[InstructionFile] = []
        self._rules: list[InstructionRule] = []
        self._reading = ImportedText(
            read=self._read,
            roots=tuple(Path(os.path.realpath(root)) for root in (*roots, *places.managed)),
            user=places.user,
            seen={Path(os.path.realpath(each.path)) for each in seen},
            found=self._found,
        )

    def add_place(self, folder: Path) -> None:
        for name, inner in _FILES:
            if not self.add(folder / name, _PROJECT):
                self.add(folder / inner / name, _PROJECT)
        for inner in (THEIRS, OWN):
            if folder / inner not in {self._places.home, self._places.their_home}:
                self.add_rules(folder / inner, _PROJECT)
        for name in _LOCAL_FILES:
            self.add(folder / name, _LOCAL)

    def add(self, path: Path, kind: str) -> bool:
        files = follow(path, self._reading)
        self._files += [
            InstructionFile(file, _IMPORTED if number else kind, text) for number, (file, text) in enumerate(files)
        ]
        return bool(files)

    def add_rules(self, folder: Path, kind: str) -> None:
        for found in find_files(folder / "rules", lambda name: name.endswith(".md")):
            real = Path(os.path.realpath(found.path))
            content = self._read(real) if real not in self._reading.seen else None
            if content is None:
                continue
            self._reading.seen.add(real)
            try:
                document = read_frontmatter(content)
            except BadFrontmatter as error:
                self._note(found.path, error.what, error.line)
                continue
            values, notes = read_fields(_RULE_FIELDS, document.fields, source=shown_path(found.path))
            self._found += notes
            file = InstructionFile(found.path, kind, document.body)
            patterns = (values or {}).get("paths", ())
            if patterns:
                self._add_rule(InstructionRule(file, patterns))
            else:
                self._files.append(file)

    def _add_rule(self, rule: InstructionRule) -> None:
        from pathspec import GitIgnoreSpec

        try:
            GitIgnoreSpec.from_lines(rule.patterns)
        except ValueError as error:
            self._note(rule.file.path, f"its paths are no patterns: {error}", 0)
        else:
            self._rules.append(rule)

    def _read(self, path: Path) -> str | None:
        if not is_file(path):
            return None
        try:
            return read_text(path).removeprefix("\ufeff").replace("\r\n", "\n")
        except Unusable as error:
            self._note(path, str(error), 0)
            return None

    def _note(self, path: Path, text: str, line: int) -> None:
        self._found.append(Diagnostic(kind=Kind.BROKEN, source=shown_path(path), line=line, text=text))

    def instructions(self) -> Instructions:
        files = tuple(file for file in self._files if file.text.strip())
        root = self._places.root
        return Instructions(files=files, rules=tuple(self._rules), root=root, diagnostics=tuple(self._found))
