"""Run all benchmarks: each prints a table; one JSON line for each target comes last."""

from benchmarks import agent_round, imports, messaging, transcripts
from benchmarks.measure import print_figures

if __name__ == "__main__":
    try:
        messaging.main()
        agent_round.main()
        imports.main()
        transcripts.main()
    finally:
        print_figures()
