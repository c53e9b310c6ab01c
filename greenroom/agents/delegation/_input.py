"""The tool Agent: reading its calls, its schema for models, and its description.

There is one input with all fields; gates only take fields out of what the model sees, so a call that names a withheld
field is read all the same. The same gates give the same bytes, so that prompts stay cached.
What a call cannot choose (tools, hooks, skills, servers) is refused, never dropped: a child would do more than was
asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from greenroom.models.choice import FAMILIES
from greenroom.permissions import Mode
from greenroom.tools import InvalidInput, Problem, validate

TOOL_NAME: Final = "Agent"
WORKTREE: Final = "worktree"
REMOTE: Final = "remote"
_LABEL_WORDS: Final = 5
_LABEL_CHARACTERS: Final = 60
_MODES: Final = (*(mode.value for mode in Mode if mode is not Mode.BUBBLE), "manual")
_NAME: Final = re.compile(r"[^\W_][\w .-]{0,63}")
_ADDRESSES: Final = frozenset({"main", "team-lead"})
"""Names that mean somebody already; `*` and what has a `:` or `@` in it are no names at all."""
_REQUIRED: Final = ("description", "prompt")
_TEXT: Final = {"type": "string"}
_FIELDS: Final[Mapping[str, Any]] = {
    "description": _TEXT,
    "prompt": _TEXT,
    "subagent_type": _TEXT,
    "model": _TEXT,
    "run_in_background": {"type": "boolean"},
    "name": _TEXT,
    "team_name": _TEXT,
    "mode": {"type": "string", "enum": list(_MODES)},
    "isolation": {"type": "string", "enum": [WORKTREE, REMOTE]},
    "cwd": _TEXT,
}
_EVERYTHING: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": _FIELDS,
    "required": ["prompt"],
    "additionalProperties": False,
}
_DEFINED: Final = "no such argument: only the definition of an agent says this; leave it out, or choose another type"
_ABOUT: Final = (
    "Start an agent: it gets a task, works on it in a context of its own, and ends with a report. Only the report comes back, "
    "to you and not to the user; tell the user what matters in it."
)
_WHEN: Final = (
    "Do not start one for what a call or two of your other tools would do. Several agents for independent work are started "
    "side by side, by several calls in one message."
)
_NOT_HERE: Final = {
    **dict.fromkeys(("tools", "disallowedTools", "hooks", "skills", "mcpServers", "permissionMode"), _DEFINED),
    "resume": "no such argument: an agent is continued with SendMessage to its id or its name",
}


@final
@attrs.frozen(kw_only=True)
class AgentCall:
    """One call of the tool; None stands for what was not given."""

    description: str
    """A label of a few words, on one line."""
    prompt: str
    """The prompt of the child, as it was written."""
    subagent_type: str | None = None
    model: str | None = None
    run_in_background: bool | None = None
    name: str | None = None
    team_name: str | None = None
    mode: str | None = None
    isolation: str | None = None
    """`worktree` or `remote`."""
    cwd: str | None = None


@final
@attrs.frozen(kw_only=True)
class Gates:
    """The parts of the tool that a session lets a model see."""

    has_background: bool = True
    """True if tasks may run in the background at all."""
    background_by_default: bool = False
    """True if a child runs in the background unless the call says otherwise; for the words only."""
    is_fork_open: bool = False
    """True if this agent may fork; then every spawn runs in the background."""
    forks_by_name: bool = False
    """True if a fork is asked for as `fork`, and not by leaving the type out; for the words only."""
    is_coordinator: bool = False
    """True if workers are all that is started, in the background and with the models that they have."""
    has_remote: bool = False
    """True if a remote host is configured."""
    has_cwd: bool = False
    """True if a call may choose the folder."""
    has_teams: bool = False
    """True if a name makes a teammate."""


def agent_schema(gates: Gates) -> Mapping[str, Any]:
    """Return the JSON schema of what the model sees: the base fields, then the extended ones that the gates leave."""
    shown = {name: said for name, said in _descriptions(gates).items() if said}
    properties = {name: {**_FIELDS[name], "description": said} for name, said in shown.items()}
    if "model" in properties:
        properties["model"]["enum"] = list(FAMILIES)
    properties["isolation"]["enum"] = [WORKTREE, REMOTE] if gates.has_remote else [WORKTREE]
    return {
        "type": "object",
        "properties": properties,
        "required": list(_REQUIRED),
        "additionalProperties": False,
    }


def read_call(values: Mapping[str, Any]) -> AgentCall:
    """Return what a model's input says.

    Withheld fields are read, null and blank text mean that a field is not given, and a missing description is the start
    of the prompt.

    Raises:
        InvalidInput: Something does not fit; every problem is named.
    """
    if isinstance(values, Mapping):
        values = {name: value for name, value in values.items() if not _is_blank(name, value)}
    problems = [_explained(problem) for problem in validate(_EVERYTHING, values)]
    if not problems:
        problems = _problems_of(values)
    if problems:
        raise InvalidInput(TOOL_NAME, tuple(problems))
    given = {name: _plain(name, value) for name, value in values.items()}
    return AgentCall(**{"description": _label(given["prompt"]), **given})


def agent_tool_description(listing: str, gates: Gates) -> str:
    """Return what the model reads about the tool.

    Args:
        listing: The agents that it may start, as `agent_listing` makes it; empty where there are none.
        gates: What the session lets it see.
    """
    paths = [
        "- Work for an expert role, with a context and tools of its own: an agent of that type.",
        '- Changes to files that must not touch this checkout: an agent with `isolation: "worktree"`.',
    ]
    if not gates.is_coordinator:
        paths.append("- One skill run by itself: not this tool but Skill.")
    if gates.has_background:
        paths.insert(1, "- Long work (a build, a test suite) while you go on: an agent in the background.")
    if gates.is_fork_open and not gates.is_coordinator:
        paths.insert(2, "- Several workers that need all that you know: forks. Not for a lasting expert role.")
    parts = [
        _ABOUT,
        _WHEN,
        "Which way:\n" + "\n".join(paths),
        _on_prompts(gates),
        _on_waiting(gates),
        _on_names(gates),
        f"Agents:\n{listing}" if listing else "There are no agents now.",
    ]
    return "\n\n".join(parts)


# --- what the model is told -------------------------------------------------------------------------------------------


def _descriptions(gates: Gates) -> dict[str, str]:
    forks = gates.is_fork_open and not gates.is_coordinator
    usual = "worker" if gates.is_coordinator else "general-purpose"
    left_out = "you fork" if forks and not gates.forks_by_name else usual
    by_name = "; `fork` for a fork of you" if forks and gates.forks_by_name else ""
    waits = not (gates.background_by_default or gates.is_coordinator)
    remote = "`remote` for a remote host; " if gates.has_remote else ""
    team = " In a team it makes the agent a teammate." if gates.has_teams else ""
    return {
        "description": "What the agent does, in 3 to 5 words; for lists and notices, the agent does not read it.",
        "prompt": (
            "The task, complete and understandable by itself: the agent knows nothing of this conversation."
            f"{' To a fork: what to do.' if forks else ''}"
        ),
        "subagent_type": f"The type of agent, from the list{by_name}. Left out: {left_out}.",
        "model": (
            ""
            if gates.is_coordinator
            else f"A model for this agent; its type's or yours if left out.{' A fork keeps yours.' if forks else ''}"
        ),
        "run_in_background": (
            ""
            if not gates.has_background or gates.is_fork_open
            else f"Whether to go on at once and be told when the agent ends. Left out: {'no' if waits else 'yes'}."
        ),
        "name": f"A name to reach the agent by, with SendMessage.{team}",
        "team_name": "The team that the teammate joins; yours if left out." if gates.has_teams else "",
        "mode": "`plan` has a teammate get its plan approved first; nothing else has an effect."
        if gates.has_teams
        else "",
        "isolation": f"`worktree` for a checkout of its own; {remote}left out: where its type says, or where you work.",
        "cwd": "The folder to work in; not together with a worktree." if gates.has_cwd else "",
    }


def _on_prompts(gates: Gates) -> str:
    text = (
        "The prompt has to be complete and understandable by itself: what is wanted and why, what you know already, which "
        "files matter, what done means, and what the report should hold."
    )
    if not gates.is_fork_open or gates.is_coordinator:
        return text
    how = 'by `subagent_type: "fork"`' if gates.forks_by_name else "by leaving `subagent_type` out"
    return (
        f"{text} A fork is the exception: it has this whole conversation, so its prompt is a directive of what to do, not a "
        f"briefing. You fork {how}. A fork keeps your model and your tools, and does not fork again."
    )


def _on_waiting(gates: Gates) -> str:
    if not gates.has_background:
        return "You wait for the agent: its report is the result of the call."
    if gates.is_fork_open or gates.is_coordinator:
        begin = (
            "Every agent runs in the background: the call returns at once, and a notice tells you when it has ended."
        )
    elif gates.background_by_default:
        begin = (
            "An agent runs in the background: the call returns at once, and a notice tells you when it has ended. Where its "
            "answer is needed before anything else can be done, set `run_in_background: false` and wait for it."
        )
    else:
        begin = (
            "You wait for an agent whose answer is needed before anything else can be done: its report is the result of the "
            "call. With `run_in_background: true` the call returns at once, and a notice tells you when it has ended."
        )
    return (
        f"{begin} Until the notice is there you do not know what the agent found: report nothing of it, guess nothing, and do "
        "not do the same work yourself; on being asked, say that it is still running. Meanwhile you can send it a message "
        "(SendMessage), read its output file if you can read files, or stop it (TaskStop)."
    )


def _on_names(gates: Gates) -> str:
    text = (
        "An agent whose result tells its id can be continued: SendMessage to the id, or to its name if you gave it one."
    )
    if gates.has_teams:
        text += " In a team a name makes it a teammate: it stays, and works with you by messages and the list of tasks."
    return text


# --- reading ----------------------------------------------------------------------------------------------------------


def _is_blank(name: Any, value: Any) -> bool:
    return value is None or (name != "prompt" and isinstance(value, str) and not value.strip())


def _plain(name: str, value: Any) -> Any:
    if name == "prompt" or not isinstance(value, str):
        return value
    return " ".join(value.split()) if name == "description" else value.strip()


def _explained(problem: Problem) -> Problem:
    return attrs.evolve(problem, expected=_NOT_HERE.get(problem.path, problem.expected))


def _problems_of(values: Mapping[str, Any]) -> list[Problem]:
    problems = []
    if not values["prompt"].strip():
        problems.append(Problem("prompt", "nothing", "the task in words; the agent knows nothing else"))
    name = values.get("name", "agent").strip()
    if not _NAME.fullmatch(name):
        words = "at most 64 letters, digits, spaces, '.', '_' and '-', with a letter or digit first"
        problems.append(Problem("name", repr(name[:80]), words))
    elif name.lower() in _ADDRESSES:
        problems.append(Problem("name", repr(name), "a name that is not taken: this one means another agent already"))
    if values.get("isolation") == WORKTREE and "cwd" in values:
        either = "either a folder or a worktree: leave out `cwd`, or `isolation`"
        problems.append(Problem("cwd", "both", either))
    return problems


def _label(prompt: str) -> str:
    words = prompt.split()
    label = " ".join(words[:_LABEL_WORDS])
    if len(label) > _LABEL_CHARACTERS:
        return f"{label[: _LABEL_CHARACTERS - 1]}…"
    return f"{label}…" if len(words) > _LABEL_WORDS else label
