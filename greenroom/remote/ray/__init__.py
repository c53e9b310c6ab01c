"""Placement of hosts on a Ray cluster, and its word of their deaths. Needs the extra `ray`."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.remote.ray._ray_guest import GuestSeat
    from greenroom.remote.ray._ray_hosts import RayHosts, open_ray_placement
    from greenroom.remote.ray._ray_place import RayHostPlan, RayPlace, RayTls, parse_ray_place
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.remote.ray._ray_guest": ("GuestSeat",),
            "greenroom.remote.ray._ray_hosts": ("RayHosts", "open_ray_placement"),
            "greenroom.remote.ray._ray_place": ("RayHostPlan", "RayPlace", "RayTls", "parse_ray_place"),
        },
    )

__all__ = [
    "GuestSeat",
    "RayHostPlan",
    "RayHosts",
    "RayPlace",
    "RayTls",
    "open_ray_placement",
    "parse_ray_place",
]
