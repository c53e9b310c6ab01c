"""Rendering of skills: the text for the model.

Rule 1: arguments are data. The shell gets them as positions, never as text of a command, and a command is allowed only
if it is allowed with the arguments substituted, both plainly and quoted. Rule 2: all commands are checked before the
first one runs. Rule 3: a failing command ends the rendering, and nothing of the skill is shown. Rule 4: outputs are not
scanned again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, final

import attrs

from greenroom.core import PeerError
from greenroom.core.sources import Scope
from greenroom.core.texts import escape_text, wrap
from greenroom.skills._render_ports import FileReader, MayRun, ShellCommand, ShellRunner
from greenroom.skills._skill import Skill
from greenroom.skills._skill_arguments import APPENDED, Arguments, replace_both, substitute, takes_all
from greenroom.skills._template import Reference, Shell, Words, parse_template

SHELL_TIMEOUT_S: Final = 120.0
OUTPUT_CHARACTERS: Final = 30_000
REFERENCE_BYTES: Final = 64_000
REFERENCES: Final = 20
RENDERED_CHARACTERS: Final = 400_000
_MAY_END_WITH_1: Final = frozenset({"grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "find", "which"})
_GIT_MAY_END_WITH_1: Final = frozenset({"diff", "grep"})
_ENDS: Final = frozenset({"|", "||", "&&", ";", "&", "|&"})


@final
class SkillFailed(PeerError):
    """A skill could not be rendered; the model sees nothing of it.

    Attributes:
        skill: Its name.
        pattern: The command of the skill that was refused or failed; empty for other reasons.
    """

    def __init__(self, skill: str, why: str, *, pattern: str = "") -> None:
        super().__init__(why)
        self.skill = skill
        self.pattern = pattern


@final
@attrs.frozen(kw_only=True)
class RenderPorts:
    """The ports of rendering; missing ones are refused."""

    cwd: Path
    project: Path
    is_trusted: bool = False
    """True if the user trusts the project; else the permissions and hooks of its own skills are ignored."""
    session: str = ""
    effort: str = ""
    plugin_data: Path | None = None
    """Folder of the plugins' data, one folder per plugin name."""
    make_folder: Callable[[Path], Awaitable[object]] | None = None
    """Creates a plugin's data folder if its skill refers to it."""
    may_run: MayRun | None = None
    shell: ShellRunner | None = None
    files: FileReader | None = None
    timeout_s: float = SHELL_TIMEOUT_S


@final
@attrs.frozen(kw_only=True, hash=False)
class Rendered:
    """A rendered skill."""

    skill: Skill
    arguments: str
    text: str
    """One message for the model."""
    allowed_tools: tuple[str, ...] = ()
    """The skill's, with folders substituted; none for an untrusted project's."""
    hooks: Mapping[str, Any] = attrs.field(factory=dict)
    """The skill's; none for an untrusted project's."""


async def render_skill(skill: Skill, arguments: str, ports: RenderPorts) -> Rendered:
    """Return a skill's text for the model.

    If cancelled, it ends the running command.

    Args:
        skill: The skill.
        arguments: The text typed behind its name.
        ports: The ports.

    Raises:
        SkillFailed: A command is not allowed or failed, or the text is too long.
    """
    given = Arguments(arguments, skill.arguments)
    variables = _variables(skill, ports)
    is_trusted = ports.is_trusted or skill.scope is not Scope.PROJECT
    rules = skill.allowed_tools if is_trusted else ()
    allowed = tuple(substitute(rule, Arguments(), variables) for rule in rules)
    if (
        skill.plugin
        and "_PLUGIN_DATA}" in skill.body
        and ports.plugin_data is not None
        and ports.make_folder is not None
    ):
        await ports.make_folder(ports.plugin_data / skill.plugin)
    pieces = parse_template(skill.body)
    for piece in pieces:
        if isinstance(piece, Shell):
            await _check(skill, piece, given, variables, allowed, ports)
    made: list[str] = []
    shown: dict[str, str] = {}
    for piece in pieces:
        match piece:
            case Words():
                made.append(substitute(piece.text, given, variables))
            case Shell():
                made.append(await _run(skill, piece, given, variables, ports))
            case Reference():
                made.append(piece.text)
                await _refer(piece.path, shown, ports)
    body = "".join(made)
    if arguments.strip() and not takes_all(skill.body, given):
        body = f"{body}\n\n{APPENDED}{arguments}"
    body += "".join(f"\n\n{wrap('file', escape_text(text, ('file',)), {'path': path})}" for path, text in shown.items())
    if len(body) > RENDERED_CHARACTERS:
        raise SkillFailed(
            skill.name,
            f"the skill {skill.name!r} must have at most {RENDERED_CHARACTERS:,} characters, got {len(body):,}",
        )
    head = "" if skill.is_command else f"Base directory for this skill: {skill.folder}\n\n"
    hooks = skill.hooks if is_trusted else {}
    return Rendered(skill=skill, arguments=arguments, text=f"{head}{body}", allowed_tools=allowed, hooks=hooks)


