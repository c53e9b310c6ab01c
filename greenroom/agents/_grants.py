"""The grants of skills that were taken up, which hold until a person says something again.

A grant is about the turn, and ends with it. What is taken away is refused when it is called: the list of tools
stays as it is, because the provider has cached it.
"""

from __future__ import annotations

from typing import final

import attrs

from greenroom.models import Effort
from greenroom.models.choice import read_effort
from greenroom.permissions import Effect, Policy, Rule, Scope, Source, parse_rule
from greenroom.skills import Rendered


@final
@attrs.frozen(kw_only=True)
class Grants:
    """Rules, a model and an effort besides the agent's own."""

    rules: tuple[Rule, ...] = ()
    removed: tuple[tuple[str, str], ...] = ()
    """Tools that may not be called, each with the skill that took it away."""
    model: str = ""
    """The exact name of the model; empty for the agent's own."""
    effort: Effort | None = None

    def after(self, rendered: Rendered, *, model: str = "") -> Grants:
        """Return the grants once a skill was taken up, too; of single values the latest counts.

        Args:
            rendered: The skill.
            model: The exact name of the model that it asks for.
        """
        skill = rendered.skill
        source = Source(scope=Scope.SESSION, name=f"skill {skill.name}")
        rules = [parse_rule(text, Effect.ALLOW, source)[0] for text in rendered.allowed_tools]
        return Grants(
            rules=(*self.rules, *(rule for rule in rules if rule is not None)),
            removed=(*self.removed, *((tool, skill.name) for tool in skill.disallowed_tools)),
            model=model or self.model,
            effort=read_effort(skill.effort) if skill.effort is not None else self.effort,
        )

    def widen(self, policy: Policy) -> Policy:
        """Return a policy with what is allowed besides."""
        return attrs.evolve(policy, rules=(*policy.rules, *self.rules)) if self.rules else policy


NOTHING_GRANTED = Grants()
