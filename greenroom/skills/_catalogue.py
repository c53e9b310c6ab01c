"""Which skill counts where several have one name, and how one is found by what somebody calls it.

Rule 1: an administrator's before the user's before the project's: a project cannot replace what its user is used to. Rule 2: a
skill before a command. Rule 3: the nearest of a project, and `.greenroom` before `.claude`. Rule 4: what does not count is
never silent. Must not know: the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, final

import attrs

from greenroom.core.sources import Diagnostic, Kind, Scope, shown_path
from greenroom.skills._skill import Skill

ORDER: Final = (Scope.MANAGED, Scope.CLI, Scope.USER, Scope.PROJECT, Scope.PLUGIN, Scope.BUILTIN)


def _read_only(by_name: Mapping[str, Skill]) -> Mapping[str, Skill]:
    return MappingProxyType(dict(by_name))


@final
@attrs.frozen(kw_only=True)
class Skills(Mapping[str, Skill]):
    """The skills and commands that count, by name; and what was found on the way."""

    by_name: Mapping[str, Skill] = attrs.field(factory=dict, converter=_read_only)
    diagnostics: tuple[Diagnostic, ...] = ()

    def __getitem__(self, name: str) -> Skill:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def find(self, name: str, *, plugin: str = "") -> Skill | None:
        """Return the skill that is meant: by its whole name, by a plugin's name for it, by its last part.

        None where there is none, or several could be meant.

        Args:
            name: What somebody calls it.
            plugin: Whose skill is meant before those of other plugins; empty for nobody's.
        """
        name = name.strip().removeprefix("/")
        if name in self.by_name or not name:
            return self.by_name.get(name)
        if plugin and f"{plugin}:{name}" in self.by_name:
            return self.by_name[f"{plugin}:{name}"]
        suffixed = [one for one in self.values() if one.name.endswith(f":{name}")]
        from_plugins = [one for one in suffixed if one.plugin]
        for meant in (from_plugins, suffixed):
            if len(meant) == 1:
                return meant[0]
        return None


def resolve_skills(given: Iterable[Skill], found: Iterable[Diagnostic] = ()) -> Skills:
    """Return which skills count.

    Args:
        given: Of each scope the nearest first; the scopes in any order.
        found: What reading them has found.
    """
    by_name: dict[str, Skill] = {}
    diagnostics = list(found)
    for one in sorted(given, key=lambda each: (each.is_command, ORDER.index(each.scope))):
        first = by_name.setdefault(one.name, one)
        if first is not one:
            text = f"{one.name!r} of {first.path} counts instead"
            diagnostics.append(Diagnostic(kind=Kind.SHADOWED, source=shown_path(one.path), text=text))
    return Skills(by_name=by_name, diagnostics=tuple(diagnostics))
