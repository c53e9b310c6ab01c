"""Supervisors: pure restart plans and the actors that carry them out; the runtime and its root."""

from greenroom.supervisor._events import (
    EVENTS,
    ChildRestarted,
    SupervisorEscalated,
    SupervisorFinished,
    SupervisorOpened,
)
from greenroom.supervisor._runtime import Runtime, RuntimeStatistics, TreeNode, open_runtime
from greenroom.supervisor._spec import Backoff, ChildSpec, EndsWith, Restart, StopOrder, Strategy, SupervisorSpec
from greenroom.supervisor._strategy import (
    COMES_BACK,
    ForgetChild,
    GiveUp,
    RestartBudget,
    StartChild,
    StopChild,
    ends_supervisor,
    plan_exit,
    restart_scope,
)
from greenroom.supervisor._supervisor import Supervisor

__all__ = [
    "COMES_BACK",
    "EVENTS",
    "Backoff",
    "ChildRestarted",
    "ChildSpec",
    "EndsWith",
    "ForgetChild",
    "GiveUp",
    "Restart",
    "RestartBudget",
    "Runtime",
    "RuntimeStatistics",
    "StartChild",
    "StopChild",
    "StopOrder",
    "Strategy",
    "Supervisor",
    "SupervisorEscalated",
    "SupervisorFinished",
    "SupervisorOpened",
    "SupervisorSpec",
    "TreeNode",
    "ends_supervisor",
    "open_runtime",
    "plan_exit",
    "restart_scope",
]
