"""The tool Bash: a command line in a shell, waited for or in the background.

Rule 1: every command is a task from its first moment; waiting for it is a link, and letting go of it restarts nothing.
Rule 2: a command whose call is cancelled, and one that must not outlive its call, ends before the call does, with all
that it started. Rule 3: where the agent stands is the agent's own; a command in the background never moves it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Final, final

import attrs

from greenroom.core import make_private_folder, open_private
from greenroom.tools import Arg, Background, BackgroundTask, FunctionTool, ToolContext, ToolError, tool, wait_linked
from greenroom.tools._outputs import INLINE_CHARACTERS, read_output
from greenroom.tools._processes import ProcessEnd
from greenroom.tools.builtin._file_reader import on_one_line

DEFAULT_TIMEOUT_MS: Final = 120_000
MAX_TIMEOUT_MS: Final = 600_000
DESCRIPTION_CHARACTERS: Final = 80

# The command is an argument, so that no quote in it can end anything; the folder is noted however the shell is left.
_SCRIPT: Final = """\
_greenroom_folder=$1; _greenroom_command=$2; set --
trap 'pwd -P >| "$_greenroom_folder" 2>/dev/null' EXIT
eval "$_greenroom_command"
"""
_GIT: Final = re.compile(r"\bgit\b")
_ASSIGNMENT: Final = re.compile(r"\w+=.*")


@final
class CommandFailed(ToolError):
    """A command ended with another exit code than 0, or was ended because its time was up.

    Attributes:
        exit_code: 0 to 255, or minus a signal's number; None where the time was up.
    """

    def __init__(self, why: str, output: str, exit_code: int | None) -> None:
        super().__init__(f"{why}\n{output}" if output else why)
        self.exit_code = exit_code


@final
@attrs.frozen(kw_only=True)
class BashLimits:
    """Time limits of commands, and the part of their output that a model reads."""

    default_ms: int = DEFAULT_TIMEOUT_MS
    most_ms: int = MAX_TIMEOUT_MS
    characters: int = INLINE_CHARACTERS


@tool(name="Bash")
async def bash_tool(
    command: str,
    timeout: Annotated[int, Arg(minimum=1, maximum=MAX_TIMEOUT_MS)] = DEFAULT_TIMEOUT_MS,  # noqa: ASYNC109 - its name
    description: str = "",
    *,
    run_in_background: bool = False,
    ctx: ToolContext,
) -> str:
    """Run a command line in a shell and return what it prints, errors included.
    The current directory stays between calls, variables do not. There is no input: nothing can be typed. When the command
    ends, what it has started ends too; what is to stay has to run in the background. A command that takes longer than its
    timeout is moved to the background, or ended where it must not be: if it begins with sleep, or has git in it.

    Args:
        command: The command line.
        timeout: Milliseconds to wait for it, 120000 if left out, at most 600000.
        description: What it does, in five to ten words.
        run_in_background: Whether to return at once; a notice tells of its end, and TaskOutput what it printed.
    """
    return await _bash(command, timeout, description or command, ctx, is_aside=run_in_background)


async def _bash(
    command: str,
    timeout_ms: int,
    description: str,
    ctx: ToolContext,
    *,
    is_aside: bool,
    characters: int = INLINE_CHARACTERS,
) -> str:
    check_command(command)
    shell = _ShellState(ctx, command, description, characters)
    await ctx.blocking(refuse_lost_folder, ctx)
    ctx.progress(f"Running {shell.description}")
    is_aside = is_aside and ctx.background.is_on
    task = shell.start(ctx.background, is_background=is_aside)
    if is_aside:
        ctx.respond(lambda: {**_printed(""), "backgroundTaskId": task.info.id})
        return f"Command running in background with ID: {task.info.id}. Output is being written to: {shell.output}"
    is_overdue = await wait_linked(task, timeout_ms / 1_000, ctx.actor, may_move=may_move(command))
    if task.is_background:
        ctx.respond(lambda: {**_printed(""), "backgroundTaskId": task.info.id})
        within = f"its {timeout_ms / 1_000:g}s timeout" if is_overdue else "its call"
        said = f"Command did not complete within {within} and was moved to the background"
        return f"{said} with ID: {task.info.id}. Output is being written to: {shell.output}"
    return await shell.answer(task, is_overdue=is_overdue)


def bash_with(limits: BashLimits) -> FunctionTool:
    """Return the tool Bash with these limits."""
    if limits == BashLimits():
        return bash_tool

    async def bash(
        command: str,
        timeout: int = limits.default_ms,  # noqa: ASYNC109 - its name
        description: str = "",
        *,
        run_in_background: bool = False,
        ctx: ToolContext,
    ) -> str:
        said = description or command
        return await _bash(command, timeout, said, ctx, is_aside=run_in_background, characters=limits.characters)

    schema = dict(bash_tool.input_schema)
    text = f"Milliseconds to wait for it, {limits.default_ms} if left out, at most {limits.most_ms}."
    timeout = {"maximum": limits.most_ms, "default": limits.default_ms, "description": text}
    properties = schema["properties"]
    schema["properties"] = {**properties, "timeout": {**properties["timeout"], **timeout}}
    return attrs.evolve(bash_tool, input_schema=schema, function=bash)


def may_move(command: str) -> bool:
    """True if a command may continue in the background after its timeout."""
    if _GIT.search(command):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    while words and _ASSIGNMENT.fullmatch(words[0]):
        del words[0]
    return bool(words) and words[0] != "sleep"


def check_command(command: str) -> None:
    """Refuse a command that no shell can run.

    Raises:
        ToolError: It is refused.
    """
    if "\0" in command or not command.strip():
        raise ToolError("the command is empty, or holds a NUL character")


def refuse_lost_folder(ctx: ToolContext) -> None:
    """Refuse a call whose current directory is gone; the next one starts where its agent began.

    Raises:
        ToolError: It is refused.
    """
    lost = ctx.real_cwd
    if not lost.is_dir():
        ctx.workspace.cwd = None
        raise ToolError(f"the current directory {lost} is gone; the next command starts where this agent began")


def short_description(text: str) -> str:
    """Return the description of a command on one line of at most `DESCRIPTION_CHARACTERS`."""
    line = on_one_line(" ".join(text.split()))
    return line if len(line) <= DESCRIPTION_CHARACTERS else f"{line[: DESCRIPTION_CHARACTERS - 1]}…"


@cache
def shell_program() -> str:
    """Return the shell that runs commands."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    # Not through a relative folder: the shell would be that of the project, whatever it is.
    return shutil.which("bash", path=os.pathsep.join(entry for entry in entries if entry.startswith("/"))) or "/bin/sh"


