"""A project with configurations of servers in its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from greenroom.core.sources import Plugin, find_places
from greenroom.mcp import FoundServers, Stdio, find_servers


class Files:
    """A project with a home beside it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.root = folder / "project"
        self.cwd = self.root / "deep"
        for path in (self.home, self.cwd, self.root / ".git"):
            path.mkdir(parents=True)

    def write(self, path: str, values: object) -> None:
        start = self.home if path.startswith("~/") else self.root
        file = start / path.removeprefix("~/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")

    def find(self, *, plugins: tuple[Plugin, ...] = (), managed: tuple[Path, ...] = (), **options: Any) -> FoundServers:
        environ = {"HOME": str(self.home), "TOKEN": "t"}
        places = find_places(self.cwd, environ=environ, plugins=plugins, managed=managed)
        return find_servers(places, environ=environ, **options)


def servers(**commands: str) -> dict[str, object]:
    return {"mcpServers": {name: {"command": command} for name, command in commands.items()}}


def commands(found: FoundServers) -> dict[str, str]:
    return {config.name: config.way.command for config in found.configs if isinstance(config.way, Stdio)}
