"""A gateway under a plan: what people, a host, the network and the disk do to it, one operation after the other, in virtual time.

A plan is plain data, as that of a session (`tools/soak/session_machine.py`). Sessions, runs and people are named by a number, modulo how
many there are, so that each plan can be carried out whatever the schedule makes of it. A kill leaves the folder as it is in that instant:
the next process works on a copy.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final, final

import attrs
import trio

from greenroom.core import GreenroomError, event_of, point
from greenroom.core.ports import Disk, Ports, SystemDisk
from greenroom.gateway._gateway import Gateway, open_gateway
from greenroom.gateway.config._reader import ConfigReading, read_config
from greenroom.gateway.process._gateway_options import GatewayOptions, open_sqlite_store
from greenroom.gateway.routing._chat_messages import ChatRoute, Inbound, PeerKind, Sender
from greenroom.inbox import InboxStore
from greenroom.store import MemoryInboxStore
from greenroom.testing import Sim
from greenroom.trace import JOURNAL
from tests.kept import Kept
from tools.soak.gateway_chats import ChatTown, LossyChannel, OrderedModel
from tools.soak.session_machine import Operation
from tools.soak.session_situations import Round, ordered

REST_S: Final = 60.0
"""Virtual seconds between two looks at a gateway that is to come to rest."""
MAX_RESTS: Final = 300
CLOSE_S: Final = 660.0
"""Virtual seconds after which an idle session has been closed."""
PEOPLE: Final = (
    ("plain", "ann", ""),
    ("keyed", "bea", ""),
    ("mute", "dan", ""),
    ("plain", "ann", "#room"),
    ("plain", "cid", ""),
)
"""Channel, person and group; cid is a stranger."""
READINGS: Final[dict[str, ConfigReading]] = {}
CONFIG: Final[dict[str, Any]] = {
    "agents": {
        "defaults": {"model": "sonnet", "workspace": "workspace", "subagents": {"archiveAfterMinutes": 20}},
        "list": [
            {"id": "main", "default": True},
            {"id": "scribe", "subagents": {"announce": "turn"}},
            {"id": "quiet", "subagents": {"announce": "silent"}},
        ],
    },
    "bindings": [
        {"agentId": "scribe", "match": {"channel": "keyed"}},
        {"agentId": "quiet", "match": {"channel": "mute"}},
    ],
    "channels": {
        "plugins": {
            "plain": {
                "accounts": {
                    "default": {
                        "dmPolicy": "pairing",
                        "groupPolicy": "open",
                        "groups": {"*": {"requireMention": True}},
                    }
                }
            },
            "keyed": {"accounts": {"default": {"dmPolicy": "allowlist", "allowFrom": ["bea"]}}},
            "mute": {"accounts": {"default": {"dmPolicy": "open", "allowFrom": ["*"]}}},
        }
    },
    "commands": {"ownerAllowFrom": ["plain:ann", "keyed:bea", "mute:dan"]},
    "tools": {"sessions": {"visibility": "all"}, "agentToAgent": {"enabled": True}},
    "session": {"timezone": "UTC"},
}


@final
@attrs.frozen
class GatewayPlan(Kept):
    """What is done to a gateway."""

    operations: list[Operation]
    widths: list[int] = attrs.field(factory=lambda: [4, 8])
    """Widths of the lanes `main` and `subagent`."""
    queue: str = "collect"
    open_sessions: int = 200
    is_stored_in_memory: bool = True
    """False for the store of inputs in a file, which costs more."""


@final
class FullableDisk:
    """A disk that can be full: then the gateway's journal takes nothing, or half a line."""

    append_all = Disk.append_all

    def __init__(self) -> None:
        self._disk: Disk = SystemDisk(is_durable=False)
        self.is_full = False
        self.make_folder = self._disk.make_folder
        self.sync = self._disk.sync
        self.read = self._disk.read
        self.size = self._disk.size
        self.close = self._disk.close
        self.write = self._disk.write

    def append(self, path: Path, content: bytes) -> None:
        """Append, unless it is full."""
        if self.is_full and path.name == JOURNAL and path.parent.name.startswith("state"):
            self._disk.append(path, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._disk.append(path, content)


@final
@attrs.define(eq=False)
class GatewayWorld:
    """A gateway while a plan is carried out, and what is seen of it."""

    plan: GatewayPlan
    sim: Sim
    folder: Path
    services: dict[str, ChatTown] = attrs.field(init=False)
    gateway: Gateway = attrs.field(init=False)
    disk: FullableDisk = attrs.field(init=False)
    store: InboxStore = attrs.field(init=False)
    widths: dict[str, int] = attrs.field(init=False)
    life: int = 0
    """Number of kills so far."""
    said: int = 0
    keys: list[str] = attrs.field(factory=list)
    runs: list[str] = attrs.field(factory=list)
    silent: bool = False
    """True if somebody was told to end without a word."""
    places: dict[str, int] = attrs.field(factory=dict)
    """Places in use in each lane, at the last event."""
    too_wide: list[str] = attrs.field(factory=list)
    quiet_tasks: int = 0
    """Number of Trio tasks of the gateway when it had done nothing."""

    def __attrs_post_init__(self) -> None:
        self.services = {
            "plain": ChatTown("plain", takes_keys=False, can_say=False),
            "keyed": ChatTown("keyed", takes_keys=True, can_say=False),
            "mute": ChatTown("mute", takes_keys=False, can_say=True),
        }
        self.widths = {"main": self.plan.widths[0], "subagent": self.plan.widths[1], "cron": 1}

    @property
    def state(self) -> Path:
        """The folder of the present process."""
        return self.folder / f"state-{self.life}"

    def find(self, number: int) -> str:
        """Return the key of a session."""
        return self.keys[number % len(self.keys)] if self.keys else "agent:main:main"

    def write_config(self) -> None:
        """Write the configuration with the present widths."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "gateway.json5").write_text(self._config_text())

    def read_config(self) -> ConfigReading:
        """Return the configuration; parsing one takes as long as all the rest, so each is parsed once."""
        text = self._config_text()
        if text not in READINGS:
            READINGS[text] = read_config(self.folder / "gateway.json5", {})
        return attrs.evolve(READINGS[text], path=self.folder / "gateway.json5", files=(self.folder / "gateway.json5",))

    async def open_store(self, path: Path, ports: Ports) -> InboxStore:
        """Open the store of inputs of one process."""
        if not self.plan.is_stored_in_memory:
            self.store = await open_sqlite_store(path, ports)
        elif self.life == 0 and not hasattr(self, "store"):
            self.store = MemoryInboxStore(ports.clock.wall)
        return self.store

    def keep_store(self) -> None:
        """Keep what is in the store in this instant, for the next process."""
        former = self.store
        if isinstance(former, MemoryInboxStore):
            self.store = kept = MemoryInboxStore(former._wall)
            kept._seq = former._seq
            for name, box in former._boxes.items():
                kept._box(name).items.update(box.items)
                kept._box(name).poisoned.update(box.poisoned)
                kept._box(name).refused += box.refused
                kept._box(name).left.update(box.left)

    def _config_text(self) -> str:
        values = json.loads(json.dumps(CONFIG))
        defaults = values["agents"]["defaults"]
        defaults["maxConcurrent"] = self.widths["main"]
        defaults["subagents"]["maxConcurrent"] = self.widths["subagent"]
        values["messages"] = {"queue": {"mode": self.plan.queue}}
        values["limits"] = {"openSessions": self.plan.open_sessions}
        return json.dumps(values)

    def look(self, event: object) -> None:
        """Take note of an event of the gateway's journal, and of the places in use at it."""
        kind = getattr(type(event), "kind", "")
        if kind == "session.made":
            self.keys.append(event.session)  # type: ignore[attr-defined]
        elif kind == "run.registered":
            self.runs.append(event.run)  # type: ignore[attr-defined]
        for lane, seen in self.gateway.parts.lanes.statistics().items():
            used = seen.active + seen.lent
            if used > seen.width and used > self.places.get(lane, 0):
                self.too_wide.append(f"{used} turns run in lane {lane} of width {seen.width}, at {kind}")
            self.places[lane] = used


# --- operations -------------------------------------------------------------------------------------------------------


class Leaving(Exception):
    """The process ends; True as its argument if it is killed."""


async def _say(world: GatewayWorld, person: int, rounds: list[Round]) -> None:
    world.silent = world.silent or "silence" in json.dumps(rounds)
    _speak(world, person, ordered(*rounds))


async def _command(world: GatewayWorld, person: int, text: str) -> None:
    _speak(world, person, text)


def _speak(world: GatewayWorld, person: int, text: str) -> None:
    channel, sender, group = PEOPLE[person % len(PEOPLE)]
    world.said += 1
    route = ChatRoute(channel=channel, kind=PeerKind.GROUP if group else PeerKind.DIRECT, peer=group or sender)
    world.services[channel].say(
        Inbound(
            route=route,
            sender=Sender(id=sender, name=sender),
            id=f"m{world.said}",
            text=text,
            mentions_us=bool(group),
        )
    )


async def _wait(world: GatewayWorld, seconds: float) -> None:
    await trio.sleep(seconds)


async def _stop_run(world: GatewayWorld, number: int) -> None:
    if world.runs:
        await world.gateway.parts.runs.stop(world.runs[number % len(world.runs)], "host")


async def _abort(world: GatewayWorld, number: int) -> None:
    await world.gateway.parts.keepers.stop_turn(world.find(number), who="host")


async def _archive(world: GatewayWorld, number: int, is_forced: bool) -> None:
    await world.gateway.parts.runs.archive(world.find(number), why="asked", who="host", is_forced=is_forced)


async def _reset(world: GatewayWorld, number: int) -> None:
    await world.gateway.parts.keepers.reset(world.find(number), who="host")


async def _patch(world: GatewayWorld, number: int, level: str) -> None:
    await world.gateway.parts.keepers.patch(world.find(number), {"thinking": level})


async def _reload(world: GatewayWorld, main: int, subagent: int) -> None:
    world.widths.update(main=main, subagent=subagent)
    world.write_config()
    await world.gateway.parts.config._take(world.read_config())  # as a reload does: parsing would take most of the time


async def _lose(world: GatewayWorld, channel: str, swallows: bool) -> None:
    world.services[channel].lose(swallows=swallows)


async def _return(world: GatewayWorld, channel: str) -> None:
    world.services[channel].come_back()


async def _crash(world: GatewayWorld, number: int) -> None:
    world.gateway.parts.keepers.kill(world.find(number))


async def _fill(world: GatewayWorld) -> None:
    world.disk.is_full = True


async def _empty(world: GatewayWorld) -> None:
    world.disk.is_full = False


async def _restart(world: GatewayWorld) -> None:
    raise Leaving(False)


async def _kill(world: GatewayWorld) -> None:
    raise Leaving(True)


OPERATIONS: Final[Mapping[str, Callable[..., Awaitable[None]]]] = {
    "say": _say,
    "command": _command,
    "wait": _wait,
    "stop_run": _stop_run,
    "abort": _abort,
    "archive": _archive,
    "reset": _reset,
    "patch": _patch,
    "reload": _reload,
    "lose": _lose,
    "return": _return,
    "crash": _crash,
    "fill": _fill,
    "empty": _empty,
    "restart": _restart,
    "kill": _kill,
}
BESIDE: Final = frozenset({"stop_run", "abort", "archive", "reset", "patch"})
"""These take their time; the plan does not wait for them."""


async def _beside(world: GatewayWorld, name: str, values: list[Any]) -> None:
    with suppress(GreenroomError):
        await OPERATIONS[name](world, *values)


# --- a run ------------------------------------------------------------------------------------------------------------


async def carry_out(
    plan: GatewayPlan, sim: Sim, folder: Path, at_rest: Callable[[GatewayWorld], Awaitable[None]]
) -> GatewayWorld:
    """Open a gateway, do what the plan says over all its processes, wait until all is quiet, let `at_rest` look, and leave."""
    world = GatewayWorld(plan, sim, folder)
    world.write_config()
    left = list(plan.operations)
    while True:
        is_killed = await _live(world, left, at_rest)
        if is_killed is None:
            return world
        world.life += is_killed


async def _live(
    world: GatewayWorld, left: list[Operation], at_rest: Callable[[GatewayWorld], Awaitable[None]]
) -> bool | None:
    """Run one process until an operation ends it; return True if it was killed, None if nothing is left to do."""
    is_killed: bool | None = None
    world.disk, world.places = FullableDisk(), {}
    channels = {name: LossyChannel(service) for name, service in world.services.items()}
    reading = world.read_config()
    assert reading.config is not None, [str(problem) for problem in reading.problems]
    model = OrderedModel(world.keys, world.runs)
    options = GatewayOptions(
        ports=attrs.evolve(world.sim.ports, disk=world.disk),
        open_model=lambda *_: model,
        channels={(name, "default"): channel for name, channel in channels.items()},
        environ={},
        listens=False,
        looks_around=False,
        open_store=world.open_store,
        lock_journal=lambda _: nullcontext(),
    )
    async with open_gateway(reading, world.state, options) as world.gateway, trio.open_nursery() as nursery:
        world.gateway.parts.record.journal.recorder.listen(lambda record: world.look(event_of(record)))
        world.sim.follow(world.gateway.parts.keepers.runtime.recorder)
        try:
            await _operate(world, left, nursery)
            await _rest(world)
            await at_rest(world)
        except Leaving as leaving:
            is_killed = bool(leaving.args[0])
            if is_killed:
                shutil.copytree(world.state, world.folder / f"state-{world.life + 1}")
                world.keep_store()
                for channel in channels.values():
                    channel.is_dead = True
                world.gateway.kill("killed")
        world.disk.is_full = False
        nursery.cancel_scope.cancel()
    return is_killed


async def _operate(world: GatewayWorld, left: list[Operation], nursery: trio.Nursery) -> None:
    while left:
        name, *values = left.pop(0)
        await point("operation")
        if name in BESIDE:
            nursery.start_soon(_beside, world, name, values)
        else:
            with suppress(GreenroomError):
                await OPERATIONS[name](world, *values)


async def _rest(world: GatewayWorld) -> None:
    """End everything that can end: services are back, the disk has room, what is broken is reset."""
    world.disk.is_full = False
    for service in world.services.values():
        service.come_back()
    for _ in range(MAX_RESTS):
        await trio.sleep(REST_S)
        for key in list(world.gateway.parts.keepers.broken):
            await world.gateway.parts.keepers.reset(key, who="host")
        if is_at_rest(world):
            await trio.sleep(CLOSE_S)
            if is_at_rest(world):
                return
    raise AssertionError(f"it never comes to rest: {unrest(world)}")


def is_at_rest(world: GatewayWorld) -> bool:
    """True if nothing is left to do."""
    return not unrest(world)


def unrest(world: GatewayWorld) -> list[str]:
    """Return what is left to do."""
    parts = world.gateway.parts
    registry, keepers = parts.registry, parts.keepers
    held = [item for keeper in keepers._actors.keepers.values() for item in keeper.items.held.values()]
    passive = {item.id for item in held if not item.begins_turn}
    found = [f"{name} has not read all" for name, service in world.services.items() if not is_read(service)]
    found += [f"item {item} waits" for item in registry.inbound if item not in passive]
    found += [f"run {run.id} is {run.state}" for run in registry.runs.values() if not run.is_ended]
    found += [
        f"delivery {row.id} is {row.state}" for row in registry.deliveries() if not row.is_settled and not row.blocked_s
    ]
    return [*found, *(f"{key} is busy" for key in registry.sessions if keepers.is_busy(key))]


def is_read(service: ChatTown) -> bool:
    """True if all that was said has been acknowledged."""
    return service.acknowledged == len(service.said)


def scenario(plan: GatewayPlan, folder: Path) -> Callable[[Sim], Awaitable[object]]:
    """Return what `explore` runs for a plan; the folder is emptied before each run."""
    from tools.soak.gateway_invariants import check_at_rest, check_when_left

    async def run(sim: Sim) -> None:
        own = folder / "gateway"
        empty(own)
        before = open_files()
        world = await carry_out(plan, sim, own, check_at_rest)
        check_when_left(world, before)

    return run


def empty(folder: Path) -> None:
    """Make an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def open_files() -> set[str]:
    """Return what the open descriptors of this process lead to."""
    found = set()
    for place in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(f"{place.name} {place.readlink()}")
    return found
