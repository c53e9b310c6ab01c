"""Jobs of the clock as runs of sessions."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Final, final

from greenroom.core import UsageError
from greenroom.gateway.config._agent_ids import normal_agent_id
from greenroom.gateway.config._checks import default_agent
from greenroom.gateway.config._clock_and_limits import CronJob, DeliverTo
from greenroom.gateway.config._config import GatewayConfig
from greenroom.gateway.keepers._keepers import KeeperSet
from greenroom.gateway.keepers._session_models import TurnWish
from greenroom.gateway.record._registry import Registry
from greenroom.gateway.routing._chat_messages import ChatRoute
from greenroom.gateway.routing._session_key import SessionKey, cron_key, main_key
from greenroom.gateway.runs._run_service import Runs
from greenroom.inbox import SCHEDULE
from greenroom.session.schedules._schedule_settings import machine_zone

_NAMESPACE: Final = uuid.UUID("0f5c3d8e-8d0e-5b39-9c43-5d6a0c2f7e11")
_FOREVER_S: Final = 366 * 86_400.0


def zone_of_machine(environ: Mapping[str, str]) -> str:
    """Return the name of the machine's time zone; `UTC` if it has none that the system knows. It blocks."""
    try:
        return machine_zone(environ)
    except UsageError:
        return "UTC"


@final
class ClockRunner:
    """Runs jobs: each is a run whose id is made from its name, so that it is the same after a crash.

    Args:
        config: Returns the configuration in force.
        runs: The runs.
        keepers: The sessions.
        registry: The gateway's registry.
    """

    def __init__(self, config: Callable[[], GatewayConfig], runs: Runs, keepers: KeeperSet, registry: Registry) -> None:
        self._config = config
        self._runs = runs
        self._keepers = keepers
        self._registry = registry

    async def begin(self, job: CronJob, run: str) -> None:
        """Begin the run of a job; the same name again changes nothing.

        Raises:
            GreenroomError: It cannot begin.
        """
        key = self._key(job, run)
        wish = TurnWish(model="" if job.model is None else job.model.primary, thinking=job.thinking or "")
        if job.session == "isolated":
            settings = {name: said for name, said in (("model", wish.model), ("thinking", wish.thinking)) if said}
            await self._keepers.make(key, settings=settings, label=job.name or job.id)
        await self._runs.begin(
            key,
            job.message,
            SCHEDULE,
            self._route(job, key),
            cron_run_id(run),
            label=job.name or job.id,
            wish=wish,
        )

    async def wait(self, run: str) -> str:
        """Wait until a run has ended, and return the word for its end; `forgotten` for one that is unknown."""
        if self._registry.run(cron_run_id(run)) is None:
            return "forgotten"
        ended = await self._runs.wait(cron_run_id(run), _FOREVER_S)
        return ended.words.listed if ended.words is not None else "unknown"

    def _key(self, job: CronJob, run: str) -> SessionKey:
        config = self._config()
        agent = normal_agent_id(job.agent_id) if job.agent_id is not None else default_agent(config)
        match job.session:
            case "main":
                return main_key(agent)
            case "isolated":
                return cron_key(agent, job.id, cron_run_id(run))
        return SessionKey.parse(job.session, agent=agent)

    def _route(self, job: CronJob, key: SessionKey) -> ChatRoute | None:
        """Return where the result goes: a chat, or that from which the agent's main session was last written to."""
        if isinstance(job.deliver, DeliverTo):
            return ChatRoute(channel=job.deliver.channel, peer=job.deliver.to)
        if job.deliver == "last":
            return last_route(self._registry, str(key)) or last_route(self._registry, str(main_key(key.agent)))
        return None


def cron_run_id(name: str) -> str:
    """Return the id of the run of a job, from its name."""
    return str(uuid.uuid5(_NAMESPACE, name))


def last_route(registry: Registry, session: str) -> ChatRoute | None:
    """Return the route of the newest message of a session that is remembered; None for none."""
    rows = [row for row in registry.inbound.values() if row.session == session and row.route]
    rows_at = [(row.accepted_s, row.route) for row in rows]
    rows_at += [(run.created_s, run.route) for run in registry.runs.values() if run.session == session and run.route]
    rows_at += [(row.due_s, row.route) for row in registry.deliveries() if row.session == session and row.route]
    newest = max(rows_at, key=lambda each: each[0], default=None)
    return None if newest is None else ChatRoute.from_json(newest[1])
