"""The floors of the package, and the parts of the package that a module imports."""

from __future__ import annotations

from typing import Final

from tests.architecture.source_tree import imports

# From the ground up. Folders of one floor do not import each other.
FLOORS: Final = (
    {"_lazy_names"},  # the lookup that every face may use
    {"core"},
    {"containment"},
    {"waiting"},
    {"mailbox"},
    {"actors"},
    {"supervisor"},
    {"patterns", "views"},
    {"_version"},  # one constant: the kernel has no use for it, a journal's header or a door may name it
    {"_exit_signals"},  # the handler that the program begins and ends with
    {"inbox"},  # entries that wait: a store keeps them
    {
        "effects",
        "models",
        "tools",
        "permissions",
        "hooks",
        "skills",
        "tasks",
        "store",
        "worktrees",
        "trace",
        "terminal",
        "serving",
    },
    {"mcp", "remote"},
    {"agents"},
    {"teams"},
    {"session"},
    {"gateway"},
    {"branches", "headless", "hosting", "replay", "reruns", "swarm"},
    {"web"},
    {"cli", "testing"},
    {"__main__"},
)

FLOOR_OF: Final = {name: floor for floor, names in enumerate(FLOORS) for name in names}


def folder(module: str) -> str:
    """Return the part that has a floor: `actors` of `greenroom.actors._loop`, "" of `greenroom` itself."""
    return module.partition(".")[2].partition(".")[0]


def imported_folders(source: str) -> set[str]:
    """Return the parts of greenroom that a module imports; "" is the front page `greenroom` itself."""
    found = set()
    for each in imports(source):
        if each.module == "greenroom" and each.name in FLOOR_OF:
            found.add(each.name)
        elif each.module == "greenroom" or each.module.startswith("greenroom."):
            found.add(folder(each.module))
    return found
