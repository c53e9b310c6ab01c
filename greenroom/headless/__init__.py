"""The protocol of `greenroom run`: one agent without a person at hand, its answer and events printed for scripts and programs."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.headless._background_wait import read_ceiling
    from greenroom.headless._opening import KEYS, key_source
    from greenroom.headless._printers import OutputFormat
    from greenroom.headless._protocol import rewound
    from greenroom.headless._runner import HeadlessOptions, repeated_run, run_headless
    from greenroom.headless._tool_approver import check_approver, tool_of
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.headless._background_wait": ("read_ceiling",),
            "greenroom.headless._opening": ("KEYS", "key_source"),
            "greenroom.headless._printers": ("OutputFormat",),
            "greenroom.headless._protocol": ("rewound",),
            "greenroom.headless._runner": ("HeadlessOptions", "repeated_run", "run_headless"),
            "greenroom.headless._tool_approver": ("check_approver", "tool_of"),
        },
    )

__all__ = [
    "KEYS",
    "HeadlessOptions",
    "OutputFormat",
    "check_approver",
    "key_source",
    "read_ceiling",
    "repeated_run",
    "rewound",
    "run_headless",
    "tool_of",
]
