"""Supervisors: pure restart plans and the actors that carry them out; the runtime and its root."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.supervisor._events import (
        EVENTS,
        ChildRestarted,
        EndsWith,
        StopOrder,
        Strategy,
        SupervisorEscalated,
        SupervisorFinished,
        SupervisorOpened,
    )
    from greenroom.supervisor._runtime import Runtime, RuntimeStatistics, TreeNode, open_runtime
    from greenroom.supervisor._spec import Backoff, ChildSpec, Restart, SupervisorSpec
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
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.supervisor._events": (
                "EVENTS",
                "ChildRestarted",
                "EndsWith",
                "StopOrder",
                "Strategy",
                "SupervisorEscalated",
                "SupervisorFinished",
                "SupervisorOpened",
            ),
            "greenroom.supervisor._runtime": ("Runtime", "RuntimeStatistics", "TreeNode", "open_runtime"),
            "greenroom.supervisor._spec": ("Backoff", "ChildSpec", "Restart", "SupervisorSpec"),
            "greenroom.supervisor._strategy": (
                "COMES_BACK",
                "ForgetChild",
                "GiveUp",
                "RestartBudget",
                "StartChild",
                "StopChild",
                "ends_supervisor",
                "plan_exit",
                "restart_scope",
            ),
            "greenroom.supervisor._supervisor": ("Supervisor",),
        },
    )

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
