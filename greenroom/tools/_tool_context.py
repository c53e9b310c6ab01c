"""The context of a tool call, and the ports through which a tool reaches everything else.

Rule 1: a tool gets absolute paths from `resolve` and opens nothing else. Rule 2: blocking work goes through `blocking`.

Must not know: the working folder of the process, which is shared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, final

import attrs

from greenroom.containment import Sandbox
from greenroom.core import Image
from greenroom.core.ports import Blocking
from greenroom.tools._background import Background, BackgroundTask
from greenroom.tools._file_changes import FileChange, FileChanges
from greenroom.tools._processes import ProcessEnd, Processes, ProcessResult, run_process
from greenroom.tools._questions import AskUser, QuestionAnswers, QuestionRequest
from greenroom.tools._tool_errors import OutsideRoots, ToolError
from greenroom.tools._workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")


@final
@attrs.frozen(kw_only=True, slots=False)  # made once a call and soon gone: without slots in half the time
class ToolContext:
    """The context of one call: where it works, for whom, and its ports."""

    cwd: Path = attrs.field()
    """The absolute folder that relative paths start from; a link in it is fine."""
    roots: tuple[Path, ...] = attrs.field()
    """The absolute folders that the call is confined to; a link in them is fine."""
    actor: str
    """Id of the agent whose call it is."""
    tool_use_id: str
    """Id of the call, as the model gave it."""
    granted: tuple[Path, ...] = ()
    """Absolute paths outside the roots, links resolved, that this call may reach besides, each with what lies below it:
    a rule, the mode or a person let it."""
    hides: Callable[[str], bool] | None = attrs.field(default=None, repr=False)
    """Returns True for an absolute path that a search has to leave out; None if there is none. Called from any thread.
    """
    is_heard: bool = False
    """True if hooks receive the call's result; see `respond`."""
    is_main: bool = False
    """True for a call of the session's main agent."""
    workspace: Workspace = attrs.field(factory=Workspace, repr=False)
    """State that the agent keeps between its calls; the same object in all of them."""
    _blocking: Blocking = attrs.field(repr=False)
    _processes: Processes | None = attrs.field(repr=False, default=None)
    _sandbox: Sandbox | None = attrs.field(repr=False, default=None)
    _background: Background | None = attrs.field(repr=False, default=None)
    _ask_user: AskUser | None = attrs.field(repr=False, default=None)
    _progress: Callable[[str], None] = attrs.field(repr=False, default=lambda _: None)
    _changes: FileChanges | None = attrs.field(repr=False, default=None)
    _variables: Callable[[], Mapping[str, str]] = attrs.field(repr=False, default=dict)

    @cwd.validator
    def _check_cwd(self, _: attrs.Attribute[Path], value: Path) -> None:
        if not value.is_absolute():
            raise ValueError(f"cwd must be absolute, got {str(value)!r}")

    @roots.validator
    def _check_roots(self, _: attrs.Attribute[tuple[Path, ...]], value: tuple[Path, ...]) -> None:
        for root in value:
            if not root.is_absolute():
                raise ValueError(f"a root must be absolute, got {str(root)!r}")

    def for_call(self, tool_use_id: str) -> ToolContext:
        """Return this context for another call, in the current folder of the agent's shell."""
        made: ToolContext = object.__new__(ToolContext)
        values = self.__dict__.copy()
        values["tool_use_id"] = tool_use_id
        if self.workspace.cwd is not None:
            values["cwd"] = self.workspace.cwd
        values.pop("real_cwd", None)
        values.pop("real_roots", None)
        object.__setattr__(made, "__dict__", values)  # faster than to fill the one that it has
        return made

    def granting(self, paths: tuple[Path, ...], hides: Callable[[str], bool] | None = None) -> ToolContext:
        """Return the same for a call that may reach these paths besides, absolute and with links resolved, save hidden files."""
        made: ToolContext = object.__new__(ToolContext)
        made.__dict__.update(self.__dict__, granted=paths, hides=hides)
        return made

    def heard(self) -> ToolContext:
        """Return the same for a call of whose result hooks are told."""
        made: ToolContext = object.__new__(ToolContext)
        made.__dict__.update(self.__dict__, is_heard=True)
        return made

    @cached_property
    def real_cwd(self) -> Path:
        """The `cwd` with its links resolved, to compare with what `resolve` returns."""
        return Path(os.path.realpath(self.cwd))

    @cached_property
    def real_roots(self) -> tuple[Path, ...]:
        """The `roots` with their links resolved."""
        return tuple(Path(os.path.realpath(root)) for root in self.roots)

    def resolve(self, path: str) -> Path:
        """Return the absolute path that `path` leads to, with links resolved; it need not exist.

        A relative path starts from `cwd`; `~` is a name like any other. What is returned lies in one of the roots, or in
        what this call is granted besides, at this moment. That keeps a model in its directories; it does not defend against a program that swaps folders for
        links meanwhile.

        Raises:
            ToolError: It leads outside every root and everything granted, or cannot be a path.
        """
        if not path:
            raise ToolError("the path is empty; '.' is the current directory")
        if "\0" in path:
            raise ToolError(f"{path!r} cannot be a path: it holds a NUL character")
        try:
            os.fsencode(path)
            target = os.path.realpath(self.cwd / path)
            # After a loop of links, `realpath` gives up resolving and removes `..` by text alone: `loop/../link`
            # comes back as an unresolved `link`. Only what resolves to itself has been resolved.
            settled = os.path.realpath(target) == target
        except UnicodeEncodeError:
            raise ToolError(f"{path!r} cannot be a path: it holds characters that no file name has") from None
        except (OSError, ValueError) as error:
            raise ToolError(f"{path!r} cannot be resolved: {error}") from error
        if not settled:
            raise ToolError(f"{path!r} cannot be resolved: it runs into a loop of links")
        found = Path(target)
        if not any(found.is_relative_to(root) for root in (*self.real_roots, *self.granted)):
            raise OutsideRoots(path, target, self.roots)
        return found

    def attach(self, data: Mapping[str, Any]) -> None:
        """Add to the result of this call what programs read of it, beside the text for the model; plain JSON."""
        self.workspace.attachments[self.tool_use_id] = data

    def respond(self, make: Callable[[], Mapping[str, Any]]) -> None:
        """Set what hooks receive of this call's result in place of its text; plain JSON, made only if a hook is
        configured.
        """
        if self.is_heard:
            self.workspace.responses[self.tool_use_id] = make()

    def named(self, path: str) -> str:
        """Return a path in the form for hooks: absolute, with its links."""
        return os.path.normpath(self.cwd / path)

    def show(self, image: Image) -> None:
        """Show an image to the model after the text of this call's result; an error result shows none."""
        self.workspace.images.setdefault(self.tool_use_id, []).append(image)

    def tell_end(self, task: BackgroundTask) -> None:
        """Mark a task's end as reported by the result of this call: no notice follows, even after a restart."""
        task.mark_notified()
        self.workspace.told.setdefault(self.tool_use_id, {})[task.notice_id] = str(task.state)

    def end_turn(self) -> None:
        """End the agent's turn with this call: the model is not asked again, unless a call beside it fails.

        What was sent to the agent meanwhile begins its next turn.
        """
        self.workspace.ending.add(self.tool_use_id)

    def progress(self, text: str) -> None:
        """Show `text` as what the call is doing now; from the Trio thread only."""
        self._progress(text)

    def keeping(self, path: Path, before: bytes | None, mode: int, after: bytes) -> AbstractContextManager[None]:
        """Record a file as it is now, so that it can be restored; the block writes it. For tools that write files of the user's.

        It goes inside of what `blocking` runs, and never fails: the change is made whether it can be taken back or not.

        Args:
            path: As `resolve` has returned it.
            before: What the file holds; None where there is none.
            mode: Its permission bits; 0 where there is none.
            after: What it is going to hold.
        """
        if self._changes is None:
            return nullcontext()
        root = next((root_folder for root_folder in self.real_roots if path.is_relative_to(root_folder)), path.parent)
        return self._changes.keeping(FileChange(path=path, root=root, before=before, mode=mode, after=after))

    async def blocking(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking function and return its result.

        Cancellation waits for the function to end: do long work in several calls.
        """
        return await self._blocking.run(function, *args, **kwargs)

    @property
    def processes(self) -> Processes:
        """The port through which processes are started, for tools that wait for more than one end.

        Raises:
            ToolError: This session starts none.
        """
        if self._processes is None:
            raise ToolError("this session starts no programs")
        if self._sandbox is not None:
            return SandboxedProcesses(self._processes, self._sandbox, self.real_roots, self._blocking)
        return self._processes

    @property
    def may_leave(self) -> bool:
        """True if the call may leave tasks running in the background."""
        return self._background is not None and self._background.is_on

    @property
    def background(self) -> Background:
        """The table of what may outlive a call.

        Raises:
            ToolError: This session has none.
        """
        if self._background is None:
            raise ToolError("this session has no background tasks")
        return self._background

    async def ask_user(self, request: QuestionRequest) -> QuestionAnswers:
        """Put questions before the person, and return what they answered. Cancelled, it takes the questions back.

        Raises:
            ToolError: There is nobody to ask.
        """
        if self._ask_user is None:
            raise ToolError("there is nobody to ask in this session; decide, and say what was decided and why")
        return await self._ask_user(request)

    @property
    def variables(self) -> Mapping[str, str]:
        """Variables for programs of the agent, besides those of the session: `CLAUDE_EFFORT`, if it is set."""
        return self._variables()

    async def run_process(
        self,
        command: Sequence[str],
        *,
        timeout_s: float,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ProcessResult:
        """Run a program to its end and return what it printed: output and errors in one, in order.

        It has no input, and a process group of its own. That group is ended, whole, when the program ends, when the time is
        up, and when the call is cancelled, before that takes effect; it takes a grace of some seconds at most.

        Args:
            command: The program and its arguments; no shell comes between.
            timeout_s: Seconds until it is ended.
            cwd: An absolute folder; without it, the agent's own.
            env: Variables beside `variables` and those of this program; they go before both.

        Raises:
            ToolError: It cannot be started, or printed too much and was ended.
        """
        where = self.real_cwd if cwd is None else cwd
        given = {**self.variables, **(env or {})}
        return await run_process(self.processes, self._blocking, command, cwd=where, timeout_s=timeout_s, env=given)


@final
@attrs.frozen
class SandboxedProcesses:
    """Starts processes as another port does, each in the sandbox."""

    _processes: Processes
    _sandbox: Sandbox
    _roots: tuple[Path, ...]
    _blocking: Blocking

    def new_output(self, letter: str = "b") -> Path:
        """Return a name for a file of output that no other one has."""
        return self._processes.new_output(letter)

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        output: Path,
        env: Mapping[str, str] | None = None,
        errors: Path | None = None,
    ) -> ProcessEnd:
        """Run a program to its end; see `Processes.run`.

        Raises:
            ToolError: No sandbox is available, the program cannot be started, or it printed too much.
        """
        why = await self._blocking.run(self._sandbox.why_not)
        if why:
            raise ToolError(f"the command was not run: it needs the sandbox, and {why}")
        # Where the shell notes the folder in which it ended; it lies in the run folder.
        files = [path for path in (output.with_suffix(".cwd"),) if path.is_file()]
        wrapped = self._sandbox.command(command, cwd=cwd, roots=self._roots, files=files)
        return await self._processes.run(wrapped, cwd=cwd, output=output, env=env, errors=errors)
