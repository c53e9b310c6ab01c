"""Whether a project's servers may run: somebody has to say so where somebody can be asked.

A pure decision over what settings say. A project cannot approve itself: its own settings only take away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import attrs

from greenroom.core.sources import Diagnostic, Kind

_ALL = "enableAllProjectMcpServers"
_ENABLED = "enabledMcpjsonServers"
_DISABLED = "disabledMcpjsonServers"


@final
@attrs.frozen(kw_only=True)
class Approvals:
    """What the user said about servers of projects."""

    enables_all: bool = False
    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    def joined(self, other: Approvals) -> Approvals:
        """Return what both say; a no counts more than a yes."""
        return Approvals(
            enables_all=self.enables_all or other.enables_all,
            enabled=self.enabled | other.enabled,
            disabled=self.disabled | other.disabled,
        )

    def why_not(self, name: str, *, can_ask: bool) -> str:
        """Return why a project's server does not run, on one line; empty where it may.

        Args:
            name: The server.
            can_ask: Whether there is a person at the session; without one nobody could ever approve.
        """
        if name in self.disabled:
            return f"it stands in {_DISABLED}"
        if not can_ask or self.enables_all or name in self.enabled:
            return ""
        return f"nobody has approved it: add it to {_ENABLED} of your own settings, or set {_ALL}"


def read_approvals(
    settings: Mapping[str, Any], source: str, *, may_enable: bool
) -> tuple[Approvals, tuple[Diagnostic, ...]]:
    """Read what one settings file says about servers of projects.

    Args:
        settings: The whole file; other keys are not looked at.
        source: Its name, for messages.
        may_enable: False for a project's own settings.
    """
    found: list[Diagnostic] = []

    def note(text: str) -> None:
        found.append(Diagnostic(kind=Kind.IGNORED, source=source, text=text))

    def names(key: str) -> frozenset[str]:
        value = settings.get(key, [])
        if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
            note(f"{key} takes a list of names of servers; it has no effect")
            return frozenset()
        return frozenset(value)

    enables_all = settings.get(_ALL, False)
    if not isinstance(enables_all, bool):
        note(f"{_ALL} takes true or false; it has no effect")
        enables_all = False
    enabled, disabled = names(_ENABLED), names(_DISABLED)
    if not may_enable and (enables_all or enabled):
        note(
            f"a project cannot approve its own servers; put {_ALL if enables_all else _ENABLED} into your own settings"
        )
        enables_all, enabled = False, frozenset()
    return Approvals(enables_all=enables_all, enabled=enabled, disabled=disabled), tuple(found)
