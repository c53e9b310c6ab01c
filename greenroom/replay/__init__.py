"""The program `greenroom replay`: a recorded run, or one in progress, as its journal tells it."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.replay._first_screen import problem_facts
    from greenroom.replay._play import watch_run
    from greenroom.replay._replay_views import ReplayOptions, show_replay
    from greenroom.replay._run_export import ExportFormat
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.replay._first_screen": ("problem_facts",),
            "greenroom.replay._play": ("watch_run",),
            "greenroom.replay._replay_views": ("ReplayOptions", "show_replay"),
            "greenroom.replay._run_export": ("ExportFormat",),
        },
    )

__all__ = ["ExportFormat", "ReplayOptions", "problem_facts", "show_replay", "watch_run"]
