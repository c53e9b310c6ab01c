"""A day of many messages through a gateway, in virtual time; memory, tasks and descriptors stay flat: `make soak-gateway MESSAGES=50000`."""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.gateway.sessions import run_day

GROWTH = 1.1
"""Most that the memory may grow after the early messages."""


def main() -> int:
    """Run the day, print its figures, and return 1 if something has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("messages", type=int, nargs="?", default=50_000)
    asked = parser.parse_args()
    early_of = min(2_000, asked.messages // 2)
    began = time.process_time()
    early, late = run_day(asked.messages, early_of)
    print(f"{asked.messages:,} messages, {(time.process_time() - began) / asked.messages * 1e3:.1f} ms of CPU each")
    print(f"after {early_of:,}: {early.memory_bytes / 1e6:.1f} MB, {early.tasks} tasks, {early.files} descriptors")
    print(f"at the end: {late.memory_bytes / 1e6:.1f} MB, {late.tasks} tasks, {late.files} descriptors")
    grown = late.memory_bytes > GROWTH * early.memory_bytes or late.tasks > early.tasks or late.files > early.files
    print("something has grown" if grown else "nothing has grown")
    return int(grown)


if __name__ == "__main__":
    sys.exit(main())
