"""The screen of a swarm: frozen values, panes that draw them, and the loop that shows them on a terminal."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.terminal.screen._figures import short_duration, survived_words
    from greenroom.terminal.screen._layout import ScreenSize, talk_shown
    from greenroom.terminal.screen._picture import OpenQuestion, SurvivedFaults, SwarmPicture, TalkPart, TimePosition
    from greenroom.terminal.screen._screen_controls import (
        ChangeSpeed,
        GoTo,
        Interrupt,
        Kill,
        KillAll,
        Quit,
        ScreenAction,
        ScreenControls,
        ScreenMode,
        Settle,
        StepEvents,
        StepFailure,
        Tell,
        TogglePlay,
    )
    from greenroom.terminal.screen._screen_look import ScreenLook, look_of
    from greenroom.terminal.screen._screen_loop import PictureSource, ScreenLoop
    from greenroom.terminal.screen._story import SwarmStory
    from greenroom.terminal.screen._talk import talk_parts
    from greenroom.terminal.screen._terminal_screen import TerminalScreen, open_screen
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.terminal.screen._figures": ("short_duration", "survived_words"),
            "greenroom.terminal.screen._layout": ("ScreenSize", "talk_shown"),
            "greenroom.terminal.screen._picture": (
                "OpenQuestion",
                "SurvivedFaults",
                "SwarmPicture",
                "TalkPart",
                "TimePosition",
            ),
            "greenroom.terminal.screen._screen_controls": (
                "ChangeSpeed",
                "GoTo",
                "Interrupt",
                "Kill",
                "KillAll",
                "Quit",
                "ScreenAction",
                "ScreenControls",
                "ScreenMode",
                "Settle",
                "StepEvents",
                "StepFailure",
                "Tell",
                "TogglePlay",
            ),
            "greenroom.terminal.screen._screen_look": ("ScreenLook", "look_of"),
            "greenroom.terminal.screen._screen_loop": ("PictureSource", "ScreenLoop"),
            "greenroom.terminal.screen._story": ("SwarmStory",),
            "greenroom.terminal.screen._talk": ("talk_parts",),
            "greenroom.terminal.screen._terminal_screen": ("TerminalScreen", "open_screen"),
        },
    )

__all__ = [
    "ChangeSpeed",
    "GoTo",
    "Interrupt",
    "Kill",
    "KillAll",
    "OpenQuestion",
    "PictureSource",
    "Quit",
    "ScreenAction",
    "ScreenControls",
    "ScreenLook",
    "ScreenLoop",
    "ScreenMode",
    "ScreenSize",
    "Settle",
    "StepEvents",
    "StepFailure",
    "SurvivedFaults",
    "SwarmPicture",
    "SwarmStory",
    "TalkPart",
    "Tell",
    "TerminalScreen",
    "TimePosition",
    "TogglePlay",
    "look_of",
    "open_screen",
    "short_duration",
    "survived_words",
    "talk_parts",
    "talk_shown",
]
