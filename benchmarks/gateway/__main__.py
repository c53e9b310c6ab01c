"""Run the benchmarks of the gateway: `python -m benchmarks.gateway [--only spawn,rpc] [--list]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from benchmarks.gateway import clients, messages, sessions, spawns, starts
from benchmarks.measure import print_figures

GROUPS: dict[str, Callable[[], None]] = {
    **spawns.GROUPS,
    **messages.GROUPS,
    **sessions.GROUPS,
    **clients.GROUPS,
    **starts.GROUPS,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--only", default="", help="names of groups, with commas between")
    parser.add_argument("--list", action="store_true", help="list the groups and stop")
    options = parser.parse_args()
    if options.list:
        print("\n".join(GROUPS))
        return
    chosen = options.only.split(",") if options.only else list(GROUPS)
    unknown = [name for name in chosen if name not in GROUPS]
    if unknown:
        parser.error(f"there is no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    try:
        for name in chosen:
            GROUPS[name]()
    finally:
        print_figures()


if __name__ == "__main__":
    main()
