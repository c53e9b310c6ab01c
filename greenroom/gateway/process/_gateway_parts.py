"""The parts of a gateway that is open, for those who work with all of them: methods, health, the stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import attrs
import trio

from greenroom.core.ports import Ports
from greenroom.gateway.channels._accounts import ChannelAccounts
from greenroom.gateway.clock._clock_jobs import ClockJobs
from greenroom.gateway.commands._chat_commands import ChatCommands
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._keepers import KeeperSet
from greenroom.gateway.lanes._lanes import TurnLanes
from greenroom.gateway.process._config_in_force import ConfigInForce
from greenroom.gateway.process._gateway_log import GatewayLog
from greenroom.gateway.process._loop_lag import LoopLag
from greenroom.gateway.process._secret_reader import SecretReader
from greenroom.gateway.process._state_folder import StateFolder
from greenroom.gateway.record._gateway_journal import GatewayRecord
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.rpc._hub import EventHub
from greenroom.gateway.rpc._rpc_tokens import Tokens
from greenroom.gateway.runs._deliveries import Deliveries
from greenroom.gateway.runs._run_service import Runs
from greenroom.gateway.tools._session_view import SessionView
from greenroom.gateway.trust._approval_desk import ApprovalDesk
from greenroom.gateway.trust._pairing import PairingDesk
from greenroom.gateway.trust._reception import Reception
from greenroom.inbox import InboxStore


@final
@attrs.define(eq=False, kw_only=True)
class StopRequest:
    """The wish that the gateway stops."""

    reason: str = ""
    is_asked: trio.Event = attrs.field(factory=trio.Event)

    def ask(self, reason: str) -> None:
        """Ask for a stop; the first reason counts."""
        if not self.is_asked.is_set():
            self.reason = reason
            self.is_asked.set()


@final
@attrs.frozen(eq=False, kw_only=True)
class PartsBelow:
    """The parts that know no chats and no clients."""

    record: GatewayRecord
    store: InboxStore
    lanes: TurnLanes
    deliveries: Deliveries
    runs: Runs
    keepers: KeeperSet


@final
@attrs.frozen(eq=False, kw_only=True)
class GatewayParts:
    """The parts of a gateway."""

    folder: StateFolder
    ports: Ports
    config: ConfigInForce
    log: GatewayLog
    lag: LoopLag
    secrets: SecretReader
    below: PartsBelow
    hub: EventHub
    tokens: Tokens
    accounts: ChannelAccounts
    approvals: ApprovalDesk
    commands: ChatCommands
    reception: Reception
    view: SessionView
    jobs: ClockJobs
    stop: StopRequest
    started_s: float
    awaited: Callable[[], str]
    """Returns what the start still waits for; empty if the gateway is ready."""

    @property
    def record(self) -> GatewayRecord:
        """The journal with its registry."""
        return self.below.record

    @property
    def registry(self) -> Registry:
        """The registry."""
        return self.below.record.registry

    @property
    def lanes(self) -> TurnLanes:
        """The lanes of turns."""
        return self.below.lanes

    @property
    def deliveries(self) -> Deliveries:
        """The deliveries."""
        return self.below.deliveries

    @property
    def runs(self) -> Runs:
        """The runs."""
        return self.below.runs

    @property
    def keepers(self) -> KeeperSet:
        """The sessions."""
        return self.below.keepers

    @property
    def pairing(self) -> PairingDesk:
        """The pairing of people."""
        return self.reception.pairing

    @property
    def settings(self) -> GatewayConfig:
        """The configuration in force."""
        return self.config()

    def now_s(self) -> float:
        """Return the wall clock, in seconds since 1970."""
        return self.ports.clock.wall().timestamp()
