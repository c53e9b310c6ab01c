"""All scenarios, in the order of the page, and what cannot be compared yet."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tests.otp import giving_up, looking, restarting, shutting_down, significant, starting, together
from tests.otp.scenario import SUPERVISOR, Scenario, Waiting

CHAPTERS: Final = (starting, restarting, together, giving_up, shutting_down, significant, looking)


def scenarios_of(module: ModuleType) -> list[Scenario]:
    """Return the scenarios of a module, as they stand in it."""
    return [found for found in vars(module).values() if isinstance(found, Scenario)]


SCENARIOS: Final[tuple[Scenario, ...]] = tuple(scenario for chapter in CHAPTERS for scenario in scenarios_of(chapter))

STOPPING: Final = "stopping, restarting and deleting a child by its name"
POOL: Final = "pools"

WAITING: Final[tuple[Waiting, ...]] = (
    Waiting(
        id="OTP-105",
        says="The specification of a child that was stopped by hand is kept, unless the child is temporary.",
        where=f"{SUPERVISOR}: terminate_child/2",
        needs=STOPPING,
    ),
    Waiting(
        id="OTP-106",
        says="To stop a child that is not there is an error that says so.",
        where=f"{SUPERVISOR}: terminate_child/2",
        needs=STOPPING,
    ),
    Waiting(
        id="OTP-107",
        says="A child that was stopped by hand can be started again by hand, with its old specification.",
        where=f"{SUPERVISOR}: restart_child/2",
        needs=STOPPING,
    ),
    Waiting(
        id="OTP-108",
        says="To restart a child that runs, that is about to be restarted or that is unknown is an error.",
        where=f"{SUPERVISOR}: restart_child/2",
        needs=STOPPING,
    ),
    Waiting(
        id="OTP-109",
        says="The specification of a child that does not run can be deleted; its id is free then.",
        where=f"{SUPERVISOR}: delete_child/2",
        needs=STOPPING,
    ),
    Waiting(
        id="OTP-110",
        says="To delete a child that runs, that is about to be restarted or that is unknown is an error.",
        where=f"{SUPERVISOR}: delete_child/2",
        needs=STOPPING,
    ),
    Waiting(
        id="OTP-111",
        says="simple_one_for_one: all children are made from one template, which the supervisor is given at its start.",
        where=f"{SUPERVISOR}: Module:init/1",
        needs=POOL,
    ),
    Waiting(
        id="OTP-112",
        says="simple_one_for_one: a child is stopped by its pid, and cannot be restarted or deleted by an id.",
        where=f"{SUPERVISOR}: Restart Strategies, simple_one_for_one",
        needs=POOL,
    ),
)
"""Behaviours whose counterpart is not there yet, and what they need."""
