"""Hosts: processes that run agents for the runs of others."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.hosting._host_process import run_host
    from greenroom.hosting._ray_host import hosts_opener, open_ray_hosts
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.hosting._host_process": ("run_host",),
            "greenroom.hosting._ray_host": ("hosts_opener", "open_ray_hosts"),
        },
    )

__all__ = [
    "hosts_opener",
    "open_ray_hosts",
    "run_host",
]
