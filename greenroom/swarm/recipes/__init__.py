"""Recipes of swarms: who works, on what, under which rules; the built-in ones and those from a user's file."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.swarm.recipes._builtin import BUILTINS, SURVEY
    from greenroom.swarm.recipes._finding import find_recipe
    from greenroom.swarm.recipes._recipe import ROLE_TOOLS, TOOL_NAMES, Recipe, Role
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.swarm.recipes._builtin": ("BUILTINS", "SURVEY"),
            "greenroom.swarm.recipes._finding": ("find_recipe",),
            "greenroom.swarm.recipes._recipe": ("ROLE_TOOLS", "TOOL_NAMES", "Recipe", "Role"),
        },
    )

__all__ = [
    "BUILTINS",
    "ROLE_TOOLS",
    "SURVEY",
    "TOOL_NAMES",
    "Recipe",
    "Role",
    "find_recipe",
]
