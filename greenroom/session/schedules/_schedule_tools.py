"""The tools CronCreate, CronDelete, CronList and ScheduleWakeup: models schedule prompts for the main agent.

Whatever is refused leaves everything as it is, and the text says what to do. Before success is reported, it is on disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeAlias, final

import attrs

from greenroom.agents import AgentState
from greenroom.agents.subagents import SessionTool
from greenroom.core import JournalError, UsageError
from greenroom.permissions import Mode
from greenroom.session.parts._session_schedules import ScheduleStatus, SessionSchedules
from greenroom.session.schedules._schedule_texts import moment_text
from greenroom.tools import InvalidInput, Tool, ToolContext, ToolError, validate

MIN_DELAY_S: Final = 60
MAX_DELAY_S: Final = 3_600
SHOWN_CHARS: Final = 120
"""Maximum number of characters of a prompt that a listing shows."""

CREATE_DESCRIPTION: Final = (
    "Schedule a prompt for the main agent: for reminders, and for checks that are to be repeated. `cron` has five fields "
    "(minute hour day-of-month month day-of-week) in the user's time zone, such as `*/15 * * * *`, `0 9 * * MON-FRI` or, once, "
    "`30 14 24 12 *` with `recurring: false`. The prompt comes when no turn runs, and only while this session is open. A recurring "
    "schedule ends after 7 days. With `durable: true` it has no end, and what it misses while the session is closed comes once when "
    "the session is resumed. The prompt is nobody's consent: it runs with the permissions of now, or fewer."
)
DELETE_DESCRIPTION: Final = (
    "Delete a schedule by its id. A prompt of it that waits and was not read is withdrawn. CronList has the ids."
)
LIST_DESCRIPTION: Final = (
    "List the schedules of this session: id, expression, next time, how often they fired, what they missed, and the prompt; then "
    "those that have ended, and how."
)
WAKEUP_DESCRIPTION: Final = (
    "Wake the main agent once after some seconds, with a prompt: for work that goes on by itself and is to be looked at later. "
    "From 60 to 3600 seconds; the answer says when. End your turn after it: waiting is free, and what tells you when it has ended, "
    "such as a background task, needs no wake-up."
)
_ID: Final = {"type": "string", "description": "The id of the schedule."}
_PROMPT: Final = {
    "type": "string",
    "description": "What the main agent is told then. It knows the conversation up to that time.",
}
SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "CronCreate": {
        "type": "object",
        "properties": {
            "cron": {"type": "string", "description": "Five fields: minute hour day-of-month month day-of-week."},
            "prompt": _PROMPT,
            "recurring": {
                "type": "boolean",
                "default": True,
                "description": "False for the next time alone.",
            },
            "durable": {
                "type": "boolean",
                "default": False,
                "description": "No end after 7 days, and missed times are caught up when the session is resumed.",
            },
            "tz": {
                "type": "string",
                "description": "Name of the time zone, such as `Europe/Berlin`; the user's by default.",
            },
        },
        "required": ["cron", "prompt"],
        "additionalProperties": False,
    },
    "CronDelete": {"type": "object", "properties": {"id": _ID}, "required": ["id"], "additionalProperties": False},
    "CronList": {"type": "object", "properties": {}, "additionalProperties": False},
    "ScheduleWakeup": {
        "type": "object",
        "properties": {
            "delaySeconds": {"type": "number", "description": "Seconds from now, from 60 to 3600."},
            "prompt": _PROMPT,
            "reason": {"type": "string", "description": "Why then, in a few words, for people."},
        },
        "required": ["delaySeconds", "prompt"],
        "additionalProperties": False,
    },
}
DESCRIPTIONS: Final[Mapping[str, str]] = {
    "CronCreate": CREATE_DESCRIPTION,
    "CronDelete": DELETE_DESCRIPTION,
    "CronList": LIST_DESCRIPTION,
    "ScheduleWakeup": WAKEUP_DESCRIPTION,
}
SCHEDULE_TOOLS: Final[tuple[Tool, ...]] = tuple(
    SessionTool(name, DESCRIPTIONS[name], schema, is_read_only=name == "CronList") for name, schema in SCHEMAS.items()
)
"""`CronCreate`, `CronDelete`, `CronList` and `ScheduleWakeup`, for the `tools` of `open_session`."""

FindHome: TypeAlias = Callable[[str], AgentState | None]


@final
@attrs.frozen(kw_only=True, eq=False, repr=False)
class ScheduleTool:
    """One of the tools of one session."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    is_read_only: bool
    _run: Callable[[Mapping[str, Any], ToolContext], Awaitable[str]]

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def call(self, input: Mapping[str, Any], ctx: ToolContext) -> str:  # noqa: A002 - the protocol's own word
        """Do it, and return what the model reads of it.

        Raises:
            ToolError: Nothing was done; the text says why.
        """
        problems = validate(self.input_schema, input)
        if problems:
            raise InvalidInput(self.name, tuple(problems))
        try:
            return await self._run(input, ctx)
        except UsageError as error:
            raise ToolError(str(error)) from error
        except JournalError as error:
            raise ToolError(f"it cannot be recorded: {error}") from error


