"""Sessions: a main agent with everything below it, in one runtime, with one journal in one run folder."""

from greenroom.session._assembly import ModelFor
from greenroom.session._events import (
    ElicitationAnswered,
    ElicitationAsked,
    FilesRewound,
    SessionBegan,
    SessionEnded,
    SessionTitled,
)
from greenroom.session._handles import TaskHandle, TaskResult
from greenroom.session._host import HostArguments
from greenroom.session._live_events import (
    LIVE_EVENTS,
    AnswerPiece,
    ElicitationCompleted,
    HookReported,
    MessageAppended,
    MessageShown,
    PromptTaken,
)
from greenroom.session._main import MAIN, MainFor, main_of_settings
from greenroom.session._neighbours import NeighbourError, NeighbourSettings
from greenroom.session._observation import Activity
from greenroom.session._open import EVENTS, FOLDS, open_session
from greenroom.session._plugins import find_session_plugins, make_data_folders
from greenroom.session._queue import Interrupted, SessionInbox
from greenroom.session._resume import Beginning, Fork, find_session, read_beginning, transcript_opener
from greenroom.session._rewind_run import rewind_run
from greenroom.session._session import Session
from greenroom.session._settings import SessionSettings, Settings, WorktreeKeys, load_settings
from greenroom.session._settings_files import SettingSource
from greenroom.session._settings_watch import SETTINGS_NOTICE
from greenroom.session._status import AgentStatus, TaskStatus
from greenroom.session._stream import EventStream
from greenroom.session._sweep import SweepReport, sweep_runs

__all__ = [
    "EVENTS",
    "FOLDS",
    "LIVE_EVENTS",
    "MAIN",
    "SETTINGS_NOTICE",
    "Activity",
    "AgentStatus",
    "AnswerPiece",
    "Beginning",
    "ElicitationAnswered",
    "ElicitationAsked",
    "ElicitationCompleted",
    "EventStream",
    "FilesRewound",
    "Fork",
    "HookReported",
    "HostArguments",
    "Interrupted",
    "MainFor",
    "MessageAppended",
    "MessageShown",
    "ModelFor",
    "NeighbourError",
    "NeighbourSettings",
    "PromptTaken",
    "Session",
    "SessionBegan",
    "SessionEnded",
    "SessionInbox",
    "SessionSettings",
    "SessionTitled",
    "SettingSource",
    "Settings",
    "SweepReport",
    "TaskHandle",
    "TaskResult",
    "TaskStatus",
    "WorktreeKeys",
    "find_session",
    "find_session_plugins",
    "load_settings",
    "main_of_settings",
    "make_data_folders",
    "open_session",
    "read_beginning",
    "rewind_run",
    "sweep_runs",
    "transcript_opener",
]
