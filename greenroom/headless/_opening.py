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
        cwd=str(session.files.cwd),
        model=session.model,
        permission_mode=session.permissions.mode,
        is_sandboxed=session.permissions.is_sandboxed,
        freer_children=session.permissions.freer_children,
        described_chars=session.agents.described_chars,
        version=__version__,
        api_key_source=key_source(),
        tools=session.tools,
        commands=[command.name for command in commands_of(session)],
        agents=list(session.agents.definitions),
        skills=[skill.name for skill in session.commands.skills.values() if skill.for_models],
        servers=[(state.name, state.status.value) for state in session.servers.states()],
        capabilities=CAPABILITIES,
        plugins=[(plugin.name, str(plugin.folder)) for plugin in session.plugins.loaded],
        plugin_errors=[
            (plugin.name, plugin.type, f"{plugin.source}: {plugin.message}") for plugin in session.plugins.broken
        ],
        server_errors=[(server.name, server.type, server.message) for server in session.servers.broken],
    )
