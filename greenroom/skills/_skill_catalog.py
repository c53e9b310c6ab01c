"""Precedence of skills with the same name, lookup by name, and the list for models.

An administrator's skills precede the user's, which precede the project's: a project cannot replace the user's skills. A
skill precedes a command. Within a project the nearest wins, and `.greenroom` before `.claude`. Shadowed skills are
always reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, final

import attrs

from greenroom.core.sources import Diagnostic, Kind, Scope, shown_path
from greenroom.core.texts import Listed, bounded_listing
from greenroom.skills._skill import Skill

ORDER: Final = (Scope.MANAGED, Scope.CLI, Scope.USER, Scope.PROJECT, Scope.PLUGIN, Scope.BUILTIN)


def _read_only(by_name: Mapping[str, Skill]) -> Mapping[str, Skill]:
    return MappingProxyType(dict(by_name))


@final
@attrs.frozen(kw_only=True)
class Skills(Mapping[str, Skill]):
    """The effective skills and commands by name, and diagnostics."""

    by_name: Mapping[str, Skill] = attrs.field(factory=dict, converter=_read_only)
    diagnostics: tuple[Diagnostic, ...] = ()

    def __getitem__(self, name: str) -> Skill:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def find(self, name: str, *, plugin: str = "") -> Skill | None:
        """Return the skill of a full name, a plugin's short name, or a last part; None if there is none, or it is
        ambiguous.

        Args:
            name: The name as called.
            plugin: The plugin whose skills take precedence; empty for none.
        """
        name = name.strip().removeprefix("/")
        if name in self.by_name or not name:
            return self.by_name.get(name)
        if plugin and f"{plugin}:{name}" in self.by_name:
            return self.by_name[f"{plugin}:{name}"]
        suffixed = [skill for skill in self.values() if skill.name.endswith(f":{name}")]
        from_plugins = [skill for skill in suffixed if skill.plugin]
        for meant in (from_plugins, suffixed):
            if len(meant) == 1:
                return meant[0]
        return None


def resolve_skills(given: Iterable[Skill], found: Iterable[Diagnostic] = ()) -> Skills:
    """Return the effective skills.

    Args:
        given: The nearest of each scope first; the scopes in any order.
        found: Diagnostics from reading them.
    """
    by_name: dict[str, Skill] = {}
    diagnostics = list(found)
    for skill in sorted(given, key=lambda skill: (skill.is_command, ORDER.index(skill.scope))):
        first = by_name.setdefault(skill.name, skill)
        if first is not skill:
            text = f"{skill.name!r} of {first.path} takes precedence"
            diagnostics.append(Diagnostic(kind=Kind.SHADOWED, source=shown_path(skill.path), text=text))
    return Skills(by_name=by_name, diagnostics=tuple(diagnostics))


DESCRIPTION_CHARACTERS: Final = 1_536
"""Maximum length of a description with `when_to_use`."""
LISTING_CHARACTERS: Final = 15_000
"""Maximum length of the list."""


def listing(skills: Iterable[Skill], *, most: int = LISTING_CHARACTERS) -> str:
    """Return one line for each skill that a model may call; empty if there is none.

    Args:
        skills: The skills in listing order.
        most: Maximum length; if it is not enough, descriptions are shortened, then dropped, then names are.
    """
    shown = [
        Listed(skill.name, " ".join(f"{skill.description} {skill.when_to_use}".split()))
        for skill in skills
        if skill.for_models
    ]
    return bounded_listing(shown, most=most, words=DESCRIPTION_CHARACTERS, left_out="")
