"""The files of a configuration: one with its includes, as one tree of values.

Rule 1: nothing is parsed before its size is known; all files together hold at most 256 KiB. Rule 2: includes go one level
deep, and stay below the folder of the file. Rule 3: `${NAME}` is replaced in texts of values, never in keys.

Must not know: settings classes. It blocks: call it through `Blocking`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core.sources import BadJson5, MissingFile, Unusable, dotted, read_json5, read_text
from greenroom.gateway.config._problems import Problem
from greenroom.gateway.config._values import Expanded

MAX_BYTES: Final = 256 * 1024
"""Maximum size of a configuration, its includes counted."""
INCLUDE: Final = "$include"
Place: TypeAlias = tuple[str | int, ...]

_VARIABLE: Final = re.compile(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@final
@attrs.frozen(kw_only=True)
class ConfigFiles:
    """The values of a configuration, before they are checked."""

    values: Mapping[str, Any] | None
    """The tree; None if it cannot be read."""
    problems: tuple[Problem, ...]
    """What is wrong with files, texts and variables."""
    files: tuple[Path, ...]
    """All files that were read; a change of any of them is a change of the configuration."""
    places: Mapping[Place, str]
    """The names of included files, by the path of what they hold."""
    main: str

    def source_of(self, path: Place) -> str:
        """Return the name of the file in which a value stands."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return self.main


def read_files(path: Path, environ: Mapping[str, str]) -> ConfigFiles:
    """Return the tree of a configuration file."""
    reader = _Reader(path, environ)
    values = reader.read_main()
    return ConfigFiles(
        values=values,
        problems=tuple(reader.problems),
        files=tuple(reader.files),
        places=reader.places,
        main=path.name,
    )


@final
class _Reader:
    """Reads one file and its includes."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self.problems: list[Problem] = []
        self.files: list[Path] = [path]
        self.places: dict[Place, str] = {}
        self._path = path
        self._environ = environ
        self._bytes_left = MAX_BYTES
        self._cache: dict[Path, Any] = {}

    def read_main(self) -> Mapping[str, Any] | None:
        """Return the tree, or None if the file cannot be used at all."""
        text = self._text(self._path, self._path.name, ())
        if text is None:
            return None
        tree = self._parsed(text, self._path.name, ())
        if tree is None:
            return None
        tree = self._included(tree, ())
        if isinstance(tree, dict):
            return {key: self._expanded(value, (key,)) for key, value in tree.items()}
        self._say((), "must hold one object, in braces")
        return None

    def _say(self, place: Place, text: str, source: str | None = None) -> None:
        if source is None:
            lengths = (length for length in range(len(place), 0, -1) if place[:length] in self.places)
            at = next(lengths, 0)
            source = self.places[place[:at]] if at else self._path.name
        self.problems.append(Problem(dotted(place), text, source))

    def _text(self, path: Path, name: str, place: Place) -> str | None:
        try:
            text = read_text(path, most=self._bytes_left)
        except MissingFile:
            self._say(place, "the file does not exist", name)
            return None
        except Unusable as error:
            if "more than" in str(error):
                self._say(
                    place, f"the configuration is larger than {MAX_BYTES // 1024} KiB, its includes counted", name
                )
            else:
                self._say(place, str(error), name)
            return None
        self._bytes_left -= len(text.encode())
        return text

    def _parsed(self, text: str, name: str, place: Place) -> Any:
        try:
            document = read_json5(text)
        except BadJson5 as error:
            where = f"line {error.line}, column {error.column}: " if error.line else ""
            self._say(place, f"{where}{error.what}", name)
            return None
        for path, what in document.problems:
            self._say((*place, *path), what, name)
        if document.value is None:
            self._say(place, "must hold a value, got null", name)
        return document.value

    # --- includes ---------------------------------------------------------------------------------------------------

    def _included(self, value: Any, place: Place) -> Any:
        """Return a value of the main file with what its includes hold."""
        if isinstance(value, list):
            return [self._included(each, (*place, at)) for at, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        own = {key: self._included(each, (*place, key)) for key, each in value.items() if key != INCLUDE}
        if INCLUDE not in value:
            return own
        brought = self._include(value[INCLUDE], place)
        if brought is None:
            return own
        if not own:
            if place:
                self.places[place] = str(value[INCLUDE])
            else:
                self._place_keys(brought, place, value[INCLUDE])
            return brought
        if not isinstance(brought, dict):
            self._say((*place, INCLUDE), f"{value[INCLUDE]!r} must hold an object, because other keys stand beside it")
            return own
        for key in sorted(own.keys() & brought.keys()):
            self._say((*place, key), f"the key stands here and in {value[INCLUDE]!r}")
        self._place_keys({key: brought[key] for key in brought if key not in own}, place, value[INCLUDE])
        return brought | own

    def _place_keys(self, brought: Any, place: Place, name: str) -> None:
        if isinstance(brought, dict):
            self.places |= {(*place, key): name for key in brought}

    def _include(self, name: Any, place: Place) -> Any:
        here = (*place, INCLUDE)
        if not isinstance(name, str) or not name or "\0" in name:
            self._say(here, "must be the name of one file")
            return None
        folder, path = self._path.parent.resolve(), self._resolved(name)
        if path is None:
            self._say(here, f"{name!r} leads in a circle of links")
            return None
        if path == self._path.resolve():
            self._say(here, f"{name!r} is the file itself")
            return None
        if not path.is_relative_to(folder):
            self._say(here, f"{name!r} must be below the folder of {self._path.name}")
            return None
        if path not in self._cache:
            self.files.append(path)
            text = self._text(path, name, place)
            self._cache[path] = None if text is None else self._parsed(text, name, place)
        value = self._cache[path]
        self._refuse_deeper(value, place, name)
        return value

    def _resolved(self, name: str) -> Path | None:
        try:
            return (self._path.parent.resolve() / name).resolve()
        except (OSError, RuntimeError):  # links in a circle
            return None

    def _refuse_deeper(self, value: Any, place: Place, name: str) -> None:
        """Report includes of an included file; they are left out."""
        match value:
            case dict():
                if INCLUDE in value:
                    again = value.pop(INCLUDE)
                    target = self._resolved(again) if isinstance(again, str) and "\0" not in again else None
                    what = (
                        f"{again!r} is included in a circle"
                        if target in {self._path.resolve(), self._resolved(name)}
                        else "an included file cannot include another one"
                    )
                    self._say((*place, INCLUDE), what, name)
                for key, each in value.items():
                    self._refuse_deeper(each, (*place, key), name)
            case list():
                for at, each in enumerate(value):
                    self._refuse_deeper(each, (*place, at), name)

    # --- variables --------------------------------------------------------------------------------------------------

    def _expanded(self, value: Any, place: Place) -> Any:
        match value:
            case dict():
                return {key: self._expanded(each, (*place, key)) for key, each in value.items()}
            case list():
                return [self._expanded(each, (*place, at)) for at, each in enumerate(value)]
            case str() if "${" in value:
                return self._with_variables(value, place)
        return value

    def _with_variables(self, text: str, place: Place) -> str:
        missing = [found[2] for found in _VARIABLE.finditer(text) if not found[1] and found[2] not in self._environ]
        for name in dict.fromkeys(missing):
            self._say(place, f"the variable {name} is not set; set it, or write $${{{name}}} for the text itself")
        made = _VARIABLE.sub(
            lambda found: found[0][1:] if found[1] else self._environ.get(found[2], ""),
            text,
        )
        expanded = Expanded(made)
        expanded.written = text
        return expanded
