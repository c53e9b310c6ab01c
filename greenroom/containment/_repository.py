"""Programs that the settings of a repository let git run when it only reads: filters, drivers, monitors, hooks, remote helpers.

Rule 1: only the settings of the repository, of the files that it includes and of its submodules are checked, not those
of the user and of the system. Rule 2: a setting that is not in the table may name a program, in this version of git or
in the next. Rule 3: a repository that cannot be looked at within the limits is not known.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from greenroom.containment._git_calls import GitCalls, GitTooOld, run_git

TIMEOUT_S: Final = 5.0
"""Seconds that each call of git may take."""
MAX_SUBMODULES: Final = 50
_MAX_DEPTH: Final = 4

_OWN_SCOPES: Final = frozenset(("local", "worktree"))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECTIONS: Final = _names(
    "advice alias am apply author branch checkout clean color column commit committer credential feature fetch gc gitflow "
    "gui http i18n include includeif index init maintenance notes pack protocol pull push rebase rerere safe showbranch ssh "
    "stash status submodule svn-remote tag transfer url user"
)
"""Sections of which nothing is run by a command that only reads and asks no remote; `alias` hides no command of git."""
_SETTINGS: Final[Mapping[str, frozenset[str]]] = {
    section: _names(names)
    for section, names in {
        "blame": "blankboundary coloring date markignoredlines markunblamablelines showemail showroot",
        "core": "abbrev autocrlf bare bigfilethreshold checkstat commentchar commentstring commitgraph compression createobject "
        "deltabasecachelimit eol filemode filesreflocktimeout fscache fsync fsyncmethod fsyncobjectfiles hidedotfiles hookspath "
        "ignorecase ignorestat logallrefupdates longpaths loosecompression maxtreedepth multipackindex notesref packedgitlimit "
        "packedgitwindowsize packedrefstimeout precomposeunicode preferredsymlinkrefs preloadindex protecthfs protectntfs quotepath "
        "repositoryformatversion restrictinheritedhandles safecrlf sharedrepository sparsecheckout sparsecheckoutcone splitindex "
        "sshcommand symlinks trustctime unsetenvvars untrackedcache usereplacerefs warnambiguousrefs whitespace",
        "diff": "algorithm autorefreshindex binary cachetextconv colormoved colormovedws context dirstat funcname ignoresubmodules "
        "indentheuristic interhunkcontext mnemonicprefix noprefix relative renamelimit renames srcprefix dstprefix "
        "statgraphwidth statnamewidth submodule suppressblankempty wordregex wserrorhighlight xfuncname",
        "extensions": "compatobjectformat noop objectformat preciousobjects refstorage relativeworktrees worktreeconfig",
        "grep": "column extendedregexp fullname linenumber patterntype threads",
        "lfs": "access locksverify repositoryformatversion",
        "log": "abbrevcommit date decorate diffmerges excludedecoration follow graphcolors initialdecorationset mailmap showroot",
        "merge": "autostash conflictstyle defaulttoupstream directoryrenames ff log renamelimit renames renormalize stat suppressdest",
        "remote": "fetch followremotehead gh-resolved mirror prune prunetags push pushdefault pushurl skipdefaultupdate skipfetchall tagopt url",
    }.items()
}
"""Settings of other sections that name no program and no file. A remote is asked only where one promises what is missing."""
_BOOLEANS: Final = frozenset(("true", "false", "yes", "no", "on", "off", "1", "0", ""))
_HOOK: Final = "post-index-change"
"""The hook that runs when a command which only reads has refreshed the index."""


def repository_programs(folder: Path, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return what a repository names that git may run for a command that only reads. It blocks, and runs none of it.

    Args:
        folder: The absolute folder that git works in; nothing is named where it is in no repository.
        environ: What git is run in; by default the environment of the process.

    Returns:
        Names of settings, hooks and submodules, or why they cannot be told; empty if nothing would run.
    """
    git = GitCalls(environ=environ)
    try:
        return tuple(dict.fromkeys(_named(git, folder, [MAX_SUBMODULES], depth=0)))
    except (OSError, GitTooOld, subprocess.TimeoutExpired, UnicodeError) as error:
        return (f"settings that cannot be read ({type(error).__name__})",) if _is_git_there(error) else ()


def _is_git_there(error: Exception) -> bool:
    return not isinstance(error, FileNotFoundError)


def _named(git: GitCalls, folder: Path, left: list[int], *, depth: int) -> Iterator[str]:
    listed = run_git(git, folder, "config", "--list", "--show-scope", "-z", timeout_s=TIMEOUT_S)
    if listed.returncode:
        yield "settings that cannot be read"
        return
    is_submodule = depth > 0
    fields = os.fsdecode(listed.stdout).split("\0")
    hooks: str | None = None
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = entry.partition("\n")
        if name == "core.hookspath" and scope != "command":
            hooks = value if scope in _OWN_SCOPES else os.devnull  # hooks of the user are theirs
        if scope in _OWN_SCOPES and not (_is_harmless(name, value) or (is_submodule and name == "core.worktree")):
            yield name
    where = run_git(git, folder, "rev-parse", "--show-toplevel", "--git-common-dir", timeout_s=TIMEOUT_S)
    if where.returncode:
        return  # no repository, or one without files
    top, common = (folder / line for line in os.fsdecode(where.stdout).splitlines())
    if is_submodule and top.resolve() != folder.resolve():
        yield "core.worktree"
        return
    if os.access((common / "hooks" if hooks is None else top / Path(hooks).expanduser()) / _HOOK, os.X_OK):
        yield f"hooks/{_HOOK}"
    yield from _submodules(git, top, left, depth=depth)


def _submodules(git: GitCalls, top: Path, left: list[int], *, depth: int) -> Iterator[str]:
    """Yield what is named by the repositories that git goes into to find out whether they have changed."""
    listed = run_git(git, top, "ls-files", "--stage", "-z", timeout_s=TIMEOUT_S)
    if listed.returncode:
        yield "an index that cannot be read"
        return
    for entry in listed.stdout.split(b"\0"):
        if not entry.startswith(b"160000 "):
            continue
        path = top / os.fsdecode(entry.partition(b"\t")[2])
        if not os.path.lexists(path / ".git"):
            continue
        left[0] -= 1
        if left[0] < 0 or depth >= _MAX_DEPTH:
            yield "more submodules than are looked at"
            return
        yield from _named(git, path, left, depth=depth + 1)


def _is_harmless(name: str, value: str) -> bool:
    section, _, rest = name.partition(".")
    last = rest.rpartition(".")[2]
    if section in _SECTIONS:
        return True
    if name == "core.fsmonitor":
        return value.lower() in _BOOLEANS
    return last in _SETTINGS.get(section, ())