@final
class ScheduleTools:
    """Makes the tools of one session.

    Args:
        schedules: Its schedules.
        find_home: Returns what belongs to an agent, by its id.
    """

    def __init__(self, schedules: SessionSchedules, find_home: FindHome) -> None:
        self._schedules = schedules
        self._find_home = find_home

    def all(self) -> dict[str, Tool]:
        """Return the tools by their names."""
        runs = (self._create, self._delete, self._list, self._wake)
        return {
            tool.name: ScheduleTool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.input_schema,
                is_read_only=tool.is_read_only,
                run=run,
            )
            for tool, run in zip(SCHEDULE_TOOLS, runs, strict=True)
        }

    async def _create(self, values: Mapping[str, Any], ctx: ToolContext) -> str:
        status = await self._schedules.add(
            values["prompt"],
            cron=values["cron"],
            recurring=values.get("recurring", True),
            durable=values.get("durable", False),
            tz=values.get("tz"),
            permission_mode=self._mode(ctx),
        )
        ctx.attach({"id": status.id, "recurring": status.is_recurring, "durable": status.is_durable})
        return f"Scheduled {_line(status)}. It comes only while this session is open."

    async def _delete(self, values: Mapping[str, Any], ctx: ToolContext) -> str:
        status = await self._schedules.delete(values["id"], f"by {ctx.actor}")
        return f"Deleted {_line(status)}."

    async def _list(self, values: Mapping[str, Any], ctx: ToolContext) -> str:
        there = [f"{_line(status)}{_counts(status)}: {_shown(status.prompt)}" for status in self._schedules.all()]
        ended = [f"{schedule} has ended: {how}" for schedule, how in self._schedules.ended()]
        return "\n".join([*there, *ended]) or "There are no schedules."

    async def _wake(self, values: Mapping[str, Any], ctx: ToolContext) -> str:
        if not ctx.is_main:
            raise ToolError("only the main agent can be woken; sub-agents wait for nothing")
        wanted = values["delaySeconds"]
        delay_s = min(max(wanted, MIN_DELAY_S), MAX_DELAY_S)
        at = self._schedules.now() + timedelta(seconds=delay_s)
        status = await self._schedules.add(values["prompt"], at=at, permission_mode=self._mode(ctx))
        note = "" if delay_s == wanted else f" ({delay_s} seconds: the delay is from {MIN_DELAY_S} to {MAX_DELAY_S})"
        return f"Scheduled {_line(status)}{note}."

    def _mode(self, ctx: ToolContext) -> str | None:
        """Return the permission mode of the caller."""
        home = self._find_home(ctx.actor)
        policy = None if home is None else home.policy_now
        if policy is None:
            return None
        return Mode.DEFAULT.value if policy.mode is Mode.BUBBLE else policy.mode.value


def _line(status: ScheduleStatus) -> str:
    kind = "recurring" if status.is_recurring else "once"
    when = "no further time" if status.next is None else f"next {moment_text(status.next, status.tz)}"
    parts = [
        f"{status.id} ({status.cron})" if status.cron else status.id,
        kind,
        *(["durable"] if status.is_durable else []),
        when,
        *([f"until {moment_text(status.ends, status.tz)}"] if status.ends is not None else []),
    ]
    return ", ".join(parts)


def _counts(status: ScheduleStatus) -> str:
    counts = {"fired": status.fired, "missed": status.missed, "replaced unread": status.replaced}
    said = [f"{word} {count}" for word, count in counts.items() if count]
    return "".join(f", {part}" for part in [*said, *(["one waits"] if status.is_waiting else [])])


def _shown(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1]}…"
