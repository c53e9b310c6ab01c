"""All scenarios, in the order of the page."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tests.otp import giving_up, looking, on_request, restarting, shutting_down, significant, starting, together
from tests.otp.scenario import Scenario

CHAPTERS: Final = (starting, restarting, together, giving_up, shutting_down, significant, looking, on_request)


def scenarios_of(module: ModuleType) -> list[Scenario]:
    """Return the scenarios of a module, as they stand in it."""
    return [found for found in vars(module).values() if isinstance(found, Scenario)]


SCENARIOS: Final = tuple(scenario for chapter in CHAPTERS for scenario in scenarios_of(chapter))
