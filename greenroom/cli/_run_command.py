"""The command `greenroom run`: one prompt, one agent, no questions; for scripts, pipes and other programs.

What the user got wrong is said before anything starts or is written. Standard output is the answer, in the format that was
asked for; all else goes to standard error. Exit codes are 0 for a success, 1 for an error, 2 for misuse, 130 and 143 for a
signal.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
import trio

from greenroom.agents import AgentDefinition
from greenroom.agents.definitions import Definitions
from greenroom.agents.subagents import AGENT_TOOLS, PEER_TOOLS, WORKTREE_TOOLS
from greenroom.cli._page_flags import page_opener
from greenroom.cli._run_arguments import (
    read_object,
    read_prompt,
    read_rules,
    read_schema,
    with_delegation,
    with_mcp,
    with_permissions,
    with_servers,
    without_hosted,
)
from greenroom.cli._run_flags import AS_BY_DEFAULT, RunFlags, check_flags, flag, invocation_of, setup_of, sources_of
from greenroom.cli._run_model import PLAYBOOK, managed_model, model_for
from greenroom.core import UsageError, calm_collector
from greenroom.core.validation import read_switch
from greenroom.headless import HeadlessOptions, key_source, read_ceiling, run_headless, tool_of
from greenroom.models import ModelRequest, with_events
from greenroom.models.recordings import MODEL_FILE, RecordedModel, read_recording
from greenroom.permissions import Effect, Mode
from greenroom.session import (
    MAIN,
    SCHEDULE_TOOLS,
    Fork,
    MainFor,
    SessionSettings,
    find_session,
    main_of_settings,
    read_beginning,
)
from greenroom.terminal import LogNotes, note, noting_log
from greenroom.tools import Tool, ToolContext
from greenroom.tools.builtin import STANDARD_TOOLS, HttpFetcher, ask_user_question_tool, make_web_fetch_tool
from greenroom.trace import find_run, prepare_runs_folder

_CHANGES: Final = re.compile(r"^Today: [\d-]+$|^# Git\n\nWhen the session began(?:.+\n?)+", re.MULTILINE)
_NOT_KEPT: Final = frozenset((Mode.DEFAULT, Mode.PLAN, Mode.BYPASS, Mode.BUBBLE))
FORWARD_VARIABLE: Final = "GREENROOM_FORWARD_SUBAGENT_TEXT"
GOES_ON_VARIABLE: Final = "GREENROOM_RESUME_INTERRUPTED_TURN"
SKIP_VARIABLE: Final = "GREENROOM_SKIP_PROMPT_HISTORY"


async def _permit(address: str, ctx: ToolContext) -> None:
    """Allow WebFetch: the call itself was permitted, and redirects to other hosts are not followed."""


TOOLS: Final = (
    *(tool for tool in STANDARD_TOOLS if tool is not ask_user_question_tool),
    *AGENT_TOOLS,
    *PEER_TOOLS,
    *WORKTREE_TOOLS,
    make_web_fetch_tool(HttpFetcher(), permit=_permit),
)
"""Those that need nobody to answer."""


def chosen_tools(names: str | None, *, stays: bool = False) -> tuple[Tool, ...]:
    """Return the tools of a run.

    Args:
        names: Those that there are to be, with commas or spaces between them; None for all.
        stays: True if the run goes on after its first answer; else nothing scheduled would ever come.

    Raises:
        UsageError: There is no such tool.
    """
    every = (*TOOLS, *SCHEDULE_TOOLS) if stays else TOOLS
    if names is None:
        return every
    by_name = {tool.name: tool for tool in every}
    wanted = names.replace(",", " ").split()
    missing = [name for name in wanted if name not in by_name]
    if missing:
        raise UsageError(f"--tools: unknown tool {missing[0]!r}; expected one of: {', '.join(sorted(by_name))}")
    return tuple(tool for tool in every if tool.name in wanted)


def run_command(
    prompt: Annotated[str | None, flag("What to do; standard input is added to it.")] = None,
    /,
    *,
    flags: RunFlags = AS_BY_DEFAULT,
) -> int:
    """Run one agent on a prompt, print its answer, and return the exit code."""
    if flags.rewind_files is not None:
        from greenroom.cli._rewind_command import rewind_command

        return rewind_command(flags, prompt)
    flags, options = prepared_run(flags, lambda usable: _prompt_of(usable, prompt))
    with run_surroundings(flags) as (runs, notes):
        return trio.run(run_headless, options, runs, notes)


def prepared_run(flags: RunFlags, prompt_of: Callable[[RunFlags], str]) -> tuple[RunFlags, HeadlessOptions]:
    """Return the flags and the options of a run.

    Args:
        flags: The flags.
        prompt_of: Returns the first prompt, or raises `UsageError`; called when the flags and the model can be used.
    """
    flags, earlier = as_before(with_last(flags))
    is_skipped = read_switch(os.environ, SKIP_VARIABLE)
    if is_skipped:
        flags = attrs.evolve(flags, no_session_persistence=True)
    check_flags(flags, keeping_nothing=f"{SKIP_VARIABLE} is on, which" if is_skipped else "--no-session-persistence")
    options = options_of(flags, earlier=earlier)
    max_usd = None if flags.max_budget_usd is None else Decimal(str(flags.max_budget_usd))
    model = (
        model_for(_model_name(flags), max_usd=max_usd, managed=managed_model(flags.cwd.absolute()))
        if flags.recorded is None
        else with_events(read_recorded(flags))
    )
    options = attrs.evolve(options, prompt=prompt_of(flags))
    options.open_with.update(
        model=model,
        session_id=flags.session_id,
        resume=Fork(flags.resume) if flags.fork_session and flags.resume is not None else flags.resume,
        invocation=invocation_of(flags, options.prompt, options.ceiling_s),
    )
    return flags, options


@contextmanager
def run_surroundings(flags: RunFlags) -> Iterator[tuple[Path, LogNotes]]:
    """Open what surrounds a run: the folder of the runs, and the notes of the log."""
    with calm_collector(), noting_log() as notes, _runs_of(flags) as runs:
        yield runs, notes


def options_of(flags: RunFlags, *, earlier: str = "") -> HeadlessOptions:
    """Return the options of a run, without its prompt, its model and the run that it resumes.

    Args:
        flags: The flags; see `RunFlags`.
        earlier: The agent of the run that is resumed; empty for a new run.

    Raises:
        UsageError: Something in the flags cannot be used.
    """
    allow = read_rules("--allowed-tools", flags.allowed_tools or (), Effect.ALLOW)
    deny = read_rules("--disallowed-tools", flags.disallowed_tools or (), Effect.DENY)
    tools = chosen_tools(flags.tools, stays=flags.input_format == "stream-json")
    given, hosted = settings_of(flags, allow, [*deny, *tool_of(flags.permission_prompt_tool)])
    open_with: dict[str, Any] = {
        "main": main_for(flags, earlier=earlier),
        "agents": read_object("--agents", flags.agents),
        "added": flags.add_dir or (),
        "plugins": flags.plugin_dir or (),
        "settings": given,
        "sources": sources_of(flags),
        "is_trusted": flags.trust,
        "permission_mode": flags.permission_mode,
        "durability": flags.durability,
        "tools": tools,
        "cwd": flags.cwd,
        "worktree": flags.worktree,
        "setup": setup_of(flags),
    }
    return HeadlessOptions(
        prompt="",
        open_with=open_with,
        output_format=flags.output_format,
        talks=flags.input_format == "stream-json",
        approver=flags.permission_prompt_tool,
        named_rules=(*allow, *deny),
        hosted=tuple(hosted),
        repeats_messages=flags.replay_user_messages,
        with_pieces=flags.include_partial_messages,
        with_hooks=flags.include_hook_events,
        with_text=flags.forward_subagent_text or bool(read_switch(os.environ, FORWARD_VARIABLE)),
        resumes_cut_turn=bool(read_switch(os.environ, GOES_ON_VARIABLE)),
        is_only_set_up=flags.init_only,
        is_elsewhere=flags.runs is not None,
        ceiling_s=read_ceiling(),
        open_page=page_opener(flags.port, is_page=flags.page),
    )


def _prompt_of(flags: RunFlags, argument: str | None) -> str:
    """Return the first prompt; empty if there is none, or none yet.

    Raises:
        UsageError: A prompt is missing, cannot be read, or is not wanted.
    """
    if flags.init_only:
        if (argument or "").strip():
            raise UsageError("--init-only does nothing else: leave out the prompt, or say --init")
        return ""
    if flags.input_format == "stream-json":
        return (argument or "").strip()
    return read_prompt(argument, may_be_missing=flags.resume is not None)


def _model_name(flags: RunFlags) -> str | None:
    """Return the model that the command line asks for; where nothing is asked of any, none needs a key."""
    return PLAYBOOK if flags.init_only and flags.model is None and key_source() == "none" else flags.model


def servers_for(settings: dict[str, Any], flags: RunFlags) -> tuple[dict[str, Any], list[str]]:
    """Return settings with the MCP servers that flags give, and the names of those that live in the program which talks to the run.

    Raises:
        UsageError: A value names no servers, or the key `mcp` of the settings is not an object.
    """
    is_talking = flags.input_format == "stream-json"
    hosted: list[str] = []
    for config in flags.mcp_config or ():
        servers = read_object("--mcp-config", config)
        if is_talking:
            servers, names = without_hosted(servers)
            hosted += names
        settings = with_servers(settings, servers)
    if flags.strict_mcp_config:
        settings = with_mcp(settings, only_given=True)
    return (with_mcp(settings, may_grow=True) if is_talking else settings), hosted


def settings_of(flags: RunFlags, allow: Sequence[str], deny: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings that come before those of any file: what the flags give, and what some of them mean.

    Returns:
        The settings, and the names of the MCP servers that live in the program which talks to the run.

    Raises:
        UsageError: Something in them cannot be used.
    """
    given = with_permissions(
        read_object("--settings", flags.settings), allow=allow, deny=deny, folders=flags.add_dir or ()
    )
    given, hosted = servers_for(given, flags)
    if flags.append_subagent_system_prompt:
        given = with_delegation(given, append_system_prompt=flags.append_subagent_system_prompt)
    if flags.no_session_persistence:
        said = given.get("schedules")
        given = {**given, "schedules": {**(said if isinstance(said, dict) else {}), "durable": False}}
    if flags.disable_slash_commands:
        given = given | {"slash_commands": False}
    if flags.coordinator:
        given = with_delegation(given, coordinator=True)
    if flags.record is not None:
        given = {**given, "record": "effects" if flags.record else "off"}
    if flags.sandbox:
        said = given.get("sandbox")
        given = {**given, "sandbox": {**(said if isinstance(said, dict) else {}), "enabled": True}}
    if flags.child_permission is not None:
        given = {**given, "child_permission": flags.child_permission}
    return given, hosted


