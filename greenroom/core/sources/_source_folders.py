"""Folders of files for agents: levels of a project, the user's folder, plugins, the administrator's settings.

Nearest first: a project's levels go from the working folder up to the root of its repository; inside a git worktree the
main checkout's follow. At each level `.greenroom` comes before `.claude`. The working folder and the environment are
passed in, never read from the process.
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
from greenroom.core.sources._plugin_folders import SKILL_FILE, Plugin
from greenroom.core.sources._text_files import FoundFile, Unusable, find_files, read_start, stamp_of

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
    """Origin of a file."""

    MANAGED = "managed"
    """Set by an administrator."""
    CLI = "cli"
    """Given on the command line, or by the program."""
    PROJECT = "project"
    USER = "user"
    PLUGIN = "plugin"
    BUILTIN = "builtin"


@final
@attrs.frozen(kw_only=True)
class SourceLevel:
    """A folder that holds `agents`, `skills`, `commands` and the like."""

    scope: Scope
    folder: Path
    """For example `.../project/.claude`."""
    plugin: Plugin | None = None
    """The plugin, for folders of plugins."""

    def find(
        self, kind: str, is_wanted: Callable[[str], bool], *, depth: int = 16, too_deep: list[Path] | None = None
    ) -> list[tuple[Path, FoundFile]]:
        """Return its files of one kind, each with the folder that its name is relative to. It reads the disk.

        Args:
            kind: `agents`, `skills` or `commands`.
            is_wanted: Returns True for the name of a wanted file.
            depth: Maximum depth in folders.
            too_deep: Receives the folders that lie deeper.
        """
        found: list[tuple[Path, FoundFile]] = []
        for root in (self.folder / kind,) if self.plugin is None else self.plugin.roots(kind):
            stamp = stamp_of(root)
            if stamp is None:
                found += [(root, file) for file in find_files(root, is_wanted, depth=depth, too_deep=too_deep)]
            elif is_wanted(root.name):  # a skill is named by its folder, others by their file
                start = root.parent.parent if root.name == SKILL_FILE else root.parent
                found.append((start, FoundFile(root, stamp)))
        return found


@final
@attrs.frozen(kw_only=True)
class Places:
    """The folders of one session; made by `find_places`."""

    reads: frozenset[Scope] = frozenset(Scope)
    """Scopes that are searched; folders named one by one, such as added ones, always are."""

    cwd: Path
    root: Path
    """The root of the repository around `cwd`, or `cwd` itself."""
    main_root: Path
    """The main checkout's root if `root` is a git worktree; else `root`."""
    project: tuple[Path, ...]
    """Folders of the project, nearest first; the main checkout's after those of a worktree."""
    user: Path
    """The user's home directory, which `~` stands for."""
    home: Path
    """The user's own folder, `~/.greenroom`."""
    their_home: Path
    """The user's folder of the compatible tool, `~/.claude`."""
    added: tuple[Path, ...] = ()
    """Further folders that the user works in."""
    plugins: tuple[Plugin, ...] = ()
    managed: tuple[Path, ...] = ()
    """The administrator's folders."""
    policies: tuple[Path, ...] = ()
    """The administrator's settings files, in order of precedence; not all of them need exist."""

    @property
    def plugin_data(self) -> Path:
        """The folder of the plugins' data, one folder per plugin name."""
        return self.home / "plugins" / "data"

    def with_plugins(self, plugins: Iterable[Plugin]) -> Places:
        """Return a copy with additional plugins, each with its data folder."""
        own = tuple(attrs.evolve(plugin, data=self.plugin_data / plugin.name) for plugin in plugins)
        return attrs.evolve(self, plugins=(*self.plugins, *own))

    def with_policies_now(self) -> Places:
        """Return a copy with the administrator's current settings files. It reads the disk."""
        return attrs.evolve(self, policies=_policies_in(self.managed))

    def levels(self, *scopes: Scope) -> Iterator[SourceLevel]:
        """Yield the levels of these scopes, in this order, nearest first."""
        for scope in scopes:
            match scope:
                case Scope.MANAGED:
                    for folder in self.managed:
                        yield SourceLevel(scope=scope, folder=folder)
                        yield SourceLevel(scope=scope, folder=folder / THEIRS)
                case Scope.PROJECT:
                    users = {self.home, self.their_home}
                    for folder in (*(self.project if scope in self.reads else ()), *self.added):
                        for name in (OWN, THEIRS):
                            if folder / name not in users:
                                yield SourceLevel(scope=scope, folder=folder / name)
                case Scope.USER if scope in self.reads:
                    yield SourceLevel(scope=scope, folder=self.home)
                    yield SourceLevel(scope=scope, folder=self.their_home)
                case Scope.PLUGIN:
                    for plugin in self.plugins:
                        yield SourceLevel(scope=scope, folder=plugin.folder, plugin=plugin)
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
    """Return the folders of files for agents, as seen from a folder. It reads the disk: call it through `Blocking`.

    Args:
        cwd: The absolute working folder of the agents.
        environ: By default the environment of the process: `GREENROOM_HOME` replaces `~/.greenroom`,
            `CLAUDE_CONFIG_DIR` replaces `~/.claude`, `GREENROOM_MANAGED` the administrator's folders.
        added: Further folders that the user works in (`--add-dir`).
        plugins: Plugins in order of precedence.
        managed: The administrator's folders; by default those of `managed_folders`.

    Raises:
        UsageError: `GREENROOM_MANAGED` is not a directory.
    """
    environ = os.environ if environ is None else environ
    user = Path(environ.get("HOME") or Path.home()).absolute()
    root = _root_of(cwd, user)
    main_root = _main_checkout(root) or root
    own = _up(cwd, root)
    main = [main_root / folder.relative_to(root) for folder in own] if main_root != root else []
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
    """Return the existing folders of the administrator: greenroom's, then the compatible tool's.

    Args:
        environ: `GREENROOM_MANAGED` replaces all of them.
        platform: As in `sys.platform`.

    Raises:
        UsageError: The variable does not name a directory: an administrator's rules must not be lost through a typo.
    """
    named = environ.get(MANAGED_VARIABLE)
    if not named:
        return tuple(folder for folder in _SYSTEM_FOLDERS.get(platform, _USUAL_SYSTEM_FOLDERS) if _is_there(folder))
    folder = Path(named).expanduser().absolute()
    if not folder.is_dir():
        raise UsageError(f"{MANAGED_VARIABLE} is not a directory: {named!r}; name one, or unset the variable")
    return (folder,)