@attrs.define
class _ShellState:
    ctx: ToolContext
    command: str
    _description: str
    _characters: int
    output: Path = attrs.field(init=False)
    _end: ProcessEnd | None = None

    def __attrs_post_init__(self) -> None:
        self.output = self.ctx.processes.new_output()

    @property
    def description(self) -> str:
        return short_description(self._description)

    @property
    def _folder_file(self) -> Path:
        return self.output.with_suffix(".cwd")

    def start(self, background: Background, *, is_background: bool) -> BackgroundTask:
        return background.start(
            self._run_aside if is_background else self._run,
            id=self.output.stem,
            description=self.description,
            owner=self.ctx.actor,
            tool_use_id=self.ctx.tool_use_id,
            output_file=self.output,
            command=self.command,
            is_background=is_background,
        )

    async def _run(self) -> int:
        await self.ctx.blocking(_make_empty, self._folder_file)  # by us: the umask of the shell may be any
        arguments = [shell_program(), "-c", _SCRIPT, "bash", str(self._folder_file), self.command]
        self._end = await self._execute(arguments)
        return self._end.exit_code

    async def _run_aside(self) -> int:
        arguments = [shell_program(), "-c", self.command]
        return (await self._execute(arguments)).exit_code

    async def _execute(self, arguments: Sequence[str]) -> ProcessEnd:
        ctx = self.ctx
        return await ctx.processes.run(arguments, cwd=ctx.real_cwd, output=self.output, env=ctx.variables)

    async def answer(self, task: BackgroundTask, *, is_overdue: bool) -> str:
        """Return the command's output, and record its final folder."""
        printed = await self.ctx.blocking(read_output, self.output, self._characters)
        went = await self.ctx.blocking(self._clean, keep_output=printed.is_cut)
        notes = self._follow(went)
        if self._end is not None and self._end.left_others:
            notes.append("(what the command had left running was ended: use run_in_background for what is to stay)")
        text = "\n".join(part for part in (printed.text, *notes) if part)
        if task.state == "killed":
            late = "the command was not done within its timeout and was ended"
            raise CommandFailed(late if is_overdue else f"the command {task.ending}", text, None)
        if task.error:
            raise CommandFailed(task.error, text, None)
        if task.exit_code:
            raise CommandFailed(_exit_words(task.exit_code), text, task.exit_code)
        kept = {"persistedOutputPath": str(self.output), "persistedOutputSize": printed.size_bytes}
        self.ctx.respond(lambda: {**_printed(printed.text), **(kept if printed.is_cut else {})})
        return text

    def _clean(self, *, keep_output: bool) -> Path | None:
        """Remove what the command needed no longer, and return the folder in which its shell ended."""
        try:
            went: Path | None = Path(self._folder_file.read_text(encoding="utf-8", errors="surrogateescape")[:-1])
        except FileNotFoundError:
            went = None
        self._folder_file.unlink(missing_ok=True)
        if not keep_output:
            self.output.unlink(missing_ok=True)
        return went if went is not None and went.is_absolute() and went.is_dir() else None

    def _follow(self, went: Path | None) -> list[str]:
        ctx = self.ctx
        if went is None or went == ctx.real_cwd:
            return []
        if not any(went.is_relative_to(root) for root in ctx.real_roots):
            where = f"{went} is outside the directories that this session may use"
            return [f"(the current directory is {ctx.real_cwd} again: {where})"]
        ctx.workspace.cwd = went
        return []


def _make_empty(path: Path) -> None:
    make_private_folder(path.parent)
    os.close(open_private(path, os.O_WRONLY | os.O_CREAT))


def _printed(text: str) -> dict[str, object]:
    """Return what hooks are told of a command that did not fail; what it printed is one text, errors included."""
    return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}


def _exit_words(code: int) -> str:
    if code >= 0:
        return f"Exit code {code}"
    return f"ended by signal {-code} ({signal.Signals(-code).name})"