@contextmanager
def _runs_of(flags: RunFlags) -> Iterator[Path]:
    """Give the folder for the run; one that is not to be kept is removed when it has ended."""
    if not flags.no_session_persistence:
        yield prepare_runs_folder(flags.runs)
        return
    with tempfile.TemporaryDirectory(prefix="greenroom-") as folder:
        yield Path(folder)


def with_last(flags: RunFlags) -> RunFlags:
    """Return the flags with the run named that `--continue` means.

    Raises:
        UsageError: Another one is named too.
    """
    if not flags.continue_:
        return flags
    if flags.resume is not None:
        raise UsageError("--continue and --resume cannot be combined: --continue resumes the last run")
    return attrs.evolve(flags, resume="last")


def as_before(flags: RunFlags) -> tuple[RunFlags, str]:
    """Return the flags of a run that resumes another one, and the agent of that run.

    Model and mode are as before unless they are said; the modes that let everything run, or nothing be changed, are never taken
    over. A model that the agent's definition names is that of the definition, as it is now.

    Raises:
        UsageError: There is no such run.
    """
    if flags.resume is None:
        return flags, ""
    before = read_beginning(find_session(flags.resume, prepare_runs_folder(flags.runs)))
    mode = before.permission_mode if before.permission_mode not in _NOT_KEPT else ""
    model = flags.model or (before.model if flags.recorded is None else "")
    kept = attrs.evolve(flags, model=model or None, permission_mode=flags.permission_mode or mode or None)
    return kept, before.agent


