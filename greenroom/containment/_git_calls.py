"""The command line and environment of every git call.

Rule 1: no other module starts git; `tests/architecture/test_containment.py` checks that. Rule 2: a repository names
programs in its own configuration (filters, hooks, drivers, helpers), under names of its choice. In an untrusted folder
none of them runs: git is first asked for the names of all settings, which runs nothing, and the actual call overrides
each that can name a program. Rule 3: overrides are passed in the environment, where a name may contain any character.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.containment._environment import ChildKind, child_environment

_KEPT: Final = frozenset({"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_SSL_CAINFO"})
_QUIET: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "LC_ALL": "C",
}
# No protocol at all: no remote helper, no ssh, no `upload-pack` of a neighboring repository.
_OFFLINE: Final = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_LFS_SKIP_SMUDGE": "1"}

_ALWAYS: Final = {
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "core.pager": "cat",
    "log.showSignature": "false",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
}
_UNTRUSTED: Final = {
    "core.hooksPath": "/dev/null",
    "core.editor": "true",
    "sequence.editor": "true",
    "core.askPass": "",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "",
    "credential.helper": "",
    "gpg.program": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "protocol.allow": "never",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_LAST_WORDS: Final = {
    **dict.fromkeys(("clean", "smudge", "process", "textconv", "command", "driver", "cmd", "helper", "vcs"), ""),
    **dict.fromkeys(("required", "enabled"), "false"),
    **dict.fromkeys(("program", "defaultkeycommand"), "false"),
    "allow": "never",
    "update": "none",
}
"""Overrides of settings with a name in the middle, by their last word in lower case."""
_SECTIONS: Final = frozenset(
    ("filter", "diff", "merge", "credential", "gpg", "hook", "remote", "protocol", "submodule", "difftool", "mergetool")
)
_MARK: Final = "greenroom.contained"
_DIFFERING: Final = frozenset(("diff", "show", "log"))
_LOOKING_BELOW: Final = frozenset(("diff", "status"))


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the variables that redirect git's work, configuration or output.

    For greenroom's git commands, and for every program that runs in a worktree: with one `GIT_DIR` from a surrounding
    hook the "isolated" program would work in the main checkout.
    """
    return {name: value for name, value in environment.items() if not name.startswith("GIT_") or name in _KEPT}


@final
@attrs.frozen(kw_only=True)
class GitCall:
    """A git command line; it names git's working folder itself."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = attrs.field(repr=False)


@final
@attrs.frozen(kw_only=True)
class GitCalls:
    """Git calls with the programs of its configuration disabled.

    Attributes:
        environ: Base environment, without variables that redirect git or hold secrets; by default that of the process.
        passed: Names of secret variables that it gets in any case.
        is_trusted: True if the folder is trusted: then its filters, hooks, helpers and remotes are used; else nothing
            that its configuration names is run and no remote is contacted. The file system monitor, pagers, editors,
            external diffs and signature checks are disabled in both cases.
    """

    environ: Mapping[str, str] | None = attrs.field(default=None, repr=False)
    is_trusted: bool = False
    passed: Collection[str] = ()

    def listing(self, folder: Path) -> GitCall:
        """Return the call whose output `call` needs: the names of all settings in effect in a folder."""
        return self._made(folder, ("config", "--list", "--name-only", "-z"), {})

    def call(self, folder: Path, *arguments: str, settings: bytes) -> GitCall:
        """Return a git call.

        Args:
            folder: Git's absolute working folder.
            arguments: A git command and its arguments.
            settings: Output of the listing; of all folders, if git enters several.

        Raises:
            GitTooOld: This git does not support overriding settings by variables.
        """
        names = [name for name in os.fsdecode(settings).split("\0") if name]
        if _MARK not in names:
            raise GitTooOld
        return self._made(folder, self._with_options(arguments), {} if self.is_trusted else dict(_overrides(names)))

    def _environment(self) -> dict[str, str]:
        return child_environment(ChildKind.COMMAND, self.environ, passed=self.passed)

    def _with_options(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        command = arguments[0]
        end = arguments.index("--") if "--" in arguments else len(arguments)
        options = ["--no-ext-diff", "--no-textconv"] if command in _DIFFERING else []
        if command in _LOOKING_BELOW and not self.is_trusted:
            # Changes within a submodule are found by a separate git, which these settings do not reach.
            options.append("--ignore-submodules=dirty")
        return (*arguments[:end], *options, *arguments[end:])

    def _made(self, folder: Path, arguments: Iterable[str], more: Mapping[str, str]) -> GitCall:
        settings = {_MARK: "true", **_ALWAYS, **({} if self.is_trusted else _UNTRUSTED), **more}
        environment = clean_environment(self._environment()) | _QUIET
        environment |= {} if self.is_trusted else _OFFLINE
        environment["GIT_CONFIG_COUNT"] = str(len(settings))
        for number, (name, value) in enumerate(settings.items()):
            environment[f"GIT_CONFIG_KEY_{number}"] = name
            environment[f"GIT_CONFIG_VALUE_{number}"] = value
        return GitCall(command=("git", "-C", str(folder), *arguments), environment=environment)


@final
class GitTooOld(Exception):
    """The installed git cannot be kept from running the programs of a repository."""

    def __init__(self) -> None:
        super().__init__("git must be 2.31 or later; update it")


def _overrides(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield an override of each setting of these names that can name a program."""
    for name in names:
        section, _, rest = name.partition(".")
        middle, _, last = rest.rpartition(".")
        if section == "pager":
            yield name, "false"
        elif section in _SECTIONS and middle and last in _LAST_WORDS:
            yield name, _LAST_WORDS[last]
            if section == "filter":  # if it is required, an empty one would be an error
                yield f"filter.{middle}.required", "false"
            elif section == "hook":
                yield f"hook.{middle}.enabled", "false"


def run_git(git: GitCalls, folder: Path, *arguments: str, timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder and return its result. It blocks: call it through `Blocking`.

    Args:
        git: The git calls.
        folder: Git's absolute working folder.
        arguments: A git command and its arguments.
        timeout_s: Seconds after which it is killed.

    Raises:
        OSError: It cannot be started.
        GitTooOld: It does not support overriding settings.
        subprocess.TimeoutExpired: It timed out.
    """
    listed = _run(git.listing(folder), folder, timeout_s)
    if listed.returncode:
        return listed
    return _run(git.call(folder, *arguments, settings=listed.stdout), folder, timeout_s)


def _run(call: GitCall, folder: Path, timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        call.command,
        # Not the folder itself: a relative entry of PATH would find programs there.
        cwd=folder.anchor,
        env=call.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=timeout_s,
        check=False,
        start_new_session=True,
    )
