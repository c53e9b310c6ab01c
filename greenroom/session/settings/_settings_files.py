"""The files that settings are read from: whose they are, where they lie, in which order they count, what they hold.

Rule 1: only regular files of bounded size are read, and opening one never blocks. Rule 2: a file of ours that cannot be read is
an error, save one of a folder that nobody trusts: a stranger's file must not keep anybody from working there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.core import SettingsError, UsageError
from greenroom.core.sources import OWN, THEIRS, Diagnostic, Kind, MissingFile, Places, Unusable, read_text, stamp_of

Stamps: TypeAlias = Mapping[Path, tuple[int, ...] | None]
"""Stamps that tell states of files apart, by file; None for a missing file."""
LOCAL_FILE: Final = "settings.local.json"
SHARED_FILE: Final = "settings.json"


class SettingSource(StrEnum):
    """Whose settings files are read."""

    MANAGED = "managed"
    """Those of the administrator's folders; they come with any of the others."""
    USER = "user"
    """`settings.json` of the user's own folder."""
    PROJECT = "project"
    """`settings.json` of the project; shared with those who work on it."""
    LOCAL = "local"
    """`settings.local.json` of the project; this checkout's."""


OF_PROJECT: Final = frozenset((SettingSource.PROJECT, SettingSource.LOCAL))
"""Sources that count only where the project is trusted."""


@final
@attrs.frozen(kw_only=True)
class SettingsFile:
    """One source of settings, read."""

    name: str
    """The file, or what else it came from, for messages."""
    source: SettingSource | None
    """None for what a program gave."""
    values: Mapping[str, Any]
    is_own: bool
    """Whether it is ours, and not of the tool whose files are read as well."""
    root: Path | None = None
    """The folder that paths in it are relative to."""


def read_sources(names: Iterable[str]) -> frozenset[SettingSource]:
    """Return the sources of these names; an administrator's is among them as soon as there is one.

    Raises:
        UsageError: There is none of that name.
    """
    found = set()
    for name in names:
        try:
            found.add(SettingSource(name))
        except ValueError:
            raise UsageError(f"there are no settings {name!r}; there are {', '.join(SettingSource)}") from None
    return frozenset({*found, SettingSource.MANAGED} if found else ())


def settings_path(places: Places, source: SettingSource) -> Path:
    """Return our own settings file of a source: where lasting answers are kept."""
    if source is SettingSource.USER:
        return places.home / SHARED_FILE
    return places.main_root / OWN / (LOCAL_FILE if source is SettingSource.LOCAL else SHARED_FILE)


def read_settings_file(
    path: Path, source: SettingSource, *, is_own: bool, diagnostics: list[Diagnostic], is_trusted: bool = True
) -> SettingsFile | None:
    """Return what a file holds; None where there is none, or one of others that cannot be read. It looks at the disk.

    Args:
        path: The file.
        source: Whose it is.
        is_own: Whether it is ours.
        diagnostics: Takes what was passed over.
        is_trusted: Whether the project is trusted; else a file of its own that cannot be read counts for nothing.

    Raises:
        SettingsError: It is ours, or an administrator's, and cannot be read or holds no JSON object.
    """
    counts = is_trusted or source not in OF_PROJECT
    is_needed = (is_own and counts) or source is SettingSource.MANAGED  # a policy must not count for nothing
    values = _read(path, is_needed=is_needed, diagnostics=diagnostics)
    if values is None:
        return None
    root = path.parent.parent if source in OF_PROJECT else None
    return SettingsFile(name=str(path), source=source, values=values, is_own=is_own, root=root)


def settings_files(places: Places | None, sources: Iterable[SettingSource]) -> list[tuple[Path, SettingSource, bool]]:
    """Return where settings of these sources may lie, in the order in which they count, and whether each file is ours."""
    wanted = frozenset(sources)
    return [] if places is None else [path for path in _paths(places) if path[1] in wanted]


def settings_stamps(places: Places | None, sources: Iterable[SettingSource]) -> Stamps:
    """Return what tells the states of these files apart. It looks at the disk: call it through `Blocking`."""
    return {path: stamp_of(path) for path, _, _ in settings_files(places, sources)}


def _paths(places: Places) -> Iterator[tuple[Path, SettingSource, bool]]:
    """Return where settings may lie, in the order in which they count."""
    for path in places.policies:
        yield path, SettingSource.MANAGED, path.name == SHARED_FILE
    seen: set[Path] = set()
    for folder in dict.fromkeys((places.cwd, places.root, places.main_root)):
        for name in (OWN, THEIRS):
            for file, source in ((LOCAL_FILE, SettingSource.LOCAL), (SHARED_FILE, SettingSource.PROJECT)):
                path = folder / name / file
                if path not in seen and path.parent not in {places.home, places.their_home}:
                    seen.add(path)
                    yield path, source, name == OWN
    yield places.home / SHARED_FILE, SettingSource.USER, True
    yield places.their_home / SHARED_FILE, SettingSource.USER, False


def _read(path: Path, *, is_needed: bool, diagnostics: list[Diagnostic]) -> Mapping[str, Any] | None:
    values: Any = None
    try:
        values = json.loads(read_text(path).removeprefix("\ufeff") or "{}")
        problem = "" if isinstance(values, dict) else "the file holds no JSON object"
    except MissingFile:
        return None
    except Unusable as error:
        problem = f"the file cannot be used: {error}"
    except (ValueError, RecursionError) as error:
        problem = f"the file is no JSON: {error}"
    if not problem:
        return dict(values)
    if is_needed:
        raise SettingsError(str(path), (problem,))
    diagnostics.append(Diagnostic(kind=Kind.BROKEN, source=str(path), text=f"{problem}; it counts for nothing"))
    return None
