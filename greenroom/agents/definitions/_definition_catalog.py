"""The order of definitions of the same name.

An administrator's before those given to the program, before the project's, the user's, plugins', built-in ones.
Within a project the nearest folder wins, and `.greenroom` before `.claude`. What does not count is never
silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, final

import attrs

from greenroom.agents._definition import AgentDefinition
from greenroom.core import UsageError
from greenroom.core.sources import Diagnostic, Kind, Scope
from greenroom.core.texts import LISTING_CHARACTERS, Listed, bounded_listing

ORDER: Final = (Scope.MANAGED, Scope.CLI, Scope.PROJECT, Scope.USER, Scope.PLUGIN, Scope.BUILTIN)
NAMES_ONLY: Final = "({number} agents are too many to describe here: names only. Ask the user which one is meant if a name does not say it.)"
_MAX_BROKEN: Final = 2
"""Maximum number of broken files that are named when an unknown agent is looked up."""
_SEPARATORS: Final = re.compile(r"[\s_-]+")


def _read_only(by_name: Mapping[str, AgentDefinition]) -> Mapping[str, AgentDefinition]:
    return MappingProxyType(dict(by_name))


@final
@attrs.frozen(kw_only=True)
class Given:
    """A definition that was read, and how near the folder is that it came from."""

    definition: AgentDefinition
    folder: Path | None = None
    """Two of one folder and one name are a mistake; None for those that lie in none."""


@final
@attrs.frozen(kw_only=True)
class Definitions(Mapping[str, AgentDefinition]):
    """The definitions that count, by name, in the order in which they come first; and what was found on the way."""

    by_name: Mapping[str, AgentDefinition] = attrs.field(factory=dict, converter=_read_only)
    diagnostics: tuple[Diagnostic, ...] = ()

    def __getitem__(self, name: str) -> AgentDefinition:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    @property
    def problems(self) -> tuple[Diagnostic, ...]:
        """Suggestions for the author of a definition."""
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.is_problem)

    def find(self, name: str) -> AgentDefinition:
        """Return the definition that is meant: by its name, or else whatever its case and separators.

        Raises:
            UsageError: There is none, or more than one; the text says which there are.
        """
        if name in self.by_name:
            return self.by_name[name]
        meant = self._meant(name)
        if len(meant) == 1:
            return self.by_name[meant[0]]
        raise UsageError(self.why_not(name))

    def why_not(self, name: str) -> str:
        """Return why `find` finds nothing of that name: what there is instead, and what could not be read."""
        meant = self._meant(name)
        there_are = ", ".join(meant or self.by_name) or "none"
        broken = [] if meant else [diagnostic for diagnostic in self.diagnostics if diagnostic.kind is Kind.BROKEN]
        # If the agent's file cannot be read, the error names that file, and the name first.
        broken.sort(key=lambda one: plain_type(Path(one.source).stem) != plain_type(name))
        left_out = "".join(f"; {each}" for each in broken[:_MAX_BROKEN])
        called = f"{'several agents are' if meant else 'no agent is'} called {name!r}"
        return f"{called}; there are: {there_are}{left_out}"

    def _meant(self, name: str) -> list[str]:
        return [each for each in self.by_name if plain_type(each) == plain_type(name)]


def agent_listing(definitions: Iterable[AgentDefinition], *, most: int = LISTING_CHARACTERS) -> str:
    """Return one line for each agent, to choose from: its name, when to use it, its tools in words.

    Args:
        definitions: In the order in which they are listed.
        most: Characters of the whole text; where they do not suffice, descriptions become shorter, then fall away, then names do.
    """
    entries = [
        Listed(
            definition.name,
            " ".join((definition.when_to_use or definition.description).split()),
            f" (Tools: {definition.tools_in_words()})",
        )
        for definition in definitions
    ]
    return bounded_listing(entries, most=most, words=max(most, 1), left_out=NAMES_ONLY.format(number=len(entries)))


def resolve_definitions(given: Iterable[Given], found: Iterable[Diagnostic] = ()) -> Definitions:
    """Return the definitions that take effect.

    Args:
        given: Of each scope the nearest first; the scopes in any order.
        found: What reading them has found.
    """
    by_name: dict[str, AgentDefinition] = {}
    folders: dict[str, Path | None] = {}
    diagnostics = list(found)
    for definition in sorted(given, key=lambda each: ORDER.index(each.definition.origin.scope)):
        name, origin = definition.definition.name, definition.definition.origin
        first = by_name.setdefault(name, definition.definition)
        if first is definition.definition:
            folders[name] = definition.folder
            continue
        if definition.folder is not None and definition.folder == folders[name]:
            text = f"{name!r} is also in {first.origin.source}, which counts; rename or remove one"
            diagnostics.append(Diagnostic(kind=Kind.DUPLICATE, source=origin.source, text=text))
        else:
            text = f"{name!r} of {first.origin.source} counts instead"
            diagnostics.append(Diagnostic(kind=Kind.SHADOWED, source=origin.source, text=text))
    return Definitions(by_name=by_name, diagnostics=tuple(diagnostics))


def plain_type(name: str) -> str:
    """Return a name as it is compared where case and separators do not matter: `Code Reviewer` is `code-reviewer`."""
    return _SEPARATORS.sub("-", name.strip().lower())
