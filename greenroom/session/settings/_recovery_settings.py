"""Settings of recovery: the work of an earlier process that a resumed session continues by itself."""

from __future__ import annotations

from typing import Literal, final

import attrs

from greenroom.core.validation import checked


@final
@attrs.frozen(kw_only=True, field_transformer=checked)
class RecoverySettings:
    """The key `recovery` of a settings file."""

    cut_turns: Literal["resume", "leave"] = "resume"
    """The main agent's last turn, if its process ended in it. `resume`: a session that is opened on the run resumes it before
    anything new. `leave`: the program says when, with `session.resume_turn`."""
    lost_agents: Literal["tell", "resume"] = "tell"
    """Agents in the background that ran when their process ended. `tell`: who started them is notified that they are
    lost. `resume`: they are resumed under their ids, at most three times per run; then they are lost."""
