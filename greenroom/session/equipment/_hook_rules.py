"""Ports of hooks: their `if` read as a permission rule, and the delivery of late answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

import attrs

from greenroom.agents import AgentState, Note
from greenroom.core.texts import reminder
from greenroom.hooks import LateAnswer
from greenroom.inbox import HOOK
from greenroom.mailbox import Lane
from greenroom.permissions import (
    Effect,
    Mode,
    Policy,
    Request,
    Scope,
    Source,
    ToolKind,
    Unparsable,
    decide,
    parse_rule,
    parse_script,
    traits_of,
)


@final
@attrs.frozen(kw_only=True)
class HookRules:
    """Says whether a call is one that a rule is about."""

    cwd: str
    home: str

    def matches(self, rule: str, tool_name: str, tool_input: Mapping[str, Any]) -> bool:
        """Say whether a call is one that `rule` is about; True where that cannot be found out."""
        parsed, problem = parse_rule(rule, Effect.DENY, Source(scope=Scope.SESSION, name="if"))
        if parsed is None or problem is not None:
            return True
        traits = traits_of(tool_name)
        if traits.kind is ToolKind.SHELL:
            try:
                parse_script(str(tool_input.get(traits.subject, "")))
            except Unparsable:
                return True
        policy = Policy(mode=Mode.BYPASS, rules=(parsed,), home=self.home)
        verdict = decide(Request(tool=tool_name, input=tool_input, cwd=self.cwd, policy=policy))
        return verdict.effect is Effect.DENY


def late_delivery(home: AgentState) -> Callable[[LateAnswer], object]:
    """Return what takes the answers of hooks that come when nobody waits for them any more."""

    def deliver(late: LateAnswer) -> None:
        if late.wakes and home.ref is not None and late.contexts:
            home.ref.tell(Note("\n".join(map(reminder, late.contexts)), is_hidden=True, origin=HOOK), Lane.LATER)
        else:
            home.pending.remind(*late.contexts)

    return deliver
