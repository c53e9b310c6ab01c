"""The table of commands in chats: names, rights, methods of the same effect, and plans.

    plan_command(state, "/subagents stop 2") -> StopRuns(("3f2a...",))

Rule 1: each plan is a pure function from a state and words to one step. Rule 2: the rights are those of the decision about messages; here
they are looked up again, so that no other way in has more.
Must not know: clock, sessions, disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, final, get_args

import attrs

from greenroom.gateway.announce._queue_plan import QueueMode
from greenroom.gateway.announce._quotes import one_line
from greenroom.gateway.commands import _command_texts as texts
from greenroom.gateway.commands import _subagent_texts as subagents
from greenroom.gateway.commands._chat_state import (
    AnswerQuestion,
    ChangePairing,
    ChatState,
    CommandStep,
    CompactChat,
    PatchChat,
    PlainAnswer,
    ReadLog,
    ResetChat,
    SendToRun,
    StopChat,
    StopRuns,
)
from greenroom.gateway.config._values import Thinking
from greenroom.gateway.trust._approval_desk import APPROVAL_WORDS
from greenroom.gateway.trust._chat_admission import COMMANDS, command_name

PlanCommand: TypeAlias = Callable[[ChatState, str], CommandStep]
"""Returns the step of a command; called with the state and the words behind its name."""
DEFAULT: Final = "default"
"""The word that takes a setting of the session away."""
MAX_SENT: Final = 100_000
"""Characters of a message to a sub-agent."""


@final
@attrs.frozen(kw_only=True)
class ChatCommand:
    """A command."""

    name: str
    usage: str = ""
    """The words behind its name."""
    summary: str
    methods: Mapping[str, str] = attrs.field(factory=dict)
    """The methods for clients that do the same, with the scope that each needs."""
    plan: PlanCommand

    @property
    def line(self) -> str:
        """Its line in `/help`."""
        return f"/{self.name}{' ' if self.usage else ''}{self.usage}: {self.summary}"


def plan_command(state: ChatState, text: str) -> CommandStep:
    """Return the step of a command; an unknown one, or one that its caller may not give, changes nothing and is not answered."""
    name = command_name(text)
    command = TABLE.get(name)
    if command is None or state.caller.kind not in COMMANDS[name]:
        return PlainAnswer("")
    return command.plan(state, text.lstrip()[len(name) + 1 :].strip())


# --- the session ------------------------------------------------------------------------------------------------------


def _help(state: ChatState, _: str) -> CommandStep:
    mine = [command for name, command in TABLE.items() if state.caller.kind in COMMANDS[name]]
    return PlainAnswer("\n".join(command.line for command in mine))


def _stop(state: ChatState, _: str) -> CommandStep:
    """End the turn and the sub-agents; for a person who may write, a turn that nobody else has begun."""
    if state.caller.kind.is_user:
        return StopChat(with_children=True)
    if state.is_busy and state.turn_senders == {state.caller.who}:
        return StopChat(with_children=False)
    return PlainAnswer("Nothing of yours is running.")


def _model(state: ChatState, words: str) -> CommandStep:
    if not words:
        known = f"\nKnown: {', '.join(state.models)}" if state.models else ""
        return PlainAnswer(f"Model: {state.facts.model or 'that of the agent'}{known}")
    if len(words.split()) != 1 or len(words) > 200:
        return PlainAnswer("Usage: /model [name|default]")
    said = "Model: that of the agent." if words == DEFAULT else f"Model from the next turn on: {one_line(words, 200)}"
    return PatchChat(settings={"model": None if words == DEFAULT else words}, said=said)


def _think(state: ChatState, words: str) -> CommandStep:
    levels = (*get_args(Thinking), DEFAULT)
    level = words.lower()
    if not words:
        return PlainAnswer(f"Thinking: {state.facts.thinking or 'as the agent'}. Levels: {', '.join(levels)}")
    if level not in levels:
        return PlainAnswer(f"Unknown level {one_line(words, 40)!r}; expected one of: {', '.join(levels)}")
    return PatchChat(
        settings={"thinking": None if level == DEFAULT else level}, said=f"Thinking from the next turn on: {level}"
    )


def _queue(state: ChatState, words: str) -> CommandStep:
    modes = (*(mode.value for mode in QueueMode), DEFAULT)
    usage = f"Usage: /queue [{'|'.join(modes)}]"
    mode, *more = words.lower().split() or [""]
    if not mode:
        return PlainAnswer(f"Queue: {state.facts.queue or 'as configured'}, {state.facts.waiting} waiting. {usage}")
    if mode not in modes or more:
        return PlainAnswer(usage)
    return PatchChat(settings={"queue": None if mode == DEFAULT else mode}, said=f"Queue from now on: {mode}")


# --- people -----------------------------------------------------------------------------------------------------------


def _approve(state: ChatState, words: str) -> CommandStep:
    match words.split():
        case []:
            return PlainAnswer(texts.questions_text(state.questions))
        case [id_, answer] if answer.lower() in APPROVAL_WORDS:
            return AnswerQuestion(id_, next(word for word in APPROVAL_WORDS if word == answer.lower()))
    return PlainAnswer(f"Usage: /approve ID {'|'.join(APPROVAL_WORDS)}")


def _pair(state: ChatState, words: str) -> CommandStep:
    match words.split():
        case [] | ["list"]:
            return PlainAnswer(texts.pairings_text(state))
        case ["approve" | "reject" as verb, *code] if code:
            return ChangePairing(verb=verb, code="".join(code))
        case ["remove", person] if ":" in person:
            channel, _, sender = person.partition(":")
            return ChangePairing(verb="remove", channel=channel, sender=sender)
        case [code] if code not in {"approve", "reject", "remove"}:
            return ChangePairing(verb="approve", code=code)
    return PlainAnswer("Usage: /pair [CODE | reject CODE | remove channel:id]")


# --- sub-agents -------------------------------------------------------------------------------------------------------

_USAGE: Final = """Usage:
/subagents list
/subagents stop <id|#|all>
/subagents log <id|#> [limit] [tools]
/subagents info <id|#>
/subagents send <id|#> <message>
An id is the beginning of a run id, a session key, or `last`; # is a number from the list."""


