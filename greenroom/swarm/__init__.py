"""The program of `greenroom swarm`: a lead and its teammates work on a folder and leave a report."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.swarm._recorded_swarm import recorded_swarm
    from greenroom.swarm._swarm import list_recipes, resumed, run_swarm
    from greenroom.swarm._swarm_plan import DEFAULT_AGENTS, DEFAULT_RECIPE, SwarmOptions
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.swarm._recorded_swarm": ("recorded_swarm",),
            "greenroom.swarm._swarm": ("list_recipes", "resumed", "run_swarm"),
            "greenroom.swarm._swarm_plan": ("DEFAULT_AGENTS", "DEFAULT_RECIPE", "SwarmOptions"),
        },
    )

__all__ = [
    "DEFAULT_AGENTS",
    "DEFAULT_RECIPE",
    "SwarmOptions",
    "list_recipes",
    "recorded_swarm",
    "resumed",
    "run_swarm",
]
