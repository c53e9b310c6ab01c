"""The opening of a gateway: its parts in one order, each knowing only those below it, and the stop in the reverse one.

    lock, log ─> journal ─> store ─> lanes, deliveries, runs ─> keepers ─> channels, clock, reception ─> door

Rule 1: a port that is taken is refused before anything is written. Rule 2: clients are answered before what an earlier process left is
done.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, final

import trio

from greenroom._version import __version__
from greenroom.containment import Sandbox, SandboxSettings
from greenroom.core import JournalError, UsageError, open_bare_nursery
from greenroom.gateway.channels._accounts import ChannelAccounts, ChannelUses
from greenroom.gateway.channels._channel import Channel
from greenroom.gateway.channels._make_channel import make_channel
from greenroom.gateway.clock._clock_jobs import ClockJobs
from greenroom.gateway.commands._chat_commands import ChatCommands
from greenroom.gateway.config._channels import AccountConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.config._reader import ConfigReading
from greenroom.gateway.keepers._agent_setup import asks_for_sandbox
from greenroom.gateway.keepers._keepers import open_keepers
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.lanes._places import TurnClaim
from greenroom.gateway.process._bound_methods import gateway_methods
from greenroom.gateway.process._clock_runner import ClockRunner, zone_of_machine
from greenroom.gateway.process._config_in_force import ConfigInForce, ReloadResult, config_digest
from greenroom.gateway.process._event_feed import EventFeed, TurnWatch
from greenroom.gateway.process._gateway_door import incident_level, listening_place, named_tokens
from greenroom.gateway.process._gateway_log import GatewayLog, open_log
from greenroom.gateway.process._gateway_models import GatewayModels
from greenroom.gateway.process._gateway_options import GatewayOptions
from greenroom.gateway.process._gateway_parts import GatewayParts, PartsBelow, StopRequest
from greenroom.gateway.process._host_wiring import HostWiring
from greenroom.gateway.process._loop_lag import LoopLag
from greenroom.gateway.process._secret_reader import SecretReader
from greenroom.gateway.process._service_methods import shown_reload
from greenroom.gateway.process._shown_rows import client_snapshot
from greenroom.gateway.process._state_folder import HeldState, ensure_pairing_key, ensure_token
from greenroom.gateway.process._stop_stages import Stage, StopPlan, stop_in_stages
from greenroom.gateway.record._gateway_events import ConfigLoaded, GatewayBegan, GatewayEnded
from greenroom.gateway.record._gateway_journal import GatewayRecord, open_gateway_journal
from greenroom.gateway.record._machines import DeliveryState
from greenroom.gateway.record._recovery_plan import Recovery, Resume
from greenroom.gateway.rpc._hub import EventHub
from greenroom.gateway.rpc._rpc import Rpc, open_rpc
from greenroom.gateway.rpc._rpc_tokens import Tokens
from greenroom.gateway.runs._deliveries import open_deliveries, route_name
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.tools._session_view import SessionView
from greenroom.gateway.trust._group_context import GroupContext
from greenroom.gateway.trust._pairing import PairingDesk
from greenroom.gateway.trust._reception import Reception
from greenroom.serving import Incident, Server, Tcp, open_server
from greenroom.supervisor import SupervisorSpec

STOPPED: Final = "stopped"
"""The reason of a stop that names none."""
CRON_WIDTH: Final = 1
STOP_INTAKE: Final = "the gateway stops"
_CHANNEL_SPEC: Final = SupervisorSpec()


def lane_widths(config: GatewayConfig) -> dict[str, int]:
    """Return the widths of the lanes."""
    defaults = config.agents.defaults
    return {"main": defaults.max_concurrent, "subagent": defaults.subagents.max_concurrent, "cron": CRON_WIDTH}


@final
class GatewayOpening:
    """The opening of a gateway.

    Args:
        reading: The configuration.
        held: The state folder.
        options: What the host replaces.
    """

    def __init__(self, reading: ConfigReading, held: HeldState, options: GatewayOptions) -> None:
        self._held = held
        self._options = options
        self._ports = options.ports
        self._hub = EventHub()
        self._stop = StopRequest()
        self._awaits = "the start"
        self._rpc: Rpc | None = None
        self._wiring: HostWiring | None = None
        self._parts: GatewayParts | None = None
        self._config = ConfigInForce(reading, ports=self._ports, environ=options.environ, on_result=self._note_reload)
        self._secrets = SecretReader(
            self._config, folder=reading.path.parent, environ=options.environ, blocking=self._ports.blocking
        )
        self._started_s = self._now()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[GatewayParts, str]]:
        """Open everything, and yield the parts and the address; leaving the block stops in stages."""
        folder, limits = self._held.folder, self._config().limits
        token = ensure_token(folder, self._options.environ)
        self._secrets.know(token)
        tokens = Tokens(token, await named_tokens(self._config(), self._secrets))
        await self._check_port()
        await self._check_sandbox()
        async with open_log(
            folder.logs,
            ports=self._ports,
            mask=self._secrets.mask,
            show=self._options.show,
            max_bytes=limits.log_bytes,
            days=limits.log_days,
        ) as log:
            for problem in self._config.problems:
                log.alert(str(problem))
            async with self._open_record() as record:
                async with self._open_parts(record, log, tokens) as parts, self._serve(parts) as url:
                    yield parts, url
                    await stop_in_stages(self._stop_plan(parts))
                # With the last batch: a disk that was full may have room by then.
                record.emit(GatewayEnded(at_s=self._now(), why=self._stop.reason or STOPPED))
            log.note("stopped", reason=self._stop.reason or STOPPED)

    @asynccontextmanager
    async def _open_record(self) -> AsyncIterator[GatewayRecord]:
        lock = self._options.lock_journal
        path = self._held.folder.path
        opening = (
            open_gateway_journal(path, ports=self._ports)
            if lock is None
            else open_gateway_journal(path, ports=self._ports, lock=lock)
        )
        async with opening as record:
            await record.write(GatewayBegan(at_s=self._now(), process=os.getpid()), self._loaded())
            yield record

    # --- the parts ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _open_parts(self, record: GatewayRecord, log: GatewayLog, tokens: Tokens) -> AsyncIterator[GatewayParts]:
        store = await self._options.open_store(self._held.folder.store, self._ports)
        wiring = self._wiring = HostWiring(lambda: self._parts, record=record, ports=self._ports, now=self._now)
        feed = EventFeed(record, self._hub, self._secrets.mask, wiring.questions.desk)

        def note_wait(claim: TurnClaim, ahead: int) -> None:
            log.note("a turn waits for its place", session=claim.session, ahead=ahead)

        lanes = TurnLanes(lane_widths(self._config()), on_long_wait=note_wait)
        try:
            async with open_deliveries(self._config, record, self._find_channel, self._ports.clock) as deliveries:
                deliveries.hold()  # until `recover`
                deliveries.on_waiting = wiring.note_waiting
                runs = Runs(self._config, record, deliveries, self._ports, self._held.folder.path)
                async with (
                    open_keepers(
                        config=self._config,
                        record=record,
                        store=store,
                        lanes=lanes,
                        watcher=TurnWatch(runs, feed, record.registry),
                        on_event=feed.hear_session,
                        open_model=self._options.open_model or self._models().open_model,
                        tools_for=wiring.tools_for,
                        ports=self._ports,
                        state_folder=self._held.folder.path,
                        base=self._config.reading.path.parent,
                        opener=wiring.open_asking,
                        secrets=self._secrets.known,
                    ) as keepers,
                    runs.serve(keepers),
                    open_bare_nursery() as nursery,
                ):
                    below = PartsBelow(
                        record=record, store=store, lanes=lanes, deliveries=deliveries, runs=runs, keepers=keepers
                    )
                    parts = self._parts = await self._assemble(below, wiring, log, tokens)
                    try:
                        wiring.nursery = nursery
                        nursery.start_soon(feed.run)
                        nursery.start_soon(parts.approvals.run)
                        if self._options.looks_around:
                            nursery.start_soon(parts.lag.measure)
                        yield parts
                    finally:
                        nursery.cancel_scope.cancel(STOP_INTAKE)
        finally:
            with trio.CancelScope(shield=True):
                await store.aclose()

    def _models(self) -> GatewayModels:
        return GatewayModels(
            self._config,
            self._secrets,
            state_folder=self._held.folder.path,
            base=self._config.reading.path.parent,
            environ=self._options.environ,
        )

    async def _assemble(self, below: PartsBelow, wiring: HostWiring, log: GatewayLog, tokens: Tokens) -> GatewayParts:
        record, ports = below.record, self._ports
        runner = ClockRunner(self._config, below.runs, below.keepers, record.registry)
        zone = await ports.blocking.run(zone_of_machine, self._options.environ)
        desk = PairingDesk(record=record, key=ensure_pairing_key(self._held.folder), wall=self._now)
        below.deliveries.reveal = desk.reveal
        supervisor = await below.keepers.runtime.spawn_supervisor("channels", _CHANNEL_SPEC, escalates=False)
        reception = Reception(
            config=self._config,
            record=record,
            keepers=below.keepers,
            context=GroupContext(below.store, self._now),
            pairing=desk,
            run_command=wiring.run_command,
            answer=below.deliveries.answer,
            wall=self._now,
        )
        uses = ChannelUses(
            record=record,
            ports=ports,
            hear=wiring.hear,
            on_connected=wiring.channel_is_back,
            may_invite=wiring.may_invite,
        )
        return GatewayParts(
            folder=self._held.folder,
            ports=ports,
            config=self._config,
            log=log,
            lag=LoopLag(wiring.note_lag),
            secrets=self._secrets,
            below=below,
            hub=self._hub,
            tokens=tokens,
            accounts=ChannelAccounts(supervisor, self._make_channel, uses),
            approvals=wiring.questions.desk,
            commands=ChatCommands(wiring.command_host()),
            reception=reception,
            view=SessionView(
                config=self._config,
                registry=record.registry,
                lanes=below.lanes,
                ports=ports,
                state=self._held.folder.path,
                mask=self._secrets.mask,
            ),
            jobs=ClockJobs(record, self._config, ports.clock, runner, zone=zone),
            stop=self._stop,
            started_s=self._started_s,
            awaited=lambda: self._awaits,
        )

    def _find_channel(self, channel: str, account: str) -> Channel | None:
        return None if self._parts is None else self._parts.accounts.find(channel, account)

    def _make_channel(self, channel: str, account: str, settings: AccountConfig) -> Channel:
        given = self._options.channels.get((channel, account))
        if given is not None:
            return given
        return make_channel(channel, account, settings, ports=self._ports, read_secret=self._secrets.read)

    # --- serving -----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _serve(self, parts: GatewayParts) -> AsyncIterator[str]:
        """Open the door, start the channels and the clock, and begin what an earlier process left."""
        async with (
            open_rpc(
                gateway_methods(parts),
                hub=self._hub,
                tokens=parts.tokens,
                record=parts.record,
                wall=self._now,
                snapshot=client_snapshot,
                awaited=parts.awaited,
                report=lambda method, error: parts.log.fail(f"{method} failed: {error!r}", method=method),
            ) as rpc,
            self._open_door(parts, rpc) as server,
            open_bare_nursery() as nursery,
        ):
            self._rpc = rpc
            url = self._publish(server)
            try:
                self._awaits = "channels"
                await parts.jobs.sync()
                await parts.accounts.reload(self._config().channels)
                nursery.start_soon(parts.jobs.run)
                nursery.start_soon(parts.reception.context.run)
                if self._options.looks_around:
                    nursery.start_soon(self._config.watch)
                self._config.subscribe(self._apply)
                self._awaits = ""
                parts.log.note(f"ready{f' at {url}' if url else ''}", version=__version__, pid=os.getpid())
                nursery.start_soon(self._recover, parts)
                yield url
            finally:
                nursery.cancel_scope.cancel(STOP_INTAKE)

    @asynccontextmanager
    async def _open_door(self, parts: GatewayParts, rpc: Rpc) -> AsyncIterator[Server | None]:
        if not self._options.listens:
            yield None
            return
        config = self._config()

        def note(incident: Incident) -> None:
            parts.log.write(incident_level(incident), f"{incident.kind}: {incident.reason}", address=incident.address)

        async with open_server(
            (*rpc.endpoints(max_connections=config.limits.connections), *self._options.endpoints),
            listen=[self._place()],
            hosts=config.gateway.allowed_hosts,
            origins=config.gateway.allowed_origins,
            report=note,
        ) as server:
            yield server

    def _publish(self, server: Server | None) -> str:
        if server is None:
            return ""
        (url,) = server.addresses
        port = int(url.rpartition(":")[2])
        self._held.publish(url=url, port=port, version=__version__, started_s=self._started_s)
        return url

    async def _check_sandbox(self) -> None:
        """Refuse to start without a sandbox that was asked for."""
        if asks_for_sandbox(self._config()):
            why = await self._ports.blocking.run(Sandbox(SandboxSettings(enabled=True)).why_not)
            if why:
                raise UsageError(f"agents.*.sandbox asks for bubblewrap, which cannot work here: {why}")

    async def _check_port(self) -> None:
        """Refuse a port that is taken before anything is written."""
        if self._options.listens:
            async with open_server((), listen=[self._place()]):
                await trio.lowlevel.checkpoint()

    def _place(self) -> Tcp:
        return listening_place(self._config(), self._config.reading.path.parent, self._options.port)

    async def _recover(self, parts: GatewayParts) -> None:
        """Do what an earlier process left, in the order of its plan."""
        takes_keys = {channel for channel, _ in self._config().channels.accounts()}

        def with_keys(channel: str) -> bool:
            found = [
                parts.accounts.find(name, account)
                for name, account in self._config().channels.accounts()
                if name == channel
            ]
            return bool(found) and all(each is not None and each.traits.takes_keys for each in found)

        recovery = Recovery(
            resume=Resume(self._config().restart.resume),
            takes_keys=lambda channel: channel in takes_keys and with_keys(channel),
            is_damaged=parts.record.damaged_lines > 0,
        )
        if parts.record.kept:
            parts.log.alert(
                f"the journal began anew; the former one is kept as {parts.record.kept}",
                damaged=parts.record.damaged_lines,
            )
        while True:
            try:
                await parts.runs.recover(recovery)
                if self._wiring is not None:
                    self._wiring.is_recovered = True
                return
            except JournalError as error:
                parts.log.fail(f"what an earlier process left cannot be done yet: {error}")
                await trio.sleep(5)

    # --- reload and stop ---------------------------------------------------------------------------------------------

    async def _apply(self, former: GatewayConfig, present: GatewayConfig) -> None:
        """Have the parts take a new configuration; nothing that runs is aborted."""
        parts = self._parts
        assert parts is not None
        for lane, width in lane_widths(present).items():
            parts.lanes.resize(lane, width)
        if former.channels != present.channels:
            await parts.accounts.reload(present.channels)
        if former.gateway.auth != present.gateway.auth:
            try:
                parts.tokens.replace(await named_tokens(present, self._secrets))
            except UsageError as error:
                parts.log.fail(f"the tokens stay as they were: {error}")
            if self._rpc is not None:
                self._rpc.close_revoked()
        await parts.jobs.sync()
        self._secrets.know()
        await parts.record.write(self._loaded())

    async def _note_reload(self, result: ReloadResult) -> None:
        parts = self._parts
        if parts is None:
            return
        for problem in result.problems:
            parts.log.alert(f"configuration: {problem}")
        if result.is_refused:
            parts.log.fail("the changed configuration cannot be used; the former one stays in force")
        elif result.is_changed:
            parts.log.note("the configuration was reloaded")
        for path in result.needs_start:
            parts.log.alert(f"{path} has changed and counts from the next start")
        self._hub.publish("health", "", {"config": shown_reload(result)})
        await trio.lowlevel.checkpoint()

    def _stop_plan(self, parts: GatewayParts) -> StopPlan:
        async def close_intake() -> None:
            parts.accounts.intake.shut(STOP_INTAKE)
            if self._rpc is not None:
                self._rpc.shut(self._stop.reason or STOPPED)
            await trio.lowlevel.checkpoint()

        async def abort_turns() -> None:
            parts.keepers.cut_all(STOP_INTAKE)
            await trio.lowlevel.checkpoint()

        def due() -> int:
            return sum(
                row.state is DeliveryState.DUE and self._find_channel(*route_name(row.route)[:2]) is not None
                for row in parts.registry.deliveries()
            )

        def note(stage: Stage) -> None:
            parts.log.note(f"stopping: {stage}")

        return StopPlan(
            close_intake=close_intake,
            turns=lambda: sum(parts.keepers.is_busy(key) for key in parts.registry.sessions),
            abort_turns=abort_turns,
            due=due,
            close_sessions=parts.keepers.drain,
            drain_s=self._config().gateway.drain_seconds,
            on_stage=note,
        )

    def _loaded(self) -> ConfigLoaded:
        reading = self._config.reading
        return ConfigLoaded(at_s=self._now(), digest=config_digest(reading), warnings=len(reading.problems))

    def _now(self) -> float:
        return self._ports.clock.wall().timestamp()
