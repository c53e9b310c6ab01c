"""Functions, classes and methods whose name occurs nowhere else in the tree.

A private one that nothing names is dead; a public one may be there for others. Tests, scripts and examples are not judged, but what
they name is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import attrs

from greenroom.swarm.survey._facts import Placed
from greenroom.swarm.survey._module_index import Definition, ModuleIndex
from greenroom.swarm.survey._paths import is_loose, is_test

_CALLED_BY_NAME: Final = re.compile(
    r"(visit|depart|leave|do|on|handle|pytest|test|setup|teardown|clean|get|validate|resolve)_\w+$"
)
"""Names that a framework puts together: `getattr(self, f"visit_{name}")`."""


@attrs.frozen
class Unused:
    """A definition that no Python file names."""

    path: str
    definition: Definition

    @property
    def placed(self) -> Placed:
        """The finding."""
        is_private = self.definition.name.startswith("_")
        return Placed(
            "dead-code" if is_private else "named-nowhere", self.path, self.definition.line, self.definition.shown
        )


def find_unused(modules: Mapping[str, ModuleIndex]) -> tuple[Unused, ...]:
    """Return the definitions that no Python file of the tree names; what other files name has to be taken away from them."""
    uses: Counter[str] = Counter()
    for module in modules.values():
        uses.update(module.uses)
    prefixes = tuple(name for name in uses if name.endswith("_") and len(name) > 2)
    endings = tuple(name[1:] for name in uses if name.startswith("*_"))
    return tuple(
        Unused(path, definition)
        for path, module in modules.items()
        if not (is_test(path) or is_loose(path) or path.endswith(".pyi"))
        for definition in module.definitions
        if uses[definition.name] <= definition.own_uses
        and not definition.name.startswith(prefixes)
        and not definition.name.endswith(endings)
        # A public method may be there because others expect it of such an object: `writelines` of a stream.
        and not (definition.owner and not definition.name.startswith("_"))
        and not (definition.owner and _CALLED_BY_NAME.match(definition.name.lstrip("_")))
        and not definition.name.startswith("pytest_")
    )


def unused_places(unused: Collection[Unused], named_elsewhere: Collection[str]) -> Iterator[Placed]:
    """Yield the findings, without those whose names other files hold."""
    yield from (one.placed for one in unused if one.definition.name not in named_elsewhere)
