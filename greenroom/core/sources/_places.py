"""Where files for agents lie: the levels of a project, the user's folder, plugins, what an administrator set.

Rule 1: nearest first. A project's levels go from the working folder up to the root of its repository; inside a git worktree
the main checkout's follow. Rule 2: at each level `.greenroom` comes before `.claude`. Rule 3: nobody asks for the working
folder or the environment of the process here: they are given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core._errors import UsageError
from greenroom.core.sources._files import Found, Unusable, find_files, read_start, stamp_of
from greenroom.core.sources._plugins import SKILL_FILE, Plugin

OWN: Final = ".greenroom"
THEIRS: Final = ".claude"
HOME_VARIABLE: Final = "GREENROOM_HOME"
THEIR_HOME_VARIABLE: Final = "CLAUDE_CONFIG_DIR"
MANAGED_VARIABLE: Final = "GREENROOM_MANAGED"
_SYSTEM_FOLDERS: Final = {
    "darwin": (Path("/Library/Application Support/greenroom"), Path("/Library/Application Support/ClaudeCode")),
}
_USUAL_SYSTEM_FOLDERS: Final = (Path("/etc/greenroom"), Path("/etc/claude-code"))
_GITFILE_BYTES: Final = 4096
_POLICY, _THEIR_POLICY, _THEIR_PARTS = "settings.json", "managed-settings.json", "managed-settings.d"


class Scope(StrEnum):
    """Whose a file is."""

    MANAGED = "managed"
    """An administrator's."""
    CLI = "cli"
    """Given on the command line, or by the program."""
    PROJECT = "project"
    USER = "user"
    PLUGIN = "plugin"
    BUILTIN = "builtin"


@final
@attrs.frozen(kw_only=True)
class Level:
    """One folder that holds `agents`, `skills`, `commands` and the like."""

    scope: Scope
    folder: Path
    """Such as `.../project/.claude`."""
    plugin: Plugin | None = None
    """What it is the folder of, for those of plugins."""

    def find(
        self, kind: str, is_wanted: Callable[[str], bool], *, depth: int = 16, too_deep: list[Path] | None = None
    ) -> list[tuple[Path, Found]]:
        """Return its files of one kind, each with the folder from which its place says its name. It looks at the disk.

        Args:
            kind: `agents`, `skills` or `commands`.
            is_wanted: Says by its name whether a file is wanted.
            depth: How many folders deep to look.
            too_deep: Gets the folders that lie deeper.
        """
        found: list[tuple[Path, Found]] = []
        for root in (self.folder / kind,) if self.plugin is None else self.plugin.roots(kind):
            stamp = stamp_of(root)
            if stamp is None:
                found += [(root, one) for one in find_files(root, is_wanted, depth=depth, too_deep=too_deep)]
            elif is_wanted(root.name):  # of a skill the folder says the name, of all others the file
                start = root.parent.parent if root.name == SKILL_FILE else root.parent
                found.append((start, Found(root, stamp)))
        return found


@final
@attrs.frozen(kw_only=True)
class Places:
    """The folders of one session; made by `find_places`."""

    reads: frozenset[Scope] = frozenset(Scope)
    """Whose folders are looked through; what was named one by one, as added folders are, is in any case."""

    cwd: Path
    root: Path
    """The root of the repository around `cwd`, or `cwd` itself."""
    main_root: Path
    """The main checkout's root where `root` is a git worktree; else `root`."""
    project: tuple[Path, ...]
    """Folders of the project, nearest first; with the main checkout's behind those of a worktree."""
    user: Path
    """The user's home directory, what `~` stands for."""
    home: Path
    """The user's own folder, `~/.greenroom`."""
    their_home: Path
    """The user's folder of the tool whose files are read as well, `~/.claude`."""
    added: tuple[Path, ...] = ()
    """Further folders that the user works in."""
    plugins: tuple[Plugin, ...] = ()
    managed: tuple[Path, ...] = ()
    """The administrator's folders."""
    policies: tuple[Path, ...] = ()
    """The administrator's settings files, in the order in which they count; not all of them need be there."""

    @property
    def plugin_data(self) -> Path:
        """The folder that holds the data of each plugin, by its name."""
        return self.home / "plugins" / "data"

    def with_plugins(self, plugins: Iterable[Plugin]) -> Places:
        """Return these and plugins, each with the folder for its data."""
        own = tuple(attrs.evolve(one, data=self.plugin_data / one.name) for one in plugins)
        return attrs.evolve(self, plugins=(*self.plugins, *own))

    def with_policies_now(self) -> Places:
        """Return these with the administrator's settings files that there are now. It looks at the disk."""
        return attrs.evolve(self, policies=_policies_in(self.managed))

    def levels(self, *scopes: Scope) -> Iterator[Level]:
        """Return the levels of these scopes, in this order, nearest first."""
        for scope in scopes:
            match scope:
                case Scope.MANAGED:
                    for folder in self.managed:
                        yield Level(scope=scope, folder=folder)
                        yield Level(scope=scope, folder=folder / THEIRS)
                case Scope.PROJECT:
                    users = {self.home, self.their_home}
                    for folder in (*(self.project if scope in self.reads else ()), *self.added):
                        for name in (OWN, THEIRS):
                            if folder / name not in users:
                                yield Level(scope=scope, folder=folder / name)
                case Scope.USER if scope in self.reads:
                    yield Level(scope=scope, folder=self.home)
                    yield Level(scope=scope, folder=self.their_home)
                case Scope.PLUGIN:
                    for plugin in self.plugins:
                        yield Level(scope=scope, folder=plugin.folder, plugin=plugin)
                case _:
                    pass


