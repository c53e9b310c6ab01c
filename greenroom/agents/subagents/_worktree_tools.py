"""The tools EnterWorktree and ExitWorktree: an agent goes into a worktree, and comes back.

Results have the fields of the reference and no other. Whatever is refused leaves the agent where it is, and the
text says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents._state import AgentState
from greenroom.agents.subagents._entered_worktrees import Departure, EnteredWorktrees
from greenroom.agents.subagents._session_tool import SessionTool
from greenroom.core import JournalError, UsageError
from greenroom.tools import InvalidInput, Tool, ToolContext, ToolError, validate
from greenroom.worktrees import Fate, Worktree, WorktreeBusy, WorktreeError, WouldLoseWork

ENTER_WORKTREE: Final = "EnterWorktree"
EXIT_WORKTREE: Final = "ExitWorktree"

ENTER_DESCRIPTION: Final = (
    "Work in a worktree from now on: a separate checkout of this repository with a branch of its own, so that changes do not "
    "touch the current checkout. For when the user, or the instructions of the project, ask for a worktree; not for a mere "
    "branch. Without arguments a new one with a name of two words; with `name` a new one, or the one of that name; with "
    "`path` one that is there. Relative paths and commands start there from then on; read files anew before you edit them. "
    "Changes that no commit holds are not in a new one. Leave it with ExitWorktree."
)
EXIT_DESCRIPTION: Final = (
    "Leave the worktree that EnterWorktree led into, or that the session began in, and work again where you came from. "
    '`action: "keep"` leaves it and its branch as they are; `action: "remove"` removes both, unless something would be lost: '
    "then nothing happens and the answer says what it is. Only where the user wants to lose it, call again with "
    "`discard_changes: true`. Does nothing to any other worktree."
)
ENTER_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "description": "What it is called: letters, digits, '.', '_' and '-', at most 64. Not together with `path`.",
        },
        "path": {
            "type": "string",
            "description": "A worktree of this repository that is there, as `git worktree list` names it. Not together with `name`.",
        },
    },
    "additionalProperties": False,
}
EXIT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "action": {
            "type": "string",
            "enum": ["keep", "remove"],
            "description": "What becomes of the worktree and its branch.",
        },
        "discard_changes": {
            "type": "boolean",
            "default": False,
            "description": "With `remove`: lose what no commit and no other branch holds.",
        },
    },
    "required": ["action"],
    "additionalProperties": False,
}

FindHome: TypeAlias = Callable[[str], AgentState | None]


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class EnterWorktree:
    """The tool of one session."""

    entered_worktrees: EnteredWorktrees
    find_home: FindHome
    """Returns what belongs to an agent, by its id."""
    name: str = ENTER_WORKTREE
    description: str = ENTER_DESCRIPTION
    input_schema: Mapping[str, Any] = ENTER_SCHEMA
    is_read_only: bool = False

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Move the caller into a worktree, and return what it reads of it. Cancelled, it stays where it is.

        Raises:
            ToolError: It stays where it is; the text says why.
        """
        _check(self.name, ENTER_SCHEMA, input)
        name, said = str(input.get("name") or ""), str(input.get("path") or "")
        if name and said:
            raise ToolError("either a new worktree or one that is there: leave out `name`, or `path`")
        home = _home(self.find_home, ctx)
        ctx.progress("Going into a worktree")
        try:
            stay = await self.entered_worktrees.enter(home, name=name, path=home.cwd / Path(said) if said else None)
        except (UsageError, WorktreeError) as error:
            raise ToolError(str(error)) from error
        except JournalError as error:
            raise ToolError(f"nothing was done, because it cannot be recorded: {error}") from error
        tree = stay.worktree
        text = "\n".join([f"You work in the worktree {tree.path}{_on_branch(tree)} now.", *tree.notes])
        ctx.attach(_known(worktreePath=str(tree.path), worktreeBranch=tree.branch or None, message=text))
        return text


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class ExitWorktree:
    """The tool of one session."""

    entered_worktrees: EnteredWorktrees
    find_home: FindHome
    """Returns what belongs to an agent, by its id."""
    name: str = EXIT_WORKTREE
    description: str = EXIT_DESCRIPTION
    input_schema: Mapping[str, Any] = EXIT_SCHEMA
    is_read_only: bool = False

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Move the caller back to where it came from, and return what it reads of it.

        Cancelled before anything was removed, it stays where it is.

        Raises:
            ToolError: It stays where it is, the text says why; or it has left, and that is not recorded.
        """
        _check(self.name, EXIT_SCHEMA, input)
        action, discards = input["action"], bool(input.get("discard_changes"))
        if discards and action != "remove":
            raise ToolError("`discard_changes` is for `remove`; what is kept loses nothing")
        home = _home(self.find_home, ctx)
        ctx.progress("Leaving the worktree")
        try:
            departure = await self.entered_worktrees.leave(home, action, discard_changes=discards)
        except WorktreeBusy as error:
            raise ToolError(f"nothing was removed: {error}") from error
        except WorktreeError as error:
            raise ToolError(f"nothing was removed: {error}; leave it with `keep`") from error
        except WouldLoseWork as error:
            hint = "where the user wants that, call again with `discard_changes: true`; else leave it with `keep`"
            raise ToolError(f"nothing was removed: {error}; {hint}") from error
        except UsageError as error:
            raise ToolError(str(error)) from error
        except JournalError as error:
            raise ToolError(f"it was done, and cannot be recorded: {error}") from error
        text = _words(departure)
        ctx.attach(_departed(departure, text))
        return text


def _departed(departure: Departure, text: str) -> dict[str, Any]:
    tree, release = departure.worktree, departure.release
    is_removed = release.fate is Fate.REMOVED
    standing = release.standing if is_removed else None
    return _known(
        action="remove" if is_removed else "keep",
        originalCwd=str(departure.original_cwd),
        worktreePath=str(tree.path),
        worktreeBranch=tree.branch or None,
        discardedFiles=None if standing is None else len(standing.changed),
        discardedCommits=None if standing is None else standing.commits,
        message=text,
    )


def _words(departure: Departure) -> str:
    tree, release = departure.worktree, departure.release
    back = f"You work in {departure.original_cwd} again."
    if release.fate is not Fate.REMOVED:
        return f"{back} The worktree {tree.path}{_on_branch(tree)} is kept."
    lost = f", and with it: {release.why}" if release.why else ""
    return f"{back} The worktree {tree.path}{' and its branch' if tree.branch else ''} is removed{lost}."


def _on_branch(tree: Worktree) -> str:
    return f" on the branch {tree.branch}" if tree.branch else ""


def _home(find_home: FindHome, ctx: ToolContext) -> AgentState:
    home = find_home(ctx.actor)
    if home is None:
        raise ToolError("this agent is not one that can change its place")
    return home


def _check(tool: str, schema: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    problems = validate(schema, values)
    if problems:
        raise InvalidInput(tool, tuple(problems))


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


WORKTREE_TOOLS: Final[tuple[Tool, ...]] = (
    SessionTool(ENTER_WORKTREE, ENTER_DESCRIPTION, ENTER_SCHEMA, is_read_only=False),
    SessionTool(EXIT_WORKTREE, EXIT_DESCRIPTION, EXIT_SCHEMA, is_read_only=False),
)
"""`EnterWorktree` and `ExitWorktree`, for the `tools` of `open_session`."""