def _subagents(state: ChatState, words: str) -> CommandStep:
    """Look at, stop, or write to sub-agents of this session."""
    verb, rest = _split(words or "list")
    plan = _VERBS.get(verb.lower())
    return PlainAnswer(_USAGE) if plan is None else plan(state, rest)


def _info(state: ChatState, words: str) -> CommandStep:
    run = subagents.find_run(state.runs, words)
    if isinstance(run, subagents.NoTarget):
        return PlainAnswer(run.text)
    row = state.registry.sessions.get(run.session)
    path = state.transcript_of(run.session)
    completion = state.registry.completions.get(run.id)
    result = completion.delivery.text if completion is not None else ""
    return PlainAnswer(subagents.info_text(run, row, transcript=path, now_s=state.now_s, result=result))


def _stop_runs(state: ChatState, words: str) -> CommandStep:
    if words.lower() in {"all", "*"}:
        return StopRuns(tuple(run.id for run in state.runs if not run.is_ended))
    run = subagents.find_run(state.runs, words)
    if isinstance(run, subagents.NoTarget):
        return PlainAnswer(run.text)
    if run.is_ended:
        return PlainAnswer(f"Already ended: {subagents.shown_name_of(run)} ({subagents.status_word(run)})")
    return StopRuns((run.id,))


def _log(state: ChatState, words: str) -> CommandStep:
    target, *more = words.split() or [""]
    with_tools = "tools" in map(str.lower, more)
    numbers = [each for each in more if each.lower() != "tools"]
    if len(numbers) > 1 or not all(each.isascii() and each.removeprefix("-").isdigit() for each in numbers):
        return PlainAnswer(_USAGE)
    run = subagents.find_run(state.runs, target)
    if isinstance(run, subagents.NoTarget):
        return PlainAnswer(run.text)
    limit = subagents.log_limit(int(numbers[0][:9]) if numbers else None)
    return ReadLog(session=run.session, limit=limit, with_tools=with_tools)


