"""Run all benchmarks: each prints a table; one JSON line for each target comes last."""

from benchmarks import messaging, start, transcripts
from benchmarks.agents import rounds
from benchmarks.measure import print_figures

if __name__ == "__main__":
    try:
        messaging.main()
        rounds.main()
        start.main()
        transcripts.main()
    finally:
        print_figures()
