"""Settings of scheduled prompts, and the time zone of the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

import attrs

from greenroom.core import UsageError
from greenroom.core.validation import checked
from greenroom.inbox import read_zone
from greenroom.tools import ToolSet

LINK: Final = Path("/etc/localtime")
_FOLDER: Final = "zoneinfo/"
TOOL_NAMES: Final = frozenset(("CronCreate", "CronDelete", "CronList", "ScheduleWakeup"))
"""Names of the tools by which models schedule prompts."""


def _is_zone(_: object, __: object, value: str | None) -> None:
    if value is not None:
        try:
            read_zone(value)
        except UsageError as error:
            raise ValueError(str(error)) from None


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class ScheduleSettings:
    """The key `schedules` of a settings file."""

    enabled: bool = True
    """False: the session has no scheduled prompts, and models do not have the tools for them."""
    durable: bool = True
    """False: durable schedules are refused, because the run is not kept."""
    tz: str | None = attrs.field(default=None, validator=_is_zone)
    """Name of the time zone of schedules that name none, such as `Europe/Berlin`; that of the machine by default."""

    def offered(self, tools: ToolSet) -> ToolSet:
        """Return the tools of a session without those for schedules, if there are none."""
        return tools if self.enabled else ToolSet(tool for tool in tools.values() if tool.name not in TOOL_NAMES)


def machine_zone(environ: Mapping[str, str], link: Path = LINK) -> str:
    """Return the name of the machine's time zone. It looks at the disk: call it through `Blocking`.

    Raises:
        UsageError: It has no name that the system knows.
    """
    named = environ.get("TZ", "").removeprefix(":")
    target = os.path.realpath(link) if link.exists() else ""
    if not named:
        named = target.rpartition(_FOLDER)[2] if _FOLDER in target else "" if target or os.name == "nt" else "UTC"
    elif _FOLDER in named:
        named = named.rpartition(_FOLDER)[2]
    try:
        return read_zone(named)
    except UsageError:
        raise UsageError("cannot tell the machine's time zone; name one: tz, or the setting schedules.tz") from None