def _send(state: ChatState, words: str) -> CommandStep:
    target, text = _split(words)
    run = subagents.find_run(state.runs, target)
    if isinstance(run, subagents.NoTarget):
        return PlainAnswer(run.text)
    if not text.strip():
        return PlainAnswer("Missing message: /subagents send <id|#> <message>")
    if len(text) > MAX_SENT:
        return PlainAnswer(f"The message has {len(text)} characters; {MAX_SENT} are allowed.")
    return SendToRun(run=run.id, session=run.session, text=text)


def _split(words: str) -> tuple[str, str]:
    """Return the first word, and what is behind it as it was written."""
    first, *rest = words.split(maxsplit=1) or [""]
    return first, rest[0] if rest else ""


_VERBS: Final[Mapping[str, PlanCommand]] = {
    "list": lambda state, _: PlainAnswer(subagents.list_text(state.runs, state.now_s)),
    "stop": _stop_runs,
    "log": _log,
    "info": _info,
    "send": _send,
}
TABLE: Final[Mapping[str, ChatCommand]] = {
    command.name: command
    for command in (
        ChatCommand(name="help", summary="this list", plan=_help),
        ChatCommand(
            name="status",
            summary="model, tokens, cost, queue, lane and sub-agents",
            plan=lambda state, _: PlainAnswer(texts.status_text(state)),
        ),
        ChatCommand(
            name="stop",
            summary="end the turn and its sub-agents",
            methods={"chat.abort": "write", "subagents.stop": "write"},
            plan=_stop,
        ),
        ChatCommand(
            name="new",
            summary="begin a new conversation",
            methods={"sessions.reset": "write"},
            plan=lambda _, __: ResetChat(),
        ),
        ChatCommand(
            name="reset",
            summary="begin a new conversation, too",
            methods={"sessions.reset": "write"},
            plan=lambda _, __: ResetChat(),
        ),
        ChatCommand(
            name="model",
            usage="[name|default]",
            summary="show or set the model",
            methods={"sessions.patch": "write"},
            plan=_model,
        ),
        ChatCommand(
            name="think",
            usage="[level|default]",
            summary="show or set how much the model thinks",
            methods={"sessions.patch": "write"},
            plan=_think,
        ),
        ChatCommand(
            name="queue",
            usage="[mode|default]",
            summary="show or set what happens to messages during a turn",
            methods={"sessions.patch": "write"},
            plan=_queue,
        ),
        ChatCommand(
            name="subagents",
            usage="[list|stop|log|info|send ...]",
            summary="sub-agents of this session",
            methods={
                "subagents.list": "read",
                "subagents.info": "read",
                "subagents.log": "read",
                "subagents.send": "write",
                "subagents.stop": "write",
            },
            plan=_subagents,
        ),
        ChatCommand(
            name="sessions",
            summary="the newest sessions",
            methods={"sessions.list": "read"},
            plan=lambda state, _: PlainAnswer(texts.sessions_text(state)),
        ),
        ChatCommand(
            name="approve",
            usage="[id once|always|deny]",
            summary="questions about tool calls",
            methods={"approvals.list": "read", "approvals.resolve": "approve"},
            plan=_approve,
        ),
        ChatCommand(
            name="pair",
            usage="[code | reject code | remove channel:id]",
            summary="people who may write to the agent",
            methods={
                "pairing.list": "admin",
                "pairing.approve": "admin",
                "pairing.reject": "admin",
                "pairing.remove": "admin",
            },
            plan=_pair,
        ),
        ChatCommand(name="compact", summary="compact the conversation", plan=lambda _, __: CompactChat()),
        ChatCommand(
            name="whoami",
            summary="your id, and what you may do",
            plan=lambda state, _: PlainAnswer(texts.whoami_text(state)),
        ),
    )
}
"""The commands by name."""
