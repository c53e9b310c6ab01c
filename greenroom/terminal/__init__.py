"""The terminal: output that may end early, keys, signals, and words for people."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.terminal._keys import Key, Keyboard, Press, open_keyboard
    from greenroom.terminal._narrator import Narrator
    from greenroom.terminal._output import (
        LogNotes,
        OpenRunPage,
        can_draw,
        complain,
        drop_output,
        explained,
        flush_output,
        for_reader,
        is_terminal,
        json_for_reader,
        note,
        noting_log,
        print_table,
        printable,
        program,
        typed,
        without_class,
        without_page,
    )
    from greenroom.terminal._page import Page, counted, first_of, seconds, tally
    from greenroom.terminal._signal_ladder import EXIT_CODES, Ladder, climbing
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.terminal._keys": ("Key", "Keyboard", "Press", "open_keyboard"),
            "greenroom.terminal._narrator": ("Narrator",),
            "greenroom.terminal._output": (
                "LogNotes",
                "OpenRunPage",
                "can_draw",
                "complain",
                "drop_output",
                "explained",
                "flush_output",
                "for_reader",
                "is_terminal",
                "json_for_reader",
                "note",
                "noting_log",
                "print_table",
                "printable",
                "program",
                "typed",
                "without_class",
                "without_page",
            ),
            "greenroom.terminal._page": ("Page", "counted", "first_of", "seconds", "tally"),
            "greenroom.terminal._signal_ladder": ("EXIT_CODES", "Ladder", "climbing"),
        },
    )

__all__ = [
    "EXIT_CODES",
    "Key",
    "Keyboard",
    "Ladder",
    "LogNotes",
    "Narrator",
    "OpenRunPage",
    "Page",
    "Press",
    "can_draw",
    "climbing",
    "complain",
    "counted",
    "drop_output",
    "explained",
    "first_of",
    "flush_output",
    "for_reader",
    "is_terminal",
    "json_for_reader",
    "note",
    "noting_log",
    "open_keyboard",
    "print_table",
    "printable",
    "program",
    "seconds",
    "tally",
    "typed",
    "without_class",
    "without_page",
]
