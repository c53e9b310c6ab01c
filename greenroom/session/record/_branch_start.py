"""The origin and the changes of a branch: its own file in the run folder, read whenever a session is opened on it.

It looks at the disk.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final

import attrs
from attrs.validators import deep_mapping, in_, instance_of, matches_re

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import read_files
from greenroom.core import JournalError, UsageError
from greenroom.trace import JOURNAL, read_end, runs_folder

BRANCH_FILE: Final = "branch.json"
"""The file of a run folder that holds the origin and the changes of a branch."""
BranchFiles: TypeAlias = Literal["refuse", "here"]
"""Treatment of calls that change files or run commands: they are refused, or work on the files as they are now."""
_REFUSAL: Final = (
    "this run branches off from another one and must not change files; `--files here` lets it work on today's"
)
_TEXTS: Final = deep_mapping(instance_of(str), instance_of(str), instance_of(dict))
_FILES: Final = deep_mapping(instance_of(str), matches_re(r"definitions/[0-9]+\.md"), instance_of(dict))
"""A run folder may come from somebody else: it names no files of other folders, whose text would go to a model."""
_HARMLESS: Final = frozenset((
    *("agent", "agent_progress_summaries", "approval_deadline_s", "compaction", "delegation", "deniedMcpServers", "disableAllHooks"),
    *("disabledMcpjsonServers", "durability", "effort", "limits", "model", "models", "record", "record_model", "recovery"),
    *("schedules", "slash_commands", "swarm", "teams"),
))  # fmt: skip
"""Settings that start no program, connect to no server and allow no call; of `permissions`, the rules that restrict are as well."""
_RESTRICTING: Final = frozenset(("deny", "ask"))


@final
@attrs.frozen(kw_only=True)
class BranchStart:
    """The origin and the changes of a branch."""

    from_run: str = attrs.field(validator=instance_of(str))
    """The id of the run that it branches off from."""
    from_seq: int = attrs.field(validator=instance_of(int))
    """Number of the last event of that run that may have been kept."""
    kept: int = attrs.field(validator=instance_of(int))
    """Number of the events that were kept."""
    systems: Mapping[str, str] = attrs.field(factory=dict, validator=_TEXTS)
    """System prompts by the name of a definition or of an agent."""
    definitions: Mapping[str, str] = attrs.field(factory=dict, validator=_FILES)
    """Names of the files of the run folder that hold definitions, by the name of the definition."""
    settings: Mapping[str, Any] = attrs.field(factory=dict, validator=instance_of(dict))
    """Settings that come before all others."""
    files: BranchFiles = attrs.field(default="refuse", validator=in_(("refuse", "here")))
    loaded: Mapping[str, AgentDefinition] = attrs.field(factory=dict, eq=False)
    """The definitions that those files hold."""
    is_fresh: bool = attrs.field(default=False, eq=False)
    """True if no session was opened on it yet: what was asked at its edge is asked once more, without a word."""
    ignored: Sequence[str] = attrs.field(default=(), eq=False)
    """Changes that do not count, because the run may come from somebody else."""

    @property
    def content(self) -> bytes:
        """The content of the file."""
        values = attrs.asdict(self, filter=lambda field, _: field.name not in {"loaded", "is_fresh", "ignored"})
        return json.dumps(values, ensure_ascii=False).encode() + b"\n"

    @property
    def refuses_changes(self) -> str:
        """The reason why calls that change files or run commands are refused; empty if they are not."""
        return _REFUSAL if self.files == "refuse" else ""

    @property
    def problem(self) -> str:
        """A line about the changes that do not count; empty if all do."""
        if not self.ignored:
            return ""
        return (
            f"{BRANCH_FILE}: {', '.join(self.ignored)}: ignored, because the run is not in the runs folder of this project;"
            " move it there if you trust it"
        )

    def without_programs(self) -> BranchStart:
        """Return the changes without those that start programs, connect to servers or allow calls."""
        rules = self.settings.get("permissions")
        kept = {name: value for name, value in self.settings.items() if name in _HARMLESS}
        ignored = [name for name in self.settings if name not in kept and name != "permissions"]
        if isinstance(rules, Mapping):
            kept["permissions"] = {name: value for name, value in rules.items() if name in _RESTRICTING}
            ignored += [f"permissions.{name}" for name in rules if name not in _RESTRICTING]
        loaded = {name: _without_programs(definition) for name, definition in self.loaded.items()}
        ignored += [f"definition:{name}" for name, definition in self.loaded.items() if loaded[name] != definition]
        return attrs.evolve(self, settings=kept, loaded=loaded, ignored=ignored)

    def changed(self, definition: AgentDefinition, *names: str) -> AgentDefinition:
        """Return a definition as it was given, with the system prompt that was given for it or for an agent of one of these names."""
        definition = self.loaded.get(definition.name, definition)
        for name in (*names, definition.name):
            if name in self.systems:
                return attrs.evolve(definition, system_prompt=self.systems[name])
        return definition


def _without_programs(definition: AgentDefinition) -> AgentDefinition:
    servers = tuple(server for server in definition.mcp_servers if server.config is None)
    return attrs.evolve(definition, hooks={}, mcp_servers=servers, permission_mode=None, more_roots=())


def read_branch(run_folder: Path) -> BranchStart | None:
    """Return the origin and the changes of a branch; None for a run that is not a branch.

    If the folder does not lie in the runs folder of the current project, it may come from somebody else: then changes that start
    programs, connect to servers or allow calls are left out.

    Raises:
        UsageError: Its file cannot be read, or is malformed.
    """
    path = run_folder / BRANCH_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    try:
        start = BranchStart(**json.loads(content))
        end = read_end(run_folder / JOURNAL, (), count=1)
    except (ValueError, TypeError) as error:
        raise UsageError(f"cannot open the branch {run_folder.name}: {BRANCH_FILE} is malformed ({error})") from None
    except JournalError as error:
        raise UsageError(f"cannot open the branch {run_folder.name}: {error}") from None
    for file in start.definitions.values():
        if not is_file_of_run(run_folder, file):
            raise UsageError(f"cannot open the branch {run_folder.name}: {file} is missing, or a link to another file")
    loaded = {name: load_changed(name, run_folder / file) for name, file in start.definitions.items()}
    start = attrs.evolve(start, loaded=loaded, is_fresh=not end.entries or end.entries[-1].seq <= start.kept)
    return start if _is_own(run_folder) else start.without_programs()


def is_file_of_run(run_folder: Path, name: str) -> bool:
    """True if a run folder has a file of that name, and no link leads to it: a run may come from somebody else."""
    path = run_folder / name
    return path.is_file() and path.resolve() == run_folder.resolve() / name


def _is_own(run_folder: Path) -> bool:
    try:
        return run_folder.resolve().parent == runs_folder().resolve()
    except UsageError:  # the project's folder is a link
        return False


def load_changed(name: str, path: Path) -> AgentDefinition:
    """Return the definition of a name in a file.

    Raises:
        UsageError: The file cannot be read, or does not define it; the text says which problem there is.
    """
    found = read_files(path)
    if name not in found:
        why = str(found.diagnostics[0]) if found.diagnostics else f"it defines {', '.join(found) or 'nothing'}"
        raise UsageError(f"definition:{name}: the file does not define {name!r}: {why}")
    return found[name]
