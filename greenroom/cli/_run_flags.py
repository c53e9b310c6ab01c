"""The flags of `greenroom run`, and what can be seen to be wrong with them before anything is read.

Must not know: how a run goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from cyclopts import Parameter

from greenroom.cli._run_arguments import InputFormat
from greenroom.core import UsageError, is_uuid
from greenroom.headless import OutputFormat, check_approver
from greenroom.permissions import parse_mode
from greenroom.session import SettingSource

ALL_SOURCES: Final = ",".join(one for one in SettingSource if one is not SettingSource.MANAGED)


def flag(text: str, *names: str) -> Any:
    """Return what help says of a flag, and its further names."""
    return Parameter(help=text, alias=names or None)


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class RunFlags:
    """The flags of the command."""

    input_format: Annotated[
        InputFormat,
        flag('What standard input holds: "text" for the prompt, "stream-json" for messages and requests, one a line.'),
    ] = "text"
    output_format: Annotated[
        OutputFormat,
        flag('"text" prints the answer, "json" one object with it, "stream-json" each message as it comes.'),
    ] = "text"
    model: Annotated[
        str | None, flag('The name or alias of a Claude model, or "playbook" (rules, no network); see the how-to.')
    ] = None
    max_turns: Annotated[int | None, flag("Model requests before the run ends with an error.")] = None
    max_budget_usd: Annotated[
        float | None, flag("US dollars that it may cost; a request that might cost more than is left is not sent.")
    ] = None
    tools: Annotated[
        str | None, flag('The tools that there are, such as "Read,Grep,Agent"; "" for none. All of them by default.')
    ] = None
    allowed_tools: Annotated[
        list[str] | None,
        flag('Rules for calls that need no permission, such as "Edit,Bash(npm test)".', "--allowedTools"),
    ] = None
    disallowed_tools: Annotated[
        list[str] | None,
        flag("Rules for calls that are refused; a tool's name alone takes it away.", "--disallowedTools"),
    ] = None
    permission_prompt_tool: Annotated[
        str | None,
        flag(
            'Who is asked about a call: a tool of an MCP server, as mcp__server__tool, or "stdio" for the program at '
            "standard input; by default nobody."
        ),
    ] = None
    permission_mode: Annotated[str | None, flag("default, acceptEdits, plan, dontAsk, auto or bypassPermissions.")] = (
        None
    )
    child_permission: Annotated[
        str | None,
        flag(
            "Where agents that are started have their mode from: definition, inherit or clamped, which keeps them to the "
            "session's mode; the same as the setting."
        ),
    ] = None
    resume: Annotated[
        str | None,
        flag('A run to go on with: its id, its folder or "last". Without a prompt, with the turn that was cut.'),
    ] = None
    continue_: Annotated[bool, flag("Go on with the last run; the same as --resume last.", "-c")] = False
    fork_session: Annotated[bool, flag("With --resume: go on in a new run, and leave that one as it is.")] = False
    rewind_files: Annotated[
        str | None,
        flag(
            "With --resume: set files back to how they were when the message of this id arrived, and do nothing else."
        ),
    ] = None
    session_id: Annotated[str | None, flag("The id that the new run gets, a UUID; by default one is made.")] = None
    no_session_persistence: Annotated[
        bool, flag("Keep nothing of the run: no journal, no transcript; it cannot be resumed.")
    ] = False
    json_schema: Annotated[
        str | None,
        flag("The form of the answer: the JSON Schema of an object, or a file that holds it; see structured_output."),
    ] = None
    agent: Annotated[str | None, flag("The agent that does it; see greenroom agents list.")] = None
    agents: Annotated[
        str | None, flag("More agents, as a JSON object of definitions by their names, or a file that holds it.")
    ] = None
    system_prompt: Annotated[
        str | None, flag("Takes the place of what the agent's definition tells it; the rest it is told anyway.")
    ] = None
    append_system_prompt: Annotated[str | None, flag("Goes behind what the agent is told anyway.")] = None
    append_subagent_system_prompt: Annotated[
        str | None, flag("Goes behind what each sub-agent is told anyway, save forks.")
    ] = None
    coordinator: Annotated[
        bool, flag("Let the agent only lead workers, which do everything in the background; see the how-to.")
    ] = False
    include_partial_messages: Annotated[
        bool, flag("With stream-json: show answers while they come, as the provider's streaming events.")
    ] = False
    include_hook_events: Annotated[
        bool, flag("With stream-json: show each hook that runs, what it prints and how it ends.")
    ] = False
    replay_user_messages: Annotated[
        bool, flag("With stream-json both ways: repeat each message of the user where the agent takes it up.")
    ] = False
    forward_subagent_text: Annotated[
        bool, flag("With stream-json: show what sub-agents say and think, not only their calls.")
    ] = False
    disable_slash_commands: Annotated[bool, flag("No skills and no slash commands: /name is text like any other.")] = (
        False
    )
    settings: Annotated[str | None, flag("More settings, as a JSON object or a file that holds it.")] = None
    mcp_config: Annotated[
        list[str] | None,
        flag(
            "More MCP servers, as a JSON object like that of .mcp.json, or a file that holds it; of one name the last."
        ),
    ] = None
    strict_mcp_config: Annotated[
        bool, flag("Connect no MCP servers but those of --mcp-config and --settings: what files name is left out.")
    ] = False
    record: Annotated[bool, flag("Keep all that the model is asked and answers in the run folder.")] = False
    recorded: Annotated[
        str | None, flag("Serve the model's answers from a recorded run: its id, its folder or last. No network.")
    ] = None
    setting_sources: Annotated[
        str, flag('Whose files are read: of user, project, local, with commas; "" for none of these.')
    ] = ALL_SOURCES
    bare: Annotated[
        bool,
        flag(
            "Look for no settings, agents, skills, hooks, plugins, MCP servers, instructions or memory; what flags name counts."
        ),
    ] = False
    add_dir: Annotated[
        list[Path] | None, flag("Another folder that the agent may work in; agents and skills of its count too.")
    ] = None
    plugin_dir: Annotated[
        list[Path] | None, flag("The folder of a plugin: its agents, skills, hooks and MCP servers count.")
    ] = None
    worktree: Annotated[
        str | None,
        flag("Work in a git worktree: its name, #N for pull request N of origin, or nothing for a new one.", "-w"),
    ] = None
    init: Annotated[bool, flag("Run the Setup hooks with the trigger init first.")] = False
    init_only: Annotated[bool, flag("Run the Setup hooks, and those of a session's start, and do nothing else.")] = (
        False
    )
    maintenance: Annotated[bool, flag("Run the Setup hooks with the trigger maintenance first.")] = False
    trust: Annotated[bool, flag("Trust this project: what its own settings and agents allow, run or set counts.")] = (
        False
    )
    sandbox: Annotated[
        bool,
        flag(
            "Run commands in a sandbox (bubblewrap) in which only the project can be written to; refuse them without it."
        ),
    ] = False
    cwd: Annotated[Path, flag("The folder to work in.")] = Path()
    runs: Annotated[
        Path | None,
        flag(
            "Where run folders go; by default GREENROOM_RUNS, or .greenroom/runs of the project around the current folder."
        ),
    ] = None


def setup_of(flags: RunFlags) -> str | None:
    """Return what hooks of `Setup` are told; None where they do not run.

    Raises:
        UsageError: More than one flag says it.
    """
    said = [
        name
        for name, is_said in (
            ("--init", flags.init),
            ("--init-only", flags.init_only),
            ("--maintenance", flags.maintenance),
        )
        if is_said
    ]
    if len(said) > 1:
        raise UsageError(f"{' and '.join(said)} do not go together: give one of them")
    if not said:
        return None
    return "maintenance" if flags.maintenance else "init"


AS_BY_DEFAULT: Final = RunFlags()


def sources_of(flags: RunFlags) -> list[str]:
    """Return whose files are read; an administrator's in any case (agents 13.40)."""
    named = "" if flags.bare else flags.setting_sources
    return [SettingSource.MANAGED, *(name for one in named.split(",") if (name := one.strip()))]


