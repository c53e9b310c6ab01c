"""Run the benchmarks of the kernel: `python -m benchmarks.kernel [--only ring,ask] [--list]`."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import messaging
from benchmarks.kernel import buffers, control, fan_out, passing, recording, savina, scale, schedules
from benchmarks.kernel.peers import comparing
from benchmarks.measure import run_groups

GROUPS: dict[str, Callable[[], None]] = {
    "ping-pong": messaging.ping_pong,
    "throughput": messaging.throughput,
    "now": messaging.control_lane,
    **passing.GROUPS,
    **fan_out.GROUPS,
    **savina.GROUPS,
    **buffers.GROUPS,
    **comparing.GROUPS,
    **control.GROUPS,
    **recording.GROUPS,
    **scale.GROUPS,
    **schedules.GROUPS,
}


def main() -> None:
    run_groups("python -m benchmarks.kernel", __doc__, GROUPS)


if __name__ == "__main__":
    main()
