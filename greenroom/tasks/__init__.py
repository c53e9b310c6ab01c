"""Background tasks: work that outlives the call that started it, and the notice of its end."""

from greenroom.actors import TERMINAL, TRANSITIONS, Edge, step
from greenroom.actors import State as TaskState
from greenroom.tasks._notice import TaskNotice, TaskUsage
from greenroom.tasks._progress import Progress
from greenroom.tasks._registry import Tasks, open_tasks
from greenroom.tasks._task import (
    AGENT,
    LOST,
    MCP_CALL,
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

__all__ = [
    "AGENT",
    "EVENTS",
    "FOLDS",
    "LOST",
    "MCP_CALL",
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
