"""Hosts that a program has placed on machines, and the notifications of their deaths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from greenroom.remote.links import LinkPeer

HostDied = Callable[[str, str], object]
"""Called with the name of a host and the reason of its death."""


@final
class PlacedHosts:
    """Hosts, and who is notified of their deaths.

    A program that starts hosts makes it, and hands it to `open_session`; their tokens are in no file.

    Args:
        peers: The address and the token of each host, by the name of its node.
    """

    def __init__(self, peers: Mapping[str, LinkPeer]) -> None:
        self.peers: Final = MappingProxyType(dict(peers))
        self._dead: dict[str, str] = {}
        self._watchers: list[HostDied] = []

    def __repr__(self) -> str:
        return f"<PlacedHosts: {len(self.living)} of {len(self.peers)} alive>"

    @property
    def living(self) -> tuple[str, ...]:
        """The names of the hosts that have not died."""
        return tuple(host for host in self.peers if host not in self._dead)

    @property
    def dead(self) -> Mapping[str, str]:
        """The hosts that have died, and why."""
        return MappingProxyType(self._dead)

    def note_death(self, host: str, why: str) -> None:
        """Notify everyone that the process of a host has ended. Only the first note of a host has an effect.

        It is for certain deaths alone: nobody waits for that host any more. One that cannot be reached may still be at work.
        """
        if host in self._dead or host not in self.peers:
            return
        self._dead[host] = why
        for watcher in list(self._watchers):
            watcher(host, why)

    def watch(self, watcher: HostDied) -> Callable[[], None]:
        """Call a function with each death, at once with those that are known; return what ends that."""
        self._watchers.append(watcher)
        for host, why in list(self._dead.items()):
            watcher(host, why)
        return lambda: self._watchers.remove(watcher)
