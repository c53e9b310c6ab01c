"""The plugins of a session: which folders they lie in, what they bring besides files for agents, and where they keep data.

Rule 1: folders that a program or a flag names come before those of settings, and an administrator's before all. Rule 2: of a
project's settings they count once the project is trusted, as all that it runs. Rule 3: what one gives in its hooks, it is itself
given as variables.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import attrs

from greenroom.core.ports import Ports
from greenroom.core.sources import Diagnostic, FoundPlugins, Kind, Places, Plugin, find_plugins, shown_path
from greenroom.hooks import HookSource, ParsedHooks, SourceKind, parse_hooks
from greenroom.session.settings._session_settings import Settings
from greenroom.session.settings._settings_files import SettingSource


def find_session_plugins(settings: Settings, places: Places, given: Iterable[Path] = ()) -> FoundPlugins:
    """Return the plugins of a session. It looks at the disk: call it through `Blocking`.

    Args:
        settings: Their key `plugins` in our own files names folders.
        places: What relative ones are relative to.
        given: Those that the program names, absolute.
    """
    named = settings.plugin_folders(places)
    managed = [folder for source, folder in named if source is SettingSource.MANAGED]
    others = [folder for source, folder in named if source is not SettingSource.MANAGED]
    return find_plugins([*given, *others], managed=managed)


async def take_in_plugins(
    places: Places | None, settings: Settings, given: Iterable[Path], ports: Ports
) -> tuple[Places | None, FoundPlugins]:
    """Return the folders of a session with its plugins, and what was found; those that run programs have a folder for data."""
    if places is None:
        return None, FoundPlugins()
    run = ports.blocking.run
    found = await run(partial(find_session_plugins, settings, places, given))
    places = places.with_plugins(found.loaded)
    without = await run(make_data_folders, places.plugins, ports)
    return places, attrs.evolve(found, loaded=places.plugins, notes=(*found.notes, *without))


def make_data_folders(plugins: Iterable[Plugin], ports: Ports) -> tuple[Diagnostic, ...]:
    """Make the folders for data of those plugins that run programs; it blocks. Returns which could not be made, a line each."""
    problems = []
    for plugin in plugins:
        if plugin.data is not None and (plugin.hooks or plugin.servers):
            try:
                ports.disk.make_folder(plugin.data)
            except OSError as problem:
                why = f"it cannot be made: {problem.strerror or problem}"
                text = f"the plugin {plugin.name!r} has no folder for its data: {why}"
                problems.append(Diagnostic(kind=Kind.BROKEN, source=shown_path(plugin.data), text=text))
    return tuple(problems)


def plugin_hooks(found: FoundPlugins) -> list[ParsedHooks]:
    """Return the hooks of plugins, each knowing the folders of its own."""
    made = []
    for plugin in found.loaded:
        variables = tuple(plugin.variables.items())
        for part in plugin.hooks:
            source = HookSource(part.source, SourceKind.PLUGIN, variables=variables, is_managed=plugin.is_managed)
            made.append(parse_hooks({"hooks": part.values.get("hooks", part.values)}, source))
    return made
