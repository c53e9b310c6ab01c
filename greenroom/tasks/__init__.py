"""Background tasks: work that outlives the call that started it, and the notice of its end."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names
from greenroom.actors import State as TaskState

if TYPE_CHECKING:
    from greenroom.actors import TERMINAL, TRANSITIONS, Edge, step
    from greenroom.tasks._notice import LOST, TaskNotice, TaskReport, TaskUsage
    from greenroom.tasks._progress import Progress
    from greenroom.tasks._registry import Tasks, open_tasks
    from greenroom.tasks._task import (
        AGENT,
        COMMANDS,
        MCP_CALL,
        MONITOR,
        SHELL,
        TEAMMATE,
        EndReport,
        KeptWorktree,
        NoticeMode,
        Task,
        TaskInfo,
        describe_end,
    )
    from greenroom.tasks._task_events import (
        EVENTS,
        TaskBegan,
        TaskDropped,
        TaskEnded,
        TaskLost,
        TaskMoved,
        TaskRegistered,
        TaskSettled,
        TaskUndelivered,
        record_new,
        record_settled,
        record_task,
        record_undelivered,
    )
    from greenroom.tasks._task_view import FOLDS, TaskView, lost
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.actors": ("TERMINAL", "TRANSITIONS", "Edge", "step"),
            "greenroom.tasks._notice": ("LOST", "TaskNotice", "TaskReport", "TaskUsage"),
            "greenroom.tasks._progress": ("Progress",),
            "greenroom.tasks._registry": ("Tasks", "open_tasks"),
            "greenroom.tasks._task": (
                "AGENT",
                "COMMANDS",
                "MCP_CALL",
                "MONITOR",
                "SHELL",
                "TEAMMATE",
                "EndReport",
                "KeptWorktree",
                "NoticeMode",
                "Task",
                "TaskInfo",
                "describe_end",
            ),
            "greenroom.tasks._task_events": (
                "EVENTS",
                "TaskBegan",
                "TaskDropped",
                "TaskEnded",
                "TaskLost",
                "TaskMoved",
                "TaskRegistered",
                "TaskSettled",
                "TaskUndelivered",
                "record_new",
                "record_settled",
                "record_task",
                "record_undelivered",
            ),
            "greenroom.tasks._task_view": ("FOLDS", "TaskView", "lost"),
        },
    )

__all__ = [
    "AGENT",
    "COMMANDS",
    "EVENTS",
    "FOLDS",
    "LOST",
    "MCP_CALL",
    "MONITOR",
    "SHELL",
    "TEAMMATE",
    "TERMINAL",
    "TRANSITIONS",
    "Edge",
    "EndReport",
    "KeptWorktree",
    "NoticeMode",
    "Progress",
    "Task",
    "TaskBegan",
    "TaskDropped",
    "TaskEnded",
    "TaskInfo",
    "TaskLost",
    "TaskMoved",
    "TaskNotice",
    "TaskRegistered",
    "TaskReport",
    "TaskSettled",
    "TaskState",
    "TaskUndelivered",
    "TaskUsage",
    "TaskView",
    "Tasks",
    "describe_end",
    "lost",
    "open_tasks",
    "record_new",
    "record_settled",
    "record_task",
    "record_undelivered",
    "step",
]
