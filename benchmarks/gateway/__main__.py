"""Run the benchmarks of the gateway: `python -m benchmarks.gateway [--only spawn,rpc] [--list]`."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.gateway import clients, messages, sessions, spawns, starts
from benchmarks.measure import run_groups

GROUPS: dict[str, Callable[[], None]] = {
    **spawns.GROUPS,
    **messages.GROUPS,
    **sessions.GROUPS,
    **clients.GROUPS,
    **starts.GROUPS,
}


def main() -> None:
    run_groups("python -m benchmarks.gateway", __doc__, GROUPS)


if __name__ == "__main__":
    main()
