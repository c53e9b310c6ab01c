"""The commands `greenroom mcp list | login | logout`: the MCP servers of a project, their status, and logins in a browser.

What a project's own files name is neither started nor asked without `--trust`. Exit codes are 0, 1 for a server that is not
there or a login that came to nothing, 2 for a mistake in the command. What `--json` prints keeps its keys, and no secret is
printed.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections import ChainMap
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar
from urllib.parse import urlsplit

import attrs
import trio
from cyclopts import Parameter

from greenroom.containment import ChildKind, child_environment
from greenroom.core import GreenroomError
from greenroom.core.ports import Ports
from greenroom.core.sources import Places, find_places
from greenroom.core.texts import printable_text
from greenroom.mcp import (
    TOKENS_FOLDER,
    FoundServers,
    Http,
    LoggedIn,
    McpServices,
    McpSettings,
    ServerConfig,
    ServerState,
    ServerStatus,
    Show,
    Stdio,
    Way,
    find_servers,
    log_in,
    log_out,
    start_servers,
    with_environment,
)
from greenroom.session import Settings, SettingSource, find_session_plugins, load_settings, make_data_folders
from greenroom.supervisor import open_runtime
from greenroom.terminal import Ladder, Page, climbing, complain, counted, note, print_table, printable
from greenroom.tools import SystemProcesses, open_processes

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")

DONE: Final = 0
NOT_DONE: Final = 1
_WAIT_S: Final = 60.0
"""Seconds to wait for servers to connect."""

Given = Annotated[
    list[str] | None,
    Parameter(name="--mcp-config", help="More servers: a file or a JSON text; can be repeated."),
]
PluginDirs = Annotated[
    list[Path] | None,
    Parameter(name="--plugin-dir", help="A plugin folder, in addition to those that settings name."),
]
Trust = Annotated[bool, Parameter(help="Trust this project: include the servers that its own files define.")]


def list_command(
    *, mcp_config: Given = None, plugin_dir: PluginDirs = None, trust: Trust = False, json: bool = False
) -> int:
    """List the MCP servers of the current folder and their status.

    Parameters
    ----------
    json
        Print one JSON object instead of a table.
    """
    here = _look(mcp_config, plugin_dir, is_trusted=trust)
    ladder = Ladder(note)
    states = trio.run(_with_programs, here, ladder, partial(_stand, here))
    if states is None:
        return ladder.exit_code or NOT_DONE
    found = here.found
    configs = {config.name: config for config in (*found.configs, *(each.config for each in found.disabled))}
    if json:
        facts = [_row(state, configs[state.name]) for state in states]
        broken = [{"name": server.name, "type": server.type, "message": server.message} for server in found.broken]
        Page(facts={"servers": facts, "broken": broken, "found": list(map(str, found.diagnostics))}, lines=()).print(
            is_json=True
        )
        return DONE
    if states:
        print_table(_table(states, configs))
    else:
        print("no MCP servers; write them into .mcp.json, or into ~/.greenroom/settings.json")
    for line in [*_reasons(states), *map(str, found.diagnostics)]:
        print(printable(line, 600))
    return DONE


def login_command(
    name: str,
    /,
    *,
    mcp_config: Given = None,
    plugin_dir: PluginDirs = None,
    trust: Trust = False,
    no_browser: bool = False,
) -> int:
    """Log in to an MCP server in a browser, and save the tokens.

    Parameters
    ----------
    name
        The name of the server.
    no_browser
        Only print the URL; do not open a browser.
    """
    here, config = _look_for(name, mcp_config, plugin_dir, is_trusted=trust)
    if config is None:
        return NOT_DONE
    ladder = Ladder(note)
    show = partial(_show if no_browser else _show_and_open, config.name)
    came_to = trio.run(_with_programs, here, ladder, partial(_log_in, config, here, show))
    if came_to is None:
        return ladder.exit_code or NOT_DONE
    tools = counted(came_to.tools, "tool")
    if came_to.path is None:
        print(f"{printable(name)} needs no login; it has {tools}")
    else:
        print(f"logged in to {printable(name)}, which has {tools}; the tokens are in {came_to.path}")
    return DONE


def logout_command(
    name: str, /, *, mcp_config: Given = None, plugin_dir: PluginDirs = None, trust: Trust = False
) -> int:
    """Forget the tokens of an MCP server.

    Parameters
    ----------
    name
        The name of the server.
    """
    here, config = _look_for(name, mcp_config, plugin_dir, is_trusted=trust)
    if config is None:
        return NOT_DONE
    path = trio.run(partial(log_out, config, tokens=here.tokens, ports=Ports()))
    what = "no tokens are kept" if path is None else f"removed {path}"
    print(f"{printable(name)}: {what}")
    return DONE


# --- pieces -----------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Here:
    """The servers that the files of the current folder define."""

    found: FoundServers
    places: Places
    settings: McpSettings
    said: Settings

    @property
    def tokens(self) -> Path:
        return self.places.home / TOKENS_FOLDER


def _look(given: list[str] | None, plugin_dirs: list[Path] | None, *, is_trusted: bool) -> _Here:
    """Return what a session here would find: the same servers, held against the same rules."""
    logging.getLogger("greenroom").addHandler(logging.NullHandler())  # what a server does wrong is told once, below
    places = find_places(Path.cwd())
    said = load_settings(places, SettingSource, is_trusted=is_trusted)
    plugins = find_session_plugins(said, places, [folder.absolute() for folder in plugin_dirs or ()])
    places = places.with_plugins(plugins.loaded)
    environ = ChainMap(dict(said.env), dict(os.environ))
    settings, _ = with_environment(said.scalars.mcp, environ)
    settings = said.as_managed("mcp", settings)
    rules, unread = said.server_rules()
    found = find_servers(
        places,
        environ=environ,
        given=given or (),
        only_given=settings.only_given,
        is_trusted=is_trusted,
        rules=rules,
    )
    kept = tuple(config for config in found.configs if config.name not in said.scalars.disabledMcpjsonServers)
    diagnostics = (*said.diagnostics, *plugins.diagnostics, *unread, *found.diagnostics)
    return _Here(attrs.evolve(found, configs=kept, diagnostics=diagnostics), places, settings, said)


def _look_for(
    name: str, given: list[str] | None, plugin_dirs: list[Path] | None, *, is_trusted: bool
) -> tuple[_Here, ServerConfig | None]:
    """Return what a session here would find, and a server by its name; None after an error message if there is none."""
    here = _look(given, plugin_dirs, is_trusted=is_trusted)
    configs = (*here.found.configs, *(server.config for server in here.found.disabled))
    config = next((config for config in configs if config.name == name), None)
    if config is None:
        about = next((diagnostic for diagnostic in here.found.diagnostics if f"{name!r}" in diagnostic.text), None)
        known = ", ".join(sorted(config.name for config in configs)) or "none"
        text = str(about) if about else f"unknown MCP server {name!r}; expected one of: {known}"
        complain(text + ("; --trust does that here" if text.endswith(" first") else ""), code=NOT_DONE)
    return here, config


async def _with_programs(
    here: _Here, ladder: Ladder, work: Callable[[Ports, SystemProcesses, Path], Awaitable[T]]
) -> T | None:
    """Do some work with what starts programs; None where a signal ended it.

    Raises:
        GreenroomError: As the work does.
    """
    ports = Ports()
    result: T | None = None
    problem: GreenroomError | None = None  # raised outside of the nursery, which would make a group of it
    async with climbing(ladder):
        with ladder.stop_scope, tempfile.TemporaryDirectory(prefix="greenroom-mcp-") as name:
            folder = Path(name)
            async with open_processes(
                blocking=ports.blocking,
                ids=ports.ids,
                folder=folder,
                mark="greenroom-mcp",
                environ=here.said.env,
                pass_env=here.said.scalars.pass_env,
            ) as programs:
                try:
                    result = await work(ports, programs, folder)
                except GreenroomError as error:
                    problem = error
    if problem is not None:
        raise problem
    return result


async def _stand(here: _Here, ports: Ports, programs: SystemProcesses, folder: Path) -> tuple[ServerState, ...]:
    """Connect every server for a moment, and return how they stand."""
    await ports.blocking.run(make_data_folders, here.places.plugins, ports)
    async with open_runtime(ports=ports) as runtime:
        services = McpServices(
            cwd=here.places.cwd,
            ports=ports,
            settings=here.settings,
            programs=programs,
            output_folder=folder,
            tokens=here.tokens,
        )
        found = here.found
        servers = await start_servers(runtime.root, found.configs, services, disabled=found.disabled)
        await servers.wait_settled(_WAIT_S)
        return servers.states()


async def _log_in(
    config: ServerConfig, here: _Here, show: Show, ports: Ports, programs: SystemProcesses, folder: Path
) -> LoggedIn:
    del folder
    return await log_in(config, show, cwd=here.places.cwd, tokens=here.tokens, ports=ports, programs=programs)


async def _show(name: str, address: str) -> None:
    await trio.lowlevel.checkpoint()
    print(f"Log in to {printable(name)} here:\n\n{printable_text(address)}\n", flush=True)


async def _show_and_open(name: str, address: str) -> None:
    await _show(name, address)
    # A process of its own, without the terminal: browsers for terminals would take it, and others print on it.
    command = [sys.executable, "-I", "-m", "webbrowser", address]  # isolated: not the modules of the current folder
    environ = child_environment(ChildKind.COMMAND)
    await trio.run_process(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, check=False, env=environ)


def _row(one: ServerState, config: ServerConfig) -> dict[str, Any]:
    return {
        "name": one.name,
        "status": one.status.value,
        "why": one.why,
        "type": one.type,
        "scope": one.scope,
        "source": config.source,
        "tools": list(one.tools),
        "prompts": list(one.prompts),
        "left_out": list(one.left_out),
    }


def _table(states: tuple[ServerState, ...], configs: dict[str, ServerConfig]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", expand=False)
    for title in ("name", "status", "type", "from", "tools", "where"):
        table.add_column(title, overflow="ellipsis", no_wrap=True)
    for state in states:
        way = configs[state.name].way
        row = (state.name, state.status.value, state.type, state.scope, str(len(state.tools)), _where(way))
        table.add_row(*(Text(printable(each, 100)) for each in row))
    return table


def _reasons(states: tuple[ServerState, ...]) -> list[str]:
    why = [f"{state.name}: {state.why}" for state in states if state.status is not ServerStatus.CONNECTED and state.why]
    return [*why, *(f"{state.name}: {line}" for state in states for line in state.left_out)]


def _where(way: Way) -> str:
    """Return a program, or the machine of an address: what follows that may be a secret."""
    if isinstance(way, Stdio):
        return way.command
    parts = urlsplit(way.url) if isinstance(way, Http) else None
    return "" if parts is None else f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
