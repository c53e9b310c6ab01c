"""The origin and the changes of a branch: its own file in the run folder, read whenever a session is opened on it.

It looks at the disk.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final

import attrs
from attrs.validators import deep_mapping, in_, instance_of, matches_re

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import read_files
from greenroom.core import JournalError, UsageError
from greenroom.trace import JOURNAL, read_end

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

    @property
    def content(self) -> bytes:
        """The content of the file."""
        values = attrs.asdict(self, filter=lambda field, _: field.name not in {"loaded", "is_fresh"})
        return json.dumps(values, ensure_ascii=False).encode() + b"\n"

    @property
    def refuses_changes(self) -> str:
        """The reason why calls that change files or run commands are refused; empty if they are not."""
        return _REFUSAL if self.files == "refuse" else ""

    def changed(self, definition: AgentDefinition, *names: str) -> AgentDefinition:
        """Return a definition as it was given, with the system prompt that was given for it or for an agent of one of these names."""
        definition = self.loaded.get(definition.name, definition)
        for name in (*names, definition.name):
            if name in self.systems:
                return attrs.evolve(definition, system_prompt=self.systems[name])
        return definition


def read_branch(run_folder: Path) -> BranchStart | None:
    """Return the origin and the changes of a branch; None for a run that is not a branch.

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
    loaded = {name: load_changed(name, run_folder / file) for name, file in start.definitions.items()}
    return attrs.evolve(start, loaded=loaded, is_fresh=not end.entries or end.entries[-1].seq <= start.kept)


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
