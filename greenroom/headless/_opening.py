"""The facts about a session before its first turn, for the first line of a stream."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from greenroom._version import __version__
from greenroom.headless._protocol import CAPABILITIES
from greenroom.headless._slash_commands import commands_of
from greenroom.headless._stream_json import Opening
from greenroom.session import Session

KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables that hold a key of Anthropic's API."""


def key_source(environ: Mapping[str, str] | None = None) -> str:
    """Return the variable that holds the key; `none` where none does."""
    environ = os.environ if environ is None else environ
    return next((name for name in KEYS if environ.get(name)), "none")


def opening_of(session: Session) -> Opening:
    """Return what is known of a session before its first turn."""
    return Opening(
        session=session.id,
        cwd=str(session.cwd),
        model=session.model,
        permission_mode=session.permission_mode,
        is_sandboxed=session.is_sandboxed,
        freer_children=session.freer_children,
        version=__version__,
        api_key_source=key_source(),
        tools=session.tools,
        commands=[one.name for one in commands_of(session)],
        agents=list(session.definitions),
        skills=[one.name for one in session.skills.values() if one.for_models],
        servers=[(one.name, one.status.value) for one in session.servers.states()],
        capabilities=CAPABILITIES,
        plugins=[(one.name, str(one.folder)) for one in session.plugins.loaded],
        plugin_errors=[(one.name, one.type, f"{one.source}: {one.message}") for one in session.plugins.broken],
        server_errors=[(one.name, one.type, one.message) for one in session.servers.broken],
    )
