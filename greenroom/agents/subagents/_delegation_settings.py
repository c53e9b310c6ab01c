"""Settings of delegation: how the agents of a session start others."""

from __future__ import annotations

from typing import Final, Literal, final

import attrs

from greenroom.agents.delegation._carriers import SkillForkSetting
from greenroom.agents.delegation._results import REPORT_CHARACTERS
from greenroom.agents.delegation._situation import ForkSetting
from greenroom.core.texts import LISTING_CHARACTERS
from greenroom.core.validation import checked

AUTO_BACKGROUND_MS: Final = 120_000
MAX_REPORT_CHARS: Final = 160_000


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class DelegationSettings:
    """Settings of how the agents of a session start others; the defaults are those of the leading coding agent."""

    fork: ForkSetting = attrs.field(
        default="off", validator=attrs.validators.in_(("off", "when_type_omitted", "explicit"))
    )
    """The way a model forks: not at all, by leaving the type out, or by the type `fork`."""
    skill_fork: SkillForkSetting = attrs.field(default="wait", validator=attrs.validators.in_(("wait", "background")))
    """True if a skill with `context: fork` is waited for, unless it says otherwise; without a person, it always is."""
    background: bool = True
    """True if agents may run in the background at all."""
    background_by_default: bool = False
    """True if an agent runs in the background unless the call says otherwise."""
    auto_background_ms: int = attrs.field(default=AUTO_BACKGROUND_MS, validator=attrs.validators.ge(0))
    """Milliseconds that a call waits for an agent before the agent is moved to the background; 0 for no limit."""
    max_depth: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    """Maximum depth below main at which agents may be started; 0 takes the tool away."""
    max_running: int = attrs.field(default=20, validator=attrs.validators.ge(1))
    """Maximum number that run at once: a model's further calls are refused, a program's wait."""
    max_total: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    """Maximum number that a session starts in all; None for no limit."""
    listing_chars: int = attrs.field(default=LISTING_CHARACTERS, validator=attrs.validators.ge(1_000))
    """Characters of the list of agents that a model reads with each request; beyond that descriptions are cut, then left out."""
    interactive: bool = False
    """True if a person watches; without one, nobody forks by leaving the type out."""
    assistant: bool = False
    """True if a child never holds up what comes in: all of them run in the background."""
    proactive: bool = False
    """True if the main agent goes on by itself, in a loop: all of its children run in the background."""
    coordinator: bool = False
    """True if the main agent only leads others; `GREENROOM_COORDINATOR_MODE` goes before this."""
    coordinator_prompt: str = ""
    """The coordinator's prompt, in place of the built-in text."""
    simple_workers: bool = False
    """True if a coordinator's workers have a shell, reading and editing, and nothing else."""
    scratchpad: bool = True
    """True if the workers of a coordinator share a folder in which they write unasked."""
    append_system_prompt: str = ""
    """Text behind the system prompt of each of them, except forks."""
    initial_prompt_scope: Literal["any", "main"] = attrs.field(
        default="any", validator=attrs.validators.in_(("any", "main"))
    )
    """The agents whose `initialPrompt` goes before what they are told first: any agent, or the main agent alone."""
    release_s: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    """Seconds after its end for which an agent is kept in memory; later it is resumed from its transcript."""
    shell_max_s: float = attrs.field(default=3_600.0, validator=attrs.validators.gt(0))
    """Seconds that a command may go on after the agent in the background that started it has ended."""
    stall_s: float = attrs.field(default=600.0, validator=attrs.validators.ge(0))
    """Seconds for which the model of an agent in the background may send nothing before the agent fails; 0 for no limit."""
    report_chars: int = attrs.field(
        default=REPORT_CHARACTERS,
        validator=attrs.validators.and_(attrs.validators.ge(1), attrs.validators.le(MAX_REPORT_CHARS)),
    )
    """The most of a report that its reader gets, in characters, up to 160,000; all of it is in the output file."""
