"""Sessions: a main agent with everything below it, in one runtime, with one journal in one run folder."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.session._catalog import EVENTS, FOLDS
    from greenroom.session._events import (
        ElicitationAnswered,
        ElicitationAsked,
        FilesRewound,
        SessionBegan,
        SessionEnded,
        SessionTitled,
    )
    from greenroom.session._open import open_session
    from greenroom.session._session import Session
    from greenroom.session.assembly._host_ports import HostArguments
    from greenroom.session.assembly._main_definition import main_of_settings
    from greenroom.session.assembly._run_replay import ATTEMPTS, INVOCATION, USER_FOLDER, RunReplay
    from greenroom.session.assembly._session_spec import MAIN, MainFor, ModelFor
    from greenroom.session.parts._activity import Activity
    from greenroom.session.parts._event_stream import EventStream
    from greenroom.session.parts._host_agents import TaskHandle, TaskResult
    from greenroom.session.parts._live_events import (
        LIVE_EVENTS,
        AnswerPiece,
        ElicitationCompleted,
        HookReported,
        MessageAppended,
        MessageShown,
        PromptTaken,
    )
    from greenroom.session.parts._session_inbox import Interrupted
    from greenroom.session.parts._session_status import AgentStatus, TaskStatus
    from greenroom.session.peers._peer_sessions import SessionMessageError
    from greenroom.session.record._branch_start import (
        BRANCH_FILE,
        BranchFiles,
        BranchStart,
        is_file_of_run,
        load_changed,
        read_branch,
    )
    from greenroom.session.record._file_rewind import rewind_run
    from greenroom.session.record._inbox_record import check_run
    from greenroom.session.record._resume import Fork, find_session, read_beginning
    from greenroom.session.record._run_sweep import SweepReport, sweep_runs
    from greenroom.session.record._unfinished import Unfinished, find_unfinished
    from greenroom.session.schedules._schedule_tools import SCHEDULE_TOOLS
    from greenroom.session.settings._session_plugins import find_session_plugins, make_data_folders
    from greenroom.session.settings._session_settings import SessionSettings, Settings, SwarmSettings, load_settings
    from greenroom.session.settings._settings_files import SettingSource
    from greenroom.session.settings._settings_watch import SETTINGS_NOTICE
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.session._catalog": ("EVENTS", "FOLDS"),
            "greenroom.session._events": (
                "ElicitationAnswered",
                "ElicitationAsked",
                "FilesRewound",
                "SessionBegan",
                "SessionEnded",
                "SessionTitled",
            ),
            "greenroom.session._open": ("open_session",),
            "greenroom.session._session": ("Session",),
            "greenroom.session.assembly._host_ports": ("HostArguments",),
            "greenroom.session.assembly._main_definition": ("main_of_settings",),
            "greenroom.session.assembly._run_replay": ("ATTEMPTS", "INVOCATION", "USER_FOLDER", "RunReplay"),
            "greenroom.session.assembly._session_spec": ("MAIN", "MainFor", "ModelFor"),
            "greenroom.session.parts._activity": ("Activity",),
            "greenroom.session.parts._event_stream": ("EventStream",),
            "greenroom.session.parts._host_agents": ("TaskHandle", "TaskResult"),
            "greenroom.session.parts._live_events": (
                "AnswerPiece",
                "ElicitationCompleted",
                "HookReported",
                "LIVE_EVENTS",
                "MessageAppended",
                "MessageShown",
                "PromptTaken",
            ),
            "greenroom.session.parts._session_inbox": ("Interrupted",),
            "greenroom.session.parts._session_status": ("AgentStatus", "TaskStatus"),
            "greenroom.session.peers._peer_sessions": ("SessionMessageError",),
            "greenroom.session.record._branch_start": (
                "BRANCH_FILE",
                "BranchFiles",
                "BranchStart",
                "is_file_of_run",
                "is_file_of_run",
                "load_changed",
                "read_branch",
            ),
            "greenroom.session.record._file_rewind": ("rewind_run",),
            "greenroom.session.record._inbox_record": ("check_run",),
            "greenroom.session.record._resume": ("Fork", "find_session", "read_beginning"),
            "greenroom.session.record._run_sweep": ("SweepReport", "sweep_runs"),
            "greenroom.session.record._unfinished": ("Unfinished", "find_unfinished"),
            "greenroom.session.schedules._schedule_tools": ("SCHEDULE_TOOLS",),
            "greenroom.session.settings._session_plugins": ("find_session_plugins", "make_data_folders"),
            "greenroom.session.settings._session_settings": (
                "SessionSettings",
                "Settings",
                "SwarmSettings",
                "load_settings",
            ),
            "greenroom.session.settings._settings_files": ("SettingSource",),
            "greenroom.session.settings._settings_watch": ("SETTINGS_NOTICE",),
        },
    )

__all__ = [
    "ATTEMPTS",
    "BRANCH_FILE",
    "EVENTS",
    "FOLDS",
    "INVOCATION",
    "LIVE_EVENTS",
    "MAIN",
    "SCHEDULE_TOOLS",
    "SETTINGS_NOTICE",
    "USER_FOLDER",
    "Activity",
    "AgentStatus",
    "AnswerPiece",
    "BranchFiles",
    "BranchStart",
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
    "PromptTaken",
    "RunReplay",
    "Session",
    "SessionBegan",
    "SessionEnded",
    "SessionMessageError",
    "SessionSettings",
    "SessionTitled",
    "SettingSource",
    "Settings",
    "SwarmSettings",
    "SweepReport",
    "TaskHandle",
    "TaskResult",
    "TaskStatus",
    "Unfinished",
    "check_run",
    "find_session",
    "find_session_plugins",
    "find_unfinished",
    "is_file_of_run",
    "load_changed",
    "load_settings",
    "main_of_settings",
    "make_data_folders",
    "open_session",
    "read_beginning",
    "read_branch",
    "rewind_run",
    "sweep_runs",
]
