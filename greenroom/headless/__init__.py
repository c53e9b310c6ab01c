"""The protocol of `greenroom run`: one agent without a person at hand, its answer and events printed for scripts and programs."""

from greenroom.headless._background_wait import read_ceiling
from greenroom.headless._opening import KEYS, key_source
from greenroom.headless._printers import OutputFormat
from greenroom.headless._protocol import rewound
from greenroom.headless._runner import HeadlessOptions, run_headless
from greenroom.headless._tool_approver import check_approver, tool_of

__all__ = [
    "KEYS",
    "HeadlessOptions",
    "OutputFormat",
    "check_approver",
    "key_source",
    "read_ceiling",
    "rewound",
    "run_headless",
    "tool_of",
]
