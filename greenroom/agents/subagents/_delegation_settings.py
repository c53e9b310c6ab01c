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
    """The way in which a model can fork: not at all, by omitting the type, or with the type `fork`."""
    skill_fork: SkillForkSetting = attrs.field(default="wait", validator=attrs.validators.in_(("wait", "background")))
    """Whether the caller waits for a skill with `context: fork`, unless the skill says otherwise; if no person watches,
    the caller always waits."""
    background: bool = True
    """True if agents may run in the background at all."""
    background_by_default: bool = False
    """True if an agent runs in the background unless the call says otherwise."""
    auto_background_ms: int = attrs.field(default=AUTO_BACKGROUND_MS, validator=attrs.validators.ge(0))
    """Milliseconds that a call waits for an agent before the agent is moved to the background; 0 for no limit."""
    max_depth: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    """Maximum depth of agents below the main agent; 0 removes the tool `Agent`."""
    max_running: int = attrs.field(default=20, validator=attrs.validators.ge(1))
    """Maximum number of agents that run at once; further calls are refused if a model makes them, and wait if a program
    does."""
    max_total: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.ge(0)))
    """Maximum number of agents that a session starts in total; None for no limit."""
    listing_chars: int = attrs.field(default=LISTING_CHARACTERS, validator=attrs.validators.ge(1_000))
    """Maximum length in characters of the list of agents in each model request; beyond it descriptions are shortened,
    then left out."""
    interactive: bool = False
    """True if a person watches; otherwise a call without a type never forks."""
    assistant: bool = False
    """True if all children run in the background, so that none delays incoming messages."""
    proactive: bool = False
    """True if the main agent continues by itself in a loop; all of its children then run in the background."""
    coordinator: bool = False
    """True if the main agent only coordinates workers; `GREENROOM_COORDINATOR_MODE` takes precedence."""
    coordinator_prompt: str = ""
    """The coordinator's prompt, in place of the built-in text."""
    simple_workers: bool = False
    """True if a coordinator's workers have a shell, reading and editing, and nothing else."""
    scratchpad: bool = True
    """True if the workers of a coordinator share a folder in which they write unasked."""
    append_system_prompt: str = ""
    """Text appended to the system prompt of each sub-agent, except forks."""
    initial_prompt_scope: Literal["any", "main"] = attrs.field(
        default="any", validator=attrs.validators.in_(("any", "main"))
    )
    """The agents whose `initialPrompt` is put before their first prompt: any agent, or only the main agent."""
    release_s: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    """Seconds for which an ended agent is kept in memory; after that, it is resumed from its transcript."""
    shell_max_s: float = attrs.field(default=3_600.0, validator=attrs.validators.gt(0))
    """Seconds that a command may keep running after the background agent that started it has ended."""
    stall_s: float = attrs.field(default=600.0, validator=attrs.validators.ge(0))
    """Seconds of silence of its model after which a background agent fails; 0 for no limit."""
    report_chars: int = attrs.field(
        default=REPORT_CHARACTERS,
        validator=attrs.validators.and_(attrs.validators.ge(1), attrs.validators.le(MAX_REPORT_CHARS)),
    )
    """Maximum length in characters of a report that its reader gets, up to 160,000; the output file has the whole
    report."""
