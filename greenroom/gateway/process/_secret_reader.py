"""Secrets of the configuration, read when they are needed, and known to the masker from then on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import final

from greenroom.containment import Secrets
from greenroom.core import UsageError
from greenroom.core.ports import Blocking
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._values import Secret
from greenroom.gateway.process._config_in_force import texts_of_secrets


@final
class SecretReader:
    """Reads secrets, and masks all that it has read.

    Args:
        config: Returns the configuration in force.
        folder: The folder of its file, on which relative paths stand.
        environ: Variables.
        blocking: Runs what blocks.
    """

    def __init__(
        self, config: Callable[[], GatewayConfig], *, folder: Path, environ: Mapping[str, str], blocking: Blocking
    ) -> None:
        self._config = config
        self._folder = folder
        self._environ = environ
        self._blocking = blocking
        self._values: dict[str, None] = {}
        self._secrets = Secrets(environ)

    def know(self, *values: str) -> None:
        """Mask these values from now on, and those that stand in the configuration."""
        self._values |= dict.fromkeys((*values, *texts_of_secrets(self._config())))
        self._secrets = Secrets(self._environ, values=self._values)

    def known(self) -> tuple[str, ...]:
        """Return all that it has read, for sessions, which mask it in what they record."""
        return tuple(self._values)

    def mask(self, text: str) -> str:
        """Return a text with each character of a secret replaced by a star."""
        return self._secrets.mask(text)

    async def read(self, secret: Secret) -> str:
        """Return a secret.

        Raises:
            UsageError: It cannot be read.
        """
        value = await self._blocking.run(self.read_now, secret)
        self.know(value)
        return value

    def read_now(self, secret: Secret) -> str:
        """Return a secret; it blocks, and a program may take its time."""
        match secret.kind:
            case "text":
                return secret.reference[0]
            case "env":
                value = self._environ.get(secret.reference[0], "")
            case "file":
                value = self._of_file(secret)
            case _:
                value = self._of_program(secret)
        if not value:
            raise UsageError(f"cannot read the secret of {secret.place}: it is empty or missing")
        return value

    def _of_file(self, secret: Secret) -> str:
        path = self._folder / Path(secret.reference[0]).expanduser()
        try:
            if path.stat().st_mode & 0o077:
                raise UsageError(f"cannot use the secret of {secret.place}: others can read it; run `chmod 600` on it")
            return path.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read the secret of {secret.place}: {_why(error)}") from None

    def _of_program(self, secret: Secret) -> str:
        limit_s = self._config().secrets.exec_timeout_seconds
        try:
            done = subprocess.run(
                secret.reference,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=limit_s,
                check=True,
                cwd=self._folder,
                env=dict(self._environ),
            )
            return done.stdout.decode().strip()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise UsageError(f"cannot read the secret of {secret.place}: {_why(error)}") from None


def _why(error: Exception) -> str:
    match error:
        case OSError() if error.strerror:
            return error.strerror.lower()
        case subprocess.CalledProcessError():
            return f"it ended with {error.returncode}"
        case subprocess.TimeoutExpired():
            return f"it took longer than {error.timeout:g} s"
    return "it is not text"