def read_recorded(flags: RunFlags) -> RecordedModel:
    """Return a model that answers as in an earlier run.

    Raises:
        UsageError: There is no such run, or it was not recorded.
    """
    assert flags.recorded is not None
    if flags.model is not None:
        raise UsageError("--recorded takes the place of a model; leave out --model")
    place = find_run(flags.recorded, prepare_runs_folder(flags.runs))
    folder = place if place.is_dir() else place.parent
    if not (folder / MODEL_FILE).is_file():
        raise UsageError(f"the run {folder.name} has no recording; record one with --record")
    return RecordedModel(read_recording(folder), normalize=_without_day)


def _without_day(request: ModelRequest) -> ModelRequest:
    """A recorded run may be run again on another day, and with other changes in the repository."""
    return attrs.evolve(request, system=_CHANGES.sub("", request.system))


def main_for(flags: RunFlags, *, earlier: str = "") -> MainFor:
    """Return what picks the agent of a run: the one that is named, or the one that there is without any definition.

    Args:
        flags: What it is told and how many requests it may make; before what its definition says.
        earlier: Where none is named, the name of the agent that the resumed run had; it is kept while it is there. Empty in a
            new run, whose settings may name one.
    """
    schema = read_schema(flags.json_schema)

    def choose(found: Definitions, settings: SessionSettings) -> AgentDefinition:
        if flags.agent is not None:
            main = found.find(flags.agent)
        else:
            main = _kept(earlier, found) if earlier else main_of_settings(found, settings)
        own, more = flags.system_prompt or main.system_prompt, flags.append_system_prompt or ""
        prompt = "\n\n".join(part for part in (own, more.strip()) if part)
        max_turns = flags.max_turns or main.max_turns
        return attrs.evolve(main, system_prompt=prompt, max_turns=max_turns, answer_schema=schema)

    return choose


def _kept(earlier: str, found: Definitions) -> AgentDefinition:
    """Return the agent that a resumed run had, or the one that there is without any definition, and say so."""
    if earlier == MAIN.name:
        return MAIN
    try:
        return found.find(earlier)
    except UsageError as error:
        note(f"resuming with the default agent: {error}")
        return MAIN
