"""The configuration in force, and its reload: a changed file, a signal or a client's request.

Rule 1: a file is parsed and checked whole; with a problem, the old configuration stays in force and the problems are reported. Rule 2: a
reload aborts nothing: it only replaces the value that others read, and tells them. Rule 3: the file is only read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, final

import attrs
import trio

from greenroom.core.ports import Ports
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._effective import effective_values
from greenroom.gateway.config._placed_secrets import placed_secrets
from greenroom.gateway.config._problems import Problem, Severity
from greenroom.gateway.config._reader import ConfigReading, read_config

LOOK_S: Final = 1.0
"""Seconds between two looks at the files."""
OnConfig = Callable[[GatewayConfig, GatewayConfig], Awaitable[object]]
"""Called with the former and the present configuration, after the present one is in force."""
_FIXED: Final = ("port", "bind", "tls", "state")
"""Keys of section `gateway` that count from the next start."""
_Stamp = tuple[tuple[str, int, int, int], ...]


@final
@attrs.frozen(kw_only=True)
class ReloadResult:
    """The result of a reload."""

    is_changed: bool
    """True if another configuration is in force than before."""
    problems: tuple[Problem, ...] = ()
    """Problems because of which the old one stays, or warnings and notes about the new one."""
    needs_start: tuple[str, ...] = ()
    """Paths of changed values that count from the next start."""

    @property
    def is_refused(self) -> bool:
        """True if the file cannot be used, so that the old configuration stays in force."""
        return any(problem.severity is Severity.PROBLEM for problem in self.problems)


@final
class ConfigInForce:
    """The configuration in force.

    Args:
        reading: The first reading; it has a configuration.
        ports: Threads.
        environ: Variables for `${NAME}` and for secrets.
        on_result: Called with the result of each reload that changed or refused something; it is awaited.
    """

    def __init__(
        self,
        reading: ConfigReading,
        *,
        ports: Ports,
        environ: Mapping[str, str],
        on_result: Callable[[ReloadResult], Awaitable[object]],
    ) -> None:
        assert reading.config is not None
        self.config: GatewayConfig = reading.config
        self.reading = reading
        """The reading of the configuration in force."""
        self.problems: tuple[Problem, ...] = reading.problems
        """Problems of the file as it was last read."""
        self._ports = ports
        self._environ = environ
        self._on_result = on_result
        self._listeners: list[OnConfig] = []
        self._turn = trio.Lock()
        self._stamp = _stamp(reading)
        self._refused: tuple[Problem, ...] = ()

    def __call__(self) -> GatewayConfig:
        """Return the configuration in force."""
        return self.config

    @property
    def is_refused(self) -> bool:
        """True if the file, as it was last read, cannot be used."""
        return bool(self._refused)

    def subscribe(self, listener: OnConfig) -> None:
        """Have each change told, in the order of subscription."""
        self._listeners.append(listener)

    async def reload(self) -> ReloadResult:
        """Read the files again, and return what came of it. Cancelled while it reads, it changes nothing."""
        async with self._turn:
            self._stamp = await self._ports.blocking.run(_stamp, self.reading)
            reading = await self._ports.blocking.run(read_config, self.reading.path, self._environ)
            return await self._take(reading)

    async def check(self) -> tuple[Problem, ...]:
        """Return the problems of the files as they are now; nothing changes."""
        reading = await self._ports.blocking.run(read_config, self.reading.path, self._environ)
        return reading.problems

    async def _take(self, reading: ConfigReading) -> ReloadResult:
        self.problems = reading.problems
        former = self.config
        if reading.config is None:
            result = ReloadResult(is_changed=False, problems=reading.problems)
            if self._refused != reading.problems:
                self._refused = reading.problems
                await self._on_result(result)
            return result
        was_refused, self._refused = bool(self._refused), ()
        self.reading = reading
        result = ReloadResult(
            is_changed=reading.config != former,
            problems=reading.problems,
            needs_start=needs_start(former, reading.config),
        )
        self.config = reading.config
        if result.is_changed:
            for listener in self._listeners:
                await listener(former, reading.config)
        if result.is_changed or was_refused:
            await self._on_result(result)
        return result

    async def watch(self) -> None:
        """Reload whenever the files have changed, until cancelled. A file that still changes is waited for."""
        while True:
            await trio.sleep(LOOK_S)
            seen = await self._ports.blocking.run(_stamp, self.reading)
            if seen == self._stamp:
                continue
            await trio.sleep(LOOK_S)
            if seen == await self._ports.blocking.run(_stamp, self.reading):
                await self.reload()


def needs_start(former: GatewayConfig, present: GatewayConfig) -> tuple[str, ...]:
    """Return the paths of changed values that count from the next start."""
    return tuple(
        f"gateway.{name}" for name in _FIXED if getattr(former.gateway, name) != getattr(present.gateway, name)
    )


def config_digest(reading: ConfigReading) -> str:
    """Return the digest of the effective values of a configuration; secrets do not count."""
    import orjson

    values = [[value.path, value.value] for value in effective_values(reading)]
    return hashlib.sha256(orjson.dumps(values, default=str)).hexdigest()[:16]


def texts_of_secrets(config: GatewayConfig) -> tuple[str, ...]:
    """Return the secrets that are written in a configuration itself, for the masker."""
    return tuple(text for _, secret in placed_secrets(config) if secret.kind == "text" for text in secret.reference)


def _stamp(reading: ConfigReading) -> _Stamp:
    """Return what changes with the files: it blocks."""
    return tuple(_stamp_of(path) for path in dict.fromkeys((reading.path, *reading.files)))


def _stamp_of(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_ino, found.st_mtime_ns, found.st_size