def _variables(skill: Skill, ports: RenderPorts) -> dict[str, str]:
    values = {
        "SESSION_ID": ports.session,
        "EFFORT": str(skill.effort or ports.effort),
        "SKILL_DIR": str(skill.folder),
        "PROJECT_DIR": str(ports.project),
    }
    if skill.scope is Scope.PLUGIN:
        parents = skill.path.parents
        root = next((parent.parent for parent in parents if parent.name in {"skills", "commands"}), skill.folder)
        values["PLUGIN_ROOT"] = str(skill.plugin_root or root)
        if ports.plugin_data is not None:
            values["PLUGIN_DATA"] = str(ports.plugin_data / skill.plugin)
    return {f"{prefix}_{key}": value for key, value in values.items() for prefix in ("CLAUDE", "GREENROOM")}


# --- commands ---------------------------------------------------------------------------------------------------------


async def _check(
    skill: Skill,
    piece: Shell,
    given: Arguments,
    variables: Mapping[str, str],
    allowed: tuple[str, ...],
    ports: RenderPorts,
) -> None:
    why = ""
    if ports.may_run is None or ports.shell is None:
        why = "this session does not run commands of skills"
    elif given.placeholder.search(piece.command) is not None:
        if skill.shell != "bash":
            why = "arguments can be passed to commands in bash only"
        elif any(character in given.typed for character in "\n\r\0"):
            why = "an argument with a line end cannot be passed to a command"
    if not why:
        assert ports.may_run is not None
        # Plainly, an argument can only add to the effect of the line; quoted, it hides nothing behind a comment.
        plain = substitute(piece.command, given, variables)
        quoted = _quoted(piece.command, given, variables)
        for line in dict.fromkeys([plain, quoted]):
            if not await ports.may_run(line, allowed):
                why = f"{line!r} is not allowed; allow it in the settings, or in the skill's allowed-tools"
                break
    if why:
        text = f'Shell command permission check failed for pattern "{piece.text}": {why}'
        raise SkillFailed(skill.name, text, pattern=piece.text)


def _quoted(command: str, given: Arguments, variables: Mapping[str, str]) -> str:
    def quote(found: re.Match[str]) -> str:
        value = given.value(found)
        return found[0] if found["kept"] or value is None else shlex.quote(value)

    return replace_both(command, given.placeholder, quote, variables)


async def _run(skill: Skill, piece: Shell, given: Arguments, variables: Mapping[str, str], ports: RenderPorts) -> str:
    assert ports.shell is not None
    outcome = await ports.shell.run(
        ShellCommand(
            text=_for_shell(piece.command, given),
            arguments=(*given.words, *[""] * (_all_at(given) - len(given.words)), given.typed),
            environ=variables,
            shell=skill.shell,
            cwd=ports.cwd,
            timeout_s=ports.timeout_s,
        )
    )
    output = outcome.output.rstrip("\n")
    is_fine = outcome.exit_code == 0 or (outcome.exit_code == 1 and may_end_with_1(piece.command))
    if outcome.timed_out or not is_fine:
        why = f"no end within {ports.timeout_s:g} s" if outcome.timed_out else f"exit code {outcome.exit_code}"
        text = f'Shell command failed for pattern "{piece.text}": {why}\n{_cut(output)}'.rstrip()
        raise SkillFailed(skill.name, text, pattern=piece.text)
    return _cut(output)


def _for_shell(command: str, given: Arguments) -> str:
    """Return a command with the shell's own positions as placeholders; the whole typed text is the last one."""

    def position_of(found: re.Match[str]) -> str:
        if found["kept"] or (found["n"] is not None and len(found["n"]) == 1):
            return found[0]  # `$0` to `$9` are the shell's already, and `awk '{print $1}'` stays whole
        if found["all"]:
            return f"${{{_all_at(given)}}}"
        name = found.groupdict().get("name")
        position = given.names.index(name) if name else int(found["at"] or found["n"])
        return f"${{{position}}}" if position < len(given.words) else ""

    return given.placeholder.sub(position_of, command)


def _all_at(given: Arguments) -> int:
    """Return the shell's position of the whole typed text: after those that `$0` to `$9` can refer to."""
    return max(len(given.words), 10)


def may_end_with_1(command: str) -> bool:
    """Return True if exit code 1 is a result of the command rather than a failure: if it searches or compares."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;")
        lexer.whitespace_split = True
        tokens = list(lexer)
    except ValueError:
        return False
    ends = [at for at, token in enumerate(tokens) if token in _ENDS]
    last = tokens[ends[-1] + 1 :] if ends else tokens
    name = Path(last[0]).name if last else ""
    return name in _MAY_END_WITH_1 or (name == "git" and len(last) > 1 and last[1] in _GIT_MAY_END_WITH_1)


def _cut(output: str) -> str:
    if len(output) <= OUTPUT_CHARACTERS:
        return output
    return f"{output[:OUTPUT_CHARACTERS]}\n... ({len(output) - OUTPUT_CHARACTERS:,} more characters)"


async def _refer(path: str, shown: dict[str, str], ports: RenderPorts) -> None:
    if ports.files is None or path in shown or len(shown) >= REFERENCES:
        return
    content = await ports.files.read(path, REFERENCE_BYTES)
    if content is not None:
        shown[path] = content
