"""Run the benchmarks of agents: `python -m benchmarks.agents [--only rounds,peers,spawned,team] [--agents 100]`."""

from __future__ import annotations

import argparse

from benchmarks.agents import beside, rounds, spawned, team
from benchmarks.measure import print_figures

GROUPS = ("rounds", "peers", "spawned", "team")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents", description=__doc__)
    parser.add_argument("--only", default=",".join(GROUPS), help="groups, with a comma between: " + ", ".join(GROUPS))
    parser.add_argument("--agents", type=int, default=rounds.AGENTS, help="agents beside peers")
    parser.add_argument("--spawned", type=int, default=spawned.AGENTS, help="background agents of one session")
    parser.add_argument("--mates", type=int, default=team.MATES, help="mates of one team, with ten items each")
    parser.add_argument("--times", type=int, default=3, help="how often each peer is measured")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in GROUPS]:
        parser.error(f"there is no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    try:
        if "rounds" in chosen:
            rounds.main()
        if "peers" in chosen:
            beside.main(options.agents, options.times)
        if "spawned" in chosen:
            spawned.main(options.spawned)
        if "team" in chosen:
            team.main(options.mates, 10 * options.mates)
    finally:
        print_figures()


if __name__ == "__main__":
    main()
