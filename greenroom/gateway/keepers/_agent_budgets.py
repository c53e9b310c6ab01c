"""Budgets of agents: what the sessions of an agent may use in a day, and each of their turns.

Rule 1: what was used before is read from the journals of the sessions, so a restart forgets nothing. Rule 2: a day is that of
`session.timezone`. Rule 3: a request that may exceed a budget is not sent, and its turn fails with the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final, final
from zoneinfo import ZoneInfo

import attrs

from greenroom.core.ports import Ports
from greenroom.gateway.config._agents import Amount, BudgetConfig
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._agent_setup import agent_of
from greenroom.gateway.keepers._session_models import gateway_pricing
from greenroom.models.budgets import Budget, Limits, Pricing, Spent
from greenroom.session.assembly._model_layers import read_spent
from greenroom.trace import JOURNAL

_ANY: Final = Amount()
"""No limit."""


@final
class AgentBudgets:
    """The budgets of all agents.

    Args:
        config: Returns the configuration in force.
        state_folder: The state folder, which has the run folders.
        ports: Time and threads.
    """

    def __init__(self, config: Callable[[], GatewayConfig], state_folder: Path, ports: Ports) -> None:
        self._config = config
        self._state_folder = state_folder
        self._ports = ports
        self._days: dict[str, tuple[float, Amount, Budget]] = {}
        self._turns: dict[str, tuple[int, Amount, Budget]] = {}

    async def of_turn(self, agent: str, session: str, turn: int) -> tuple[Budget, ...]:
        """Return the budgets under which the requests of a turn are sent.

        Args:
            agent: The agent.
            session: Key of its session.
            turn: Number of the turn, to tell it from the one before.
        """
        said = budget_of(self._config(), agent)
        found = []
        if said.per_day != _ANY:
            found.append(await self._day(agent, said.per_day))
        if said.per_run != _ANY:
            found.append(self._turn(session, turn, said.per_run))
        return tuple(found)

    async def _day(self, agent: str, amount: Amount) -> Budget:
        config, since_s = self._config(), self._since_s()
        known = self._days.get(agent)
        if known is not None and known[:2] == (since_s, amount):
            return known[2]
        folder, pricing = self._state_folder / "agents" / agent / "sessions", gateway_pricing(config)
        spent = await self._ports.blocking.run(spent_since, folder, pricing, since_s)
        known = self._days.get(agent)
        if known is not None and known[:2] == (since_s, amount):  # made by another turn meanwhile
            return known[2]
        budget = self._made(f"agent {agent} today", amount, pricing, spent)
        self._days[agent] = (since_s, amount, budget)
        return budget

    def _turn(self, session: str, turn: int, amount: Amount) -> Budget:
        known = self._turns.get(session)
        if known is None or known[:2] != (turn, amount):
            budget = self._made(f"this run of {session}", amount, gateway_pricing(self._config()), Spent())
            known = self._turns[session] = (turn, amount, budget)
        return known[2]

    def denial(self, agent: str) -> str:
        """Return why an agent may use no more today; empty if it may."""
        known = self._days.get(agent)
        if known is None or known[:2] != (self._since_s(), budget_of(self._config(), agent).per_day):
            return ""
        return "" if known[2].exceeded is None else str(known[2].exceeded)

    def _since_s(self) -> float:
        """Return when the day began, in seconds since 1970."""
        timezone = self._config().session.timezone
        return last_time(self._ports.clock.wall().timestamp(), 0, ZoneInfo(timezone) if timezone else None)

    def forget(self, session: str) -> None:
        """Forget the turns of a session, which is closed."""
        self._turns.pop(session, None)

    def _made(self, name: str, amount: Amount, pricing: Pricing, spent: Spent) -> Budget:
        return Budget(limits_of(amount), name=name, pricing=pricing, spent=spent, now_s=self._ports.clock.bind())


def last_time(now_s: float, hour: int, zone: tzinfo | None) -> float:
    """Return the last time at which it was an hour of the day, in seconds since 1970.

    Args:
        now_s: The wall clock.
        hour: The hour.
        zone: The time zone; None for that of the machine.
    """
    now = datetime.fromtimestamp(now_s, UTC).astimezone(zone)
    for days in (0, 1):
        day = now.date() - timedelta(days=days)
        local = datetime(day.year, day.month, day.day, hour, tzinfo=zone or now.tzinfo)
        if local.timestamp() <= now_s:
            return local.timestamp()
    return now_s - 86_400


def budget_of(config: GatewayConfig, agent: str) -> BudgetConfig:
    """Return what an agent may use: as it says, else the defaults."""
    return agent_of(config, agent).budget or config.agents.defaults.budget


def limits_of(amount: Amount) -> Limits:
    """Return an amount as limits."""
    return Limits(tokens=amount.tokens, usd=amount.usd)


def spent_since(sessions: Path, pricing: Pricing, since_s: float) -> Spent:
    """Return what all sessions of an agent have used since a time. It blocks."""
    spent = Spent()
    for journal in sessions.glob(f"*/{JOURNAL}"):
        if journal.stat().st_mtime >= since_s:
            spent += attrs.evolve(read_spent(journal.parent, pricing, since_s=since_s), wall_s=0.0)
    return spent
