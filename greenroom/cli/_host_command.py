"""The command `greenroom host`: its arguments."""

from __future__ import annotations

from pathlib import Path


def host_command(
    *,
    listen: str,
    name: str = "host",
    folder: Path | None = None,
    token_file: Path | None = None,
    workspace: list[str] | None = None,
    max_agents: int = 100,
    cert: Path | None = None,
    key: Path | None = None,
    known_as: list[str] | None = None,
    drain_s: float = 30.0,
    model: str | None = None,
) -> int:
    """Run agents for runs of other processes, until a signal ends it.

    Runs reach it by the setting remote.hosts. Agents work here, with the model, the key and the tools of this process; calls
    that need permission are asked in those runs. Anybody who can read the token file can start agents here.

    Parameters
    ----------
    listen
        Where it listens: uds:PATH for a Unix socket, or HOST:PORT. Beyond the loopback interface it requires --cert.
    name
        The name of the host, which the setting of those runs has too.
    folder
        The folder for its runs and records; by default .greenroom/host in the home folder.
    token_file
        The file with its token, of mode 0600; by default token in its folder. A new one is made if there is none.
    workspace
        A folder in which agents may work, as NAME=FOLDER; may be repeated. Others work in empty folders.
    max_agents
        The number of agents that may run at a time.
    cert
        The file of a certificate, for TLS.
    key
        The file of its key; by default the file of the certificate holds both.
    known_as
        Another name under which runs reach it, as NAME:PORT; may be repeated. Required with 0.0.0.0.
    drain_s
        The seconds for which the first signal waits for the agents that run; the second one ends them at once.
    model
        The model of agents that name none.
    """
    from greenroom.cli._run_model import managed_model, model_for
    from greenroom.hosting import run_host

    return run_host(
        listen,
        name=name,
        folder=folder or Path.home() / ".greenroom" / "host",
        token_file=token_file,
        workspaces=workspace or [],
        max_agents=max_agents,
        certificate=cert,
        key=key,
        known_as=known_as or [],
        drain_s=drain_s,
        model=model_for(model, managed=managed_model(Path.cwd())),
    )
