"""The program `greenroom replay`: a recorded run, or one in progress, as its journal tells it."""

from greenroom.replay._first_screen import problem_facts
from greenroom.replay._play import watch_run
from greenroom.replay._replay_views import ReplayOptions, show_replay
from greenroom.replay._run_export import ExportFormat

__all__ = ["ExportFormat", "ReplayOptions", "problem_facts", "show_replay", "watch_run"]
