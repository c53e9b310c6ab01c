"""Run all benchmarks: each prints a table, and one JSON line for each target."""

from benchmarks import agent_round, imports, messaging

if __name__ == "__main__":
    messaging.main()
    agent_round.main()
    imports.main()