def with_values(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of the command, with a value for `--worktree` where it has none: then a name is made up."""
    found = list(arguments)
    end = found.index("--") if "--" in found else len(found)
    for at in range(end):
        if found[at] in ("-w", "--worktree") and (at + 1 == len(found) or found[at + 1].startswith("-")):
            found[at] = "--worktree="
    return found


def check_flags(flags: RunFlags, *, keeping_nothing: str = "--no-session-persistence") -> None:
    """Look at what can be wrong in the flags as such.

    Args:
        flags: What was said.
        keeping_nothing: What said that nothing of the run is kept, if anything did.

    Raises:
        UsageError: A value makes no sense, or two of them do not go together.
    """
    _check_streams(flags)
    _check_session(flags, keeping_nothing)
    if flags.bare and flags.setting_sources not in {ALL_SOURCES, ""}:
        raise UsageError(f"--bare reads no settings files: leave out --setting-sources {flags.setting_sources}")
    setup_of(flags)
    if flags.init_only and (flags.output_format != "text" or flags.input_format != "text" or flags.resume is not None):
        raise UsageError("--init-only answers nothing: leave out --output-format, --input-format and --resume")
    if flags.worktree is not None and len(flags.worktree.split()) > 1:
        hint = "put the prompt before it for a worktree with a name that is made up"
        raise UsageError(f"--worktree takes the word behind it as a name, and {flags.worktree!r} is none: {hint}")
    if flags.system_prompt is not None and not flags.system_prompt.strip():
        raise UsageError("--system-prompt is blank; leave it out for that of the agent's definition")
    if flags.coordinator and (flags.system_prompt or flags.append_system_prompt):
        raise UsageError(
            "--coordinator brings its own system prompt: leave out "
            f"{'--system-prompt' if flags.system_prompt else '--append-system-prompt'}, or put the whole text into the "
            "settings as delegation.coordinator_prompt"
        )
    if flags.max_turns is not None and flags.max_turns < 1:
        raise UsageError(f"--max-turns has to be at least 1, not {flags.max_turns}")
    max_usd = flags.max_budget_usd
    if max_usd is not None and not (math.isfinite(max_usd) and max_usd > 0):
        raise UsageError(f"--max-budget-usd has to be a number above 0, not {max_usd}")
    if flags.permission_mode is not None:
        parse_mode(flags.permission_mode)
    if not flags.cwd.is_dir():
        raise UsageError(f"--cwd: {str(flags.cwd)!r} is no folder")


def _check_streams(flags: RunFlags) -> None:
    talks = flags.input_format == "stream-json"
    if talks and flags.output_format != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json")
    only_streamed = {
        "--include-partial-messages": flags.include_partial_messages,
        "--include-hook-events": flags.include_hook_events,
    }
    for name, is_given in only_streamed.items():
        if is_given and flags.output_format != "stream-json":
            raise UsageError(f"{name} needs --output-format stream-json")
    if flags.json_schema is not None and flags.output_format == "text":
        raise UsageError("--json-schema needs --output-format json or stream-json")
    if flags.replay_user_messages and not talks:
        raise UsageError("--replay-user-messages needs --input-format stream-json")
    check_approver(flags.permission_prompt_tool, talks=talks)


def _check_session(flags: RunFlags, keeping_nothing: str) -> None:
    if flags.fork_session and flags.resume is None:
        raise UsageError("--fork-session needs --resume, with the run to begin from")
    if flags.no_session_persistence and (flags.resume is not None or flags.record or flags.runs is not None):
        raise UsageError(f"{keeping_nothing} keeps nothing: leave out --resume, --record and --runs")
    if flags.session_id is None:
        return
    if not is_uuid(flags.session_id):
        example = "such as 123e4567-e89b-42d3-a456-426614174000"
        raise UsageError(f"--session-id has to be a UUID in small letters, {example}, not {flags.session_id!r}")
    if flags.resume is not None and not flags.fork_session:
        raise UsageError("--session-id is for a new run: leave out --resume, or add --fork-session")
