"""Background tasks: what outlives the call that started it, in a table with five edges, and the notice of its end."""

from greenroom.actors import TERMINAL, TRANSITIONS, Edge, step
from greenroom.actors import State as TaskState
from greenroom.tasks._events import EVENTS, TaskBegan, TaskEnded
from greenroom.tasks._notice import TaskNotice
from greenroom.tasks._registry import Tasks, open_tasks
from greenroom.tasks._task import SHELL, Task, TaskInfo

__all__ = [
    "EVENTS",
    "SHELL",
    "TERMINAL",
    "TRANSITIONS",
    "Edge",
    "Task",
    "TaskBegan",
    "TaskEnded",
    "TaskInfo",
    "TaskNotice",
    "TaskState",
    "Tasks",
    "open_tasks",
    "step",
]
