"""Run the benchmarks of the kernel: `python -m benchmarks.kernel [--only ring,ask] [--list]`."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
from collections.abc import Callable

from benchmarks import messaging
from benchmarks.kernel import buffers, control, fan_out, passing, recording, savina, scale, schedules
from benchmarks.measure import print_figures

GROUPS: dict[str, Callable[[], None]] = {
    "ping-pong": messaging.ping_pong,
    "throughput": messaging.throughput,
    "now": messaging.control_lane,
    **passing.GROUPS,
    **fan_out.GROUPS,
    **savina.GROUPS,
    **buffers.GROUPS,
    **control.GROUPS,
    **recording.GROUPS,
    **scale.GROUPS,
    **schedules.GROUPS,
}
PEERS = {"Pykka": "pykka", "xoscar": "xoscar", "Thespian": "thespian", "AutoGen core": "autogen_core"}


def skipped() -> None:
    """Say which systems are not compared here; targets that name them are not shown."""
    print("\nnot compared")
    for name, module in PEERS.items():
        why = "not written yet" if importlib.util.find_spec(module) else "skipped: not installed"
        print(f"  {name:<44} {why}")
    print(f"  {'Erlang':<44} {'not written yet' if shutil.which('erl') else 'skipped: no erl on the path'}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel", description=__doc__)
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
        skipped()
    finally:
        print_figures()


if __name__ == "__main__":
    main()