def find_places(
    cwd: Path,
    *,
    environ: Mapping[str, str] | None = None,
    added: Iterable[Path] = (),
    plugins: Iterable[Plugin] = (),
    managed: Iterable[Path] | None = None,
) -> Places:
    """Return where files for agents lie, seen from a folder. It looks at the disk: call it through `Blocking`.

    Args:
        cwd: The absolute folder that the agents work in.
        environ: By default the environment of the process: `GREENROOM_HOME` stands for `~/.greenroom`,
            `CLAUDE_CONFIG_DIR` for `~/.claude`, `GREENROOM_MANAGED` for the administrator's folders.
        added: Further folders that the user works in (`--add-dir`).
        plugins: In the order in which they count.
        managed: The administrator's folders; by default those of `managed_folders`.

    Raises:
        UsageError: `GREENROOM_MANAGED` names no folder.
    """
    environ = os.environ if environ is None else environ
    user = Path(environ.get("HOME") or Path.home()).absolute()
    root = _root_of(cwd, user)
    main_root = _main_checkout(root) or root
    own = _up(cwd, root)
    main = [main_root / one.relative_to(root) for one in own] if main_root != root else []
    folders = tuple(managed_folders(environ) if managed is None else managed)
    places = Places(
        cwd=cwd,
        root=root,
        main_root=main_root,
        project=(*own, *main),
        user=user,
        home=_set_to(environ, HOME_VARIABLE, user / OWN),
        their_home=_set_to(environ, THEIR_HOME_VARIABLE, user / THEIRS),
        added=tuple(added),
        managed=folders,
        policies=_policies_in(folders),
    )
    return places.with_plugins(plugins)


def managed_folders(environ: Mapping[str, str], platform: str = sys.platform) -> tuple[Path, ...]:
    """Return the administrator's folders that there are: ours, then that of the tool whose files are read as well.

    Args:
        environ: `GREENROOM_MANAGED` names the only one.
        platform: As in `sys.platform`.

    Raises:
        UsageError: The variable names no folder: what an administrator wants must not be left out by a slip of the pen.
    """
    named = environ.get(MANAGED_VARIABLE)
    if not named:
        return tuple(one for one in _SYSTEM_FOLDERS.get(platform, _USUAL_SYSTEM_FOLDERS) if _is_there(one))
    folder = Path(named).expanduser().absolute()
    if not folder.is_dir():
        raise UsageError(f"{MANAGED_VARIABLE}: {named!r} is no folder; name one, or unset it")
    return (folder,)


def _policies_in(folders: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path for folder in folders for path in _policies(folder))


def _policies(folder: Path) -> Iterator[Path]:
    """Return the settings files of an administrator's folder; of parts, the last by its name counts first."""
    theirs = [both[1] for both in (_USUAL_SYSTEM_FOLDERS, *_SYSTEM_FOLDERS.values())]
    if folder not in theirs:  # there, a file of this name is nobody's
        yield folder / _POLICY
    try:
        parts = sorted(one for one in (folder / _THEIR_PARTS).iterdir() if one.suffix == ".json")
    except OSError:
        parts = []
    yield from (one for one in reversed(parts) if not one.name.startswith("."))
    yield folder / _THEIR_POLICY


def _set_to(environ: Mapping[str, str], variable: str, otherwise: Path) -> Path:
    value = environ.get(variable)
    return Path(value).expanduser().absolute() if value else otherwise


def _root_of(cwd: Path, user: Path) -> Path:
    around = (cwd, *cwd.parents)
    repository = next((one for one in around if _is_there(one / ".git")), None)
    marked = next((one for one in around if one != user and _is_there(one / OWN)), None)
    return repository or marked or cwd


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder further up may be closed to us
        return False


def _up(cwd: Path, root: Path) -> list[Path]:
    return [one for one in (cwd, *cwd.parents) if one.is_relative_to(root)]


def _main_checkout(root: Path) -> Path | None:
    """Return the main checkout of a git worktree, None for what is none: `.git` is a file that names its folder there."""
    mark = root / ".git"
    try:
        if not mark.is_file():
            return None
        head, _, where = read_start(mark, _GITFILE_BYTES).strip().partition(": ")
        if head != "gitdir" or not where:
            return None
        folder = Path(os.path.normpath(root / where))
        common = Path(os.path.normpath(folder / read_start(folder / "commondir", _GITFILE_BYTES).strip()))
    except (OSError, ValueError, Unusable):
        return None
    # A submodule has such a file as well, and no `commondir`; a bare repository has no checkout.
    return common.parent if common.name == ".git" and common.parent.is_dir() else None