def _policies_in(folders: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(path for folder in folders for path in _policies(folder))


def _policies(folder: Path) -> Iterator[Path]:
    """Yield the settings files of an administrator's folder; of its parts, the last by name takes precedence."""
    theirs = [both[1] for both in (_USUAL_SYSTEM_FOLDERS, *_SYSTEM_FOLDERS.values())]
    if folder not in theirs:  # in the tool's own folders a file of this name means nothing
        yield folder / _POLICY
    try:
        parts = sorted(path for path in (folder / _THEIR_PARTS).iterdir() if path.suffix == ".json")
    except OSError:
        parts = []
    yield from (part for part in reversed(parts) if not part.name.startswith("."))
    yield folder / _THEIR_POLICY


def _set_to(environ: Mapping[str, str], variable: str, otherwise: Path) -> Path:
    value = environ.get(variable)
    return Path(value).expanduser().absolute() if value else otherwise


def _root_of(cwd: Path, user: Path) -> Path:
    around = (cwd, *cwd.parents)
    repository = next((folder for folder in around if _is_there(folder / ".git")), None)
    marked = next((folder for folder in around if folder != user and _is_there(folder / OWN)), None)
    return repository or marked or cwd


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a parent folder may be inaccessible
        return False


def _up(cwd: Path, root: Path) -> list[Path]:
    return [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(root)]


def _main_checkout(root: Path) -> Path | None:
    """Return the main checkout of a git worktree, else None: there, `.git` is a file that names the repository's
    folder.
    """
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
    # A submodule has such a file as well, but no `commondir`; a bare repository has no checkout.
    return common.parent if common.name == ".git" and common.parent.is_dir() else None
