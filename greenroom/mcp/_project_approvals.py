"""Approval of a project's servers by the user.

A pure decision from settings. A project cannot approve itself: its own settings can only deny.
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
    """The user's decisions about servers of projects."""

    enables_all: bool = False
    enabled: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()

    def joined(self, other: Approvals) -> Approvals:
        """Return the union of both; a denial wins over an approval."""
        return Approvals(
            enables_all=self.enables_all or other.enables_all,
            enabled=self.enabled | other.enabled,
            disabled=self.disabled | other.disabled,
        )

    def why_not(self, name: str, *, can_ask: bool) -> str:
        """Return the reason on one line why a project's server does not run; empty if it may.

        Args:
            name: The server.
            can_ask: True if a person attends the session; without one nobody could approve.
        """
        if name in self.disabled:
            return f"it is listed in {_DISABLED}"
        if not can_ask or self.enables_all or name in self.enabled:
            return ""
        return f"it is not approved: add it to {_ENABLED} in your own settings, or set {_ALL}"


def read_approvals(
    settings: Mapping[str, Any], source: str, *, may_enable: bool
) -> tuple[Approvals, tuple[Diagnostic, ...]]:
    """Parse what one settings file says about servers of projects.

    Args:
        settings: The whole file; other keys are ignored.
        source: Its name, for messages.
        may_enable: False for a project's own settings.
    """
    found: list[Diagnostic] = []

    def note(text: str) -> None:
        found.append(Diagnostic(kind=Kind.IGNORED, source=source, text=text))

    def names(key: str) -> frozenset[str]:
        value = settings.get(key, [])
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            note(f"{key} must be a list of server names; it is ignored")
            return frozenset()
        return frozenset(value)

    enables_all = settings.get(_ALL, False)
    if not isinstance(enables_all, bool):
        note(f"{_ALL} must be true or false; it is ignored")
        enables_all = False
    enabled, disabled = names(_ENABLED), names(_DISABLED)
    if not may_enable and (enables_all or enabled):
        note(f"a project cannot approve its own servers; set {_ALL if enables_all else _ENABLED} in your own settings")
        enables_all, enabled = False, frozenset()
    return Approvals(enables_all=enables_all, enabled=enabled, disabled=disabled), tuple(found)
